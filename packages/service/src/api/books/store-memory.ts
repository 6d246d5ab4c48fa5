import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { BookRun } from '@priorbook/sdk/tape'
import { toMarketJson, type ValueStyle } from '@priorbook/sdk/wire'
import { JsonText } from '../route.ts'
import type { InstrumentFacts, MarketState, StoreReader } from '../../store/store.ts'

// Max entries per map; the oldest one is evicted.
const MAX_ENTRIES = 4096
// Max gaps per remembered list; longer lists are read by range instead.
const MAX_GAPS = 200
// Max age: retention and rebuilds change a store without moving its position.
const TRUSTED_MS = 1000

type KnownMarket = {
  readonly newest: MarketState
  /** States by revision with the latest time that each is known to hold at. */
  readonly states: Map<number, { readonly state: MarketState; until: number }>
}

/**
 * Caches market records and gaps, which pages read again and again. Entries are valid for one applied
 * position of the venue, which is read first, so that no stale entry is served.
 */
export class StoreMemory {
  private static readonly memories = new WeakMap<StoreReader, StoreMemory>()
  private readonly store: StoreReader
  private readonly venues = new Map<VenueId, VenueMemory>()
  private readonly texts = new WeakMap<MarketState, JsonText[]>()

  private constructor(store: StoreReader) {
    this.store = store
  }

  static of(store: StoreReader): StoreMemory {
    let memory = StoreMemory.memories.get(store)
    if (memory === undefined) {
      memory = new StoreMemory(store)
      StoreMemory.memories.set(store, memory)
    }
    return memory
  }

  /** The cache of a venue as of now. Call once per request, and use the result for that request only. */
  async recall(venue: VenueId): Promise<VenueMemory> {
    const stamp = await this.store.stamp()
    let memory = this.venues.get(venue)
    if (memory?.stamp === stamp) return memory
    // A commit happened, perhaps for another venue.
    const position = await this.store.appliedPosition(venue)
    if (memory?.position !== position || performance.now() - memory.since > TRUSTED_MS) {
      memory = new VenueMemory(this.store, venue, position, stamp)
      this.venues.set(venue, memory)
    }
    return memory
  }

  /** A market record as text, made once for each state and style. */
  marketText(state: MarketState, style: ValueStyle): JsonText {
    let texts = this.texts.get(state)
    if (texts === undefined) this.texts.set(state, (texts = []))
    const { numberFormat, timeFormat } = style
    const index = (numberFormat === 'string' ? 2 : 0) + (timeFormat === 'epoch_us' ? 1 : 0)
    return (texts[index] ??= new JsonText(JSON.stringify(toMarketJson(state, style))))
  }
}

/** Markets and gaps of one venue at one applied position. */
export class VenueMemory {
  readonly position: number
  /** The store's stamp before any entry was read. */
  readonly stamp: string
  readonly since = performance.now()
  private readonly store: StoreReader
  private readonly venue: VenueId
  private readonly markets = new Map<string, KnownMarket>()
  private readonly gapLists = new Map<string, readonly Gap[] | 'long'>()
  private readonly newest = new Map<string, BookRun>()
  private readonly facts = new Map<string, InstrumentFacts>()

  constructor(store: StoreReader, venue: VenueId, position: number, stamp: string) {
    this.store = store
    this.venue = venue
    this.position = position
    this.stamp = stamp
  }

  /** The newest record of a market. */
  async market(id: string): Promise<MarketState | undefined> {
    const known = this.markets.get(id)
    if (known !== undefined) return known.newest
    const newest = await this.store.market(this.venue, id)
    if (newest === undefined) return undefined
    bound(this.markets)
    const states = new Map([[newest.revision, { state: newest, until: Infinity }]])
    this.markets.set(id, { newest, states })
    return newest
  }

  /** A market as known at a time. */
  async marketAt(id: string, time: number): Promise<MarketState | undefined> {
    const states = this.markets.get(id)?.states ?? new Map<number, never>()
    for (const { state, until } of states.values()) {
      if (state.knownAt <= time && time <= until) return state
    }
    const state = await this.store.market(this.venue, id, time)
    if (state === undefined) return undefined
    const known = states.get(state.revision)
    if (known !== undefined) known.until = Math.max(known.until, time)
    else states.set(state.revision, { state, until: time })
    return known?.state ?? state
  }

  /** The newest book of an instrument. */
  async latest(key: string): Promise<BookRun | undefined> {
    const { store, venue } = this
    return this.newest.get(key) ?? keep(this.newest, key, await store.latest({ venue, key }))
  }

  /** The first and last rows of an instrument. */
  async instrument(key: string): Promise<InstrumentFacts | undefined> {
    const { store, venue } = this
    return this.facts.get(key) ?? keep(this.facts, key, await store.instrument({ venue, key }))
  }

  /** The first open gap of several keys. */
  async openGap(keys: readonly string[]): Promise<Gap | undefined> {
    const { store, venue } = this
    for (const key of keys) {
      const list = this.gapLists.get(key) ?? (await this.listGaps(key))
      const open = list === 'long' ? await store.gaps({ venue, key, open: true, limit: 1 }) : list
      const gap = open.find(({ end }) => end === undefined)
      if (gap !== undefined) return gap
    }
    return undefined
  }

  /** The gaps of a key that may touch a span. */
  async gaps(
    key: string,
    span: { readonly start?: number; readonly end?: number },
  ): Promise<readonly Gap[]> {
    const { store, venue } = this
    const list = await this.listGaps(key)
    return list === 'long' ? store.gaps({ venue, key, ...span }) : list
  }

  private async listGaps(key: string): Promise<readonly Gap[] | 'long'> {
    const { store, venue, gapLists } = this
    let list = gapLists.get(key)
    if (list === undefined) {
      const gaps = await store.gaps({ venue, key, limit: MAX_GAPS + 1 })
      list = gaps.length > MAX_GAPS ? 'long' : gaps
      bound(gapLists)
      gapLists.set(key, list)
    }
    return list
  }
}

function keep<T>(map: Map<string, T>, key: string, value: T | undefined): T | undefined {
  if (value === undefined) return undefined
  bound(map)
  map.set(key, value)
  return value
}

function bound(map: Map<string, unknown>): void {
  if (map.size >= MAX_ENTRIES) map.delete(map.keys().next().value!)
}
