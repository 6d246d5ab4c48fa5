import { createPublicKey, verify } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { leafHash, nodeHash } from '@priorbook/sdk/tape'
import { NO_STATEMENT } from '@priorbook/sdk/wire'
import { hex, ProofBook, sha256, type SignedRoot } from './proof-book.ts'
import { PROOFS_FILE, ProofDatabase } from './proof-database.ts'

/** What a check of the roots of a data folder found. */
export type ProofCheck = {
  readonly roots: number
  readonly problems: readonly { readonly where: string; readonly detail: string }[]
}

// DER of an Ed25519 public key, without its 32 bytes.
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const LEAVES = 4096

/** Checks every signed root: its signature, its place in the chain, and the tree of its leaves. */
export function checkProofs(folder: string): ProofCheck {
  if (!existsSync(join(folder, PROOFS_FILE))) return { roots: 0, problems: [] }
  const book = new ProofBook(new ProofDatabase(folder, true))
  try {
    const problems: { where: string; detail: string }[] = []
    const every = { from: 0, to: Number.MAX_SAFE_INTEGER, order: 'asc', limit: -1 } as const
    const roots = book.roots(every)
    let previous = NO_STATEMENT
    for (const root of roots) {
      const detail = faultOf(book, root, previous)
      const where = `root ${root.sequence}`
      if (detail !== undefined) problems.push({ where, detail })
      previous = root.hash
    }
    return { roots: roots.length, problems }
  } finally {
    book.close()
  }
}

function faultOf(book: ProofBook, root: SignedRoot, previous: string): string | undefined {
  const text = Buffer.from(root.text)
  if (hex(sha256([text])) !== root.hash) return 'the hash of its statement is another'
  if (root.previous !== previous) return 'it does not name the statement before it'
  const key = Buffer.concat([SPKI, Buffer.from(root.key, 'hex')])
  const publicKey = createPublicKey({ key, format: 'der', type: 'spki' })
  if (!verify(null, text, publicKey, Buffer.from(root.signature, 'hex'))) {
    return 'its signature does not hold'
  }
  // Retention removed the leaves; the chain of roots is checked without them.
  if (book.removedOf(root.day)?.isTreeGone === true) return undefined
  return rootOfLeaves(book, root) === root.root ? undefined : 'its leaves have another root'
}

// Adds leaf by leaf; what waits are the roots of whole parts, each larger than the next.
function rootOfLeaves({ database }: ProofBook, { day, size }: SignedRoot): string {
  const parts: { width: number; hash: Uint8Array }[] = []
  const join = (): void => {
    const right = parts.pop()!
    const left = parts.pop()!
    const hash = nodeHash(left.hash, right.hash, sha256)
    parts.push({ width: left.width + right.width, hash })
  }
  for (let from = 0; from < size; from += LEAVES) {
    const rows = database.all<{ text: string }>(
      'SELECT text FROM leaf WHERE day = ? AND position >= ? AND position < ? ORDER BY position',
      day,
      from,
      Math.min(size, from + LEAVES),
    )
    for (const { text } of rows) {
      parts.push({ width: 1, hash: leafHash(text, sha256) })
      while (parts.length > 1 && parts.at(-1)!.width === parts.at(-2)!.width) join()
    }
  }
  while (parts.length > 1) join()
  return parts.length === 0 ? '' : hex(parts[0]!.hash)
}
