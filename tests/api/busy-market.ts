import { VENUES, type MarketRecord, type VenueId } from '@priorbook/sdk/domain'
import { marketPath } from '../../packages/service/src/api/markets/addresses.ts'
import type { InstrumentFacts, Store } from '../../packages/service/src/store/store.ts'

/**
 * The market of a venue with the most observations among those that were open before capture began: of those with
 * trades and samples between their first and last row, if there are any.
 */
export type BusyMarket = {
  readonly record: MarketRecord
  /** Up to the market, such as `/v3/venueb/TICKER`. */
  readonly path: string
  /** The instrument with the most rows, and its first and last received time (µs). */
  readonly key: string
  readonly rows: number
  readonly first: number
  readonly last: number
  /** Whether it has trades and samples, where the venue has them. */
  readonly isComplete: boolean
}

/** Finds it. Once a complete one is there, a recorder that goes on can only find busier ones. */
export async function findBusiest(store: Store, venue: VenueId): Promise<BusyMarket | undefined> {
  // With a gap before its first book, whichever of the two: the rounds of fast venues begin at any time.
  const before = await store.gaps({ venue, reason: 'before_capture' })
  const late = await store.gaps({ venue, reason: 'late_discovery' })
  const keys = new Set([...before, ...late].map(({ key }) => key))
  const facts = (await store.instruments(venue))
    .filter(({ instrument }) => keys.has(instrument.key))
    .toSorted((a, b) => b.lastSequence - a.lastSequence)
  const complete = await findComplete(store, facts)
  const chosen = complete ?? facts[0]
  if (chosen === undefined) return undefined
  const { record } = (await store.market(venue, chosen.instrument.market))!
  return {
    record,
    path: marketPath(venue, record.marketId, record.asset),
    key: chosen.instrument.key,
    rows: chosen.lastSequence,
    first: chosen.firstReceived,
    last: chosen.lastReceived,
    isComplete: complete !== undefined,
  }
}

async function findComplete(
  store: Store,
  facts: readonly InstrumentFacts[],
): Promise<InstrumentFacts | undefined> {
  for (const one of facts) {
    if ((await hasTrades(store, one)) && (await hasSamples(store, one))) return one
  }
  return undefined
}

async function hasTrades(
  store: Store,
  { instrument, ...facts }: InstrumentFacts,
): Promise<boolean> {
  const { venue, key } = instrument
  if (!VENUES[venue].hasTrades) return true
  const range = { start: facts.firstReceived, end: facts.lastReceived }
  const { ordinals } = await store.trades({ venue, key, order: 'asc', limit: 1, ...range })
  return ordinals.length > 0
}

async function hasSamples(
  store: Store,
  { instrument, ...facts }: InstrumentFacts,
): Promise<boolean> {
  const { venue, market } = instrument
  const range = { start: facts.firstReceived, end: facts.lastReceived }
  const series = await store.series(venue, market)
  // Two are enough, and a market without a trade has no last one.
  for (const metric of VENUES[venue].metrics.slice(0, 2)) {
    let isFound = false
    for (const one of series.filter((each) => each.metric === metric)) {
      const { key } = one.instrument
      const query = { venue, key, metric, order: 'asc', limit: 1, ...range } as const
      const { ordinals } = await store.samples(query)
      isFound ||= ordinals.length > 0
    }
    if (!isFound) return false
  }
  return true
}
