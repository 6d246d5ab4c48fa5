import { createHash, createPublicKey, verify } from 'node:crypto'
import { PriorbookError, type VenueId } from '../../domain/index.ts'
import { leafHash, rootOfRuns, type Sha256 } from '../../tape/index.ts'
import {
  compareLeaves,
  compareMarkets,
  parseLeaf,
  parseStatement,
  type ChunkLeaf,
  type DayProofJson,
  type MarketProofJson,
  type RootJson,
  type RootStatement,
} from '../../wire/index.ts'

/** The chunks of a market on a day, as a signed root proves them. */
export type ProvedMarket = {
  readonly venue: VenueId
  readonly market: string
  /** The statement of the newest root of the day. */
  readonly statement: RootStatement
  /** All chunks that the root names for the market. */
  readonly leaves: readonly ChunkLeaf[]
}

/** A proof that does not hold. */
export class ProofError extends Error {}

/**
 * Checks a proof as docs/formats/proof.md says: signatures, the chain of amendments, the way from the
 * leaves to the root, and that no leaf of the market is left out. Throws `ProofError`.
 */
export function proveMarket(proof: DayProofJson, key: string | undefined): ProvedMarket {
  const { day, roots, market } = proof
  let before: { readonly statement: RootStatement; readonly hash: string } | undefined
  for (const root of roots) {
    const statement = checkRoot(root, day, key)
    checkAmendment(statement, before)
    before = { statement, hash: hex(sha256([Buffer.from(root.statement)])) }
  }
  if (before === undefined) throw new ProofError(`the proof of ${day} has no root`)
  if (market === null) throw new ProofError(`the proof of ${day} names no market`)
  const { statement } = before
  const leaves = market.runs.map(({ leaves: texts }) => texts.map(readLeaf))
  checkTree(statement, market, day)
  checkComplete(statement, market, leaves, day)
  const own = { venue: market.venue, market: market.market_id }
  const isOwn = (leaf: ChunkLeaf): boolean => compareMarkets(leaf, own) === 0
  return { ...own, statement, leaves: leaves.flat().filter(isOwn) }
}

// DER of an Ed25519 public key, without its 32 bytes.
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

function checkRoot(root: RootJson, day: string, key: string | undefined): RootStatement {
  const statement = readStatement(root.statement)
  const where = `root ${root.number} of ${day}`
  if (key !== undefined && statement.key !== key) {
    throw new ProofError(`${where} was signed by the key ${statement.key}, not by ${key}`)
  }
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI, Buffer.from(statement.key, 'hex')]),
    format: 'der',
    type: 'spki',
  })
  const signature = Buffer.from(root.signature, 'hex')
  if (!verify(null, Buffer.from(root.statement), publicKey, signature)) {
    throw new ProofError(`the signature of ${where} does not hold`)
  }
  if (!root.statement.includes(`\nday ${day}\n`)) {
    throw new ProofError(`the statement of ${where} is about another day`)
  }
  return statement
}

function checkAmendment(
  statement: RootStatement,
  before: { readonly statement: RootStatement; readonly hash: string } | undefined,
): void {
  const { number, amends, segments } = statement
  const earlier = before?.statement.segments ?? []
  const isNext =
    number === earlier.length + 1 &&
    amends === before?.hash &&
    earlier.every((count, index) => segments[index] === count)
  if (!isNext) throw new ProofError(`root ${number} does not amend the root before it`)
}

function checkTree({ size, root }: RootStatement, market: MarketProofJson, day: string): void {
  const runs = market.runs.map(({ at, leaves }) => ({
    at,
    hashes: leaves.map((text) => leafHash(text, sha256)),
  }))
  const others = market.hashes.map((hash) => Buffer.from(hash, 'hex'))
  const found = rootOfRuns(size, runs, others, sha256)
  if (found === undefined || hex(found) !== root) {
    throw new ProofError(
      `the leaves of ${market.venue}:${market.market_id} do not lead to the signed root of ${day}`,
    )
  }
}

// Leaves of a segment are sorted. A run that begins before the market, or at the start of the segment,
// and ends after it, or at the end of the segment, holds all of its leaves there.
function checkComplete(
  { segments }: RootStatement,
  market: MarketProofJson,
  leaves: readonly (readonly ChunkLeaf[])[],
  day: string,
): void {
  const own = { venue: market.venue, market: market.market_id }
  const name = `${market.venue}:${market.market_id} on ${day}`
  let from = 0
  for (const [index, count] of segments.entries()) {
    const to = from + count
    const run = market.runs[index]
    const list = leaves[index] ?? []
    const first = list[0]
    const last = list.at(-1)
    if (run === undefined || first === undefined || last === undefined) {
      throw new ProofError(`the proof of ${name} leaves out a part of the tree`)
    }
    const isSorted = list.every((leaf, at) => at === 0 || compareLeaves(list[at - 1]!, leaf) < 0)
    const isInside = run.at >= from && run.at + list.length <= to
    const hasStart = run.at === from || compareMarkets(first, own) < 0
    const hasEnd = run.at + list.length === to || compareMarkets(last, own) > 0
    if (!isSorted || !isInside || !hasStart || !hasEnd) {
      throw new ProofError(`the proof of ${name} may leave out chunks`)
    }
    from = to
  }
  if (market.runs.length !== segments.length) {
    throw new ProofError(`the proof of ${name} has more parts than its root`)
  }
}

function readStatement(text: string): RootStatement {
  try {
    return parseStatement(text)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    throw new ProofError(error.message, { cause: error })
  }
}

function readLeaf(text: string): ChunkLeaf {
  try {
    return parseLeaf(text)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    throw new ProofError(error.message, { cause: error })
  }
}

const sha256: Sha256 = (parts) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
