import { isTradesGap, type Gap, type VenueId } from '@priorbook/sdk/domain'
import type { GapAudience } from './gap-publisher.ts'
import type { InstrumentFeed } from './instrument-feed.ts'
import type { Subscription } from './subscription.ts'

/** The open feeds of a hub, by instrument and by market. */
export class FeedRegistry implements GapAudience {
  private readonly feeds = new Map<string, InstrumentFeed>()
  private readonly byMarket = new Map<string, Set<InstrumentFeed>>()
  private readonly subscriptions: ReadonlySet<Subscription>

  constructor(subscriptions: ReadonlySet<Subscription>) {
    this.subscriptions = subscriptions
  }

  get size(): number {
    return this.feeds.size
  }

  values(): Iterable<InstrumentFeed> {
    return this.feeds.values()
  }

  get(instrument: string): InstrumentFeed | undefined {
    return this.feeds.get(instrument)
  }

  /** The feeds of a market; empty when none is open. */
  ofMarket(venue: VenueId, marketId: string): ReadonlySet<InstrumentFeed> {
    return this.byMarket.get(`${venue}/${marketId}`) ?? NO_FEEDS
  }

  add(feed: InstrumentFeed): void {
    this.feeds.set(feed.name, feed)
    const market = `${feed.instrument.venue}/${feed.instrument.market}`
    const beside = this.byMarket.get(market)
    if (beside === undefined) this.byMarket.set(market, new Set([feed]))
    else beside.add(feed)
  }

  remove(feed: InstrumentFeed): void {
    this.feeds.delete(feed.name)
    const market = `${feed.instrument.venue}/${feed.instrument.market}`
    const beside = this.byMarket.get(market)
    beside?.delete(feed)
    if (beside?.size === 0) this.byMarket.delete(market)
  }

  /** True when an open feed is concerned by a gap; every gap of a venue or of its trades counts. */
  isConcernedBy(gap: Gap): boolean {
    if (isTradesGap(gap)) return true
    const { venue, scope, key } = gap
    switch (scope) {
      case 'instrument':
        return this.feeds.has(`${venue}:${key}`)
      case 'market':
        return this.byMarket.has(`${venue}/${key}`)
      case 'venue':
        return true
    }
  }

  *readersOf(gap: Gap): Iterable<Subscription> {
    const { venue, scope, key } = gap
    switch (isTradesGap(gap) ? 'trades' : scope) {
      case 'trades':
        for (const subscription of this.ofVenue(venue)) {
          if (subscription.datasets.has('trades')) yield subscription
        }
        break
      case 'instrument':
        yield* this.feeds.get(`${venue}:${key}`)?.subscriptions ?? []
        break
      case 'market':
        for (const { subscriptions } of this.ofMarket(venue, key)) yield* subscriptions
        break
      case 'venue':
        yield* this.ofVenue(venue)
    }
  }

  private *ofVenue(venue: VenueId): Iterable<Subscription> {
    for (const subscription of this.subscriptions) {
      if (subscription.venues.has(venue) && hasJoined(subscription, venue)) yield subscription
    }
  }

  settle({ venue, key }: Gap): void {
    this.feeds.get(`${venue}:${key}`)?.settle()
  }
}

// A subscription that is still joining gets the gap with its first instrument of the venue.
function hasJoined({ attached, pending }: Subscription, venue: VenueId): boolean {
  const isOfVenue = (name: string): boolean => name.startsWith(`${venue}:`)
  return attached.values().some(isOfVenue) || !pending.values().some(isOfVenue)
}

const NO_FEEDS: ReadonlySet<never> = new Set()
