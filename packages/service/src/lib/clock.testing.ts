import { toMicros, type Micros } from '@priorbook/sdk/domain'
import type { Clock, Timer } from './clock.ts'

type Pending = { dueMs: number; readonly everyMs: number | undefined; readonly run: () => void }

// Event loop turns after each timer, so that promise chains and local sockets settle.
const SETTLE_TURNS = 4

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  private readonly startMicros: number
  private elapsedMs = 0
  private readonly pending = new Set<Pending>()

  constructor(startMicros = 1_700_000_000_000_000) {
    this.startMicros = startMicros
  }

  now(): Micros {
    return toMicros(this.startMicros + Math.round(this.elapsedMs * 1000))
  }

  monotonicMs(): number {
    return this.elapsedMs
  }

  setTimeout(callback: () => void, ms: number): Timer {
    return this.add({ dueMs: this.elapsedMs + ms, everyMs: undefined, run: callback })
  }

  setInterval(callback: () => void, ms: number): Timer {
    return this.add({ dueMs: this.elapsedMs + ms, everyMs: ms, run: callback })
  }

  /** How many timers are running. */
  get timers(): number {
    return this.pending.size
  }

  /** When the next timer falls due, on the monotonic axis. */
  get nextDueMs(): number | undefined {
    return this.nextDue(Infinity)?.dueMs
  }

  /** Moves the time on and runs every timer that falls due, in order. */
  async advance(ms: number): Promise<void> {
    const target = this.elapsedMs + ms
    for (let next = this.nextDue(target); next !== undefined; next = this.nextDue(target)) {
      this.elapsedMs = Math.max(this.elapsedMs, next.dueMs)
      if (next.everyMs === undefined) this.pending.delete(next)
      else next.dueMs += Math.max(1, next.everyMs)
      next.run()
      await settle()
    }
    this.elapsedMs = target
    await settle()
  }

  /** Moves the time on while the process does not run: timers that fall due run late, with the next advance. */
  stall(ms: number): void {
    this.elapsedMs += ms
  }

  private add(timer: Pending): Timer {
    this.pending.add(timer)
    const handle: Timer = {
      cancel: () => void this.pending.delete(timer),
      unref: () => handle,
    }
    return handle
  }

  private nextDue(untilMs: number): Pending | undefined {
    let first: Pending | undefined
    for (const timer of this.pending) {
      if (timer.dueMs <= untilMs && (first === undefined || timer.dueMs < first.dueMs)) {
        first = timer
      }
    }
    return first
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}
