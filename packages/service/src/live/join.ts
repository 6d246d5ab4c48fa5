import type { Gap, Instrument, VenueId } from '@priorbook/sdk/domain'
import type { BookContext } from '@priorbook/sdk/wire'
import { gapKeysOf, VENUE_KEY } from '../rows/index.ts'
import type { FeedServices, InstrumentFeed } from './instrument-feed.ts'
import { PublishedGaps } from './gap-publisher.ts'
import type { ResumePoints, Subscription } from './subscription.ts'

/** What joining needs beside what feeds need. */
export type JoinServices = FeedServices & {
  readonly isOpen: (subscription: Subscription) => boolean
  readonly contextOf: (instrument: Instrument) => Promise<BookContext>
  /** Called when a feed could not be caught up for a new reader; the hub retries. */
  readonly onCatchUpFailed: (error: unknown) => void
}

// Max trades read from the store at once.
const PAGE = 256

/** The start of one subscription: attaches it to feeds, each gap sent once over all of them. */
export class Join {
  readonly subscription: Subscription
  readonly points: ResumePoints
  readonly services: JoinServices
  /** The gaps that this reader has got while joining. */
  readonly sentGaps = new PublishedGaps()

  constructor(subscription: Subscription, points: ResumePoints, services: JoinServices) {
    this.subscription = subscription
    this.points = points
    this.services = services
  }

  get isOpen(): boolean {
    return this.services.isOpen(this.subscription)
  }

  /** Sends the open gaps of the venues to a subscription that has no instruments yet. */
  async sendVenueGaps(): Promise<void> {
    for (const venue of this.subscription.venues) {
      await sendVenueGaps(this.subscription, venue, this.services)
    }
  }

  /** Attaches the subscription to a feed at its present row. */
  async joinAtPresent(feed: InstrumentFeed): Promise<void> {
    if (!this.admit(feed)) return
    if (feed.subscriptions.size > 0) {
      try {
        await feed.catchUp()
      } catch (error) {
        this.services.onCatchUpFailed(error)
      }
    }
    const gaps = await this.readCurrentGaps(feed)
    if (!this.isOpen) return
    feed.attach(this.subscription, null, this.points.trades.get(feed.instrument.key) ?? null)
    const lastTrade = await this.sendTrades(feed)
    if (!this.isOpen) return
    feed.setLastTrade(this.subscription, lastTrade)
    this.sendCurrentGaps(feed, gaps)
  }

  /** Ends the waiting for an instrument; false when it must not be attached any more. */
  admit({ name }: InstrumentFeed): boolean {
    this.subscription.pending.delete(name)
    return this.isOpen && !this.subscription.attached.has(name)
  }

  /** The gaps of an instrument, its market and its venue; those that are new go to its other readers. */
  async readCurrentGaps(feed: InstrumentFeed): Promise<readonly Gap[]> {
    const { store, gaps } = this.services
    const { venue, market, key } = feed.instrument
    const start = this.services.recentStart()
    const current: Gap[] = []
    for (const name of gapKeysOf([{ key, marketId: market }])) {
      const isFollowed = gaps.published.follows(venue, name)
      const found = await store.gaps({ venue, key: name, start })
      gaps.published.follow(venue, name)
      for (const gap of found) {
        if (isAhead(gap, feed.sequence)) continue
        current.push(gap)
        if (isFollowed) gaps.publishGap(gap)
        else gaps.published.add(gap)
      }
    }
    return current
  }

  /** Sends the gaps that are open, and those that ended after the newest row. */
  sendCurrentGaps({ sequence }: InstrumentFeed, gaps: readonly Gap[]): void {
    const { subscriber, style } = this.subscription
    for (const gap of gaps) {
      const isAfterRows = gap.scope === 'instrument' && gap.afterSequence >= sequence
      if (gap.end !== undefined && !isAfterRows) continue
      if (this.sentGaps.add(gap)) subscriber.send(style.gap(gap))
    }
  }

  /** Sends the trades after the client's last one and returns the new last one; null for none. */
  async sendTrades(feed: InstrumentFeed): Promise<number | null> {
    const { store } = this.services
    const { subscriber, style, datasets } = this.subscription
    const { instrument, context, lastTrade } = feed
    const { venue, key } = instrument
    const { budget, start } = this.points
    let after = this.points.trades.get(key)
    if (after === undefined || !datasets.has('trades')) return null
    // Unknown, too many or too old trades are skipped: the next one names the client's last trade.
    if (after > lastTrade || lastTrade - after > budget.rows) return toPrevious(after)
    while (after < lastTrade) {
      const page = await store.trades({ venue, key, order: 'asc', after, limit: PAGE })
      for (const [row, ordinal] of page.ordinals.entries()) {
        if (ordinal > lastTrade) break
        if (page.rows.received[row]! < start) return toPrevious(after)
        subscriber.send(style.trade(context, page.rows, row, ordinal, toPrevious(after)))
        subscriber.rows++
        after = ordinal
        budget.rows--
      }
      if (page.ordinals.length === 0) break
    }
    return toPrevious(after)
  }
}

/** Sends the open gaps of a venue to a subscription that has no instrument of it yet. */
export async function sendVenueGaps(
  { subscriber, style }: Subscription,
  venue: VenueId,
  { store, gaps }: Pick<FeedServices, 'store' | 'gaps'>,
): Promise<void> {
  for (const gap of await store.gaps({ venue, key: VENUE_KEY, open: true })) {
    if (!gaps.publishGap(gap)) subscriber.send(style.gap(gap))
  }
}

/** True for a gap that follows rows which are not published yet; it is published with them. */
export function isAhead({ scope, afterSequence }: Gap, sequence: number): boolean {
  return scope === 'instrument' && afterSequence > sequence
}

function toPrevious(ordinal: number): number | null {
  return ordinal === 0 ? null : ordinal
}
