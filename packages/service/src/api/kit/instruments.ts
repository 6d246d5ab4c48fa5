import type { MarketRecord } from '@priorbook/sdk/domain'
import type { BookContext } from '@priorbook/sdk/wire'
import type { ApiContext } from './route.ts'

/** One ladder stream of a market with what its rows say about where they belong. */
export type MarketInstrument = BookContext & {
  /** The place of its outcome in the market; 0 where the market names none. */
  readonly index: number
}

/**
 * The ladder streams of a market: one of A and B, which is that of the first outcome, and one a token
 * of C. Where no catalogue answer named the tokens, those that were recorded are taken.
 */
export async function instrumentsOf(
  { store }: ApiContext,
  record: MarketRecord,
): Promise<readonly MarketInstrument[]> {
  const { venue, marketId } = record
  const shared = {
    venue,
    marketId,
    conditionId: record.conditionId,
    eventId: record.eventId ?? record.eventTicker ?? record.topicId,
    seriesTicker: record.seriesTicker,
  }
  if (venue !== 'venuec') {
    const first = record.outcomes.find(({ index }) => index === 0)
    const { label: outcome, tokenId } = first ?? {}
    return [{ ...shared, key: marketId, index: 0, outcome, tokenId }]
  }
  const named = record.outcomes.flatMap(({ label, index, tokenId }) =>
    tokenId === undefined ? [] : [{ ...shared, key: tokenId, index, outcome: label, tokenId }],
  )
  if (named.length > 0) return named
  const recorded = await store.instruments(venue)
  return recorded
    .filter(({ instrument }) => instrument.market === marketId)
    .map(({ instrument: { key } }, index) => ({ ...shared, key, index, tokenId: key }))
}
