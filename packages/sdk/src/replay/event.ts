import {
  VENUES,
  type Gap,
  type MarketRecord,
  type Micros,
  type PriceTicks,
  type SizeUnits,
  type VenueId,
} from '../domain/index.ts'
import type { BookColumns, Ladder } from '../tape/index.ts'
import type { BookContext } from '../wire/index.ts'

/** An instrument of a replay, with its index in the replay's list of instruments. */
export type ReplayInstrument = BookContext & {
  readonly index: number
  readonly priceDecimals: number
  readonly sizeDecimals: number
}

/** A row of an instrument's book, received at `at`. */
export type BookEvent = {
  readonly kind: 'book'
  readonly at: Micros
  readonly instrument: ReplayInstrument
  readonly sequence: number
  readonly source: Micros | undefined
  readonly flags: number
  /** The whole book after the row; it changes with the next event of the instrument. */
  readonly ladder: Ladder
  /** The row's changes, in the columns of its chunk. */
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

/** A sample of one metric; its value is decimal text. */
export type SampleEvent = {
  readonly kind: 'sample'
  readonly at: Micros
  readonly instrument: ReplayInstrument
  readonly sequence: number
  readonly metric: string
  readonly value: string
}

/** A reference price of an asset, as a feed of a venue sent it; the price is decimal text. */
export type ReferenceEvent = {
  readonly kind: 'reference'
  readonly at: Micros
  readonly venue: VenueId
  readonly feed: string
  readonly asset: string
  readonly sequence: number
  readonly source: Micros | undefined
  readonly flags: number
  readonly price: string
}

/** A market record that became known at `at`. */
export type MarketEvent = {
  readonly kind: 'market'
  readonly at: Micros
  readonly record: MarketRecord
}

/** A gap begins (`open`) or ends (`close`); a gap that is still open has no second event. */
export type ReplayGapEvent = {
  readonly kind: 'gap'
  readonly at: Micros
  readonly edge: 'open' | 'close'
  readonly gap: Gap
}

/**
 * An event of a replay. Events are sorted by received time, then by kind (market, gap close, book, trade,
 * sample, reference, gap open), then by instrument or series, then by sequence. The objects of `book` and `trade` events are
 * reused for the next event: copy what you keep.
 */
export type ReplayEvent =
  | BookEvent
  | TradeEvent
  | SampleEvent
  | ReferenceEvent
  | MarketEvent
  | ReplayGapEvent

/** Takes events in their order. */
export interface EventSink {
  apply(event: ReplayEvent): void
  /** The same for a row of a book, of which there are far more than of all other events. */
  applyRow(event: BookEvent): void
}

/**
 * Consecutive events; a batch is valid until the next one is requested. Where it has `feed`, that hands all of them
 * to a sink instead, which is faster: the rows of one book come in a plain loop while no other event is due.
 */
export type ReplayBatch = Iterable<ReplayEvent> & { feed?(sink: EventSink): void }

/** The identifiers of one instrument of a market. */
export function contextOf(
  venue: VenueId,
  marketId: string,
  key: string,
  record: MarketRecord | undefined,
): BookContext {
  if (record === undefined) return { venue, key, marketId }
  // A book of a whole market shows its first outcome; other keys are tokens.
  const outcome =
    record.outcomes.find(({ tokenId }) => tokenId === key) ??
    (key === marketId ? record.outcomes.find(({ index }) => index === 0) : undefined)
  const isToken = VENUES[venue].booksPer === 'token'
  return {
    venue,
    key,
    marketId,
    conditionId: record.conditionId,
    eventId: record.eventId ?? record.eventTicker ?? record.topicId,
    seriesTicker: record.seriesTicker,
    outcome: outcome?.label,
    tokenId: outcome?.tokenId ?? (isToken ? key : undefined),
  }
}

/** Numbers instruments by venue and key: their order among events of the same time. */
export function numberInstruments(contexts: Iterable<BookContext>): readonly ReplayInstrument[] {
  return [...contexts]
    .sort((left, right) => compareText(left.venue, right.venue) || compareText(left.key, right.key))
    .map((context, index) => {
      const { priceDecimals, sizeDecimals } = VENUES[context.venue]
      return { ...context, index, priceDecimals, sizeDecimals }
    })
}

/** Compares by code units, independent of the locale. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : +(left > right)
}
