import { instrumentName, type Gap, type Instrument } from '@priorbook/sdk/domain'
import type { BookColumns, BookRun } from '@priorbook/sdk/tape'
import type { BookContext } from '@priorbook/sdk/wire'
import type { Clock } from '../lib/clock.ts'
import { Yielder } from '../lib/yielder.ts'
import { BookLane } from '../rows/index.ts'
import type { StoreReader } from '../store/store.ts'
import { BookCursor } from './book-cursor.ts'
import { BookChannel, TradeChannel } from './channels.ts'
import { PendingGaps, type GapPublisher } from './gap-publisher.ts'
import type { ResyncReason, Subscriber } from './subscriber.ts'
import type { LiveStyle, Subscription } from './subscription.ts'

/** What all feeds of a hub share. */
export type FeedServices = {
  readonly store: StoreReader
  readonly clock: Clock
  readonly gaps: GapPublisher
  /** Gaps that ended before this time are not published; microseconds. */
  readonly recentStart: () => number
  /** Sends queued rows and yields to the event loop, if that is due. */
  readonly flushAndYield: (yielder: Yielder) => Promise<void>
  /** Sends fresh snapshots to a reader who missed rows. */
  readonly recover: (subscriber: Subscriber) => void
}

// Max rows read from the store at once.
const PAGE = 256

/**
 * Publishes the rows of one instrument to its subscriptions, with gaps in place between the books. All
 * methods that read or publish rows must run in the hub's queue.
 */
export class InstrumentFeed {
  readonly instrument: Instrument
  readonly name: string
  private readonly services: FeedServices
  private readonly position: {
    readonly cursor: BookCursor
    lastTrade: number
    context: BookContext
    nowMs: () => number
  }
  private readonly bookChannels = new Map<string, BookChannel>()
  private readonly tradeChannels = new Map<string, TradeChannel>()
  private readonly members = new Set<Subscription>()
  /** Joins in progress; a pinned feed is kept even without subscriptions. */
  private pins = 0
  /** The last trade that readers had when the feed was let go before; null for a feed that is new to them. */
  private tradeBefore: number | null = null
  private isRebuilt = false

  constructor(instrument: Instrument, context: BookContext, services: FeedServices) {
    this.instrument = instrument
    this.name = instrumentName(instrument)
    this.services = services
    const nowMs = (): number => services.clock.now() / 1000
    this.position = { cursor: new BookCursor(), lastTrade: 0, context, nowMs }
  }

  /** The sequence of the last published book; 0 before the first. */
  get sequence(): number {
    return this.position.cursor.sequence
  }

  /** The ordinal of the last published trade; 0 before the first. */
  get lastTrade(): number {
    return this.position.lastTrade
  }

  /** The last trade of readers who come back with the feed; null once others were published. */
  get tradeOfReturning(): number | null {
    return this.tradeBefore === this.lastTrade ? this.tradeBefore : null
  }

  get context(): BookContext {
    return this.position.context
  }

  get subscriptions(): ReadonlySet<Subscription> {
    return this.members
  }

  /** True when no subscription reads the feed and none is about to join. */
  get isUnused(): boolean {
    return this.members.size === 0 && this.pins === 0
  }

  /** Replaces the facts of the instrument that every row carries. */
  setContext(context: BookContext): void {
    this.position.context = context
  }

  /** Starts at the newest row, and where readers had the feed before, after the last trade that they got. */
  async startAtPresent(lastTrade?: number): Promise<void> {
    const { venue, key } = this.instrument
    const { store } = this.services
    const run = await store.latest({ venue, key })
    if (run !== undefined) this.position.cursor.jump(run, run.from)
    if (lastTrade !== undefined) {
      this.position.lastTrade = lastTrade
      this.tradeBefore = lastTrade === 0 ? null : lastTrade
      return
    }
    const { ordinals } = await store.trades({ venue, key, order: 'desc', limit: 1 })
    this.position.lastTrade = ordinals.at(-1) ?? 0
  }

  /** Keeps the feed while work is done: the work may yield and the last subscription may leave. */
  async pin<T>(work: () => Promise<T>): Promise<T> {
    this.pins++
    try {
      return await work()
    } finally {
      this.pins--
    }
  }

  /**
   * Adds a subscription; `lastBook` and `lastTrade` are the last rows that its client has. A client that
   * cannot continue after its last book starts over, for the given reason.
   */
  attach(
    subscription: Subscription,
    lastBook: number | null,
    lastTrade: number | null,
    resync?: ResyncReason,
  ): void {
    const { datasets, style } = subscription
    this.members.add(subscription)
    subscription.attached.add(this.name)
    if (datasets.has('books')) this.bookChannel(style).join(subscription, lastBook, resync)
    if (datasets.has('trades')) this.tradeChannel(style).join(subscription, lastTrade)
  }

  /** Notes the last trade that the client of a subscription has, after some were sent to it alone. */
  setLastTrade(subscription: Subscription, lastTrade: number | null): void {
    const { datasets, style } = subscription
    if (datasets.has('trades')) this.tradeChannel(style).join(subscription, lastTrade)
  }

  /** Removes a subscription, and channels that have no members left. */
  detach(subscription: Subscription): void {
    this.members.delete(subscription)
    subscription.attached.delete(this.name)
    const { missed } = subscription.subscriber
    const { name } = subscription.style
    const books = this.bookChannels.get(name)
    if (books !== undefined) {
      books.members.delete(subscription)
      missed.delete(books)
      if (books.members.size === 0) this.bookChannels.delete(name)
    }
    const trades = this.tradeChannels.get(name)
    if (trades !== undefined) {
      trades.leave(subscription)
      missed.delete(trades)
      if (trades.members.size === 0) this.tradeChannels.delete(name)
    }
  }

  /** Publishes everything up to the newest rows, with gaps between the books that they separate. */
  async catchUp(): Promise<void> {
    const { venue, key } = this.instrument
    const { store, gaps } = this.services
    const { published } = gaps
    const start = this.services.recentStart()
    // A feed without readers need not read past gaps.
    const all = this.members.size > 0 ? await store.gaps({ venue, key, start }) : []
    // A gap before the present row was sent with the rows, or before its readers joined.
    const isDue = (gap: Gap): boolean => gap.afterSequence >= this.sequence || published.has(gap)
    await this.publishBooks(all.filter((gap) => published.isNew(gap) && isDue(gap)))
    await this.publishTrades()
  }

  /** Publishes new books, and the given gaps between them. */
  async publishBooks(gaps: readonly Gap[]): Promise<void> {
    const { venue, key } = this.instrument
    const { store, gaps: publisher, flushAndYield } = this.services
    const yielder = new Yielder(true)
    const waitsForFirst = this.waitsForFirst
    const pending = new PendingGaps(gaps)
    const onDamage = (damage: readonly Gap[]): void => {
      for (const gap of damage) publisher.publishGap(gap)
    }
    const query = { venue, key, order: 'asc', after: this.sequence, pageRows: PAGE } as const
    const lane = new BookLane(store, query, { onDamage })
    for (;;) {
      await lane.load()
      while (lane.isReady) this.publishRun(lane.shiftBefore(undefined, PAGE), pending)
      if (lane.isDone) break
      this.flushBooks()
      await flushAndYield(yielder)
    }
    this.flushBooks()
    for (const gap of pending.shiftAll()) publisher.publishGap(gap)
    if (waitsForFirst) await this.publishTrades()
  }

  // True while a reader of books has had no snapshot, because the instrument has no book yet.
  private get waitsForFirst(): boolean {
    return this.sequence === 0 && [...this.members].some(({ datasets }) => datasets.has('books'))
  }

  /** Publishes new trades; those before the first book follow its snapshot. */
  async publishTrades(): Promise<void> {
    if (this.waitsForFirst) return
    const { venue, key } = this.instrument
    const query = { venue, key, order: 'asc', limit: PAGE } as const
    for (;;) {
      const page = await this.services.store.trades({ ...query, after: this.lastTrade })
      const last = page.ordinals.at(-1)
      if (last === undefined) return
      for (const channel of this.tradeChannels.values()) channel.deliver(page.rows, page.ordinals)
      this.position.lastTrade = last
      if (!page.hasMore) return
    }
  }

  /** Notes that the tape was rebuilt: published rows may differ from the stored ones. */
  markRebuilt(): void {
    this.isRebuilt = true
  }

  /** After a rebuild, moves to the newest row and lets all readers start over there. */
  async reloadIfRebuilt(): Promise<void> {
    if (!this.isRebuilt) return
    const { venue, key } = this.instrument
    const run = await this.services.store.latest({ venue, key })
    if (run !== undefined) {
      this.position.cursor.jump(run, run.from)
      this.resyncReaders()
    }
    this.isRebuilt = false
  }

  /** Sends conflated rows that are due. */
  releaseDue(nowMs: number): void {
    for (const channel of this.bookChannels.values()) channel.releaseDue(nowMs)
  }

  /** Sends conflated rows that are still waiting. */
  settle(): void {
    for (const channel of this.bookChannels.values()) channel.settle()
  }

  private publishRun(run: BookRun, pending: PendingGaps): void {
    const { cursor } = this.position
    for (let row = run.from; row < run.to; row++) {
      const sequence = run.firstSequence + row
      // A gap before the first row follows the snapshot.
      const isFirst = cursor.sequence === 0
      let gap = isFirst ? undefined : pending.shiftBefore(sequence)
      for (; gap; gap = pending.shiftBefore(sequence)) {
        this.flushBooks()
        this.services.gaps.publishGap(gap)
      }
      if (cursor.sequence > 0 && !cursor.precedes(run, row)) {
        this.flushBooks()
        cursor.jump(run, row)
        this.resyncReaders()
        continue
      }
      this.deliver(cursor.step(run, row))
    }
  }

  private bookChannel(style: LiveStyle): BookChannel {
    let channel = this.bookChannels.get(style.name)
    if (channel === undefined) {
      channel = new BookChannel(this.position, style)
      this.bookChannels.set(style.name, channel)
    }
    return channel
  }

  private tradeChannel(style: LiveStyle): TradeChannel {
    let channel = this.tradeChannels.get(style.name)
    if (channel === undefined) {
      channel = new TradeChannel(this.position, style)
      this.tradeChannels.set(style.name, channel)
    }
    return channel
  }

  private deliver(single: BookColumns): void {
    let made: BookColumns | undefined
    const whole = (): BookColumns => (made ??= this.position.cursor.whole())
    for (const channel of this.bookChannels.values()) channel.push(single, whole)
  }

  private flushBooks(): void {
    for (const channel of this.bookChannels.values()) channel.flush()
  }

  // The cursor has skipped rows, so every reader of books needs a fresh snapshot.
  private resyncReaders(): void {
    const readers = new Set<Subscriber>()
    for (const channel of this.bookChannels.values()) {
      channel.jump('rebuilt')
      for (const { subscriber } of channel.members) readers.add(subscriber)
    }
    for (const subscriber of readers) this.services.recover(subscriber)
  }
}
