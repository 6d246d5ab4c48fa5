import { printMicros, toMicros, type Micros } from '@priorbook/sdk/domain'
import { Problem, timeJson } from '@priorbook/sdk/wire'
import type { Store } from '../../store/store.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import type { MessageBatch } from './message-batch.ts'
import { MessageWriter } from './message-writer.ts'
import type { Replay, ReplayClock, ReplayOutput } from './replay.ts'
import type { ReplayOrder } from './request.ts'
import { RowBudget } from './row-budget.ts'
import type { ReplayScope } from './scope.ts'
import { SentRows } from './sent-rows.ts'
import { Timeline } from './timeline.ts'

// Text made in one step: a fraction of a millisecond of work.
const STEP_BYTES = 131_072
// Timers cannot wait longer than 24 days; waking up once an hour costs nothing.
const LONGEST_WAIT_MS = 3_600_000

/** Plays a scope: one thing after another, at the pace of the order, as long as the client reads. */
export class Player implements Replay {
  readonly id: string
  readonly ended: Promise<void>
  failure: unknown
  /** Rows that are read and not sent yet. */
  readonly budget: RowBudget
  private readonly store: Store
  private readonly scope: ReplayScope
  private readonly order: ReplayOrder
  private readonly out: ReplayOutput
  private readonly clock: ReplayClock
  private readonly writer: MessageWriter
  private readonly sent = new SentRows()
  private isPaused = false
  private isOver = false
  /** False until the first rows are at hand, at the start and after a seek. */
  private isRolling = false
  private sought: number | undefined
  /** Recorded time and clock that belong together; both move on at every start, resume and seek. */
  private anchor: { readonly place: number; readonly now: number }
  /** When the newest thing that was sent had been received. */
  private reached: number
  private wake: (() => void) | undefined

  constructor(
    store: Store,
    scope: ReplayScope,
    order: ReplayOrder,
    out: ReplayOutput,
    clock: ReplayClock,
  ) {
    this.store = store
    this.scope = scope
    this.order = order
    this.out = out
    this.clock = clock
    this.id = order.id
    this.writer = new MessageWriter(order)
    this.budget = new RowBudget(scope)
    this.reached = scope.start
    this.anchor = { place: scope.start, now: clock.now() }
    this.tell('started', scope.start, {
      range: {
        start_time: timeJson(scope.start, order.style),
        end_time: timeJson(scope.end, order.style),
      },
      markets: scope.markets.length,
      instruments: scope.streams.length,
      ...(scope.notices.length > 0 && { notices: scope.notices }),
    })
    this.ended = this.run()
  }

  pause(): void {
    if (this.isOver || this.isPaused) return
    this.anchor = { place: this.place, now: this.clock.now() }
    this.isPaused = true
    this.tell('paused', this.anchor.place)
    this.wake?.()
  }

  resume(): void {
    if (this.isOver || !this.isPaused) return
    this.isPaused = false
    this.anchor = { ...this.anchor, now: this.clock.now() }
    this.tell('running', this.anchor.place)
    this.wake?.()
  }

  seek(time: Micros): void {
    if (this.isOver) return
    const { start, end } = this.scope
    if (time < start || time >= end) {
      throw new Problem('invalid_range', 'the time lies outside the range of the replay', {
        param: 'time',
        hint: `The range is from ${printMicros(start)} up to, but without, ${printMicros(end)}.`,
      })
    }
    this.sought = time
    this.reached = time
    this.isRolling = false
    this.anchor = { place: time, now: this.clock.now() }
    this.tell('sought', time)
    this.wake?.()
  }

  stop(): void {
    if (this.isOver) return
    this.isOver = true
    this.tell('stopped', this.place)
    this.wake?.()
  }

  /** Where the replay stands in recorded time. */
  private get place(): number {
    if (this.order.speed === Infinity) return this.reached
    if (this.isPaused || !this.isRolling) return this.anchor.place
    const { place, now } = this.anchor
    const passed = (this.clock.now() - now) * 1000 * this.order.speed
    return Math.min(this.scope.end, Math.max(this.reached, Math.floor(place + passed)))
  }

  private async run(): Promise<void> {
    // Whoever opened the replay gets it in hand before its rows come.
    await yieldToEventLoop()
    try {
      let start: number | undefined = this.scope.start
      while (start !== undefined) start = await this.playFrom(start)
      if (this.isOver) return
      this.isOver = true
      this.tell('finished', this.scope.end, {
        rows: this.sent.count,
        ids_sha256: this.sent.digest(),
      })
    } catch (error) {
      this.failure = error
      if (this.isOver) return
      this.isOver = true
      const { code, message } = describe(error)
      this.out.send(JSON.stringify({ type: 'error', id: this.id, code, message }))
      this.tell('stopped', this.place)
    }
  }

  /** Plays until the end, or gives the time to go on from. */
  private async playFrom(start: number): Promise<number | undefined> {
    this.sought = undefined
    this.writer.restart()
    const { store, scope, order, budget } = this
    const timeline = new Timeline(store, scope, order.datasets, budget, start)
    try {
      for (;;) {
        const items = await timeline.next(this.writer.rowsFor(STEP_BYTES))
        if (this.isOver) return undefined
        if (this.sought !== undefined) return this.sought
        if (items.length === 0) {
          // Who pauses at the end may still seek.
          await this.until(this.reached)
          return this.sought
        }
        const batch = this.writer.write(items)
        // The first look into the store may take a while; the clock runs from when it is done.
        if (!this.isRolling) this.anchor = { place: start, now: this.clock.now() }
        this.isRolling = true
        await this.send(batch)
        if (this.isOver) return undefined
        if (this.sought !== undefined) return this.sought
        await yieldToEventLoop()
      }
    } finally {
      timeline.close()
    }
  }

  private async send(batch: MessageBatch): Promise<void> {
    for (let index = 0; index < batch.count; index++) {
      const at = batch.at[index]!
      if (this.isPaused || this.dueIn(at) > 0) {
        await this.until(at)
        if (this.isOver || this.sought !== undefined) return
      }
      const prefix = batch.rowPrefix[index]
      if (prefix !== undefined) this.sent.add(prefix, batch.rowSequence[index]!)
      this.reached = at
      if (this.out.send(batch.message(index))) continue
      await this.untilDrained()
      if (this.isOver || this.sought !== undefined) return
    }
  }

  /** Milliseconds until a recorded time is due; zero or less: now. */
  private dueIn(at: number): number {
    if (this.order.speed === Infinity) return 0
    const { place, now } = this.anchor
    return now + (at - place) / 1000 / this.order.speed - this.clock.now()
  }

  /** Waits until a recorded time is due and nobody pauses; a seek or a stop ends it early. */
  private async until(at: number): Promise<void> {
    while (!this.isOver && this.sought === undefined) {
      const ms = this.isPaused ? Infinity : this.dueIn(at)
      if (ms <= 0) return
      await new Promise<void>((resolve) => {
        this.wake = resolve
        if (ms === Infinity) return
        const cancel = this.clock.after(Math.min(Math.ceil(ms), LONGEST_WAIT_MS), resolve)
        this.wake = () => {
          cancel()
          resolve()
        }
      })
      this.wake = undefined
    }
  }

  /** Waits until the client has read; a seek or a stop ends it early. */
  private async untilDrained(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.wake = () => {
        if (this.isOver || this.sought !== undefined) resolve()
      }
      this.out.drained().then(resolve, reject)
    })
    this.wake = undefined
  }

  private tell(state: string, time: number, more?: Readonly<Record<string, unknown>>): void {
    this.out.send(this.writer.state(state, toMicros(time), more))
  }
}

function describe(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof Problem) return { code: error.code, message: error.message }
  return { code: 'store_unavailable', message: 'The store could not be read; the replay ended.' }
}
