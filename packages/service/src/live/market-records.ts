import type { VenueId } from '@priorbook/sdk/domain'
import { BoundedMap } from '../lib/bounded-map.ts'
import type { MarketState, StoreReader } from '../store/store.ts'

// Max market records in memory, about twice the markets that trade at a time.
const MAX_RECORDS = 20_000
// Max revisions of a market read at once.
const PAGE = 100

/** Caches the newest record of each market and finds the revisions to publish. */
export class MarketRecords {
  private readonly store: StoreReader
  private readonly records = new BoundedMap<string, MarketState | undefined>(MAX_RECORDS)
  /** Markets whose cached record may be newer than the published one. */
  private readonly unpublished = new Set<string>()

  constructor(store: StoreReader) {
    this.store = store
  }

  /** The newest record of a market; undefined when the store has none. */
  async find(venue: VenueId, marketId: string): Promise<MarketState | undefined> {
    const name = nameOf(venue, marketId)
    if (this.records.has(name)) return this.records.get(name)
    const market = await this.store.market(venue, marketId)
    this.unpublished.add(name)
    this.records.set(name, market)
    return market
  }

  /** The cached record of a market. */
  cached(venue: VenueId, marketId: string): MarketState | undefined {
    return this.records.get(nameOf(venue, marketId))
  }

  /** The revisions to publish, in order. After a failure the next call returns the newest only. */
  async shiftNews(venue: VenueId, marketId: string): Promise<readonly MarketState[]> {
    const name = nameOf(venue, marketId)
    const published = this.unpublished.has(name) ? undefined : this.records.get(name)
    this.unpublished.add(name)
    const news =
      published === undefined
        ? await this.newest(venue, marketId)
        : await this.store.revisions(venue, marketId, { after: published.revision, limit: PAGE })
    if (news.length > 0) this.records.set(name, news.at(-1))
    this.unpublished.delete(name)
    return news
  }

  /** Marks all cached records as published. */
  markPublished(): void {
    this.unpublished.clear()
  }

  clear(): void {
    this.records.clear()
    this.unpublished.clear()
  }

  private async newest(venue: VenueId, marketId: string): Promise<readonly MarketState[]> {
    const market = await this.store.market(venue, marketId)
    return market === undefined ? [] : [market]
  }
}

function nameOf(venue: VenueId, marketId: string): string {
  return `${venue}/${marketId}`
}
