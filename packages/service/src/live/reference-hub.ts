import {
  instrumentName,
  REFERENCE_MARKET,
  REFERENCE_METRIC,
  type Gap,
  type Instrument,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { SampleColumns } from '@priorbook/sdk/tape'
import { SYSTEM_CLOCK, type Clock } from '../lib/clock.ts'
import { SerialQueue } from '../lib/serial-queue.ts'
import { Yielder } from '../lib/yielder.ts'
import type { Changes, StoreReader } from '../store/store.ts'
import { ChangeFollower } from './change-follower.ts'
import { PendingGaps, PublishedGaps } from './gap-publisher.ts'
import type { MissedRows, RecoverableChannel, Subscriber } from './subscriber.ts'

/** What a subscriber asked for: the reference prices of some series. */
export type ReferenceSubscription = {
  readonly subscriber: Subscriber
  /** Encodes a price; `previous` is the last one that the subscriber has. */
  price(
    instrument: Instrument,
    rows: SampleColumns,
    row: number,
    ordinal: number,
    previous: number | null,
  ): Uint8Array
  gap(gap: Gap): Uint8Array
  /** Whether a series belongs to the subscription, also one that appears later. */
  wants(instrument: Instrument): boolean
  /** The last prices that the client has from an earlier connection, by key. */
  readonly resume: ReadonlyMap<string, number>
  /** When the history begins that the client may read: older prices are not sent again; microseconds. */
  readonly start: number
  /** Prices that may still be sent again, shared by all subscriptions of a connection. */
  readonly budget: { rows: number }
}

/** What the hub is made of. */
export type ReferenceHubOptions = {
  readonly store: StoreReader
  /** The venues that have feeds. */
  readonly venues: readonly VenueId[]
  /** Called with errors of the store; the hub retries. */
  onError(error: unknown): void
  readonly clock?: Clock
}

// How long after a commit its prices are looked for at the latest, and how long after an error.
const TICK_MS = 5
const ERROR_PAUSE_MS = 500

/**
 * Publishes new reference prices of the store to subscribers, with the gaps in their places. It reads the store
 * only while there is a subscriber, and does not share a queue with the hub of books.
 */
export class ReferenceHub {
  private readonly options: ReferenceHubOptions
  private readonly clock: Clock
  private readonly follower: ChangeFollower
  private readonly queue = new SerialQueue()
  private readonly subscriptions = new Set<ReferenceSubscription>()
  private readonly series = new Map<string, ReferenceSeries>()
  private mustScanAll = false
  private isTicking = false
  private isClosed = false

  constructor(options: ReferenceHubOptions) {
    this.options = options
    this.clock = options.clock ?? SYSTEM_CLOCK
    this.follower = new ChangeFollower(options.store)
  }

  /** How many subscriptions and series there are. */
  get counts(): { subscriptions: number; instruments: number } {
    return { subscriptions: this.subscriptions.size, instruments: this.series.size }
  }

  /**
   * Opens a subscription: sends the prices after the client's last ones, or the newest of each series, then
   * what comes. `onOpen` is called with the number of series before anything is sent.
   */
  async subscribe(
    subscription: ReferenceSubscription,
    onOpen: (series: number) => void,
  ): Promise<void> {
    const own = await this.queue.run(async () => {
      await this.follower.open()
      this.subscriptions.add(subscription)
      await this.publishAll()
      const found = [...this.series.values()].filter((one) => subscription.wants(one.instrument))
      // Of these it becomes a member when it has come to the present.
      for (const series of found) series.leave(subscription)
      onOpen(found.length)
      return found
    })
    this.tickWhileNeeded().catch((error: unknown) => this.options.onError(error))
    for (const series of own) await this.join(series, subscription)
    subscription.subscriber.flush()
  }

  /** Ends a subscription. */
  unsubscribe(subscription: ReferenceSubscription): void {
    if (!this.subscriptions.delete(subscription)) return
    for (const series of this.series.values()) series.leave(subscription)
    if (this.subscriptions.size > 0) return
    this.follower.close()
    this.series.clear()
  }

  /** Stops following the store. */
  async close(): Promise<void> {
    this.isClosed = true
    await this.queue.run(async () => this.follower.close())
  }

  // Earlier prices are sent outside the queue, as fast as the client reads them; the last ones in the turn
  // in which it becomes a member, so that it misses none.
  private async join(series: ReferenceSeries, subscription: ReferenceSubscription): Promise<void> {
    const { subscriber } = subscription
    const joining = series.begin(subscription)
    const yielder = new Yielder(true)
    while (this.subscriptions.has(subscription) && !subscriber.isClosed) {
      const isJoined = await this.queue.run(async () => {
        if (!this.subscriptions.has(subscription)) return true
        await this.publishStored(series)
        return joining.finish()
      })
      if (isJoined) return
      await joining.sendPage()
      await subscriber.room()
      await yielder.yieldIfDue()
    }
  }

  private get isNeeded(): boolean {
    return this.subscriptions.size > 0 && !this.isClosed
  }

  private async tickWhileNeeded(): Promise<void> {
    if (this.isTicking) return
    this.isTicking = true
    try {
      while (this.isNeeded) {
        const isOk = await this.queue.run(() => this.tick())
        const pauseMs = isOk ? TICK_MS : ERROR_PAUSE_MS
        await new Promise<void>((resolve) => {
          this.clock.setTimeout(resolve, pauseMs)
        })
      }
    } finally {
      this.isTicking = false
    }
  }

  private async tick(): Promise<boolean> {
    if (!this.isNeeded) return true
    try {
      const changes = await this.follower.poll()
      if (this.mustScanAll || changes?.missed !== undefined) await this.publishAll()
      else if (changes !== undefined) await this.publish(changes)
      this.mustScanAll = false
      return true
    } catch (error) {
      this.mustScanAll = true
      this.options.onError(error)
      return false
    } finally {
      for (const { subscriber } of this.subscriptions) subscriber.flush()
    }
  }

  private async publish({ references = [], gaps }: Changes): Promise<void> {
    for (const instrument of references) {
      const name = instrumentName(instrument)
      if (!this.series.has(name)) this.open(instrument, 0)
    }
    const changed = new Set([...references, ...gaps].map(instrumentName))
    for (const name of changed) {
      const own = gaps.filter((gap) => instrumentName(gap) === name)
      await this.series.get(name)?.publish(own)
    }
  }

  // Everything that the store has, for a start and where changes were missed.
  private async publishAll(): Promise<void> {
    const { store, venues } = this.options
    for (const venue of venues) {
      for (const facts of await store.series(venue, REFERENCE_MARKET)) {
        const { instrument, lastSequence } = facts
        const known = this.series.get(instrumentName(instrument))
        if (known !== undefined) {
          await this.publishStored(known)
          continue
        }
        const opened = this.open(instrument, lastSequence)
        opened.skip(await this.gapsFrom(opened))
      }
    }
  }

  private async publishStored(series: ReferenceSeries): Promise<void> {
    await series.publish(await this.gapsFrom(series))
  }

  private gapsFrom({ instrument, last }: ReferenceSeries): Promise<readonly Gap[]> {
    const { venue, key } = instrument
    const sequence = { from: last, to: Number.MAX_SAFE_INTEGER }
    return this.options.store.gaps({ venue, key, sequence })
  }

  // A series that appears later is published from its first price on.
  private open(instrument: Instrument, last: number): ReferenceSeries {
    const series = new ReferenceSeries(this.options.store, instrument, last)
    this.series.set(instrumentName(instrument), series)
    for (const one of this.subscriptions) if (one.wants(instrument)) series.add(one, null)
    return series
  }
}

// Max prices read from the store at once.
const PAGE = 256

/** One series and its members; a slow member misses prices, and the next one names the last that it has. */
class ReferenceSeries implements RecoverableChannel {
  readonly instrument: Instrument
  private readonly store: StoreReader
  /** The last price that was published. */
  last: number
  /** The last price of each member; null for none. */
  private readonly members = new Map<ReferenceSubscription, number | null>()
  private readonly published = new PublishedGaps()

  constructor(store: StoreReader, instrument: Instrument, last: number) {
    this.store = store
    this.instrument = instrument
    this.last = last
  }

  add(member: ReferenceSubscription, last: number | null): void {
    this.members.set(member, last)
  }

  leave(member: ReferenceSubscription): void {
    this.members.delete(member)
    member.subscriber.missed.delete(this)
  }

  /** Notes gaps that members get when they join. */
  skip(gaps: readonly Gap[]): void {
    for (const gap of gaps) this.published.add(gap)
  }

  /** Begins to send a new member what it lacks. */
  begin(member: ReferenceSubscription): ReferenceJoin {
    return new ReferenceJoin(this.store, this, member)
  }

  /** Sends what was stored since, and these gaps, to all members. */
  async publish(found: readonly Gap[]): Promise<void> {
    const gaps = new PendingGaps(found.filter((gap) => this.published.isNew(gap)))
    for (;;) {
      const page = await readPrices(this.store, this.instrument, this.last)
      for (const [row, ordinal] of page.ordinals.entries()) {
        for (let gap = gaps.shiftBefore(ordinal); gap; gap = gaps.shiftBefore(ordinal)) {
          this.send(gap)
        }
        this.offer(page.rows, row, ordinal)
        this.last = ordinal
      }
      if (!page.hasMore) break
    }
    for (const gap of gaps.shiftAll()) this.send(gap)
  }

  recover(subscriber: Subscriber, { last }: MissedRows): void {
    for (const member of this.members.keys()) {
      if (member.subscriber === subscriber) this.members.set(member, last === 0 ? null : last)
    }
  }

  // Noted only now: a gap that was found before the store failed is found again.
  private send(gap: Gap): void {
    this.published.add(gap)
    for (const member of this.members.keys()) member.subscriber.send(member.gap(gap))
  }

  private offer(rows: SampleColumns, row: number, ordinal: number): void {
    for (const [member, previous] of this.members) {
      const { subscriber } = member
      if (subscriber.missed.has(this)) continue
      const bytes = member.price(this.instrument, rows, row, ordinal, previous)
      if (subscriber.offer(bytes, 1)) this.members.set(member, ordinal)
      else subscriber.missed.set(this, { last: previous ?? 0, reason: 'slow_reader' })
    }
  }
}

/**
 * A new member on its way to the present of a series: it gets the prices after its last one, or the newest,
 * with the gaps in their places.
 */
class ReferenceJoin {
  private readonly store: StoreReader
  private readonly series: ReferenceSeries
  private readonly member: ReferenceSubscription
  private readonly sent = new PublishedGaps()
  /** The first price whose gaps are sent, the price up to which all is sent, and the member's last one. */
  private from: number
  private after: number
  private previous: number | null
  /** True while the prices after the member's last one are to be sent. */
  private isResumed: boolean

  constructor(store: StoreReader, series: ReferenceSeries, member: ReferenceSubscription) {
    const { last, instrument } = series
    const had = member.resume.get(instrument.key)
    const isResumed = had !== undefined && had <= last && last - had <= member.budget.rows
    this.store = store
    this.series = series
    this.member = member
    this.isResumed = isResumed
    this.from = isResumed ? had : last
    this.after = isResumed ? had : Math.max(0, last - 1)
    this.previous = had === undefined || had === 0 || had > last ? null : had
  }

  /** Sends the last prices and adds the member; false where more than a page is left. */
  async finish(): Promise<boolean> {
    const { series, member } = this
    if (series.last - this.after > PAGE) return false
    while (this.after < series.last) await this.sendPage()
    this.sendGaps(await this.readGaps(series.last), Infinity)
    series.add(member, this.previous)
    return true
  }

  /** Sends the next page of prices. */
  async sendPage(): Promise<void> {
    const { series, member } = this
    const { subscriber, budget } = member
    const page = await readPrices(this.store, series.instrument, this.after)
    if (this.isResumed && (page.rows.received[0] ?? Infinity) < member.start) {
      // As where they are too many: the newest one follows the member's last one.
      this.isResumed = false
      this.from = series.last
      this.after = Math.max(0, series.last - 1)
      return
    }
    const gaps = await this.readGaps(page.ordinals.at(-1) ?? this.after)
    for (const [row, ordinal] of page.ordinals.entries()) {
      if (ordinal > series.last) break
      this.sendGaps(gaps, ordinal)
      subscriber.send(member.price(series.instrument, page.rows, row, ordinal, this.previous))
      subscriber.rows++
      budget.rows--
      this.previous = ordinal
      this.after = ordinal
    }
    // Retention may have removed what is left.
    if (page.ordinals.length === 0) this.after = series.last
  }

  private async readGaps(to: number): Promise<PendingGaps> {
    const { venue, key } = this.series.instrument
    const sequence = { from: Math.max(this.from, this.after), to }
    const found = await this.store.gaps({ venue, key, sequence })
    return new PendingGaps(found.filter((gap) => this.sent.isNew(gap)))
  }

  private sendGaps(gaps: PendingGaps, before: number): void {
    for (let gap = gaps.shiftBefore(before); gap; gap = gaps.shiftBefore(before)) {
      this.sent.add(gap)
      this.member.subscriber.send(this.member.gap(gap))
    }
  }
}

function readPrices(
  store: StoreReader,
  { venue, key }: Instrument,
  after: number,
): ReturnType<StoreReader['samples']> {
  const query = { venue, key, metric: REFERENCE_METRIC, order: 'asc', after, limit: PAGE } as const
  return store.samples(query)
}
