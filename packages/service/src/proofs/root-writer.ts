import { DAY_MICROS, startOfDay } from '@priorbook/sdk/domain'
import { nodeHash } from '@priorbook/sdk/tape'
import {
  NO_STATEMENT,
  parseLeaf,
  printLeaf,
  printStatement,
  type ChunkLeaf,
} from '@priorbook/sdk/wire'
import { hex, sha256, type ProofBook, type SignedRoot } from './proof-book.ts'
import type { ProofDatabase } from './proof-database.ts'
import type { ProofKey } from './proof-key.ts'

// Leaves per step: 5 ms, in which nothing else runs.
const STEP = 256

/** When the first and the last of some waiting chunks were noted. */
type NotedSpan = { readonly first: number; readonly last: number }

/** Writes the trees of days and signs their roots. There is one writer for each data folder. */
export class RootWriter {
  private readonly book: ProofBook
  private readonly database: ProofDatabase
  private readonly key: ProofKey
  private lastNoted = 0
  /** When the first waiting chunk of a day was noted, where that was asked for. */
  private readonly since = new Map<number, number>()

  constructor(book: ProofBook, key: ProofKey, now: number) {
    this.book = book
    this.database = book.database
    this.key = key
    if (book.keys().at(-1)?.key === key.publicKey) return
    const sql = 'INSERT OR REPLACE INTO installation_key (public, since) VALUES (?, ?)'
    this.database.run(sql, key.publicKey, now)
  }

  /** Notes sealed chunks. A chunk belongs to the UTC day on which its last row was received. */
  note(chunks: readonly ChunkLeaf[], now: number): void {
    this.lastNoted = Math.max(now, this.lastNoted + 1)
    this.database.write(() => {
      for (const leaf of chunks) {
        const day = startOfDay(leaf.lastReceived)
        // A process before this one may have had a clock that was ahead.
        if (this.since.get(day)! > this.lastNoted) this.since.delete(day)
        this.database.run(
          `INSERT OR IGNORE INTO waiting
             (day, venue, market, key, kind, metric, first, hash, leaf, noted)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          day,
          ...placeOf(leaf),
          printLeaf(leaf),
          this.lastNoted,
        )
      }
    })
  }

  /** The days with chunks that no root names yet, oldest first: one search of the key for each, however many wait. */
  waitingDays(): number[] {
    const days: number[] = []
    for (let day = this.waitingDayAfter(-1); day !== null; day = this.waitingDayAfter(day)) {
      days.push(day)
    }
    return days
  }

  /** When the first waiting chunk of a day was noted, found in steps; undefined where none waits. */
  async waitingSince(day: number, rest: () => Promise<void>): Promise<number | undefined> {
    let since = this.since.get(day)
    if (since === undefined) {
      since = (await this.notedSpan(day, rest))?.first
      if (since !== undefined) this.since.set(day, since)
    }
    return since
  }

  /**
   * Adds the waiting chunks of a day to its tree, in steps, and signs the root; `rest` lets others run
   * between two steps. Leaves that an earlier root names stay where they are. Undefined where nothing was
   * new, such as after the tape was derived again from the journal.
   */
  async sign(
    day: number,
    now: () => number,
    rest: () => Promise<void>,
  ): Promise<SignedRoot | undefined> {
    // A tree without its leaves cannot grow: what comes later for that day goes too.
    if (this.book.removedOf(day)?.isTreeGone === true) {
      while (this.dropUnsigned(day, day, Number.MAX_SAFE_INTEGER)) await rest()
      return undefined
    }
    const roots = this.book.rootsOf(day)
    const before = roots.at(-1)
    const start = before?.size ?? 0
    const until = (await this.notedSpan(day, rest))?.last ?? 0
    this.dropDraft(day, start)
    let size = start
    for (let after: WaitingRow | undefined; ;) {
      const rows = this.waiting(day, until, after)
      if (rows.length === 0) break
      after = rows.at(-1)
      size = this.database.write(() => this.append(day, size, rows, before))
      await rest()
    }
    const signed = size === start ? undefined : this.publish(day, roots, size, now())
    // A leftover of a process that ended here is found among the leaves the next time.
    while (this.forget(day, until)) await rest()
    return signed
  }

  /**
   * Removes, in steps, the trees of days that ended before a time, and chunks that were noted before it and
   * that no root names yet. Signed roots stay.
   */
  async removeBefore(before: number, rest: () => Promise<void>): Promise<void> {
    // Leaves of a day without a root are a draft: `sign` drops them before it makes new ones.
    const days = this.database.all<{ day: number }>(
      'SELECT DISTINCT day FROM leaf WHERE day <= ? AND day IN (SELECT day FROM statement)',
      before - DAY_MICROS,
    )
    for (const { day } of days) {
      // Marked first: a process that ends in between has removed leaves that are said to be gone.
      this.markRemoved(day, true, 0)
      for (const table of ['leaf', 'node'] as const) {
        while (this.removeSome(table, day)) await rest()
      }
    }
    while (this.dropUnsigned(0, startOfDay(before), before)) await rest()
  }

  private removeSome(table: 'leaf' | 'node', day: number): boolean {
    const key = table === 'leaf' ? 'position' : 'level, position'
    const some = `SELECT ${key} FROM ${table} WHERE day = ? LIMIT ${STEP}`
    const sql = `DELETE FROM ${table} WHERE day = ? AND (${key}) IN (${some})`
    return this.database.write(() => this.database.run(sql, day, day)) > 0
  }

  // Of some days, what was noted before a time; true where there may be more.
  private dropUnsigned(firstDay: number, lastDay: number, noted: number): boolean {
    const rows = this.database.all<WaitingRow & { readonly day: number }>(
      `SELECT day, venue, market, key, kind, metric, first, hash, leaf FROM waiting
       WHERE day BETWEEN ? AND ? AND noted < ? LIMIT ${STEP}`,
      firstDay,
      lastDay,
      noted,
    )
    this.database.write(() => {
      for (const row of rows) {
        this.drop(row.day, row)
        this.markRemoved(row.day, false, 1)
      }
    })
    return rows.length === STEP
  }

  private markRemoved(day: number, isTree: boolean, unsigned: number): void {
    this.database.run(
      `INSERT INTO removed (day, tree, unsigned) VALUES (?, ?, ?) ON CONFLICT (day) DO UPDATE
       SET tree = max(tree, excluded.tree), unsigned = unsigned + excluded.unsigned`,
      day,
      Number(isTree),
      unsigned,
    )
  }

  private publish(
    day: number,
    roots: readonly SignedRoot[],
    size: number,
    signed: number,
  ): SignedRoot {
    const last = this.book.newest()
    const before = roots.at(-1)
    const statement = {
      sequence: (last?.sequence ?? 0) + 1,
      day,
      number: roots.length + 1,
      amends: before?.hash,
      size,
      segments: [...(before?.segments ?? []), size - (before?.size ?? 0)],
      root: hex(this.book.hashOf(day, { from: 0, to: size })),
      previous: last?.hash ?? NO_STATEMENT,
      signed,
      key: this.key.publicKey,
    }
    const text = printStatement(statement)
    const hash = hex(sha256([Buffer.from(text)]))
    const signature = this.key.sign(text)
    this.database.run(
      `INSERT INTO statement (sequence, day, number, text, hash, signature)
       VALUES (?, ?, ?, ?, ?, ?)`,
      statement.sequence,
      day,
      statement.number,
      text,
      hash,
      signature,
    )
    return { ...statement, text, hash, signature }
  }

  private append(
    day: number,
    start: number,
    rows: readonly WaitingRow[],
    before: SignedRoot | undefined,
  ): number {
    let size = start
    for (const { leaf: text } of rows) {
      if (before !== undefined && this.book.has(before, parseLeaf(text))) continue
      this.database.run('INSERT INTO leaf (day, position, text) VALUES (?, ?, ?)', day, size, text)
      this.complete(day, size)
      size++
    }
    return size
  }

  // Writes the nodes that the last leaf made whole.
  private complete(day: number, position: number): void {
    let at = position
    for (let level = 1; at % 2 === 1; level++) {
      const width = 2 ** (level - 1)
      const right = this.book.hashOf(day, { from: at * width, to: (at + 1) * width })
      const left = this.book.hashOf(day, { from: (at - 1) * width, to: at * width })
      at = (at - 1) / 2
      this.database.run(
        'INSERT INTO node (day, level, position, hash) VALUES (?, ?, ?, ?)',
        day,
        level,
        at,
        nodeHash(left, right, sha256),
      )
    }
  }

  private waiting(
    day: number,
    until: number,
    after: WaitingRow | undefined,
  ): (WaitingRow & { readonly noted: number })[] {
    const where =
      after === undefined
        ? ''
        : 'AND (venue, market, key, kind, metric, first, hash) > (?, ?, ?, ?, ?, ?, ?)'
    const place = after === undefined ? [] : placeOf(after)
    return this.database.all(
      `SELECT venue, market, key, kind, metric, first, hash, leaf, noted FROM waiting
       WHERE day = ? AND noted <= ? ${where}
       ORDER BY venue, market, key, kind, metric, first, hash LIMIT ${STEP}`,
      day,
      until,
      ...place,
    )
  }

  private waitingDayAfter(day: number): number | null {
    const sql = 'SELECT min(day) AS day FROM waiting WHERE day > ?'
    return this.database.all<{ day: number | null }>(sql, day)[0]?.day ?? null
  }

  // A day may have a million waiting chunks, and times are not in the key: one query would stop the recorder.
  private async notedSpan(day: number, rest: () => Promise<void>): Promise<NotedSpan | undefined> {
    let span: NotedSpan | undefined
    for (let rows = this.waiting(day, Number.MAX_SAFE_INTEGER, undefined); rows.length > 0;) {
      const times = rows.map(({ noted }) => noted)
      const { first, last } = span ?? { first: Infinity, last: 0 }
      span = { first: Math.min(first, ...times), last: Math.max(last, ...times) }
      if (rows.length < STEP) break
      await rest()
      rows = this.waiting(day, Number.MAX_SAFE_INTEGER, rows.at(-1))
    }
    return span
  }

  private forget(day: number, until: number): boolean {
    const rows = this.waiting(day, until, undefined)
    this.database.write(() => {
      for (const row of rows) this.drop(day, row)
    })
    return rows.length === STEP
  }

  private drop(day: number, row: WaitingRow): void {
    this.since.delete(day)
    this.database.run(
      `DELETE FROM waiting WHERE day = ? AND venue = ? AND market = ? AND key = ? AND kind = ?
       AND metric = ? AND first = ? AND hash = ?`,
      day,
      ...placeOf(row),
    )
  }

  // Leaves of a process that ended before it could sign them.
  private dropDraft(day: number, size: number): void {
    this.database.write(() => {
      this.database.run('DELETE FROM leaf WHERE day = ? AND position >= ?', day, size)
      const sql = 'SELECT max(level) AS level FROM node WHERE day = ?'
      const top = this.database.all<{ level: number | null }>(sql, day)[0]?.level ?? 0
      for (let level = 1; level <= top; level++) {
        this.database.run(
          'DELETE FROM node WHERE day = ? AND level = ? AND position >= ?',
          day,
          level,
          Math.floor(size / 2 ** level),
        )
      }
    })
  }
}

type WaitingRow = Pick<
  ChunkLeaf,
  'venue' | 'market' | 'key' | 'kind' | 'metric' | 'first' | 'hash'
> & { readonly leaf: string }

// The key of a waiting chunk, which is also the order of the leaves.
function placeOf(row: Omit<WaitingRow, 'leaf'>): (string | number)[] {
  const { venue, market, key, kind, metric, first, hash } = row
  return [venue, market, key, kind, metric, first, hash]
}
