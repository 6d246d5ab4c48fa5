/** The kinds of calls among which the quota is shared. */
export type CallClass = 'catalogue' | 'detail' | 'book' | 'trade'

/**
 * How much of the quota a class may count on while all of them have work; what one leaves is the
 * others'. Books first: they are what cannot be had again later.
 */
export const SHARES: Readonly<Record<CallClass, number>> = {
  book: 0.5,
  catalogue: 0.2,
  detail: 0.2,
  trade: 0.1,
}

/** One call that could be made. */
export type Job<Call> = {
  readonly class: CallClass
  /** When it is wanted; a job of the future is not made. */
  readonly dueMs: number
  /** How often it is wanted: what waits one period of a short one is as late as one of a long one. */
  readonly everyMs: number
  /** Multiplies its lateness; 1 is usual. */
  readonly weight: number
  /** Goes before everything else. */
  readonly urgent: boolean
  readonly call: Call
}

/** The next call, or when to look again; Infinity where there is nothing to do. */
export type Plan<Call> =
  | { readonly kind: 'call'; readonly job: Job<Call> }
  | { readonly kind: 'wait'; readonly untilMs: number }

/**
 * Decides what the next call is: an urgent one, else one of the class that is furthest below its
 * share of the calls `spent` lately, and of that class the one that is latest by its own period.
 */
export function planNext<Call>(
  jobs: readonly Job<Call>[],
  spent: Readonly<Record<CallClass, number>>,
  nowMs: number,
): Plan<Call> {
  let best: Job<Call> | undefined
  let untilMs = Infinity
  for (const job of jobs) {
    if (job.dueMs > nowMs) untilMs = Math.min(untilMs, job.dueMs)
    else if (best === undefined || goesBefore(job, best, spent, nowMs)) best = job
  }
  return best === undefined ? { kind: 'wait', untilMs } : { kind: 'call', job: best }
}

function goesBefore<Call>(
  job: Job<Call>,
  other: Job<Call>,
  spent: Readonly<Record<CallClass, number>>,
  nowMs: number,
): boolean {
  if (job.urgent !== other.urgent) return job.urgent
  if (!job.urgent && job.class !== other.class) {
    const [own, others] = [use(job.class, spent), use(other.class, spent)]
    return own === others ? SHARES[job.class] > SHARES[other.class] : own < others
  }
  return lateness(job, nowMs) > lateness(other, nowMs)
}

function use(name: CallClass, spent: Readonly<Record<CallClass, number>>): number {
  return spent[name] / SHARES[name]
}

function lateness<Call>(job: Job<Call>, nowMs: number): number {
  return ((nowMs - job.dueMs) / job.everyMs + 1) * job.weight
}

/**
 * Spreads planned calls over the window of the quota, which alone would let all of them go at once
 * and then none for a minute: a quarter of the limit may go at once, seven tenths follow evenly, and
 * what is left is for urgent calls. Also counts what each class spent in the last window.
 */
export interface Pace {
  /** When the next planned call may go. */
  readyMs(nowMs: number): number
  /** A call goes; an urgent one takes nothing of the even flow. */
  spend(name: CallClass, urgent: boolean, nowMs: number): void
  spent(nowMs: number): Readonly<Record<CallClass, number>>
}

const BURST_SHARE = 0.25
const FLOW_SHARE = 0.7

/** Creates a pace under this quota. */
export function createPace(quota: { readonly limit: number; readonly windowMs: number }): Pace {
  const burst = Math.max(1, quota.limit * BURST_SHARE)
  const perMs = (quota.limit * FLOW_SHARE) / quota.windowMs
  const calls: { readonly atMs: number; readonly name: CallClass }[] = []
  let tokens = burst
  let filledMs = -Infinity

  function fill(nowMs: number): void {
    if (filledMs !== -Infinity) tokens = Math.min(burst, tokens + (nowMs - filledMs) * perMs)
    filledMs = nowMs
  }

  return {
    readyMs(nowMs) {
      fill(nowMs)
      return tokens >= 1 ? nowMs : nowMs + (1 - tokens) / perMs
    },
    spend(name, urgent, nowMs) {
      fill(nowMs)
      if (!urgent) tokens -= 1
      calls.push({ atMs: nowMs, name })
    },
    spent(nowMs) {
      while (calls.length > 0 && calls[0]!.atMs <= nowMs - quota.windowMs) calls.shift()
      const counts = { catalogue: 0, detail: 0, book: 0, trade: 0 }
      for (const { name } of calls) counts[name]++
      return counts
    },
  }
}
