import {
  instrumentName,
  isLastStatus,
  type Instrument,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { BookContext } from '@priorbook/sdk/wire'
import { BoundedMap } from '../lib/bounded-map.ts'
import { SYSTEM_CLOCK, type Clock, type Timer } from '../lib/clock.ts'
import { SerialQueue } from '../lib/serial-queue.ts'
import { Yielder } from '../lib/yielder.ts'
import { gapsOfKeys, sharedGapKeys, storeGaps, VENUE_KEY } from '../rows/index.ts'
import type { Changes, MarketState, StoreReader } from '../store/store.ts'
import { ChangeApplier } from './change-applier.ts'
import { ChangeFollower } from './change-follower.ts'
import { FeedRegistry } from './feed-registry.ts'
import { GapPublisher } from './gap-publisher.ts'
import { InstrumentFeed } from './instrument-feed.ts'
import { Join, sendVenueGaps, type JoinServices } from './join.ts'
import { MarketRecords } from './market-records.ts'
import { Resume } from './resume.ts'
import type { Subscriber } from './subscriber.ts'
import type { ResumePoints, Subscription } from './subscription.ts'

/** What a hub is made of. */
export type HubOptions = {
  readonly store: StoreReader
  /** The facts of an instrument that every row carries. */
  contextOf(instrument: Instrument, record: MarketRecord | undefined): BookContext
  /** The present on the time axis of the rows, in microseconds. */
  now(): number
  /** Called with errors of the store; the hub retries. */
  onError(error: unknown): void
  /** Runs ticks, stall checks and conflation; the system clock by default. */
  readonly clock?: Clock
}

// How long after a commit its rows are looked for at the latest.
const TICK_MS = 5
// How long the hub waits after an error of the store.
const ERROR_PAUSE_MS = 500
// How often stalled readers are looked for.
const CHECK_MS = 250
// How long instruments stay attached after their market has ended, for rows and gaps that come late.
const LINGER_MS = 600_000
// Max instruments that were let go of which the last trade is kept: late trades follow it.
const MAX_RELEASED = 100_000
// Max instruments that join per turn of the queue, so that rows of the others do not wait long.
const JOIN_SLICE = 8
// Max channels recovered per turn of the queue, for the same reason.
const RECOVER_SLICE = 16
// Gaps that ended longer ago are not published.
const RECENT_MICROS = 3_600_000_000

/**
 * Publishes new rows of the store to subscribers; each row is encoded once per style. Everything that
 * changes feeds runs in one serial queue, so that rows keep their order.
 */
export class Hub {
  private readonly options: HubOptions
  private readonly clock: Clock
  private readonly queue = new SerialQueue()
  private readonly subscribers = new Set<Subscriber>()
  private readonly subscriptions = new Set<Subscription>()
  private readonly feeds = new FeedRegistry(this.subscriptions)
  private readonly records: MarketRecords
  private readonly follower: ChangeFollower
  private readonly services: JoinServices
  private readonly applier: ChangeApplier
  /** When the markets of open feeds ended, by instrument, in that order. */
  private readonly ended = new Map<string, number>()
  /** The last published trade of instruments that were let go. */
  private readonly released = new BoundedMap<string, number>(MAX_RELEASED)
  private isTicking = false
  private checkTimer: Timer | undefined
  private isClosed = false

  constructor(options: HubOptions) {
    const { store, clock = SYSTEM_CLOCK } = options
    this.options = options
    this.clock = clock
    this.records = new MarketRecords(store)
    this.follower = new ChangeFollower(store)
    this.services = {
      store,
      clock,
      gaps: new GapPublisher(this.feeds),
      recentStart: () => options.now() - RECENT_MICROS,
      flushAndYield: (yielder) => this.flushAndYield(yielder),
      recover: (subscriber) => this.recoverLater(subscriber),
      isOpen: (subscription) => this.subscriptions.has(subscription),
      contextOf: (instrument) => this.contextOf(instrument),
      onCatchUpFailed: (error) => {
        this.applier.scanAllNext()
        options.onError(error)
      },
    }
    this.applier = new ChangeApplier({
      services: this.services,
      feeds: this.feeds,
      records: this.records,
      subscriptions: this.subscriptions,
      loadFeed: (instrument, newSince) => {
        const lastTrade = this.released.get(instrumentName(instrument))
        return this.loadFeed(instrument, { newSince, lastTrade })
      },
      followVenue: (subscription, venue) => this.addVenue(subscription, venue),
      removeIfUnused: (feed) => this.removeIfUnused(feed),
      updateContext: (feed, record) => this.updateContext(feed, record),
    })
  }

  /** How many subscribers, subscriptions and open feeds there are. */
  get counts(): { subscribers: number; subscriptions: number; instruments: number } {
    return {
      subscribers: this.subscribers.size,
      subscriptions: this.subscriptions.size,
      instruments: this.feeds.size,
    }
  }

  /** Adds a reader, who is checked for stalls from now on. */
  addSubscriber(subscriber: Subscriber): void {
    this.subscribers.add(subscriber)
    this.checkTimer ??= this.clock.setInterval(() => {
      for (const one of this.subscribers) this.check(one)
    }, CHECK_MS)
  }

  /** Removes a reader. */
  removeSubscriber(subscriber: Subscriber): void {
    this.subscribers.delete(subscriber)
    if (this.subscribers.size > 0) return
    this.checkTimer?.cancel()
    this.checkTimer = undefined
  }

  /**
   * Opens a subscription: from now on instruments that it wants join when they have new rows. `onOpen` runs
   * before anything is sent to it.
   */
  async subscribe(subscription: Subscription, onOpen: () => void = () => {}): Promise<void> {
    await this.queue.run(async () => {
      await this.follower.open()
      // Nothing was followed without subscriptions, so cached records may be stale.
      if (this.subscriptions.size === 0) this.records.clear()
      for (const venue of subscription.venues) await this.followVenue(venue)
      this.subscriptions.add(subscription)
      onOpen()
      this.applier.offerAgain()
    })
    this.tickWhileNeeded().catch((error: unknown) => this.options.onError(error))
  }

  /**
   * Attaches the first instruments of an open subscription, as fast as its client reads: after the
   * client's last row where it names one, otherwise with a snapshot. Gaps that are open follow.
   */
  async start(
    subscription: Subscription,
    instruments: readonly Instrument[],
    points: ResumePoints,
  ): Promise<void> {
    const { subscriber, pending } = subscription
    const join = new Join(subscription, points, this.services)
    const yielder = new Yielder(true)
    for (const instrument of instruments) pending.add(instrumentName(instrument))
    if (instruments.length === 0) await this.queue.run(() => join.sendVenueGaps())
    for (let at = 0; at < instruments.length; at += JOIN_SLICE) {
      const slice = instruments.slice(at, at + JOIN_SLICE)
      await yielder.yieldIfDue()
      await this.queue.run(async () => {
        for (const instrument of slice) {
          if (!join.isOpen) return
          if (points.books.has(instrument.key)) continue
          await this.withFeed(instrument, (feed) => join.joinAtPresent(feed))
        }
        subscriber.flush()
      })
      for (const instrument of slice) {
        if (!join.isOpen) return
        if (points.books.has(instrument.key)) {
          await new Resume(join, instrument, (work) =>
            this.queue.run(() => this.withFeed(instrument, work)),
          ).run()
        }
        await subscriber.room()
      }
    }
  }

  /** Ends a subscription. */
  unsubscribe(subscription: Subscription): void {
    this.subscriptions.delete(subscription)
    for (const name of subscription.attached) this.detach(name, subscription)
    if (this.subscriptions.size > 0) return
    this.follower.close()
    this.applier.reset()
    this.records.clear()
    this.services.gaps.published.clear()
    this.ended.clear()
    this.released.clear()
  }

  /** True while a subscription is open. */
  has(subscription: Subscription): boolean {
    return this.subscriptions.has(subscription)
  }

  /** Detaches instruments whose market has ended; they join again if they get new rows. */
  detachEnded(subscription: Subscription): void {
    for (const name of subscription.attached) {
      const { venue, market } = this.feeds.get(name)!.instrument
      const status = this.records.cached(venue, market)?.record.status
      if (status !== undefined && isLastStatus(status)) this.release(subscription, name)
    }
  }

  /** Detaches an instrument; it joins again if it gets new rows. */
  release(subscription: Subscription, name: string): void {
    if (!subscription.attached.has(name)) return
    this.released.set(name, this.feeds.get(name)!.lastTrade)
    this.detach(name, subscription)
    this.applier.forget(name)
    subscription.onRelease?.(name)
  }

  /** The newest record of a market; undefined when the store has none. */
  marketRecord(venue: VenueId, marketId: string): Promise<MarketState | undefined> {
    return this.records.find(venue, marketId)
  }

  /** Sends fresh snapshots for the rows that a reader has missed, now that it reads again. */
  async recover(subscriber: Subscriber): Promise<void> {
    while (subscriber.missed.size > 0 && !subscriber.lags && !subscriber.isClosed) {
      await this.queue.run(async () => {
        let count = 0
        for (const [channel, missed] of subscriber.missed) {
          if (count++ === RECOVER_SLICE || subscriber.lags) break
          // Delete afterwards: rows waiting in the channel precede the snapshot and must be skipped.
          channel.recover(subscriber, missed)
          subscriber.missed.delete(channel)
        }
      })
      await subscriber.room()
    }
  }

  /** Stops following the store. */
  async close(): Promise<void> {
    this.isClosed = true
    this.checkTimer?.cancel()
    await this.queue.run(async () => {
      this.follower.close()
    })
  }

  // Records the venue's past gaps as published; a reader who joins gets the open ones.
  private async followVenue(venue: VenueId): Promise<void> {
    const { store, gaps, recentStart } = this.services
    if (gaps.published.follows(venue, VENUE_KEY)) return
    const start = recentStart()
    const found = await gapsOfKeys(storeGaps(store, venue), sharedGapKeys(venue), { start })
    for (const key of sharedGapKeys(venue)) gaps.published.follow(venue, key)
    for (const gap of found) gaps.published.add(gap)
  }

  // A subscription to markets of several venues gets the first one of a further venue.
  private async addVenue(subscription: Subscription, venue: VenueId): Promise<void> {
    if (subscription.venues.has(venue)) return
    await this.followVenue(venue)
    await sendVenueGaps(subscription, venue, this.services)
    subscription.venues.add(venue)
  }

  private updateContext(feed: InstrumentFeed, record: MarketRecord): void {
    feed.setContext(this.options.contextOf(feed.instrument, record))
    this.noteStatus(feed.name, record)
  }

  private noteStatus(name: string, record: MarketRecord | undefined): void {
    if (!isLastStatus(record?.status ?? '')) this.ended.delete(name)
    else if (!this.ended.has(name)) this.ended.set(name, this.clock.monotonicMs())
  }

  // A reader of a whole venue, who may stay for months, would hold the feeds of all markets that ever were.
  private releaseEnded(): void {
    const nowMs = this.clock.monotonicMs()
    for (const [name, endedMs] of this.ended) {
      if (nowMs - endedMs < LINGER_MS) return
      this.ended.delete(name)
      const feed = this.feeds.get(name)
      feed?.settle()
      for (const subscription of feed?.subscriptions ?? []) {
        const { missed, lags } = subscription.subscriber
        // Who has not read everything yet is asked again later.
        if (missed.size > 0 || lags) this.ended.set(name, nowMs)
        else this.release(subscription, name)
      }
    }
  }

  private async contextOf(instrument: Instrument): Promise<BookContext> {
    const market = await this.records.find(instrument.venue, instrument.market)
    return this.options.contextOf(instrument, market?.record)
  }

  private async loadFeed(
    instrument: Instrument,
    { newSince = Infinity, lastTrade }: { newSince?: number; lastTrade?: number | undefined } = {},
  ): Promise<InstrumentFeed> {
    const known = this.feeds.get(instrumentName(instrument))
    if (known !== undefined) return known
    const { venue, market, key } = instrument
    const context = await this.contextOf(instrument)
    const feed = new InstrumentFeed(instrument, context, this.services)
    const facts = await this.services.store.instrument({ venue, key })
    // A new instrument is published from its first row.
    const isNew = facts === undefined || facts.firstReceived >= newSince
    if (!isNew || lastTrade !== undefined) await feed.startAtPresent(lastTrade)
    this.feeds.add(feed)
    this.released.delete(feed.name)
    this.noteStatus(feed.name, this.records.cached(venue, market)?.record)
    return feed
  }

  private async withFeed<T>(
    instrument: Instrument,
    work: (feed: InstrumentFeed) => Promise<T>,
  ): Promise<T> {
    const feed = await this.loadFeed(instrument)
    try {
      return await feed.pin(() => work(feed))
    } finally {
      this.removeIfUnused(feed)
    }
  }

  private detach(name: string, subscription: Subscription): void {
    const feed = this.feeds.get(name)!
    feed.detach(subscription)
    this.removeIfUnused(feed)
  }

  private removeIfUnused(feed: InstrumentFeed): void {
    if (!feed.isUnused) return
    this.feeds.remove(feed)
    this.ended.delete(feed.name)
    const { venue, market, key } = feed.instrument
    const { published } = this.services.gaps
    published.forget(venue, key)
    if (this.feeds.ofMarket(venue, market).size === 0) published.forget(venue, market)
  }

  // A queue may empty without a drain event, and a recovery may have failed.
  private check(subscriber: Subscriber): void {
    subscriber.check(this.clock.monotonicMs())
    const isBehind = subscriber.missed.size > 0 && !subscriber.lags && !subscriber.isClosed
    if (subscriber.drained() || isBehind) this.recoverLater(subscriber)
  }

  private recoverLater(subscriber: Subscriber): void {
    this.recover(subscriber).catch((error: unknown) => this.options.onError(error))
  }

  private async tickWhileNeeded(): Promise<void> {
    if (this.isTicking) return
    this.isTicking = true
    try {
      while (this.subscriptions.size > 0 && !this.isClosed) {
        const started = this.clock.monotonicMs()
        const isOk = await this.queue.run(() => this.tick())
        const pauseMs = isOk ? TICK_MS - (this.clock.monotonicMs() - started) : ERROR_PAUSE_MS
        await new Promise<void>((resolve) => {
          this.clock.setTimeout(resolve, Math.max(1, pauseMs))
        })
      }
    } finally {
      this.isTicking = false
    }
  }

  // Encoded rows are sent even when an error occurs.
  private async tick(): Promise<boolean> {
    let isOk = true
    const steps = [() => this.applier.apply(() => this.poll()), async () => this.sendDue()]
    for (const step of steps) {
      try {
        await step()
      } catch (error) {
        this.options.onError(error)
        isOk = false
      }
    }
    // After an error rows may wait for feeds that are open.
    if (isOk) this.releaseEnded()
    return isOk
  }

  private async poll(): Promise<Changes | undefined> {
    const isNeeded = (): boolean => this.subscriptions.size > 0 && !this.isClosed
    if (!isNeeded()) return undefined
    const changes = await this.follower.poll()
    if (isNeeded()) return changes
    // The last subscription ended during the poll.
    this.follower.close()
    return undefined
  }

  private sendDue(): void {
    const nowMs = this.clock.now() / 1000
    try {
      for (const feed of this.feeds.values()) feed.releaseDue(nowMs)
    } finally {
      this.flush()
    }
  }

  private flush(): void {
    for (const subscriber of this.subscribers) subscriber.flush()
  }

  // Flush first: otherwise the queued rows of a large commit look like a slow reader.
  private async flushAndYield(yielder: Yielder): Promise<void> {
    if (!yielder.isDue) return
    this.flush()
    await yielder.yieldIfDue()
  }
}
