import type { Gap } from '@priorbook/sdk/domain'
import { applyRows, BookColumns, Ladder, loadBase, type BookRun } from '@priorbook/sdk/tape'
import type { Store } from '../../store/store.ts'
import { isBefore, RANK, type Lane, type Place } from './lane.ts'
import type { RowBudget } from './row-budget.ts'
import type { ReplayStream } from './scope.ts'

// A chunk has no more.
const MOST_SHARED_ROWS = 2048

/** The observations of one instrument; read page by page, from the first row that can be due. */
export class BookLane implements Lane {
  readonly rank = RANK.book
  readonly index: number
  readonly stream: ReplayStream
  at: number
  sequence = 0
  isReady = false
  isDone = false
  private readonly store: Store
  private readonly budget: RowBudget
  private readonly start: number
  private readonly end: number
  private readonly onDamage: (gaps: readonly Gap[]) => void
  private runs: BookRun[] = []
  /** The next row of the first run. */
  private row = 0
  private after: number | undefined
  private hasMore = true

  constructor(
    store: Store,
    budget: RowBudget,
    stream: ReplayStream,
    range: { readonly start: number; readonly end: number },
    onDamage: (gaps: readonly Gap[]) => void,
  ) {
    this.store = store
    this.budget = budget
    this.stream = stream
    this.index = stream.index
    this.start = range.start
    this.end = range.end
    this.onDamage = onDamage
    // Before its first row nothing of it is read.
    this.at = Math.max(range.start, stream.firstReceived)
    this.isDone = this.at >= range.end || stream.lastReceived < range.start
  }

  async load(): Promise<void> {
    const { venue, key } = this.stream.instrument
    while (this.hasMore && this.runs.length === 0) {
      const page = await this.store.books({
        venue,
        key,
        order: 'asc',
        start: this.start,
        end: this.end,
        limit: this.budget.bookPage,
        numbers: true,
        ...(this.after === undefined ? {} : { after: this.after }),
      })
      const last = page.runs.at(-1)
      this.hasMore = page.hasMore && last !== undefined
      if (last !== undefined) this.after = last.firstSequence + last.to - 1
      for (const run of page.runs) this.hold(run)
      if (page.corrupt.length > 0) this.onDamage(page.corrupt)
    }
    this.look()
  }

  /** Takes rows that lie before a place, at most so many; there is always one. */
  takeBefore(limit: Place | undefined, most: number): BookRun {
    const run = this.runs[0]!
    const from = this.row
    const stop = Math.min(run.to, from + most)
    this.row++
    this.sequence++
    for (; this.row < stop; this.row++, this.sequence++) {
      this.at = run.columns.received[this.row]!
      if (limit !== undefined && !isBefore(this, limit)) break
    }
    const to = this.row
    this.budget.give(to - from)
    if (to === run.to) {
      this.runs.shift()
      this.look()
    } else this.at = run.columns.received[to]!
    return { ...run, from, to }
  }

  /** Gives back what is held. */
  close(): void {
    for (const { from, to } of this.runs) this.budget.give(to - from)
    if (this.runs[0] !== undefined) this.budget.take(this.row - this.runs[0].from)
    this.runs = []
    this.isDone = true
  }

  private hold(run: BookRun): void {
    const { last } = this.stream
    const to = Math.min(run.to, last - run.firstSequence + 1)
    if (to < run.to) this.hasMore = false
    if (to <= run.from) return
    this.budget.take(to - run.from)
    const cut = to < run.to ? { ...run, to } : run
    // Every step folds the columns up to its rows: of a long tail that is done once a page.
    const isShared = this.budget.isShared && run.columns.count <= MOST_SHARED_ROWS
    this.runs.push(isShared ? cut : copyRows(cut))
  }

  private look(): void {
    const run = this.runs[0]
    this.isReady = run !== undefined
    if (run !== undefined) {
      this.row = run.from
      this.at = run.columns.received[run.from]!
      this.sequence = run.firstSequence + run.from
    } else if (!this.hasMore) this.isDone = true
  }
}

const ladders: Ladder[] = []

/** The rows of a run in columns of their own: those of the store hold a whole chunk in memory. */
export function copyRows({ columns, firstSequence, from, to }: BookRun): BookRun {
  const { priceDecimals } = columns
  const changes = columns.changeEnd[to - 1]! - columns.changeStart(from)
  const copy = new BookColumns(priceDecimals, to - from, changes)
  const ladder = (ladders[priceDecimals] ??= new Ladder(priceDecimals))
  loadBase(ladder, columns)
  applyRows(ladder, columns, 0, from)
  copy.baseKey = ladder.keys()
  copy.baseSize = copy.baseKey.map((key) => ladder.size[key]!)
  copy.pushRows(columns, from, to)
  return { columns: copy, firstSequence: firstSequence + from, from: 0, to: to - from }
}
