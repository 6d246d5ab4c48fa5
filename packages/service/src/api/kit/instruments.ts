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
  const named = namedInstruments(record)
  if (named.length > 0) return named
  const recorded = await store.instruments(record.venue)
  return recorded
    .filter(({ instrument }) => instrument.market === record.marketId)
    .map(({ instrument: { key } }, index) => ({ ...sharedBy(record), key, index, tokenId: key }))
}

/** What rows of an instrument say about where they belong, as far as the record of its market tells. */
export function instrumentOf(record: MarketRecord, key: string): MarketInstrument {
  const named = namedInstruments(record).find((instrument) => instrument.key === key)
  return named ?? { ...sharedBy(record), key, index: 0, tokenId: key }
}

function namedInstruments(record: MarketRecord): readonly MarketInstrument[] {
  let named = namedBy.get(record)
  if (named === undefined) namedBy.set(record, (named = nameInstruments(record)))
  return named
}

// Requests for a market meet the same record again and again, and what is rendered once for an
// instrument is remembered with it.
const namedBy = new WeakMap<MarketRecord, readonly MarketInstrument[]>()

function nameInstruments(record: MarketRecord): readonly MarketInstrument[] {
  const { venue, marketId } = record
  const shared = sharedBy(record)
  if (venue !== 'venuec') {
    const first = record.outcomes.find(({ index }) => index === 0)
    const { label: outcome, tokenId } = first ?? {}
    return [{ ...shared, key: marketId, index: 0, outcome, tokenId }]
  }
  return record.outcomes.flatMap(({ label, index, tokenId }) =>
    tokenId === undefined ? [] : [{ ...shared, key: tokenId, index, outcome: label, tokenId }],
  )
}

function sharedBy(record: MarketRecord): Omit<BookContext, 'key'> {
  return {
    venue: record.venue,
    marketId: record.marketId,
    conditionId: record.conditionId,
    eventId: record.eventId ?? record.eventTicker ?? record.topicId,
    seriesTicker: record.seriesTicker,
  }
}
