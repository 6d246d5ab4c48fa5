import type { Instrument } from '@priorbook/sdk/domain'
import { Yielder } from '../lib/yielder.ts'
import { BookLane, gapKeysOf } from '../rows/index.ts'
import { BookCursor } from './book-cursor.ts'
import type { ResyncReason } from './subscriber.ts'
import { PendingGaps } from './gap-publisher.ts'
import type { InstrumentFeed } from './instrument-feed.ts'
import { isAhead, type Join } from './join.ts'

/** Runs work in the hub's queue, with the pinned feed of an instrument. */
export type WithFeed = <T>(work: (feed: InstrumentFeed) => Promise<T>) => Promise<T>

// Max rows read from the store at once.
const PAGE = 256
// Max reads without a new row while the feed is further on; then its rows are of another tape.
const MAX_IDLE_READS = 5

/**
 * Brings one client from its last row of an instrument to the present and attaches it there. Rows are
 * sent outside the hub's queue, as fast as the client reads them.
 */
export class Resume {
  private readonly join: Join
  private readonly instrument: Instrument
  private readonly withFeed: WithFeed
  private readonly cursor = new BookCursor()
  private readonly gaps = new PendingGaps()
  /** The last row of the client before, and now. */
  private readonly from: number
  private last: number

  constructor(join: Join, instrument: Instrument, withFeed: WithFeed) {
    this.join = join
    this.instrument = instrument
    this.withFeed = withFeed
    this.from = join.points.books.get(instrument.key)!
    this.last = this.from
  }

  async run(): Promise<void> {
    const { style, datasets } = this.join.subscription
    let refusal = await this.findRefusal()
    await this.readGaps()
    // A conflated reader needs the newest book only.
    if (refusal === undefined && style.conflateMs === 0 && datasets.has('books')) {
      const outcome = await this.sendUntilPresent()
      if (outcome === 'attached') return
      refusal = outcome
    }
    await this.withFeed(async (feed) => {
      if (!this.join.admit(feed)) return
      await feed.catchUp()
      if (this.join.isOpen) await this.attach(feed, refusal)
    })
  }

  private async findRefusal(): Promise<ResyncReason | undefined> {
    const { venue, key } = this.instrument
    const facts = await this.join.services.store.instrument({ venue, key })
    const behind = (facts?.lastSequence ?? 0) - this.last
    if (behind < 0) return 'rebuilt'
    const isGone = this.last + 1 < (facts?.firstSequence ?? 1)
    return isGone || behind > this.join.points.budget.rows ? 'resume_too_old' : undefined
  }

  /** Sends rows until the client has the feed's row; otherwise returns why that cannot succeed. */
  private async sendUntilPresent(): Promise<'attached' | ResyncReason | undefined> {
    const { join } = this
    const yielder = new Yielder(true)
    let idleReads = 0
    while (join.isOpen) {
      const before = this.last
      if (!(await this.sendPage())) return 'resume_too_old'
      if (await this.attachIfPresent()) return 'attached'
      idleReads = this.last === before ? idleReads + 1 : 0
      if (idleReads === MAX_IDLE_READS) return 'rebuilt'
      await join.subscription.subscriber.room()
      await yielder.yieldIfDue()
    }
    return undefined
  }

  /** Sends the rows after the last one; false when some cannot be read. */
  private async sendPage(): Promise<boolean> {
    const { cursor, join } = this
    const { services, points } = join
    const { subscriber, style } = join.subscription
    const { venue, key } = this.instrument
    const context = await services.contextOf(this.instrument)
    let isDamaged = false
    const query = { venue, key, order: 'asc', after: this.last, pageRows: PAGE } as const
    const lane = new BookLane(services.store, query, { onDamage: () => (isDamaged = true) })
    await lane.load()
    if (isDamaged) return false
    const frames: Uint8Array[] = []
    while (lane.isReady) {
      const run = lane.shiftBefore(undefined, PAGE)
      for (let row = run.from; row < run.to; row++) {
        if (cursor.sequence === 0 && this.last > 0) cursor.jumpBefore(run, row)
        const sequence = run.firstSequence + row
        if (sequence !== this.last + 1 || run.columns.received[row]! < points.start) return false
        // A gap before the first row follows the snapshot.
        if (this.last > 0) this.encodeGapsBefore(sequence, frames)
        const single = cursor.step(run, row)
        const body = style.mode === 'full' || this.last === 0 ? cursor.whole() : single
        frames.push(
          this.last === 0
            ? style.snapshot(context, body, sequence, null)
            : style.update(context, body, sequence, this.last),
        )
        this.last = sequence
        points.budget.rows--
        subscriber.rows++
      }
    }
    if (frames.length > 0) subscriber.send(Buffer.concat(frames), frames.length)
    return true
  }

  private attachIfPresent(): Promise<boolean> {
    return this.withFeed(async (feed) => {
      await feed.catchUp()
      if (feed.sequence !== this.last) return false
      if (this.join.admit(feed)) await this.attach(feed, undefined)
      return true
    })
  }

  // Gaps that appeared while rows were sent are sent in the turn in which the client is attached.
  private async attach(feed: InstrumentFeed, refusal: ResyncReason | undefined): Promise<void> {
    const { join, last } = this
    const { subscription } = join
    const { subscriber, style } = subscription
    const current = await join.readCurrentGaps(feed)
    await this.readGaps()
    const trade = await join.sendTrades(feed)
    if (!join.isOpen) return
    feed.attach(subscription, last, trade, refusal)
    for (const gap of this.gaps.shiftAll()) {
      if (!isAhead(gap, feed.sequence)) subscriber.send(style.gap(gap))
    }
    join.sendCurrentGaps(feed, current)
    subscriber.flush()
  }

  // The client may not know gaps after its last row, nor how those ended that were open then.
  private async readGaps(): Promise<void> {
    const { venue, market, key } = this.instrument
    const { store, recentStart } = this.join.services
    for (const name of gapKeysOf([{ key, marketId: market }])) {
      const start = name === key ? {} : { start: recentStart() }
      const found = await store.gaps({ venue, key: name, ...start })
      this.gaps.add(
        found.filter((gap) => {
          const isLate = gap.scope !== 'instrument' || gap.afterSequence >= this.from
          return (isLate || gap.end === undefined) && this.join.sentGaps.add(gap)
        }),
      )
    }
  }

  private encodeGapsBefore(sequence: number, frames: Uint8Array[]): void {
    const { subscription } = this.join
    for (let gap = this.gaps.shiftBefore(sequence); gap; gap = this.gaps.shiftBefore(sequence)) {
      frames.push(subscription.style.gap(gap))
    }
  }
}
