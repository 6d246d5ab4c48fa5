import { createHash, createPublicKey, verify } from 'node:crypto'

// Written from docs/formats/proof.md alone: it imports nothing of Priorbook.

type Root = { readonly statement: string; readonly signature: string }

/** A proof as `/v3/proofs/{day}` answers. */
export type OracleProof = {
  readonly day: string
  readonly roots: readonly Root[]
  readonly market: {
    readonly venue: string
    readonly market_id: string
    readonly runs: readonly { readonly at: number; readonly leaves: readonly string[] }[]
    readonly hashes: readonly string[]
  }
}

const sha256 = (...parts: readonly (string | Buffer)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

/** The lines of a statement by their first word. */
export function linesOf(statement: string): Record<string, string> {
  const [title, ...lines] = statement.trimEnd().split('\n')
  if (title !== 'priorbook root 1') throw new Error(`unknown statement: ${title}`)
  return Object.fromEntries(lines.map((line) => line.split(/ (.*)/).slice(0, 2)))
}

/** The hash of a statement, as the next one names it. */
export function hashOf(statement: string): string {
  return sha256(statement).toString('hex')
}

/** True where the key that a statement names signed it. */
export function isSigned({ statement, signature }: Root): boolean {
  const key = {
    kty: 'OKP',
    crv: 'Ed25519',
    x: Buffer.from(linesOf(statement)['key']!, 'hex').toString('base64url'),
  }
  const publicKey = createPublicKey({ key, format: 'jwk' })
  return verify(null, Buffer.from(statement), publicKey, Buffer.from(signature, 'hex'))
}

/** The root that the leaves of a proof lead to. */
export function rootOf({ roots, market }: OracleProof): string {
  const size = Number(linesOf(roots.at(-1)!.statement)['size'])
  const known = new Map<number, Buffer>()
  for (const { at, leaves } of market.runs) {
    for (const [index, text] of leaves.entries()) {
      known.set(at + index, sha256(Buffer.of(0), text))
    }
  }
  const others = market.hashes.map((text) => Buffer.from(text, 'hex'))
  const hash = (from: number, count: number): Buffer => {
    let isKnown = false
    for (let leaf = from; leaf < from + count; leaf++) isKnown ||= known.has(leaf)
    if (!isKnown) return others.shift()!
    if (count === 1) return known.get(from)!
    let left = 1
    while (left * 2 < count) left *= 2
    return sha256(Buffer.of(1), hash(from, left), hash(from + left, count - left))
  }
  const root = hash(0, size).toString('hex')
  if (others.length > 0) throw new Error('hashes are left over')
  return root
}

/** The rows and the chunk hash of every leaf of the market, by stream. */
export function chunksOf({
  market,
}: OracleProof): { stream: string; first: number; hash: string }[] {
  return market.runs
    .flatMap(({ leaves }) => leaves)
    .map(
      (text) => JSON.parse(text) as [string, string, string, string, string, number, ...unknown[]],
    )
    .filter(([venue, id]) => venue === market.venue && id === market.market_id)
    .map((leaf) => ({ stream: `${leaf[2]}/${leaf[3]}`, first: leaf[5], hash: leaf[9] as string }))
}
