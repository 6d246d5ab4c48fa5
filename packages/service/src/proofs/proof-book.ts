import { createHash } from 'node:crypto'
import {
  leafHash,
  leftSize,
  nodeHash,
  partsWithout,
  type LeafSpan,
  type Sha256,
} from '@priorbook/sdk/tape'
import {
  compareLeaves,
  compareMarkets,
  parseLeaf,
  parseStatement,
  type ChunkLeaf,
  type RootStatement,
} from '@priorbook/sdk/wire'
import type { VenueId } from '@priorbook/sdk/domain'
import { ProofDatabase } from './proof-database.ts'

/** A statement as it was signed. */
export type SignedRoot = RootStatement & {
  readonly text: string
  readonly hash: string
  readonly signature: string
}

/** Which roots to list. */
export type RootQuery = {
  /** Days in [from, to). */
  readonly from: number
  readonly to: number
  readonly order: 'asc' | 'desc'
  /** Only roots after this sequence in the order of the list. */
  readonly after?: number | undefined
  readonly limit: number
}

/** The leaves of a market in a tree, with one neighbour on each side, and the hashes of the rest. */
export type MarketLeaves = {
  readonly runs: readonly { readonly at: number; readonly leaves: readonly string[] }[]
  readonly hashes: readonly string[]
}

/** What retention removed of the proofs of a day. */
export type RemovedProofs = {
  /** True where the leaves of the roots went. The roots themselves stay. */
  readonly isTreeGone: boolean
  /** Chunks that went before a root named them. */
  readonly unsigned: number
}

/** Hashes with Node. */
export const sha256: Sha256 = (parts) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Reads the signed roots of a data folder. */
export class ProofBook {
  readonly database: ProofDatabase

  constructor(database: ProofDatabase) {
    this.database = database
  }

  close(): void {
    this.database.close()
  }

  /** The public keys of the installation, the newest last. */
  keys(): { readonly key: string; readonly since: number }[] {
    return this.database.all('SELECT public AS key, since FROM installation_key ORDER BY since')
  }

  /** Signed roots in the order of their signing. */
  roots({ from, to, order, after, limit }: RootQuery): SignedRoot[] {
    const sign = order === 'asc' ? '>' : '<'
    const start = after ?? (order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER)
    return this.database
      .all<StatementRow>(
        `SELECT text, hash, signature FROM statement
         WHERE sequence ${sign} ? AND day >= ? AND day < ? ORDER BY sequence ${order} LIMIT ?`,
        start,
        from,
        to,
        limit,
      )
      .map(toRoot)
  }

  /** The roots of one day, oldest first. */
  rootsOf(day: number): SignedRoot[] {
    return this.database
      .all<StatementRow>(
        'SELECT text, hash, signature FROM statement WHERE day = ? ORDER BY number',
        day,
      )
      .map(toRoot)
  }

  /** The newest statement of all. */
  newest(): SignedRoot | undefined {
    const [row] = this.database.all<StatementRow>(
      'SELECT text, hash, signature FROM statement ORDER BY sequence DESC LIMIT 1',
    )
    return row === undefined ? undefined : toRoot(row)
  }

  /** True where chunks of a day wait for a root. */
  isWaiting(day: number): boolean {
    const sql = 'SELECT 1 AS found FROM waiting WHERE day = ? LIMIT 1'
    return this.database.all(sql, day).length > 0
  }

  /** What retention removed of a day; undefined where nothing went. */
  removedOf(day: number): RemovedProofs | undefined {
    // A reader may open a file of an earlier version, which no writer has brought up to date yet.
    const table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'removed'"
    if (this.database.all(table).length === 0) return undefined
    const sql = 'SELECT tree, unsigned FROM removed WHERE day = ?'
    const [row] = this.database.all<{ tree: number; unsigned: number }>(sql, day)
    return row === undefined ? undefined : { isTreeGone: row.tree === 1, unsigned: row.unsigned }
  }

  /** The leaves of one market in the tree of a root. Cost follows their number, not the size of the tree. */
  leavesOf(root: SignedRoot, market: { venue: VenueId; market: string }): MarketLeaves {
    const runs: { at: number; leaves: string[] }[] = []
    for (const { from, to } of segmentsOf(root)) {
      const low = this.find(root.day, from, to, (leaf) => compareMarkets(leaf, market) >= 0)
      const high = this.find(root.day, low, to, (leaf) => compareMarkets(leaf, market) > 0)
      const at = Math.max(from, low - 1)
      runs.push({ at, leaves: this.texts(root.day, at, Math.min(to, high + 1)) })
    }
    const spans = runs.map(({ at, leaves }) => ({ from: at, to: at + leaves.length }))
    const parts = [...partsWithout(root.size, spans)]
    return { runs, hashes: parts.map((part) => hex(this.hashOf(root.day, part))) }
  }

  /** The hash of a part of the tree of a day. */
  hashOf(day: number, { from, to }: LeafSpan): Uint8Array {
    const size = to - from
    if (size === 1) return leafHash(this.text(day, from), sha256)
    if ((size & (size - 1)) === 0) {
      const level = Math.log2(size)
      const [row] = this.database.all<{ hash: Uint8Array }>(
        'SELECT hash FROM node WHERE day = ? AND level = ? AND position = ?',
        day,
        level,
        from / size,
      )
      if (row !== undefined) return row.hash
    }
    const middle = from + leftSize(size)
    const left = this.hashOf(day, { from, to: middle })
    return nodeHash(left, this.hashOf(day, { from: middle, to }), sha256)
  }

  /** True where a root names a leaf. */
  has(root: SignedRoot, leaf: ChunkLeaf): boolean {
    return segmentsOf(root).some(({ from, to }) => {
      const at = this.find(root.day, from, to, (one) => compareLeaves(one, leaf) >= 0)
      return at < to && compareLeaves(parseLeaf(this.text(root.day, at)), leaf) === 0
    })
  }

  // Binary search: the first leaf in [from, to) for which `holds`, which never turns false again.
  private find(day: number, from: number, to: number, holds: (leaf: ChunkLeaf) => boolean): number {
    let low = from
    let high = to
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (holds(parseLeaf(this.text(day, middle)))) high = middle
      else low = middle + 1
    }
    return low
  }

  private text(day: number, position: number): string {
    return this.texts(day, position, position + 1)[0] ?? ''
  }

  private texts(day: number, from: number, to: number): string[] {
    return this.database
      .all<{ text: string }>(
        'SELECT text FROM leaf WHERE day = ? AND position >= ? AND position < ? ORDER BY position',
        day,
        from,
        to,
      )
      .map(({ text }) => text)
  }
}

// The leaves that each statement of a day added.
function segmentsOf({ segments }: Pick<RootStatement, 'segments'>): LeafSpan[] {
  let to = 0
  return segments.map((count) => ({ from: to, to: (to += count) }))
}

/** Bytes in hexadecimal. */
export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

type StatementRow = { readonly text: string; readonly hash: string; readonly signature: string }

function toRoot({ text, hash, signature }: StatementRow): SignedRoot {
  return { ...parseStatement(text), text, hash, signature }
}
