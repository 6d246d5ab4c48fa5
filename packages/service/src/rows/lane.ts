import type { Gap } from '@priorbook/sdk/domain'
import type { BookRun, HeadColumns } from '@priorbook/sdk/tape'
import type { InstrumentRef, Order, RowPage, RowQuery, StoreReader } from '../store/store.ts'

/**
 * The place of an item in a merged order: by `at`, then `rank`, `index`, `sequence`, `lane`. Lanes of
 * descending order negate received time, index, sequence and lane, so one comparison serves both.
 */
export type Place = {
  /** Received time. */
  readonly at: number
  /** Kinds of items at one time, such as markets before books; 0 where there is one kind. */
  readonly rank: number
  /** Streams of one kind that go before others whatever their sequences; 0 where sequences decide. */
  readonly index: number
  readonly sequence: number
  /** The number of the lane, which decides where all else ties. */
  readonly lane: number
}

/** One ordered stream of a merge: rows of an instrument, revisions of a market, gaps of a key. */
export interface Lane extends Place {
  /** False while the place is only a lower bound and the next item has to be loaded. */
  readonly isReady: boolean
  /** True when nothing is left. */
  readonly isDone: boolean
  /** Loads items until the lane is ready or done. */
  load(): Promise<void>
}

/** Whether one place comes before another. */
export function isBefore(left: Place, right: Place): boolean {
  if (left.at !== right.at) return left.at < right.at
  if (left.rank !== right.rank) return left.rank < right.rank
  if (left.index !== right.index) return left.index < right.index
  if (left.sequence !== right.sequence) return left.sequence < right.sequence
  return left.lane < right.lane
}

/** Which rows a lane reads. */
export type LaneQuery = InstrumentRef & {
  readonly order: Order
  /** Inclusive received time. */
  readonly start?: number | undefined
  /** Exclusive received time. */
  readonly end?: number | undefined
  /** The last number that an earlier read passed; the lane goes on after it. */
  readonly after?: number | undefined
  /** The highest number that belongs to the walk; rows stored later are left out. */
  readonly last?: number | undefined
  readonly knownAt?: number | undefined
  /** Rows to load per read of the store. */
  readonly pageRows: number
}

/** How a lane takes part in a merge, and who is notified. */
export type LaneOptions = {
  readonly rank?: number | undefined
  readonly index?: number | undefined
  readonly lane?: number | undefined
  /**
   * A received time that no row comes before (ascending): the merge leaves the lane unread until then.
   * Without it every lane is read once before the first row.
   */
  readonly notBefore?: number | undefined
  /** Called with the damaged spans that a read of the store skipped. */
  readonly onDamage?: ((gaps: readonly Gap[]) => void) | undefined
  /**
   * Asked for the gaps of rows that were removed from the store meanwhile, which go to `onDamage`: at the
   * first read, and where a later one does not go on with the next row. Ascending lanes only.
   */
  readonly findRemoved?: ((jump: Jump) => Promise<readonly Gap[]>) | undefined
  /** Called with the number of rows that were loaded, and negated when they are shifted or dropped. */
  readonly onHeld?: ((rows: number) => void) | undefined
}

/** What a lane read before and after rows that may be missing; absent where it read nothing. */
type Jump = {
  readonly last?: { readonly received: number; readonly number: number } | undefined
  /** The received time of the next row. */
  readonly next?: number | undefined
}

/** The paging state that lanes of books, trades and samples share. */
abstract class StoreLane implements Lane {
  at: number
  sequence = 0
  readonly rank: number
  readonly index: number
  readonly lane: number
  isReady = false
  isDone = false
  /** The number of the last row that was shifted, or where the lane began. */
  position: number | undefined
  /** The number of the lane among its peers, whatever the order. */
  readonly number: number
  readonly query: LaneQuery
  protected readonly options: LaneOptions
  protected readonly sign: 1 | -1
  protected hasMore = true
  private after: number | undefined

  constructor(query: LaneQuery, options: LaneOptions) {
    this.query = query
    this.options = options
    this.sign = query.order === 'asc' ? 1 : -1
    this.number = options.lane ?? 0
    this.lane = this.number * this.sign
    this.rank = options.rank ?? 0
    this.index = (options.index ?? 0) * this.sign
    this.at = options.notBefore ?? -Infinity
    this.position = query.after
    // Descending reads stop nowhere by themselves: they begin below what was stored later.
    const { last } = query
    const isFromLast = this.sign < 0 && last !== undefined
    this.after = query.after ?? (isFromLast ? last + 1 : undefined)
  }

  abstract load(): Promise<void>
  /** How many loaded rows were not shifted yet. */
  protected abstract get held(): number
  protected abstract drop(): void

  /** Drops the loaded rows and ends the lane. */
  close(): void {
    this.options.onHeld?.(-this.held)
    this.drop()
    this.isReady = false
    this.isDone = true
  }

  protected storeQuery(): RowQuery {
    const { venue, key, order, start, end, knownAt, pageRows: limit } = this.query
    return { venue, key, order, limit, start, end, after: this.after, knownAt }
  }

  /** Tells of rows that were removed between the last read and a page, by the first row of the page. */
  protected async tellRemoved(
    first: { readonly received: number; readonly number: number } | undefined,
    damage: readonly Gap[],
  ): Promise<void> {
    const { findRemoved, onDamage } = this.options
    const { after } = this
    if (findRemoved === undefined || this.sign < 0) return
    const next = first?.received
    if (after === undefined) {
      onDamage?.(await findRemoved({ next }))
      return
    }
    const isWhole = first === undefined ? !this.hasMore : first.number <= after + 1
    // Damage right after the last row is what is missing.
    const isDamaged = damage.some(({ afterSequence }) => afterSequence <= after)
    if (isWhole || isDamaged) return
    onDamage?.(await findRemoved({ last: { received: this.at, number: after }, next }))
  }

  /** Notes a page: how far it reached, or undefined where it was empty. */
  protected loaded(reached: number | undefined, hasMore: boolean, damage: readonly Gap[]): void {
    const { last = Infinity } = this.query
    const isAtLast = this.sign > 0 && reached !== undefined && reached >= last
    // Without a row nothing is left before the end of the walk.
    this.hasMore = hasMore && reached !== undefined && !isAtLast
    this.after = reached ?? this.after
    if (damage.length > 0) this.options.onDamage?.(damage)
  }

  /** Moves the place to the next loaded row; without one it stays, as a lower bound. */
  protected moveTo(received: number, number: number): void {
    this.isReady = true
    this.at = this.sign * received
    this.sequence = this.sign * number
  }

  protected ranOut(): void {
    this.isReady = false
    this.sequence++
    if (!this.hasMore) this.isDone = true
  }
}

/** Consecutive observations of one lane, without a copy of their columns. */
export type RunPart = BookRun & { readonly lane: number }

/** The observations of one instrument. */
export class BookLane extends StoreLane {
  private readonly store: Pick<StoreReader, 'books'>
  private readonly keep: ((run: BookRun) => BookRun) | undefined
  private runs: readonly BookRun[] = []
  /** The run that is being shifted, and which of its rows are left. */
  private current = 0
  private low = 0
  private high = 0

  /** `keep` may replace a loaded run, for example by a copy of its rows alone. */
  constructor(
    store: Pick<StoreReader, 'books'>,
    query: LaneQuery,
    options: LaneOptions & { readonly keep?: ((run: BookRun) => BookRun) | undefined } = {},
  ) {
    super(query, options)
    this.store = store
    this.keep = options.keep
  }

  async load(): Promise<void> {
    if (this.isReady || this.isDone) return
    const page = await this.store.books({ ...this.storeQuery(), numbers: true })
    await this.tellRemoved(firstOf(page.runs[0]), page.corrupt)
    const outer = this.sign > 0 ? page.runs.at(-1) : page.runs[0]
    const reached = outer && outer.firstSequence + (this.sign > 0 ? outer.to - 1 : outer.from)
    this.runs = this.sign > 0 ? cutAfter(page.runs, this.query.last) : page.runs
    const { keep } = this
    if (keep !== undefined) this.runs = this.runs.map((run) => keep(run))
    this.current = this.sign > 0 ? 0 : this.runs.length - 1
    this.loaded(reached, page.hasMore, page.corrupt)
    this.open()
    this.options.onHeld?.(this.held)
  }

  /** Shifts the next rows that come before a place, at most `most`; the first one always does. */
  shiftBefore(limit: Place | undefined, most: number): RunPart {
    const run = this.runs[this.current]!
    const { low, high, sign } = this
    let count = Math.min(most, high - low)
    const isIn = (offset: number): boolean => {
      const row = sign > 0 ? low + offset : high - 1 - offset
      this.moveTo(run.columns.received[row]!, run.firstSequence + row)
      return isBefore(this, limit!)
    }
    // Received times never decrease, so the farthest row decides for all.
    if (limit !== undefined && count > 1 && !isIn(count - 1)) {
      const farthest = count - 1
      count = 1
      while (count < farthest && isIn(count)) count++
    }
    const from = sign > 0 ? low : high - count
    const part = {
      columns: run.columns,
      firstSequence: run.firstSequence,
      from,
      to: from + count,
      chunk: run.chunk,
      lane: this.number,
    }
    if (sign > 0) this.low += count
    else this.high -= count
    this.position = run.firstSequence + (sign > 0 ? this.low - 1 : this.high)
    this.options.onHeld?.(-count)
    this.next()
    return part
  }

  protected get held(): number {
    if (!this.isReady) return 0
    let rows = this.high - this.low
    const { sign } = this
    for (let at = this.current + sign; at >= 0 && at < this.runs.length; at += sign) {
      rows += this.runs[at]!.to - this.runs[at]!.from
    }
    return rows
  }

  protected drop(): void {
    this.runs = []
  }

  private next(): void {
    const run = this.runs[this.current]!
    if (this.low < this.high) {
      const row = this.sign > 0 ? this.low : this.high - 1
      this.moveTo(run.columns.received[row]!, run.firstSequence + row)
      return
    }
    const last = this.sign > 0 ? this.high - 1 : this.low
    this.moveTo(run.columns.received[last]!, run.firstSequence + last)
    this.current += this.sign
    this.open()
  }

  private open(): void {
    const run = this.runs[this.current]
    if (run === undefined) {
      this.runs = []
      this.ranOut()
      return
    }
    this.low = run.from
    this.high = run.to
    const row = this.sign > 0 ? run.from : run.to - 1
    this.moveTo(run.columns.received[row]!, run.firstSequence + row)
  }
}

/** One trade or sample: a row of shared columns with its number and the number of its lane. */
export type RowPart<Columns> = {
  readonly columns: Columns
  readonly row: number
  readonly ordinal: number
  readonly lane: number
}

/** Reads a page of trades or of samples of one metric. */
export type ReadRows<Columns> = (query: RowQuery) => Promise<RowPage<Columns>>

/** The trades or the samples of one instrument. */
export class RowLane<Columns extends HeadColumns> extends StoreLane {
  private readonly read: ReadRows<Columns>
  private page: RowPage<Columns> | undefined
  private low = 0
  private high = 0

  constructor(read: ReadRows<Columns>, query: LaneQuery, options: LaneOptions = {}) {
    super(query, options)
    this.read = read
  }

  async load(): Promise<void> {
    if (this.isReady || this.isDone) return
    const page = await this.read(this.storeQuery())
    const { ordinals } = page
    const [number] = ordinals
    const first = number === undefined ? undefined : { received: page.rows.received[0]!, number }
    await this.tellRemoved(first, page.corrupt)
    const { last = Infinity } = this.query
    const beyond = ordinals.findIndex((ordinal) => ordinal > last)
    this.page = page
    this.low = 0
    this.high = beyond < 0 ? ordinals.length : beyond
    this.loaded(this.sign > 0 ? ordinals.at(-1) : ordinals[0], page.hasMore, page.corrupt)
    this.look()
    this.options.onHeld?.(this.held)
  }

  /** Shifts the next row. */
  shift(): RowPart<Columns> {
    const { rows: columns, ordinals } = this.page!
    const row = this.sign > 0 ? this.low++ : --this.high
    const ordinal = ordinals[row]!
    this.position = ordinal
    this.options.onHeld?.(-1)
    this.look()
    return { columns, row, ordinal, lane: this.number }
  }

  protected get held(): number {
    return this.high - this.low
  }

  protected drop(): void {
    this.page = undefined
    this.high = this.low
  }

  private look(): void {
    if (this.low === this.high) {
      this.ranOut()
      return
    }
    const { rows, ordinals } = this.page!
    const row = this.sign > 0 ? this.low : this.high - 1
    this.moveTo(rows.received[row]!, ordinals[row]!)
  }
}

function firstOf(run: BookRun | undefined): { received: number; number: number } | undefined {
  if (run === undefined) return undefined
  return { received: run.columns.received[run.from]!, number: run.firstSequence + run.from }
}

function cutAfter(runs: readonly BookRun[], last = Infinity): readonly BookRun[] {
  const newest = runs.at(-1)
  if (newest === undefined || newest.firstSequence + newest.to - 1 <= last) return runs
  return runs.flatMap((run) => {
    const to = Math.min(run.to, last - run.firstSequence + 1)
    return to > run.from ? [{ ...run, to }] : []
  })
}
