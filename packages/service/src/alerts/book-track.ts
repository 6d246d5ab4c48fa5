import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { BookRun, Ladder } from '@priorbook/sdk/tape'
import { BookCursor } from '../live/book-cursor.ts'
import { gapKeysOf, gapsOfKeys, storeGaps } from '../rows/index.ts'
import type { BookPage, StoreReader } from '../store/store.ts'

/** One book that a rule reads. */
export type TrackedBook = {
  readonly venue: VenueId
  readonly key: string
  readonly marketId: string
}

/** The last row that was read. */
export type TrackPosition = { readonly sequence: number; readonly at: number }

/** New rows of a book, and the gaps around them. */
export type TrackPage = {
  readonly rows: readonly TrackRow[]
  readonly hasMore: boolean
}

/** One row that has not been applied yet. */
export type TrackRow = {
  readonly track: BookTrack
  readonly run: BookRun
  readonly row: number
  readonly sequence: number
  readonly at: number
}

const PAGE = 256

/** Reads the rows of one book in their order, and knows where gaps separate them. */
export class BookTrack {
  readonly book: TrackedBook
  readonly name: string
  readonly #store: StoreReader
  readonly #cursor = new BookCursor()
  #position: TrackPosition = { sequence: 0, at: 0 }
  #gaps: readonly Gap[] = []

  constructor(store: StoreReader, book: TrackedBook) {
    this.#store = store
    this.book = book
    this.name = `${book.venue}:${book.key}`
  }

  get position(): TrackPosition {
    return this.#position
  }

  get ladder(): Ladder {
    return this.#cursor.ladder
  }

  /** True once there is a book. */
  get isKnown(): boolean {
    return this.#cursor.sequence > 0
  }

  /** The id of the row that the book is of. */
  get rowId(): string {
    return `${this.name}:${this.#position.sequence}`
  }

  /** Starts with the book of a time. */
  async begin(at: number): Promise<void> {
    const { venue, key } = this.book
    const { run, lastBefore } = await this.#store.asOf({ venue, key, at })
    if (run !== undefined) {
      const row = run.to - 1
      this.#cursor.jump(run, row)
      this.#position = { sequence: run.firstSequence + row, at: run.columns.received[row]! }
    } else if (lastBefore !== undefined) {
      this.#position = { sequence: lastBefore.sequence, at: lastBefore.received }
    }
  }

  /** Goes on after a row; where it was removed meanwhile, the next row is like the first one after a gap. */
  async resume(position: TrackPosition): Promise<void> {
    this.#position = position
    if (position.sequence === 0) return
    const [row] = toRows(this, (await this.#page(1)).runs)
    if (row?.sequence === position.sequence && row.at === position.at) {
      this.#cursor.jump(row.run, row.row)
    }
  }

  /**
   * Reads the next rows. Gaps are read after them, so that none that separates them is missed. A rebuild may have put
   * another row, or none, in the place of the last one that was read: then it goes on after the rows up to its time.
   */
  async read(): Promise<TrackPage> {
    let page = await this.#page(PAGE)
    let rows = toRows(this, page.runs)
    const { sequence, at } = this.#position
    const isRebuilt = rows[0] === undefined || (rows[0].sequence === sequence && rows[0].at !== at)
    if (sequence > 0 && isRebuilt && page.corrupt.length === 0) {
      this.#position = { sequence: 0, at }
      await this.begin(at)
      page = await this.#page(PAGE)
      rows = toRows(this, page.runs)
    }
    const { sequence: last } = this.#position
    const fresh = rows.filter((row) => row.sequence > last)
    const keys = gapKeysOf([this.book])
    const gaps = await gapsOfKeys(storeGaps(this.#store, this.book.venue), keys, { start: at })
    this.#gaps = [...gaps, ...page.corrupt]
    return { rows: fresh, hasMore: page.hasMore && fresh.length > 0 }
  }

  // The last row that was read, and those after it.
  #page(limit: number): Promise<BookPage> {
    const { venue, key } = this.book
    const after = Math.max(0, this.#position.sequence - 1)
    return this.#store.books({ venue, key, order: 'asc', after, limit, numbers: true })
  }

  /** Applies a row; false where a gap, or rows that are gone, separate it from the one before. */
  apply({ run, row, sequence, at }: TrackRow): boolean {
    const before = this.#position
    const cursor = this.#cursor
    const isNext = cursor.sequence > 0 && cursor.precedes(run, row)
    if (isNext || (cursor.sequence === 0 && sequence === 1)) cursor.step(run, row)
    else cursor.jump(run, row)
    this.#position = { sequence, at }
    const isCut = this.#gaps.some(
      (gap) => this.#isBefore(gap, { sequence, at }) && !this.#isBefore(gap, before),
    )
    return isNext && !isCut
  }

  /** True where the book is not known at a time: inside a gap, whose ends are known. */
  isDark(at: number): boolean {
    return this.#gaps.some(({ start, end = Infinity }) => start < at && at < end)
  }

  // Where times tie, the sequence decides for gaps of the book itself.
  #isBefore(gap: Gap, { sequence, at }: TrackPosition): boolean {
    if (at !== gap.start) return at > gap.start
    return gap.scope === 'instrument' && gap.key === this.book.key && sequence > gap.afterSequence
  }
}

function toRows(track: BookTrack, runs: readonly BookRun[]): TrackRow[] {
  const rows: TrackRow[] = []
  for (const run of runs) {
    for (let row = run.from; row < run.to; row++) {
      const at = run.columns.received[row]!
      rows.push({ track, run, row, sequence: run.firstSequence + row, at })
    }
  }
  return rows
}
