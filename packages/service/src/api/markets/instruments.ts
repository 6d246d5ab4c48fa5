import { VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import type { BookContext, SampleContext, SampleMetric } from '@priorbook/sdk/wire'
import type { ApiContext } from '../route.ts'

/** One book of a market, with the context that its rows carry. */
export type MarketInstrument = BookContext & {
  /** The index of its outcome in the market; 0 where the market names none. */
  readonly index: number
}

/**
 * The books of a market: the book of the first outcome where the venue has one book per market, else one
 * book per token. Where the catalogue never named the tokens, the recorded ones are used.
 */
export function instrumentsOf(
  { store }: ApiContext,
  record: MarketRecord,
): readonly MarketInstrument[] | Promise<readonly MarketInstrument[]> {
  const named = namedInstruments(record)
  return named.length > 0 ? named : recordedInstruments(store, record)
}

/**
 * The key of the first book of a market; absent where nothing of it was recorded. Lists show thousands of records once:
 * their instruments are not made, and not kept.
 */
export async function firstKeyOf(
  { store }: ApiContext,
  record: MarketRecord,
): Promise<string | undefined> {
  const { venue, marketId, outcomes } = record
  if (VENUES[venue].booksPer === 'market') return marketId
  const named = outcomes.find(({ tokenId }) => tokenId !== undefined)
  if (named !== undefined) return named.tokenId
  const [recorded] = await store.instrumentsOf(venue, marketId)
  return recorded?.instrument.key
}

async function recordedInstruments(
  store: ApiContext['store'],
  record: MarketRecord,
): Promise<readonly MarketInstrument[]> {
  const recorded = await store.instrumentsOf(record.venue, record.marketId)
  return recorded.map(({ instrument: { key } }, index) => ({
    ...sharedBy(record),
    key,
    index,
    tokenId: key,
  }))
}

/** The context of an instrument’s rows, as far as the market record knows it. */
export function instrumentOf(record: MarketRecord, key: string): MarketInstrument {
  const named = namedInstruments(record).find((instrument) => instrument.key === key)
  return named ?? { ...sharedBy(record), key, index: 0, tokenId: key }
}

/** The series of one metric of a market: one for each outcome that has a token. */
export function sampleSeriesOf(
  record: MarketRecord,
  metric: SampleMetric,
): readonly SampleContext[] {
  const { venue, marketId, conditionId, eventId } = sharedBy(record)
  return record.outcomes.flatMap(({ label: outcome, tokenId }) =>
    tokenId === undefined
      ? []
      : [{ venue, key: tokenId, metric, marketId, eventId, conditionId, outcome, tokenId }],
  )
}

function namedInstruments(record: MarketRecord): readonly MarketInstrument[] {
  let named = namedBy.get(record)
  if (named === undefined) namedBy.set(record, (named = nameInstruments(record)))
  return named
}

// Requests for a market share its record object, and renderers cache what they made for an instrument
// with the instrument object: the same record must give the same objects.
const namedBy = new WeakMap<MarketRecord, readonly MarketInstrument[]>()

function nameInstruments(record: MarketRecord): readonly MarketInstrument[] {
  const { venue, marketId } = record
  const shared = sharedBy(record)
  if (VENUES[venue].booksPer === 'market') {
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
