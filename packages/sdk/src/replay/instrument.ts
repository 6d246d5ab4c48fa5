import { VENUES, type MarketRecord, type VenueId } from '../domain/index.ts'
import type { BookContext } from '../wire/index.ts'
import type { ReplayInstrument } from './event.ts'

/** What the rows of one instrument of a market say about where they belong. */
export function contextOf(
  venue: VenueId,
  marketId: string,
  key: string,
  record: MarketRecord | undefined,
): BookContext {
  if (record === undefined) return { venue, key, marketId }
  // A and B have one ladder a market, that of the first outcome; samples of A and books of C a token.
  const outcome =
    record.outcomes.find(({ tokenId }) => tokenId === key) ??
    (key === marketId ? record.outcomes.find(({ index }) => index === 0) : undefined)
  const isToken = venue === 'venuec'
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

/** Numbers instruments by venue and key: the order in which they are told at the same time. */
export function numberInstruments(contexts: Iterable<BookContext>): readonly ReplayInstrument[] {
  return [...contexts]
    .sort((left, right) => compareText(left.venue, right.venue) || compareText(left.key, right.key))
    .map((context, index) => {
      const { priceDecimals, sizeDecimals } = VENUES[context.venue]
      return { ...context, index, priceDecimals, sizeDecimals }
    })
}

/** Compares by code units, the same everywhere. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : +(left > right)
}
