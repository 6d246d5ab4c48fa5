import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { CaptureLog } from './contract.ts'

/** One call that could be made. `Kind` names the kinds of calls that share a quota. */
export type ScheduledCall<Call, Kind extends string> = {
  readonly kind: Kind
  /** When it is due; a call that is not due yet is not made. */
  readonly dueMs: number
  /** How often it is due: lateness is measured in these periods. */
  readonly everyMs: number
  /** Multiplies its lateness; 1 is usual. */
  readonly weight: number
  /** Goes before everything else. */
  readonly urgent: boolean
  readonly call: Call
}

/** The next call, or when to look again; Infinity where there is nothing to do. */
type NextCall<Call, Kind extends string> =
  | { readonly type: 'call'; readonly next: ScheduledCall<Call, Kind> }
  | { readonly type: 'wait'; readonly untilMs: number }

/** How much of the quota each kind may use while all kinds have due calls; what one leaves, others use. */
export type Shares<Kind extends string> = Readonly<Record<Kind, number>>

/**
 * Chooses the next call: an urgent one, else one of the kind that is furthest below its share of the
 * recent calls, and within that kind the one that is latest in terms of its own period.
 */
export function chooseNext<Call, Kind extends string>(
  calls: readonly ScheduledCall<Call, Kind>[],
  shares: Shares<Kind>,
  spent: Readonly<Record<Kind, number>>,
  nowMs: number,
): NextCall<Call, Kind> {
  const useOf = (kind: Kind): number => spent[kind] / shares[kind]
  const isBefore = (one: ScheduledCall<Call, Kind>, other: ScheduledCall<Call, Kind>): boolean => {
    if (one.urgent !== other.urgent) return one.urgent
    if (one.urgent || one.kind === other.kind) return latenessOf(one) > latenessOf(other)
    const [own, others] = [useOf(one.kind), useOf(other.kind)]
    return own === others ? shares[one.kind] > shares[other.kind] : own < others
  }
  const latenessOf = ({ dueMs, everyMs, weight }: ScheduledCall<Call, Kind>): number =>
    ((nowMs - dueMs) / everyMs + 1) * weight

  let next: ScheduledCall<Call, Kind> | undefined
  let untilMs = Infinity
  for (const call of calls) {
    if (call.dueMs > nowMs) untilMs = Math.min(untilMs, call.dueMs)
    else if (next === undefined || isBefore(call, next)) next = call
  }
  return next === undefined ? { type: 'wait', untilMs } : { type: 'call', next }
}

const BURST_SHARE = 0.25
const FLOW_SHARE = 0.7

/**
 * Spreads calls over the window of a quota, which alone would let all of them go at once and then none
 * for the rest of the window: a quarter of the limit may go at once, seven tenths follow evenly, and the
 * rest is left to urgent calls. Also counts what each kind spent in the last window.
 */
export class CallPace<Kind extends string> {
  readonly #windowMs: number
  readonly #burst: number
  readonly #perMs: number
  readonly #kinds: readonly Kind[]
  readonly #calls: { readonly atMs: number; readonly kind: Kind }[] = []
  #tokens: number
  #filledMs = -Infinity

  constructor(quota: { readonly limit: number; readonly windowMs: number }, shares: Shares<Kind>) {
    this.#windowMs = quota.windowMs
    this.#burst = Math.max(1, quota.limit * BURST_SHARE)
    this.#perMs = (quota.limit * FLOW_SHARE) / quota.windowMs
    this.#tokens = this.#burst
    this.#kinds = Object.keys(shares) as Kind[]
  }

  /** When the next call that is not urgent may go. */
  readyMs(nowMs: number): number {
    this.#fill(nowMs)
    return this.#tokens >= 1 ? nowMs : nowMs + (1 - this.#tokens) / this.#perMs
  }

  /** Counts a call; an urgent one does not use the even flow. */
  spend(kind: Kind, urgent: boolean, nowMs: number): void {
    this.#fill(nowMs)
    if (!urgent) this.#tokens -= 1
    this.#calls.push({ atMs: nowMs, kind })
  }

  /** The calls of each kind in the last window. */
  spent(nowMs: number): Readonly<Record<Kind, number>> {
    const calls = this.#calls
    while (calls.length > 0 && calls[0]!.atMs <= nowMs - this.#windowMs) calls.shift()
    const counts = Object.fromEntries(this.#kinds.map((kind) => [kind, 0])) as Record<Kind, number>
    for (const { kind } of calls) counts[kind]++
    return counts
  }

  #fill(nowMs: number): void {
    if (this.#filledMs !== -Infinity) {
      this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#filledMs) * this.#perMs)
    }
    this.#filledMs = nowMs
  }
}

/** The calls in flight. A call that fails for another reason than an abort is a bug and is logged. */
export class CallsInFlight {
  readonly #calls = new Set<Promise<void>>()
  readonly #log: CaptureLog
  readonly #name: string

  /** `name` is the venue as the log names it. */
  constructor(log: CaptureLog, name: string) {
    this.#log = log
    this.#name = name
  }

  get size(): number {
    return this.#calls.size
  }

  start(call: () => Promise<void>, signal: AbortSignal): void {
    const running = call()
      .catch((error: unknown) => {
        if (signal.aborted) return
        this.#log.error({ error: String(error) }, `${this.#name}: a call failed unexpectedly`)
      })
      .finally(() => this.#calls.delete(running))
    this.#calls.add(running)
  }

  /** Resolves when all calls have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#calls)
  }
}

const RESTART_MS = 1_000

/**
 * Runs one part of a connector until the signal aborts. Connectors do not throw for upstream failures, so
 * an error is a bug: it is logged and the part starts again, instead of missing unnoticed.
 */
export async function supervise(
  name: string,
  run: (signal: AbortSignal) => Promise<void>,
  log: CaptureLog,
  signal: AbortSignal,
  clock: Clock = SYSTEM_CLOCK,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await run(signal)
      return
    } catch (error) {
      // An abort rejects the requests in flight.
      if (signal.aborted) return
      log.error({ error: String(error) }, `${name} failed and starts again`)
      await sleep(RESTART_MS, signal, clock)
    }
  }
}

/** Repeats a task until the signal aborts; a task that fails is logged and repeated. */
export async function repeat(
  name: string,
  everyMs: number,
  task: () => Promise<void> | void,
  log: CaptureLog,
  signal: AbortSignal,
  clock: Clock = SYSTEM_CLOCK,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await task()
    } catch (error) {
      if (!signal.aborted) log.error({ error: String(error) }, `${name} failed and is repeated`)
    }
    await sleep(everyMs, signal, clock)
  }
}
