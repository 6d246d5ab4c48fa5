import type { MarketState, Store } from '../../store/store.ts'
import { RANK, type Lane } from './lane.ts'
import type { ReplayMarket } from './scope.ts'

/** The record of a market: as known where the replay begins, then every revision of it. */
export class MarketLane implements Lane {
  readonly rank = RANK.market
  readonly index: number
  at: number
  sequence = 0
  isReady = false
  isDone = false
  private readonly store: Store
  private readonly market: ReplayMarket
  private readonly range: { readonly start: number; readonly end: number }
  private next: MarketState | undefined
  private isBegun = false

  constructor(
    store: Store,
    market: ReplayMarket,
    index: number,
    range: { readonly start: number; readonly end: number },
  ) {
    this.store = store
    this.market = market
    this.index = index
    this.range = range
    this.at = range.start
  }

  async load(): Promise<void> {
    const { venue, marketId, lastRevision } = this.market
    if (!this.isBegun) {
      this.isBegun = true
      this.next = await this.store.market(venue, marketId, this.range.start)
    }
    if (this.next === undefined && this.sequence < lastRevision) {
      const page = { after: this.sequence, limit: 1 }
      this.next = (await this.store.revisions(venue, marketId, page))[0]
    }
    const { next } = this
    this.isReady = next !== undefined && next.revision <= lastRevision
    if (!this.isReady) this.isDone = true
    else {
      this.sequence = next!.revision
      // Our clock may have stepped back between two revisions; their order stays.
      this.at = Math.max(this.at, next!.knownAt)
      this.isDone = this.at >= this.range.end
    }
  }

  take(): MarketState {
    const taken = this.next!
    this.next = undefined
    this.isReady = false
    this.isDone = this.sequence >= this.market.lastRevision
    return taken
  }
}
