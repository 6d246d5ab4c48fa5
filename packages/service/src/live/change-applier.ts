import {
  instrumentName,
  isTradesGap,
  type Gap,
  type Instrument,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import { Yielder } from '../lib/yielder.ts'
import { sharedGapKeys } from '../rows/index.ts'
import type { Changes } from '../store/store.ts'
import type { FeedRegistry } from './feed-registry.ts'
import type { FeedServices, InstrumentFeed } from './instrument-feed.ts'
import type { MarketRecords } from './market-records.ts'
import type { Subscription } from './subscription.ts'

/** The parts of a hub that committed changes reach. */
export type ApplierOptions = {
  readonly services: FeedServices
  readonly feeds: FeedRegistry
  readonly records: MarketRecords
  readonly subscriptions: ReadonlySet<Subscription>
  /** The feed of an instrument, before its first row if that is not older than `newSince`. */
  readonly loadFeed: (instrument: Instrument, newSince: number) => Promise<InstrumentFeed>
  /** Makes gaps of a venue reach a subscription, from the open ones on. */
  readonly followVenue: (subscription: Subscription, venue: VenueId) => Promise<void>
  readonly removeIfUnused: (feed: InstrumentFeed) => void
  readonly updateContext: (feed: InstrumentFeed, record: MarketRecord) => void
}

/**
 * Publishes committed changes: market records first, then instruments that subscriptions want, then rows
 * and gaps. A failed read delays only what depends on it, and the next call scans everything again.
 */
export class ChangeApplier {
  private readonly options: ApplierOptions
  /** Instruments that were offered to all present subscriptions. */
  private readonly offered = new Set<string>()
  /** Instruments whose offer failed. */
  private readonly postponed = new Map<string, Instrument>()
  private mustScanAll = false

  constructor(options: ApplierOptions) {
    this.options = options
  }

  /** Compares every feed with the store on the next call of `apply`. */
  scanAllNext(): void {
    this.mustScanAll = true
  }

  /** Offers instruments again: the subscriptions have changed. */
  offerAgain(): void {
    this.offered.clear()
  }

  /** Offers an instrument again when it has new rows. */
  forget(instrument: string): void {
    this.offered.delete(instrument)
  }

  /** Forgets everything: there are no subscriptions. */
  reset(): void {
    this.mustScanAll = false
    this.offered.clear()
    this.postponed.clear()
  }

  /** Polls for changes and publishes them; throws the first error after everything was tried. */
  async apply(poll: () => Promise<Changes | undefined>): Promise<void> {
    const errors = new ErrorCollector()
    try {
      await errors.run(async () => {
        const changes = await poll()
        if (changes?.missed === 'rebuilt') {
          for (const feed of this.options.feeds.values()) feed.markRebuilt()
        }
        if (this.mustScanAll || changes?.missed !== undefined) await this.scanAll(errors)
        if (changes !== undefined) await this.publish(changes, errors)
      })
    } finally {
      this.mustScanAll = errors.hasErrors
    }
    errors.throwFirst()
    this.options.records.markPublished()
  }

  private async publish(changes: Changes, errors: ErrorCollector): Promise<void> {
    const { feeds, services } = this.options
    const { flushAndYield } = services
    const yielder = new Yielder(true)
    for (const { venue, marketId } of changes.markets) {
      await errors.run(() => this.publishMarket(venue, marketId))
      await flushAndYield(yielder)
    }
    const changed = new Map<string, Instrument>()
    for (const instrument of [...changes.books, ...changes.trades]) {
      changed.set(instrumentName(instrument), instrument)
    }
    for (const [name, instrument] of changed) {
      if (!this.offered.has(name)) await errors.run(() => this.offer(instrument))
      await flushAndYield(yielder)
    }
    const { own, late } = this.sortGaps(changes.gaps)
    for (const name of new Set([...changes.books.map(instrumentName), ...own.keys()])) {
      const feed = feeds.get(name)
      if (feed !== undefined) await errors.run(() => feed.publishBooks(own.get(name) ?? []))
      await flushAndYield(yielder)
    }
    for (const instrument of changes.trades) {
      const feed = feeds.get(instrumentName(instrument))
      if (feed !== undefined) await errors.run(() => feed.publishTrades())
      await flushAndYield(yielder)
    }
    for (const gap of late) services.gaps.publishGap(gap)
  }

  /** Publishes gaps of markets and venues that ended; those that are open follow the rows. */
  private sortGaps(gaps: readonly Gap[]): {
    readonly own: ReadonlyMap<string, readonly Gap[]>
    readonly late: readonly Gap[]
  } {
    const { feeds, services } = this.options
    const own = new Map<string, Gap[]>()
    const late: Gap[] = []
    for (const gap of gaps) {
      if (!feeds.isConcernedBy(gap) || !services.gaps.published.isNew(gap)) continue
      const name = `${gap.venue}:${gap.key}`
      if (gap.scope === 'instrument' && !isTradesGap(gap))
        own.set(name, [...(own.get(name) ?? []), gap])
      else if (gap.end === undefined) late.push(gap)
      else services.gaps.publishGap(gap)
    }
    return { own, late }
  }

  private async scanAll(errors: ErrorCollector): Promise<void> {
    this.offered.clear()
    const { feeds, services } = this.options
    const { flushAndYield } = services
    const yielder = new Yielder(true)
    const gapKeys = new Map<string, { venue: VenueId; key: string }>()
    const markets = new Map<string, { venue: VenueId; marketId: string }>()
    for (const { instrument } of feeds.values()) {
      const { venue, market } = instrument
      for (const key of sharedGapKeys(venue)) gapKeys.set(`${venue} ${key}`, { venue, key })
      if (market !== instrument.key) gapKeys.set(`${venue}/${market}`, { venue, key: market })
      markets.set(`${venue}/${market}`, { venue, marketId: market })
    }
    for (const { venue, marketId } of markets.values()) {
      await errors.run(() => this.publishMarket(venue, marketId))
      await flushAndYield(yielder)
    }
    for (const instrument of this.postponed.values()) {
      await errors.run(() => this.offer(instrument))
      await flushAndYield(yielder)
    }
    const start = services.recentStart()
    for (const query of gapKeys.values()) {
      await errors.run(async () => {
        const gaps = await services.store.gaps({ ...query, start })
        for (const gap of gaps) services.gaps.publishGap(gap)
      })
      await flushAndYield(yielder)
    }
    for (const feed of feeds.values()) {
      await errors.run(async () => {
        await feed.reloadIfRebuilt()
        await feed.catchUp()
      })
      await flushAndYield(yielder)
    }
  }

  // Attaches an instrument to the subscriptions that want it, once per set of subscriptions.
  private async offer(instrument: Instrument): Promise<void> {
    const { subscriptions, records, loadFeed, followVenue, removeIfUnused } = this.options
    const name = instrumentName(instrument)
    // If this fails, the next scan tries again.
    this.postponed.set(name, instrument)
    const record = (await records.find(instrument.venue, instrument.market))?.record
    if (record !== undefined) {
      for (const subscription of subscriptions) {
        if (subscription.pending.has(name) || !subscription.wants(record)) continue
        if (subscription.attached.has(name) || !subscription.admits(name)) continue
        await followVenue(subscription, instrument.venue)
        await subscription.onJoin?.(record)
        const feed = await loadFeed(instrument, subscription.since)
        if (subscriptions.has(subscription)) {
          feed.attach(subscription, null, feed.tradeOfReturning)
        } else removeIfUnused(feed)
      }
      this.offered.add(name)
    }
    this.postponed.delete(name)
  }

  private async publishMarket(venue: VenueId, marketId: string): Promise<void> {
    const { records, subscriptions, feeds, updateContext } = this.options
    const news = await records.shiftNews(venue, marketId)
    const newest = news.at(-1)
    if (newest === undefined) return
    const encoded = new Map<string, Uint8Array>()
    for (const subscription of subscriptions) {
      const { subscriber, style, datasets } = subscription
      if (!datasets.has('markets') || !subscription.wants(newest.record)) continue
      let bytes = encoded.get(style.name)
      if (bytes === undefined) {
        bytes = Buffer.concat(news.map((market) => style.market(market)))
        encoded.set(style.name, bytes)
      }
      subscriber.send(bytes, news.length)
    }
    for (const feed of feeds.ofMarket(venue, marketId)) updateContext(feed, newest.record)
  }
}

/** Runs independent tasks to the end even if some fail, and keeps the first error. */
class ErrorCollector {
  private readonly errors: unknown[] = []

  get hasErrors(): boolean {
    return this.errors.length > 0
  }

  /** Runs a task and collects the error it throws. */
  async run(task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      this.errors.push(error)
    }
  }

  /** Throws the first collected error, if there is one. */
  throwFirst(): void {
    if (this.hasErrors) throw this.errors[0]
  }
}
