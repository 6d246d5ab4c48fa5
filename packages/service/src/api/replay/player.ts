import { createHash } from 'node:crypto'
import { printMicros, toMicros, type Micros } from '@priorbook/sdk/domain'
import { Problem, timeJson, type StreamRequest } from '@priorbook/sdk/wire'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import type { StoreReader } from '../../store/store.ts'
import type { ApiContext, Grant } from '../route.ts'
import { MessageWriter, type MessageBatch } from './messages.ts'
import { parseReplay, type ReplayRequest } from './request.ts'
import { resolveScope, type ReplayScope } from './scope.ts'
import { RowBudget, Timeline } from './timeline.ts'

/** Where the messages of a replay go. */
export interface ReplayOutput {
  /** Sends one message as text or UTF-8 bytes, which are never changed; false: wait for `drained`. */
  send(message: string | Uint8Array): boolean
  drained(): Promise<void>
}

/**
 * Starts a replay of the markets and rows that are stored now. Throws `Problem` for what cannot be
 * replayed; later errors are sent to the client.
 */
export async function openReplay(
  context: ApiContext,
  grant: Grant,
  message: Extract<StreamRequest, { op: 'replay' }>,
  out: ReplayOutput,
  clock: Clock = SYSTEM_CLOCK,
): Promise<Player> {
  const request = parseReplay(message)
  const scope = await resolveScope(context, grant, request)
  return new Player(context.store, scope, request, out, clock)
}

// Bytes of messages encoded per step: a fraction of a millisecond of work.
const STEP_BYTES = 131_072
// Max wait per timer; Node's timers cannot wait longer than 24 days.
const MAX_WAIT_MS = 3_600_000

/** Plays a scope at the requested speed, and no faster than the client reads. */
export class Player {
  readonly id: string
  /** Resolves once the replay sends nothing more, for whatever reason; never rejects. */
  readonly ended: Promise<void>
  /** Why the replay failed, if it did; the client was sent an error. */
  failure: unknown
  /** Rows that are loaded and not sent yet. */
  readonly budget: RowBudget
  private readonly store: StoreReader
  private readonly scope: ReplayScope
  private readonly request: ReplayRequest
  private readonly out: ReplayOutput
  private readonly clock: Clock
  private readonly writer: MessageWriter
  private readonly sent = new SentRows()
  private isPaused = false
  private isOver = false
  /** False until the first rows are loaded, at the start and after a seek. */
  private isRolling = false
  private sought: number | undefined
  /** A recorded time and the clock's time when it was reached; reset at every start, resume and seek. */
  private anchor: { readonly place: number; readonly nowMs: number }
  /** The received time of the newest item that was sent. */
  private reached: number
  private wake: (() => void) | undefined

  constructor(
    store: StoreReader,
    scope: ReplayScope,
    request: ReplayRequest,
    out: ReplayOutput,
    clock: Clock,
  ) {
    this.store = store
    this.scope = scope
    this.request = request
    this.out = out
    this.clock = clock
    this.id = request.id
    this.writer = new MessageWriter(request)
    this.budget = new RowBudget(scope)
    this.reached = scope.start
    this.anchor = { place: scope.start, nowMs: clock.monotonicMs() }
    this.sendState('started', scope.start, {
      range: {
        start_time: timeJson(scope.start, request.style),
        end_time: timeJson(scope.end, request.style),
      },
      markets: scope.markets.length,
      instruments: scope.streams.length,
      ...(scope.notices.length > 0 && { notices: scope.notices }),
    })
    this.ended = this.run()
  }

  pause(): void {
    if (this.isOver || this.isPaused) return
    this.anchor = { place: this.place, nowMs: this.clock.monotonicMs() }
    this.isPaused = true
    this.sendState('paused', this.anchor.place)
    this.wake?.()
  }

  resume(): void {
    if (this.isOver || !this.isPaused) return
    this.isPaused = false
    this.anchor = { ...this.anchor, nowMs: this.clock.monotonicMs() }
    this.sendState('running', this.anchor.place)
    this.wake?.()
  }

  /** Continues from another time of the range; throws `Problem` for a time outside it. */
  seek(time: Micros): void {
    if (this.isOver) return
    const { start, end } = this.scope
    if (time < start || time >= end) {
      throw new Problem('invalid_range', 'the time is outside the range of the replay', {
        param: 'time',
        hint: `The range is from ${printMicros(start)} up to, but not including, ${printMicros(end)}.`,
      })
    }
    this.sought = time
    this.reached = time
    this.isRolling = false
    this.anchor = { place: time, nowMs: this.clock.monotonicMs() }
    this.sendState('sought', time)
    this.wake?.()
  }

  stop(): void {
    if (this.isOver) return
    this.isOver = true
    this.sendState('stopped', this.place)
    this.wake?.()
  }

  /** The current position in recorded time. */
  private get place(): number {
    if (this.request.speed === Infinity) return this.reached
    if (this.isPaused || !this.isRolling) return this.anchor.place
    const { place, nowMs } = this.anchor
    const passed = (this.clock.monotonicMs() - nowMs) * 1000 * this.request.speed
    return Math.min(this.scope.end, Math.max(this.reached, Math.floor(place + passed)))
  }

  private async run(): Promise<void> {
    // The caller gets the replay before the first rows are sent.
    await yieldToEventLoop()
    try {
      let start: number | undefined = this.scope.start
      while (start !== undefined) start = await this.playFrom(start)
      if (this.isOver) return
      this.isOver = true
      this.sendState('finished', this.scope.end, {
        rows: this.sent.count,
        ids_sha256: this.sent.digest(),
      })
    } catch (error) {
      this.failure = error
      if (this.isOver) return
      this.isOver = true
      const { code, message } = describe(error)
      this.out.send(JSON.stringify({ type: 'error', id: this.id, code, message }))
      this.sendState('stopped', this.place)
    }
  }

  /** Plays until the end, or returns the time of a seek. */
  private async playFrom(start: number): Promise<number | undefined> {
    this.sought = undefined
    this.writer.restart()
    const { store, scope, request, budget } = this
    const timeline = new Timeline(store, scope, request.datasets, budget, start)
    try {
      for (;;) {
        const items = await timeline.next(this.writer.rowsFor(STEP_BYTES))
        if (this.isOver) return undefined
        if (this.sought !== undefined) return this.sought
        if (items.length === 0) {
          // A client that paused at the end may still seek.
          await this.until(this.reached)
          return this.sought
        }
        const batch = this.writer.write(items)
        // The first reads may take a while; playing time starts after them.
        if (!this.isRolling) this.anchor = { place: start, nowMs: this.clock.monotonicMs() }
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
    if (this.request.speed === Infinity) return 0
    const { place, nowMs } = this.anchor
    return nowMs + (at - place) / 1000 / this.request.speed - this.clock.monotonicMs()
  }

  /** Waits until a recorded time is due and the replay is not paused; a seek or stop ends the wait. */
  private async until(at: number): Promise<void> {
    while (!this.isOver && this.sought === undefined) {
      const ms = this.isPaused ? Infinity : this.dueIn(at)
      if (ms <= 0) return
      await new Promise<void>((resolve) => {
        this.wake = resolve
        if (ms === Infinity) return
        const timer = this.clock.setTimeout(resolve, Math.min(Math.ceil(ms), MAX_WAIT_MS))
        this.wake = () => {
          timer.cancel()
          resolve()
        }
      })
      this.wake = undefined
    }
  }

  /** Waits until the client has read; a seek or stop ends the wait. */
  private async untilDrained(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.wake = () => {
        if (this.isOver || this.sought !== undefined) resolve()
      }
      this.out.drained().then(resolve, reject)
    })
    this.wake = undefined
  }

  private sendState(state: string, time: number, more?: Readonly<Record<string, unknown>>): void {
    this.out.send(this.writer.state(state, toMicros(time), more))
  }
}

function describe(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof Problem) return { code: error.code, message: error.message }
  return { code: 'store_unavailable', message: 'The store could not be read; the replay ended.' }
}

// Max bytes of an id: a venue, a key of 200 characters, the word trade and 16 digits.
const MAX_ID = 256

/** Counts and hashes the ids of sent rows, so that a client can check that it has all of them. */
class SentRows {
  count = 0
  private readonly hash = createHash('sha256')
  private readonly scratch = Buffer.allocUnsafeSlow(1 << 14)
  private filled = 0

  /** Adds a row, in sending order. */
  add(prefix: string, sequence: number): void {
    this.count++
    this.filled += this.scratch.write(`${prefix}${sequence}\n`, this.filled, 'latin1')
    if (this.filled + MAX_ID > this.scratch.length) this.flush()
  }

  /** SHA-256 of all ids, each followed by a line feed; call once, at the end. */
  digest(): string {
    this.flush()
    return this.hash.digest('hex')
  }

  private flush(): void {
    this.hash.update(this.scratch.subarray(0, this.filled))
    this.filled = 0
  }
}
