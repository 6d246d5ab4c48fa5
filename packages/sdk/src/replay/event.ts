import type { Gap, MarketRecord, Micros, PriceTicks, SizeUnits } from '../domain/index.ts'
import type { BookColumns, Ladder } from '../tape/index.ts'
import type { BookContext } from '../wire/index.ts'

/** One ladder stream of a replay, with its place in the list of the replay's instruments. */
export type ReplayInstrument = BookContext & {
  readonly index: number
  readonly priceDecimals: number
  readonly sizeDecimals: number
}

/** An observation: the book of an instrument as it was seen at `at`. */
export type BookEvent = {
  readonly kind: 'book'
  readonly at: Micros
  readonly instrument: ReplayInstrument
  readonly sequence: number
  readonly source: Micros | undefined
  readonly flags: number
  /** The whole book after the row; it changes with the next event of the instrument. */
  readonly ladder: Ladder
  /** The row's own changes, in the columns of its chunk. */
  readonly columns: BookColumns
  readonly row: number
}

/** An execution print of the venue. */
export type TradeEvent = {
  readonly kind: 'trade'
  readonly at: Micros
  readonly instrument: ReplayInstrument
  readonly sequence: number
  readonly source: Micros | undefined
  readonly flags: number
  readonly tradeId: string
  readonly price: PriceTicks
  readonly size: SizeUnits
  readonly taker: 'buy' | 'sell' | undefined
}

/** A sample of one metric of venue A, its value as decimal text. */
export type SampleEvent = {
  readonly kind: 'sample'
  readonly at: Micros
  readonly instrument: ReplayInstrument
  readonly sequence: number
  readonly metric: string
  readonly value: string
}

/** A market record as it became known at `at`. */
export type MarketEvent = {
  readonly kind: 'market'
  readonly at: Micros
  readonly record: MarketRecord
}

/** A gap begins (`open`) or ends (`close`); one that never ends has no second event. */
export type ReplayGapEvent = {
  readonly kind: 'gap'
  readonly at: Micros
  readonly edge: 'open' | 'close'
  readonly gap: Gap
}

/**
 * One thing that happened. Events come by received time; at the same time by kind (market, gap close,
 * book, trade, sample, gap open), then by instrument, then by sequence. Objects of `book` and `trade`
 * events are used again for the next one: copy what you keep.
 */
export type ReplayEvent = BookEvent | TradeEvent | SampleEvent | MarketEvent | ReplayGapEvent

/** Some events that follow each other; a batch is good until the next one is asked for. */
export type ReplayBatch = Iterable<ReplayEvent>
