import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { BookRun } from '@priorbook/sdk/tape'
import { toMarketJson, type ValueStyle } from '@priorbook/sdk/wire'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { InstrumentFacts, MarketState, StoreReader } from '../../store/store.ts'
import { JsonText } from '../route.ts'

// Max entries per map; the oldest one is evicted.
const MAX_ENTRIES = 4096
// Max gaps per cached list; longer lists are read by range instead.
const MAX_GAPS = 200

const caches = new WeakMap<StoreReader, Map<VenueId, VenueCache>>()

/**
 * The cache of a venue as of now: market records and gaps, which pages read again and again. Call once
 * per request, and use the result for that request only. Entries are valid for one applied position of
 * the venue and one version of the store, which are read first, so that no stale entry is served.
 */
export async function cacheOf(store: StoreReader, venue: VenueId): Promise<VenueCache> {
  let venues = caches.get(store)
  if (venues === undefined) caches.set(store, (venues = new Map()))
  const stamp = await store.stamp()
  let cache = venues.get(venue)
  if (cache?.stamp === stamp) return cache
  // A commit happened, perhaps for another venue.
  const position = await store.appliedPosition(venue)
  const version = await store.version()
  if (cache?.position !== position || cache.version !== version) {
    cache = new VenueCache(store, venue, { position, version, stamp })
    venues.set(venue, cache)
  } else cache.stamp = stamp
  return cache
}

const texts = new WeakMap<MarketState, JsonText[]>()

/** A market record as text, made once for each state and style. */
export function marketText(state: MarketState, style: ValueStyle): JsonText {
  let known = texts.get(state)
  if (known === undefined) texts.set(state, (known = []))
  const { numberFormat, timeFormat } = style
  const index = (numberFormat === 'string' ? 2 : 0) + (timeFormat === 'epoch_us' ? 1 : 0)
  return (known[index] ??= new JsonText(JSON.stringify(toMarketJson(state, style))))
}

type CachedMarket = {
  readonly newest: MarketState
  /** States by revision with the latest time that each is known to hold at. */
  readonly states: Map<number, { readonly state: MarketState; until: number }>
}

/**
 * Markets and gaps of one venue at one applied position. What is cached is given at once, not as a promise:
 * most requests find everything here.
 */
export class VenueCache {
  readonly position: number
  readonly version: number
  /** A stamp of the store at which position and version were still these. */
  stamp: string
  private readonly store: StoreReader
  private readonly venue: VenueId
  private readonly markets = new BoundedMap<string, CachedMarket>(MAX_ENTRIES)
  private readonly gapLists = new BoundedMap<string, readonly Gap[] | 'long'>(MAX_ENTRIES)
  private readonly newest = new BoundedMap<string, BookRun>(MAX_ENTRIES)
  private readonly facts = new BoundedMap<string, InstrumentFacts>(MAX_ENTRIES)

  constructor(
    store: StoreReader,
    venue: VenueId,
    at: { readonly position: number; readonly version: number; readonly stamp: string },
  ) {
    this.store = store
    this.venue = venue
    this.position = at.position
    this.version = at.version
    this.stamp = at.stamp
  }

  /** The newest record of a market. */
  market(id: string): MarketState | Promise<MarketState | undefined> {
    return this.markets.get(id)?.newest ?? this.readMarket(id)
  }

  private async readMarket(id: string): Promise<MarketState | undefined> {
    const newest = await this.store.market(this.venue, id)
    if (newest === undefined) return undefined
    const states = new Map([[newest.revision, { state: newest, until: Infinity }]])
    this.markets.set(id, { newest, states })
    return newest
  }

  /** A market as known at a time. */
  marketAt(id: string, time: number): MarketState | Promise<MarketState | undefined> {
    const states = this.markets.get(id)?.states ?? new Map<number, never>()
    for (const { state, until } of states.values()) {
      if (state.knownAt <= time && time <= until) return state
    }
    return this.readMarketAt(id, time, states)
  }

  private async readMarketAt(
    id: string,
    time: number,
    states: CachedMarket['states'],
  ): Promise<MarketState | undefined> {
    const state = await this.store.market(this.venue, id, time)
    if (state === undefined) return undefined
    const known = states.get(state.revision)
    if (known !== undefined) known.until = Math.max(known.until, time)
    else states.set(state.revision, { state, until: time })
    return known?.state ?? state
  }

  /** The newest book of an instrument. */
  latest(key: string): BookRun | Promise<BookRun | undefined> {
    return this.newest.get(key) ?? this.readLatest(key)
  }

  private async readLatest(key: string): Promise<BookRun | undefined> {
    const run = await this.store.latest({ venue: this.venue, key })
    if (run !== undefined) this.newest.set(key, run)
    return run
  }

  /** The first and last rows of an instrument. */
  instrument(key: string): InstrumentFacts | Promise<InstrumentFacts | undefined> {
    return this.facts.get(key) ?? this.readInstrument(key)
  }

  private async readInstrument(key: string): Promise<InstrumentFacts | undefined> {
    const facts = await this.store.instrument({ venue: this.venue, key })
    if (facts !== undefined) this.facts.set(key, facts)
    return facts
  }

  /** The first open gap of several keys. */
  openGap(keys: readonly string[]): Gap | undefined | Promise<Gap | undefined> {
    for (const key of keys) {
      const list = this.gapLists.get(key)
      if (list === undefined || list === 'long') return this.readOpenGap(keys)
      const gap = list.find(isOpen)
      if (gap !== undefined) return gap
    }
    return undefined
  }

  private async readOpenGap(keys: readonly string[]): Promise<Gap | undefined> {
    const { store, venue } = this
    for (const key of keys) {
      const list = this.gapLists.get(key) ?? (await this.listGaps(key))
      const open = list === 'long' ? await store.gaps({ venue, key, open: true, limit: 1 }) : list
      const gap = open.find(isOpen)
      if (gap !== undefined) return gap
    }
    return undefined
  }

  /** The gaps of a key that may touch a span. */
  async gaps(
    key: string,
    span: { readonly start?: number; readonly end?: number },
  ): Promise<readonly Gap[]> {
    const list = this.gapLists.get(key) ?? (await this.listGaps(key))
    return list === 'long' ? this.store.gaps({ venue: this.venue, key, ...span }) : list
  }

  private async listGaps(key: string): Promise<readonly Gap[] | 'long'> {
    const gaps = await this.store.gaps({ venue: this.venue, key, limit: MAX_GAPS + 1 })
    const list = gaps.length > MAX_GAPS ? 'long' : gaps
    this.gapLists.set(key, list)
    return list
  }
}

function isOpen({ end }: Gap): boolean {
  return end === undefined
}
