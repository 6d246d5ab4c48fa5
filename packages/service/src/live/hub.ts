import {
  instrumentName,
  isLastStatus,
  type Gap,
  type Instrument,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { BookColumns } from '@priorbook/sdk/tape'
import { Yielder } from '../lib/yielder.ts'
import { Attempts } from './attempts.ts'
import { GapBoard } from './gap-board.ts'
import { Following } from './following.ts'
import { MarketRecords } from './market-records.ts'
import type { LiveChanges, LiveSource } from './source.ts'
import type { LiveStyle, LiveText } from './style.ts'
import type { Subscriber } from './subscriber.ts'
import type { Subscription } from './subscription.ts'
import { Topic } from './topic.ts'
import { Turns } from './turns.ts'

/** What a hub is made of. */
export type HubOptions<Style extends LiveStyle, Context> = {
  readonly source: LiveSource
  readonly text: LiveText<Style, Context>
  /** What rows of an instrument say about where they belong. */
  contextOf(instrument: Instrument, record: MarketRecord | undefined): Context
  /** The time of rows, in microseconds. */
  now(): number
  /** Told of what went wrong; the hub goes on. */
  onTrouble(error: unknown): void
}

// A commit reaches subscribers within this and the time of its rows.
const TICK_MS = 5
// After trouble with the store it is left in peace for a while.
const TROUBLE_MS = 500
const CHECK_MS = 250
const PAGE = 256
// Topics that are begun anew in one turn, so that the others do not wait long.
const SLICE = 16
// Gaps that ended longer ago are not looked for.
const RECENT_MICROS = 3_600_000_000

/**
 * Hands new rows of the store to subscribers, each row written once for everybody who wants it alike.
 * All that changes topics happens in turns, one after the other, so that rows keep their order.
 */
export class Hub<Style extends LiveStyle, Context> {
  readonly topics = new Map<string, Topic<Style, Context>>()
  readonly gaps = new GapBoard()
  private readonly byMarket = new Map<string, Set<Topic<Style, Context>>>()
  readonly turns = new Turns()
  readonly source: LiveSource
  readonly text: LiveText<Style, Context>
  private readonly options: HubOptions<Style, Context>
  private readonly subscribers = new Set<Subscriber>()
  private readonly subscriptions = new Set<Subscription<Style, Context>>()
  /** Instruments of the store that were compared with all subscriptions. */
  private readonly compared = new Set<string>()
  /** Instruments that could not be compared. */
  private readonly postponed = new Map<string, Instrument>()
  readonly records: MarketRecords
  private readonly following: Following
  /** True when more is new than was named. */
  private mustLook = false
  private isWatching = false
  private checkTimer: NodeJS.Timeout | undefined
  private isClosed = false

  constructor(options: HubOptions<Style, Context>) {
    this.options = options
    this.source = options.source
    this.records = new MarketRecords(options.source)
    this.following = new Following(options.source)
    this.text = options.text
  }

  /** How many there are. */
  get counts(): { subscribers: number; subscriptions: number; instruments: number } {
    return {
      subscribers: this.subscribers.size,
      subscriptions: this.subscriptions.size,
      instruments: this.topics.size,
    }
  }

  /** From when on gaps are looked for. */
  get recently(): number {
    return this.options.now() - RECENT_MICROS
  }

  /** Adds a reader, who is watched from now on. */
  enter(subscriber: Subscriber): void {
    this.subscribers.add(subscriber)
    this.checkTimer ??= setInterval(() => {
      for (const one of this.subscribers) this.check(one)
    }, CHECK_MS)
  }

  // A queue that was emptied without a full socket is told by no event, and a recovery may have failed.
  private check(subscriber: Subscriber): void {
    subscriber.check(performance.now())
    const isBehind = subscriber.missed.size > 0 && !subscriber.lags && !subscriber.isClosed
    if (subscriber.drained() || isBehind) {
      this.recover(subscriber).catch((error: unknown) => this.options.onTrouble(error))
    }
  }

  /** Takes a reader out. */
  leave(subscriber: Subscriber): void {
    this.subscribers.delete(subscriber)
    if (this.subscribers.size > 0) return
    clearInterval(this.checkTimer)
    this.checkTimer = undefined
  }

  /** Begins to follow for a subscription: from now on instruments that it wants join by themselves. */
  async open(subscription: Subscription<Style, Context>): Promise<void> {
    await this.turns.take(async () => {
      await this.following.open()
      // What was known when the last reader left is old.
      if (this.subscriptions.size === 0) this.records.clear()
      await this.beginVenue(subscription.venue)
      this.subscriptions.add(subscription)
      this.compared.clear()
    })
    this.watch().catch((error: unknown) => this.options.onTrouble(error))
  }

  // Gaps of a venue are told from now on; those that are open, to each reader who joins.
  private async beginVenue(venue: VenueId): Promise<void> {
    if (this.gaps.follows(venue, '')) return
    const gaps = await this.source.gaps({ venue, key: '', start: this.recently })
    this.gaps.begin(venue, '')
    for (const gap of gaps) this.gaps.take(gap)
  }

  /** Ends a subscription. */
  end(subscription: Subscription<Style, Context>): void {
    this.subscriptions.delete(subscription)
    for (const topic of subscription.topics) this.part(topic, subscription)
    if (this.subscriptions.size > 0) return
    this.following.close()
    this.mustLook = false
    this.compared.clear()
    this.postponed.clear()
    this.records.clear()
    this.gaps.clear()
  }

  /** The topic of an instrument at the newest row, or before the first of an instrument that is new. */
  async topicOf(instrument: Instrument, newSince = Infinity): Promise<Topic<Style, Context>> {
    const name = instrumentName(instrument)
    const known = this.topics.get(name)
    if (known !== undefined) return known
    const { venue, market, key } = instrument
    const topic = new Topic<Style, Context>(instrument, await this.contextOf(instrument))
    const ref = { venue, key }
    const facts = await this.source.instrument(ref)
    const isNew = facts === undefined || facts.firstReceived >= newSince
    if (!isNew) {
      const run = await this.source.latest(ref)
      if (run !== undefined) topic.cursor.jump(run, run.from)
      const { ordinals } = await this.source.trades({ ...ref, order: 'desc', limit: 1 })
      topic.lastTrade = ordinals.at(-1) ?? 0
    }
    this.topics.set(name, topic)
    const beside = this.byMarket.get(`${venue}/${market}`)
    if (beside === undefined) this.byMarket.set(`${venue}/${market}`, new Set([topic]))
    else beside.add(topic)
    return topic
  }

  /** What rows of an instrument say about where they belong. */
  async contextOf(instrument: Instrument): Promise<Context> {
    const market = await this.records.find(instrument.venue, instrument.market)
    return this.options.contextOf(instrument, market?.record)
  }

  /** Brings a topic to the newest rows, with its gaps where they belong between the books; in a turn. */
  async bring(topic: Topic<Style, Context>): Promise<void> {
    const { venue, key } = topic.instrument
    // Where nobody reads yet, nobody misses the gaps of the past.
    const hasReaders = topic.subscriptions.size > 0
    const all = hasReaders ? await this.source.gaps({ venue, key, start: this.recently }) : []
    // Those before its newest row were told with the rows, or before its readers came.
    const isDue = (gap: Gap): boolean =>
      gap.afterSequence >= topic.cursor.sequence || this.gaps.has(gap)
    const gaps = all.filter((gap) => this.gaps.isNew(gap) && isDue(gap))
    await this.pumpBooks(topic, gaps)
    await this.pumpTrades(topic)
  }

  /** The same for somebody who joins: what cannot be read now is read later. */
  async tryToBring(topic: Topic<Style, Context>): Promise<void> {
    try {
      await this.bring(topic)
    } catch (error) {
      this.mustLook = true
      this.options.onTrouble(error)
    }
  }

  private async pumpBooks(topic: Topic<Style, Context>, gaps: readonly Gap[]): Promise<void> {
    const { venue, key } = topic.instrument
    const yielder = new Yielder()
    const waiting = gaps.toSorted((a, b) => a.afterSequence - b.afterSequence || a.start - b.start)
    for (;;) {
      const after = topic.cursor.sequence
      const page = await this.source.books({
        venue,
        key,
        order: 'asc',
        after,
        limit: PAGE,
        numbers: true,
      })
      for (const gap of page.corrupt) this.tellGap(gap)
      for (const run of page.runs) {
        for (let row = run.from; row < run.to; row++) {
          const sequence = run.firstSequence + row
          while (waiting.length > 0 && waiting[0]!.afterSequence < sequence) {
            this.flushBooks(topic)
            this.tellGap(waiting.shift()!)
          }
          if (topic.cursor.sequence > 0 && !topic.cursor.precedes(run, row)) {
            this.flushBooks(topic)
            topic.cursor.jump(run, row)
            this.restart(topic)
            continue
          }
          this.deliver(topic, topic.cursor.step(run, row))
        }
      }
      if (!page.hasMore) break
      this.flushBooks(topic)
      await this.rest(yielder)
    }
    this.flushBooks(topic)
    for (const gap of waiting) this.tellGap(gap)
  }

  /** Hands everything over that was written in a turn. */
  flush(): void {
    for (const subscriber of this.subscribers) subscriber.flush()
  }

  /** Begins anew what a reader has missed, now that it reads again. */
  async recover(subscriber: Subscriber): Promise<void> {
    while (subscriber.missed.size > 0 && !subscriber.lags && !subscriber.isClosed) {
      await this.turns.take(async () => {
        let count = 0
        for (const [channel, missed] of subscriber.missed) {
          if (count++ === SLICE || subscriber.lags) break
          // What waits in the channel lies before the reader's new beginning: it still misses that.
          channel.recover(subscriber, missed)
          subscriber.missed.delete(channel)
        }
      })
      await subscriber.room()
    }
  }

  /** Ends everything. */
  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.checkTimer)
    await this.turns.take(async () => {
      this.following.close()
    })
  }

  private part(topic: Topic<Style, Context>, subscription: Subscription<Style, Context>): void {
    topic.leave(subscription)
    this.drop(topic)
  }

  /** Keeps a topic while somebody is brought to it: the event loop may turn, and its last reader leave. */
  async hold<T>(topic: Topic<Style, Context>, work: () => Promise<T>): Promise<T> {
    topic.holds++
    try {
      return await work()
    } finally {
      topic.holds--
      this.drop(topic)
    }
  }

  /** Forgets a topic that nobody reads. */
  drop(topic: Topic<Style, Context>): void {
    if (topic.subscriptions.size > 0 || topic.holds > 0) return
    const { venue, market, key } = topic.instrument
    this.topics.delete(instrumentName(topic.instrument))
    this.gaps.forget(venue, key)
    const beside = this.byMarket.get(`${venue}/${market}`)
    beside?.delete(topic)
    if (beside?.size === 0) {
      this.byMarket.delete(`${venue}/${market}`)
      this.gaps.forget(venue, market)
    }
  }

  /** True while a subscription is open. */
  has(subscription: Subscription<Style, Context>): boolean {
    return this.subscriptions.has(subscription)
  }

  /** Lets instruments go whose market has ended; should rows come, they join again. */
  release(subscription: Subscription<Style, Context>): void {
    for (const topic of subscription.topics) {
      const { venue, market } = topic.instrument
      const status = this.records.known(venue, market)?.record.status
      if (status === undefined || !isLastStatus(status)) continue
      this.part(topic, subscription)
      this.compared.delete(instrumentName(topic.instrument))
    }
  }

  // Looks for commits as long as somebody wants to know of them.
  private async watch(): Promise<void> {
    if (this.isWatching) return
    this.isWatching = true
    try {
      while (this.subscriptions.size > 0 && !this.isClosed) {
        const started = performance.now()
        const isWell = await this.turns.take(() => this.tick())
        const pauseMs = isWell ? TICK_MS - (performance.now() - started) : TROUBLE_MS
        await new Promise((resolve) => setTimeout(resolve, Math.max(1, pauseMs)))
      }
    } finally {
      this.isWatching = false
    }
  }

  // Whatever goes wrong, what was written leaves and the next turn comes.
  private async tick(): Promise<boolean> {
    let isWell = true
    for (const step of [() => this.takeChanges(), async () => this.handOver()]) {
      try {
        await step()
      } catch (error) {
        this.options.onTrouble(error)
        isWell = false
      }
    }
    return isWell
  }

  // What cannot be read keeps nothing else waiting: the next turn looks at everything.
  private async takeChanges(): Promise<void> {
    const attempts = new Attempts()
    try {
      await attempts.make(async () => {
        const changes = await this.nextChanges()
        if (changes?.missed === 'rebuilt') {
          for (const topic of this.topics.values()) topic.isRebuilt = true
        }
        if (this.mustLook || changes?.missed !== undefined) await this.lookAtAll(attempts)
        if (changes !== undefined) await this.apply(changes, attempts)
      })
    } finally {
      this.mustLook = attempts.haveFailed
    }
    attempts.end()
    this.records.settle()
  }

  private async nextChanges(): Promise<LiveChanges | undefined> {
    const isWanted = (): boolean => this.subscriptions.size > 0 && !this.isClosed
    if (!isWanted()) return undefined
    const changes = await this.following.take()
    if (isWanted()) return changes
    // The last reader has left meanwhile.
    this.following.close()
    return undefined
  }

  private handOver(): void {
    const now = Date.now()
    try {
      for (const topic of this.topics.values()) {
        for (const channel of topic.books.values()) {
          if (!channel.waits) continue
          channel.release(now)
          channel.flush()
        }
      }
    } finally {
      this.flush()
    }
  }

  private async apply(changes: LiveChanges, attempts: Attempts): Promise<void> {
    const yielder = new Yielder()
    for (const { venue, marketId } of changes.markets) {
      await attempts.make(() => this.renewMarket(venue, marketId))
      await this.rest(yielder)
    }
    const changed = new Map<string, Instrument>()
    for (const instrument of [...changes.books, ...changes.trades]) {
      changed.set(instrumentName(instrument), instrument)
    }
    for (const [name, instrument] of changed) {
      if (!this.compared.has(name)) await attempts.make(() => this.compare(instrument))
      await this.rest(yielder)
    }
    const own = new Map<string, Gap[]>()
    const late: Gap[] = []
    for (const gap of changes.gaps) {
      const name = `${gap.venue}:${gap.key}`
      if (!this.isFollowed(gap) || !this.gaps.isNew(gap)) continue
      if (gap.scope === 'instrument') own.set(name, [...(own.get(name) ?? []), gap])
      else if (gap.end === undefined) late.push(gap)
      else this.tellGap(gap)
    }
    for (const name of new Set([...changes.books.map(instrumentName), ...own.keys()])) {
      const topic = this.topics.get(name)
      if (topic !== undefined) {
        await attempts.make(() => this.pumpBooks(topic, own.get(name) ?? []))
      }
      await this.rest(yielder)
    }
    for (const instrument of changes.trades) {
      const topic = this.topics.get(instrumentName(instrument))
      if (topic !== undefined) await attempts.make(() => this.pumpTrades(topic))
      await this.rest(yielder)
    }
    for (const gap of late) this.tellGap(gap)
  }

  // What was written leaves before the event loop turns: a large commit must not look like a slow reader.
  private async rest(yielder: Yielder): Promise<void> {
    if (!yielder.isDue) return
    this.flush()
    await yielder.yieldIfDue()
  }

  private isFollowed({ venue, scope, key }: Gap): boolean {
    switch (scope) {
      case 'instrument':
        return this.topics.has(`${venue}:${key}`)
      case 'market':
        return this.byMarket.has(`${venue}/${key}`)
      case 'venue':
        return true
    }
  }

  // Where the log was cut before it was read, every topic is compared with the store.
  private async lookAtAll(attempts: Attempts): Promise<void> {
    this.compared.clear()
    const yielder = new Yielder()
    const names = new Map<string, { venue: VenueId; key: string }>()
    const markets = new Map<string, { venue: VenueId; marketId: string }>()
    for (const { instrument } of this.topics.values()) {
      const { venue, market } = instrument
      names.set(venue, { venue, key: '' })
      if (market !== instrument.key) names.set(`${venue}/${market}`, { venue, key: market })
      markets.set(`${venue}/${market}`, { venue, marketId: market })
    }
    for (const { venue, marketId } of markets.values()) {
      await attempts.make(() => this.renewMarket(venue, marketId))
      await this.rest(yielder)
    }
    for (const instrument of this.postponed.values()) {
      await attempts.make(() => this.compare(instrument))
      await this.rest(yielder)
    }
    const start = this.recently
    for (const name of names.values()) {
      await attempts.make(async () => {
        for (const gap of await this.source.gaps({ ...name, start })) this.tellGap(gap)
      })
      await this.rest(yielder)
    }
    for (const topic of this.topics.values()) {
      await attempts.make(async () => {
        if (topic.isRebuilt) await this.reload(topic)
        topic.isRebuilt = false
        await this.bring(topic)
      })
      await this.rest(yielder)
    }
  }

  private async reload(topic: Topic<Style, Context>): Promise<void> {
    const { venue, key } = topic.instrument
    const run = await this.source.latest({ venue, key })
    if (run === undefined) return
    topic.cursor.jump(run, run.from)
    this.restart(topic)
  }

  // Rows lie between where a topic was and where it is: its readers begin anew.
  private restart(topic: Topic<Style, Context>): void {
    const readers = new Set<Subscriber>()
    for (const channel of topic.books.values()) {
      channel.jump('rebuilt')
      for (const { subscriber } of channel.members) readers.add(subscriber)
    }
    for (const subscriber of readers) {
      this.recover(subscriber).catch((error: unknown) => this.options.onTrouble(error))
    }
  }

  // Instruments that somebody wants join; each is compared once for each set of subscriptions.
  private async compare(instrument: Instrument): Promise<void> {
    const name = instrumentName(instrument)
    // Should it fail, the next look tries again.
    this.postponed.set(name, instrument)
    const record = (await this.records.find(instrument.venue, instrument.market))?.record
    if (record !== undefined) {
      for (const subscription of this.subscriptions) {
        if (subscription.pending.has(name) || !subscription.wants(record)) continue
        const known = this.topics.get(name)
        if (known !== undefined && subscription.topics.has(known)) continue
        if (!subscription.admits(name)) continue
        const topic = await this.topicOf(instrument, subscription.since)
        if (this.has(subscription)) this.join(topic, subscription, null, null)
        else this.drop(topic)
      }
      this.compared.add(name)
    }
    this.postponed.delete(name)
  }

  /** Adds a subscription to a topic; `has` and `lastTrade` are the last rows that its reader has. */
  join(
    topic: Topic<Style, Context>,
    subscription: Subscription<Style, Context>,
    has: number | null,
    lastTrade: number | null,
  ): void {
    topic.subscriptions.add(subscription)
    subscription.topics.add(topic)
    const { datasets, style } = subscription
    if (datasets.has('books')) topic.bookChannel(style, this.text).join(subscription, has)
    if (datasets.has('trades')) topic.tradeChannel(style, this.text).join(subscription, lastTrade)
  }

  private async renewMarket(venue: VenueId, marketId: string): Promise<void> {
    const news = await this.records.takeNews(venue, marketId)
    const last = news.at(-1)
    if (last === undefined) return
    const made = new Map<string, Uint8Array>()
    for (const subscription of this.subscriptions) {
      const { subscriber, style, datasets } = subscription
      if (!datasets.has('markets') || !subscription.wants(last.record)) continue
      let bytes = made.get(style.name)
      if (bytes === undefined) {
        bytes = Buffer.concat(news.map((market) => this.text.market(style, market)))
        made.set(style.name, bytes)
      }
      subscriber.send(bytes, news.length)
    }
    for (const topic of this.byMarket.get(`${venue}/${marketId}`) ?? []) {
      topic.context = this.options.contextOf(topic.instrument, last.record)
    }
  }

  private deliver(topic: Topic<Style, Context>, single: BookColumns): void {
    let made: BookColumns | undefined
    const whole = (): BookColumns => (made ??= topic.cursor.whole())
    for (const channel of topic.books.values()) channel.take(single, whole)
  }

  private flushBooks(topic: Topic<Style, Context>): void {
    for (const channel of topic.books.values()) channel.flush()
  }

  private async pumpTrades(topic: Topic<Style, Context>): Promise<void> {
    const { venue, key } = topic.instrument
    for (;;) {
      const after = topic.lastTrade
      const page = await this.source.trades({ venue, key, order: 'asc', after, limit: PAGE })
      const last = page.ordinals.at(-1)
      if (last === undefined) return
      for (const channel of topic.trades.values()) channel.deliver(page.rows, page.ordinals)
      topic.lastTrade = last
      if (!page.hasMore) return
    }
  }

  /** Tells a gap to everybody whom it concerns; false when it was told as it is. */
  tellGap(gap: Gap): boolean {
    if (!this.gaps.take(gap)) return false
    const readers = new Set<Subscription<Style, Context>>()
    if (gap.scope === 'instrument') {
      const topic = this.topics.get(`${gap.venue}:${gap.key}`)
      for (const one of topic?.subscriptions ?? []) readers.add(one)
    } else if (gap.scope === 'market') {
      for (const { subscriptions } of this.byMarket.get(`${gap.venue}/${gap.key}`) ?? []) {
        for (const one of subscriptions) readers.add(one)
      }
    } else {
      for (const one of this.subscriptions) {
        // Those who are about to join are told then.
        const isThere = one.topics.size > 0 || one.pending.size === 0
        if (one.venue === gap.venue && isThere) readers.add(one)
      }
    }
    const topic = this.topics.get(`${gap.venue}:${gap.key}`)
    // A row that waits for its time was seen before the gap.
    for (const channel of topic?.books.values() ?? []) channel.settle()
    const made = new Map<string, Uint8Array>()
    const told = new Set<Subscriber>()
    for (const { subscriber, style } of readers) {
      if (told.has(subscriber)) continue
      told.add(subscriber)
      let bytes = made.get(style.name)
      if (bytes === undefined) made.set(style.name, (bytes = this.text.gap(style, gap)))
      subscriber.send(bytes)
    }
    return true
  }
}
