import { VENUES, type MarketRecord, type VenueId } from '../domain/index.ts'
import type { BookContext } from '../wire/index.ts'
import type { ReplayInstrument } from './event.ts'

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
