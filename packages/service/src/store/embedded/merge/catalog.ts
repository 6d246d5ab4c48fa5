import type { MarketRevision, Micros, VenueId } from '@priorbook/sdk/domain'
import type { Maker } from '../log.ts'
import type { MarketQuery, MarketState, StoreReader } from '../../store.ts'
import { toRevisionNumber, type Numbers } from './source.ts'
import type { MergeSink } from './target.ts'

/** One recorder's store of a venue's markets and quarantine. */
export type CatalogSide = {
  readonly store: StoreReader
  readonly numbers: Numbers
  readonly maker: Maker
}

const PAGE_MARKETS = 256
const PAGE_REVISIONS = 64
// Max messages per page: each may have 64 KiB.
const PAGE_MESSAGES = 64

/**
 * Writes the revisions of every market from all recorders by received time, and yields each market once.
 * Where several recorders know a market, its revisions get numbers of their own, because their journals
 * have no common order; such a number does not identify a raw message.
 */
export async function* mergeMarkets(
  venue: VenueId,
  sides: readonly CatalogSide[],
  sink: MergeSink,
): AsyncGenerator<MarketState, void, void> {
  for (const [index, { store }] of sides.entries()) {
    for await (const market of marketsOf(store, venue)) {
      const { marketId } = market.record
      const first = await firstKnown(sides, venue, marketId)
      if (first !== index) continue
      await mergeMarket(venue, marketId, sides, sink)
      yield market
    }
  }
}

/** Copies a recorder's quarantined messages. */
export async function copyQuarantine(
  venue: VenueId,
  { store, numbers, maker }: CatalogSide,
  sink: MergeSink,
): Promise<number> {
  let count = 0
  for (let after = 0; ;) {
    const page = await store.quarantine({ venue, after, limit: PAGE_MESSAGES })
    for (const { id: _id, ...message } of page) {
      if (message.journal > numbers.bound) continue
      const journal = numbers.at(message.journal)
      sink.rowsOf(venue, maker).quarantine.push({ ...message, journal })
      count++
    }
    await sink.flush()
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_MESSAGES) return count
    after = last.id
  }
}

async function mergeMarket(
  venue: VenueId,
  marketId: string,
  sides: readonly CatalogSide[],
  sink: MergeSink,
): Promise<void> {
  const walks = sides.map((side) => revisionsOf(venue, marketId, side))
  const ahead = await Promise.all(walks.map((walk) => walk.next()))
  const isAlone = ahead.filter(({ value }) => value).length === 1
  const knownAt = (side: number): number => ahead[side]!.value?.knownAt ?? Infinity
  let received = 0
  for (let ordinal = 1; ; ordinal++) {
    let side = 0
    for (let other = 1; other < ahead.length; other++) {
      if (knownAt(other) < knownAt(side)) side = other
    }
    const state = ahead[side]?.value
    if (!state) return
    received = Math.max(received, state.knownAt)
    const { numbers, maker } = sides[side]!
    const revision: MarketRevision = {
      kind: 'market',
      received: received as Micros,
      journal: isAlone ? numbers.at(state.journal) : toRevisionNumber(ordinal),
      record: state.record,
    }
    sink.rowsOf(venue, maker).revisions.push(revision)
    if (sink.isFull) await sink.flush()
    ahead[side] = await walks[side]!.next()
  }
}

async function* revisionsOf(
  venue: VenueId,
  marketId: string,
  { store, numbers }: CatalogSide,
): AsyncGenerator<MarketState, void, void> {
  for (let after = 0; ;) {
    const page = await store.revisions(venue, marketId, { after, limit: PAGE_REVISIONS })
    for (const state of page) {
      if (state.journal > numbers.bound) return
      yield state
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_REVISIONS) return
    after = last.revision
  }
}

async function firstKnown(
  sides: readonly CatalogSide[],
  venue: VenueId,
  marketId: string,
): Promise<number> {
  for (const [index, { store }] of sides.entries()) {
    if ((await store.market(venue, marketId)) !== undefined) return index
  }
  return -1
}

async function* marketsOf(
  store: StoreReader,
  venue: VenueId,
): AsyncGenerator<MarketState, void, void> {
  let after: MarketQuery['after']
  for (;;) {
    const page = await store.markets({ venue, limit: PAGE_MARKETS, after })
    yield* page.markets
    const last = page.markets.at(-1)
    if (last === undefined || !page.hasMore) return
    after = { openTime: last.sortTime, venue, marketId: last.record.marketId }
  }
}
