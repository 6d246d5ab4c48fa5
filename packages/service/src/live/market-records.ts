import type { VenueId } from '@priorbook/sdk/domain'
import type { LiveMarket, LiveSource } from './source.ts'

const REMEMBERED = 20_000
const PAGE = 100

/** The newest records of markets, remembered until they change. */
export class MarketRecords {
  private readonly source: LiveSource
  private readonly records = new Map<string, LiveMarket | undefined>()
  /** Markets of which more may be known than was told. */
  private readonly untold = new Set<string>()

  constructor(source: LiveSource) {
    this.source = source
  }

  /** The newest record of a market; absent where there is none. */
  async find(venue: VenueId, marketId: string): Promise<LiveMarket | undefined> {
    const name = nameOf(venue, marketId)
    if (this.records.has(name)) return this.records.get(name)
    const market = await this.source.market(venue, marketId)
    this.untold.add(name)
    this.remember(name, market)
    return market
  }

  /** The record of a market, if it is remembered. */
  known(venue: VenueId, marketId: string): LiveMarket | undefined {
    return this.records.get(nameOf(venue, marketId))
  }

  /** The records of a market that are to be told, in their order. Where it fails, the newest is, later. */
  async takeNews(venue: VenueId, marketId: string): Promise<readonly LiveMarket[]> {
    const name = nameOf(venue, marketId)
    const told = this.untold.has(name) ? undefined : this.records.get(name)
    this.untold.add(name)
    const news =
      told === undefined
        ? await this.newest(venue, marketId)
        : await this.after(venue, marketId, told)
    if (news.length > 0) this.remember(name, news.at(-1))
    this.untold.delete(name)
    return news
  }

  /** All that was known was told. */
  settle(): void {
    this.untold.clear()
  }

  /** Forgets everything. */
  clear(): void {
    this.records.clear()
    this.untold.clear()
  }

  private async newest(venue: VenueId, marketId: string): Promise<readonly LiveMarket[]> {
    const market = await this.source.market(venue, marketId)
    return market === undefined ? [] : [market]
  }

  private after(
    venue: VenueId,
    marketId: string,
    { revision }: LiveMarket,
  ): Promise<readonly LiveMarket[]> {
    return this.source.revisions(venue, marketId, { after: revision, limit: PAGE })
  }

  private remember(name: string, market: LiveMarket | undefined): void {
    if (this.records.size >= REMEMBERED) this.records.clear()
    this.records.set(name, market)
  }
}

function nameOf(venue: VenueId, marketId: string): string {
  return `${venue}/${marketId}`
}
