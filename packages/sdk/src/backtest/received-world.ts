import type { Gap, MarketRecord } from '../domain/index.ts'
import type { BookEvent, ReferenceEvent } from '../replay/index.ts'
import { ABSENT, BookColumns } from '../tape/index.ts'
import { InstrumentBook, MarketState } from './market-state.ts'
import { References } from './references.ts'
import type { BookView, MarketView, ReferenceView } from './strategy.ts'
import { FrozenBook, FrozenMarket } from './views.ts'

/** A row of a book as it was when it was received: events of a replay are reused. */
export type ReceivedRow = { readonly event: BookEvent; readonly restarts: boolean }

/** Copies the row of an event, and the whole book where it replaces one. */
export function copyRow(event: BookEvent, restarts: boolean): ReceivedRow {
  const { columns, row, at, sequence, source, flags, instrument } = event
  const from = columns.changeStart(row)
  const to = columns.changeEnd[row]!
  const copy = new BookColumns(columns.priceDecimals, 1, to - from)
  const kept = source ?? ABSENT
  const head = { received: at, source: kept, venueSeq: -1, channel: -1, journal: 0, flags }
  copy.push(head, [...columns.key.subarray(from, to)], [...columns.size.subarray(from, to)])
  const ladder = restarts ? event.ladder.clone() : event.ladder
  const same = { kind: 'book', at, sequence, source, flags, instrument, ladder } as const
  return { event: { ...same, columns: copy, row: 0 }, restarts }
}

/**
 * The markets, books and prices that have reached a strategy whose feed is delayed. Orders meet the books of
 * the world; the strategy sees only these.
 */
export class ReceivedWorld {
  readonly markets = new Map<string, MarketState>()
  readonly references = new References()
  private readonly books = new Map<InstrumentBook, InstrumentBook>()

  /** Applies a row of a book of the world, and gives the view of the received book. */
  book(source: InstrumentBook, { event, restarts }: ReceivedRow): BookView {
    let book = this.books.get(source)
    if (book === undefined) {
      const state = this.stateOf(source.market)
      book = new InstrumentBook(state, source.key, source.outcome)
      book.view = new FrozenBook(book, book.outcome, new FrozenMarket(state))
      this.books.set(source, book)
      state.books.push(book)
      state.choosePrimary(book)
    }
    book.apply(event, restarts)
    return book.view!
  }

  /** True where the best prices or sizes of a received book have changed. */
  quoteMoved(source: InstrumentBook): boolean {
    return this.books.get(source)?.quoteMoved() ?? false
  }

  record(source: MarketState, record: MarketRecord): MarketView {
    const state = this.stateOf(source)
    state.setRecord(record)
    for (const book of state.books) state.choosePrimary(book)
    return new FrozenMarket(state)
  }

  gap(source: MarketState, gap: Gap, edge: 'open' | 'close', at: number): void {
    const state = this.stateOf(source)
    if (edge === 'close') {
      state.closeGap(gap, at)
      return
    }
    // A market may have been created inside the gap, and then has it already.
    if (!state.openGaps.includes(gap)) state.openGap(gap, at)
  }

  reference(event: ReferenceEvent): ReferenceView {
    return this.references.apply(event)
  }

  /** The market as it has been received so far. */
  stateOf({ index, venue, marketId, name, assumed, assume, openGaps }: MarketState): MarketState {
    let state = this.markets.get(name)
    if (state === undefined) {
      state = new MarketState(index, venue, marketId, assume)
      if (assumed !== undefined) state.setRecord(assumed)
      for (const gap of openGaps) state.openGap(gap, gap.start)
      this.markets.set(name, state)
    }
    return state
  }
}
