import { instrumentName, type Gap, type Instrument } from '@priorbook/sdk/domain'
import { Yielder } from '../lib/yielder.ts'
import { BookCursor } from './book-cursor.ts'
import { GapBoard } from './gap-board.ts'
import type { Hub } from './hub.ts'
import type { LeftOut, LiveStyle } from './style.ts'
import type { Subscription } from './subscription.ts'
import type { Topic } from './topic.ts'

/** The last rows that a reader has from before, by instrument key. */
export type Resume = {
  readonly books: ReadonlyMap<string, number>
  readonly trades: ReadonlyMap<string, number>
  /** How many rows may still be sent again. */
  budget: number
}

// Instruments that join in one turn, so that rows of the others do not wait long.
const SLICE = 8
const PAGE = 256
// Looks at the store without a new row before a reader begins anew.
const MOST_IDLE = 5

/**
 * Lets instruments join a subscription, a few in a turn and as fast as their reader reads: those that
 * the reader knows go on after its last row, the others begin with a snapshot. Gaps that are open are
 * told behind it.
 */
export async function joinAll<Style extends LiveStyle, Context>(
  hub: Hub<Style, Context>,
  subscription: Subscription<Style, Context>,
  instruments: readonly Instrument[],
  resume: Resume,
): Promise<void> {
  const { subscriber, pending } = subscription
  const told = new GapBoard()
  const yielder = new Yielder()
  for (const instrument of instruments) pending.add(instrumentName(instrument))
  if (instruments.length === 0) await hub.turns.take(() => joinNothing(hub, subscription))
  for (let at = 0; at < instruments.length; at += SLICE) {
    const slice = instruments.slice(at, at + SLICE)
    await yielder.yieldIfDue()
    await hub.turns.take(async () => {
      for (const instrument of slice) {
        if (!hub.has(subscription)) return
        if (resume.books.has(instrument.key)) continue
        await joinNow(hub, subscription, instrument, told, resume)
      }
      subscriber.flush()
    })
    for (const instrument of slice) {
      if (!hub.has(subscription)) return
      if (resume.books.has(instrument.key)) {
        await new CatchUp(hub, subscription, instrument, told, resume).run()
      }
      await subscriber.room()
    }
  }
}

/** Where there is no instrument yet, its venue may be interrupted all the same. */
async function joinNothing<Style extends LiveStyle, Context>(
  hub: Hub<Style, Context>,
  { subscriber, style, venue }: Subscription<Style, Context>,
): Promise<void> {
  for (const gap of await hub.source.gaps({ venue, key: '', open: true })) {
    if (!hub.tellGap(gap)) subscriber.send(hub.text.gap(style, gap))
  }
}

async function joinNow<Style extends LiveStyle, Context>(
  hub: Hub<Style, Context>,
  subscription: Subscription<Style, Context>,
  instrument: Instrument,
  told: GapBoard,
  resume: Resume,
): Promise<void> {
  const topic = await enter(hub, subscription, instrument)
  if (topic === undefined) return
  await hub.hold(topic, async () => {
    if (topic.subscriptions.size > 0) await hub.tryToBring(topic)
    const gaps = await gapsNow(hub, topic)
    const trade = await sendTrades(hub, subscription, topic, resume)
    if (!hub.has(subscription)) return
    hub.join(topic, subscription, null, trade)
    tellPresent(hub, subscription, topic, gaps, told)
  })
}

/** The topic of an instrument that is to join; absent when the reader is gone or has joined. */
async function enter<Style extends LiveStyle, Context>(
  hub: Hub<Style, Context>,
  subscription: Subscription<Style, Context>,
  instrument: Instrument,
): Promise<Topic<Style, Context> | undefined> {
  const topic = await hub.topicOf(instrument)
  subscription.pending.delete(instrumentName(instrument))
  if (hub.has(subscription) && !subscription.topics.has(topic)) return topic
  hub.drop(topic)
  return undefined
}

/** The gaps of an instrument, its market and its venue; what others were not told yet they are told. */
async function gapsNow<Style extends LiveStyle, Context>(
  hub: Hub<Style, Context>,
  { instrument, cursor }: Topic<Style, Context>,
): Promise<readonly Gap[]> {
  const { venue, market, key } = instrument
  const start = hub.recently
  const all: Gap[] = []
  for (const name of new Set([key, market, ''])) {
    const isFollowed = hub.gaps.follows(venue, name)
    const gaps = await hub.source.gaps({ venue, key: name, start })
    hub.gaps.begin(venue, name)
    for (const gap of gaps) {
      if (isAhead(gap, cursor)) continue
      all.push(gap)
      if (isFollowed) hub.tellGap(gap)
      else hub.gaps.take(gap)
    }
  }
  return all
}

// Behind rows that nobody has yet: it is told with them.
function isAhead({ scope, afterSequence }: Gap, { sequence }: BookCursor): boolean {
  return scope === 'instrument' && afterSequence > sequence
}

/** Tells gaps that are open, and those that ended behind the newest row. */
function tellPresent<Style extends LiveStyle, Context>(
  hub: Hub<Style, Context>,
  { subscriber, style }: Subscription<Style, Context>,
  { cursor }: Topic<Style, Context>,
  gaps: readonly Gap[],
  told: GapBoard,
): void {
  for (const gap of gaps) {
    const isBehind = gap.scope === 'instrument' && gap.afterSequence >= cursor.sequence
    if (gap.end !== undefined && !isBehind) continue
    if (told.take(gap)) subscriber.send(hub.text.gap(style, gap))
  }
}

/** Sends trades after the last that the reader has and gives the last one; null for none. */
async function sendTrades<Style extends LiveStyle, Context>(
  hub: Hub<Style, Context>,
  { subscriber, style, datasets }: Subscription<Style, Context>,
  { instrument, context, lastTrade }: Topic<Style, Context>,
  resume: Resume,
): Promise<number | null> {
  const { venue, key } = instrument
  let after = resume.trades.get(key)
  if (after === undefined || !datasets.has('trades')) return null
  // Trades that are not there, or too many: the next one says after which.
  if (after > lastTrade || lastTrade - after > resume.budget) return after === 0 ? null : after
  while (after < lastTrade) {
    const page = await hub.source.trades({ venue, key, order: 'asc', after, limit: PAGE })
    for (const [row, ordinal] of page.ordinals.entries()) {
      if (ordinal > lastTrade) break
      const previous: number | null = after === 0 ? null : after
      subscriber.send(hub.text.trade(context, style, page.rows, row, ordinal, previous))
      subscriber.rows++
      after = ordinal
      resume.budget--
    }
    if (page.ordinals.length === 0) break
  }
  return after === 0 ? null : after
}

/** Brings one reader from its last row of an instrument to the newest, then lets it join. */
class CatchUp<Style extends LiveStyle, Context> {
  private readonly hub: Hub<Style, Context>
  private readonly subscription: Subscription<Style, Context>
  private readonly instrument: Instrument
  private readonly told: GapBoard
  private readonly resume: Resume
  private readonly cursor = new BookCursor()
  private gaps: Gap[] = []
  /** The last row that the reader had, and the last that it has now. */
  private readonly from: number
  private has: number

  constructor(
    hub: Hub<Style, Context>,
    subscription: Subscription<Style, Context>,
    instrument: Instrument,
    told: GapBoard,
    resume: Resume,
  ) {
    this.hub = hub
    this.subscription = subscription
    this.instrument = instrument
    this.told = told
    this.resume = resume
    this.from = resume.books.get(instrument.key)!
    this.has = this.from
  }

  async run(): Promise<void> {
    const { hub, subscription } = this
    const { venue, key } = this.instrument
    const facts = await hub.source.instrument({ venue, key })
    const last = facts?.lastSequence ?? 0
    const behind = last - this.has
    let refusal: LeftOut | undefined
    if (behind < 0) refusal = 'rebuilt'
    else if (this.has + 1 < (facts?.firstSequence ?? 1)) refusal = 'resume_too_old'
    else if (behind > this.resume.budget) refusal = 'resume_too_old'
    await this.lookForGaps()
    const yielder = new Yielder()
    // Of conflated books only the newest matters.
    const isStepwise = subscription.style.conflateMs === 0 && subscription.datasets.has('books')
    if (isStepwise) {
      let idle = 0
      while (refusal === undefined && hub.has(subscription)) {
        const before = this.has
        if (!(await this.sendPage())) refusal = 'resume_too_old'
        else if (await this.joinIfThere()) return
        // Where the others have rows that cannot be read, they are of another tape.
        idle = this.has === before ? idle + 1 : 0
        if (idle === MOST_IDLE) refusal ??= 'rebuilt'
        await subscription.subscriber.room()
        await yielder.yieldIfDue()
      }
    }
    await hub.turns.take(() => this.joinAnew(refusal))
  }

  /** Sends rows after the last one; false when they cannot be read. */
  private async sendPage(): Promise<boolean> {
    const { hub, subscription, cursor, resume } = this
    const { subscriber, style } = subscription
    const { venue, key } = this.instrument
    const context = await hub.contextOf(this.instrument)
    const query = { venue, key, order: 'asc', limit: PAGE, numbers: true } as const
    const page = await hub.source.books({ ...query, after: this.has })
    if (page.corrupt.length > 0) return false
    const frames: Uint8Array[] = []
    for (const run of page.runs) {
      for (let row = run.from; row < run.to; row++) {
        if (cursor.sequence === 0 && this.has > 0) cursor.jumpBefore(run, row)
        const sequence = run.firstSequence + row
        if (sequence !== this.has + 1) return false
        this.tellGapsBefore(sequence, frames)
        const single = cursor.step(run, row)
        const body = style.mode === 'full' || this.has === 0 ? cursor.whole() : single
        frames.push(
          this.has === 0
            ? hub.text.snapshot(context, style, body, sequence, null)
            : hub.text.update(context, style, body, sequence, this.has),
        )
        this.has = sequence
        resume.budget--
        subscriber.rows++
      }
    }
    if (frames.length > 0) subscriber.send(Buffer.concat(frames), frames.length)
    return true
  }

  private async joinIfThere(): Promise<boolean> {
    const { hub, subscription, instrument } = this
    return hub.turns.take(async () => {
      const topic = await hub.topicOf(instrument)
      return hub.hold(topic, async () => {
        await hub.bring(topic)
        if (topic.cursor.sequence !== this.has) return false
        if ((await enter(hub, subscription, instrument)) === undefined) return true
        await this.finish(topic, undefined)
        return true
      })
    })
  }

  private async joinAnew(refusal: LeftOut | undefined): Promise<void> {
    const { hub, subscription, instrument } = this
    const topic = await enter(hub, subscription, instrument)
    if (topic === undefined) return
    await hub.hold(topic, async () => {
      await hub.bring(topic)
      if (hub.has(subscription)) await this.finish(topic, refusal)
    })
  }

  // Gaps that came while rows were sent are told in the turn in which the reader joins.
  private async finish(topic: Topic<Style, Context>, refusal: LeftOut | undefined): Promise<void> {
    const { hub, subscription, has } = this
    const { subscriber, style, datasets } = subscription
    const open = await gapsNow(hub, topic)
    await this.lookForGaps()
    const trade = await sendTrades(hub, subscription, topic, this.resume)
    if (!hub.has(subscription)) return
    if (refusal === undefined || !datasets.has('books')) {
      hub.join(topic, subscription, has, trade)
    } else {
      hub.join(topic, subscription, topic.cursor.sequence, trade)
      topic.bookChannel(style, hub.text).rejoin(subscription, has, refusal)
    }
    for (const gap of this.gaps) {
      if (isAhead(gap, topic.cursor)) continue
      subscriber.send(hub.text.gap(style, gap))
    }
    tellPresent(hub, subscription, topic, open, this.told)
    subscriber.flush()
  }

  // What the reader may not know: gaps behind its last row, and those that were open then.
  private async lookForGaps(): Promise<void> {
    const { venue, market, key } = this.instrument
    for (const name of new Set([key, market, ''])) {
      const start = this.hub.recently
      const gaps = await this.hub.source.gaps({
        venue,
        key: name,
        ...(name === key ? {} : { start }),
      })
      for (const gap of gaps) {
        const isLate = gap.scope !== 'instrument' || gap.afterSequence >= this.from
        if ((isLate || gap.end === undefined) && this.told.take(gap)) this.gaps.push(gap)
      }
    }
    this.gaps.sort((a, b) => a.afterSequence - b.afterSequence || a.start - b.start)
  }

  private tellGapsBefore(sequence: number, frames: Uint8Array[]): void {
    const { style } = this.subscription
    while (this.gaps.length > 0 && this.gaps[0]!.afterSequence < sequence) {
      frames.push(this.hub.text.gap(style, this.gaps.shift()!))
    }
  }
}
