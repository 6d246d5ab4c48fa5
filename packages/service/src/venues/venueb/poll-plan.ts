/** A market to poll; times are of one monotonic clock, in milliseconds. */
export type PolledMarket = {
  readonly key: string
  /** How long until it closes; absent where nobody knows. */
  readonly closesInMs?: number
}

/** What a plan may spend and how far intervals may go. */
export type PollPlanOptions = {
  /** No market is polled more often than this. */
  readonly minIntervalMs: number
  /** Every market is polled at least this often, as long as that takes at most half of the rate. */
  readonly maxIntervalMs: number
  /** A market that closes within this span is polled up to `CLOSING_BOOST` times as often. */
  readonly closingMs: number
}

/** Decides which market is polled next: the busiest and soonest-closing most often. Pure: no clock, no timer. */
export interface PollPlan {
  /** Replaces the markets; those that stay keep what was learned of them, new ones are due at once. */
  set(markets: readonly PolledMarket[], nowMs: number): void
  /** How many polls a second there are to spend. */
  rate(perSecond: number): void
  /** The market that is due most, if one is; it is then under way until `done`. */
  next(nowMs: number): string | undefined
  /** A poll ended. `changes` is what it found changed; absent where it found nothing to compare. */
  done(key: string, nowMs: number, changes?: number): void
  /** Makes a market due before all others, though not within half of the minimal interval. */
  hurry(key: string): void
  /** The interval that the market has by now. */
  intervalMs(key: string): number
}

/** How much more often a market is polled that is about to close. */
export const CLOSING_BOOST = 4
const SMOOTHING = 0.3
// What a market weighs in which nothing happens, against one of the busiest tenth.
const QUIET_WEIGHT = 0.02
const BUSY_RANK = 10
const MAX_SHARE = 10
const FLOOR_SHARE = 0.5
const REBALANCE_MS = 1000

type Entry = {
  closesInMs: number | undefined
  /** Changes a second, exponentially averaged over polls; absent until a second poll. */
  activity: number | undefined
  last: number | undefined
  intervalMs: number
  isUnderWay: boolean
  isUrgent: boolean
}

/** Creates an empty plan. */
export function createPollPlan(options: PollPlanOptions): PollPlan {
  const { minIntervalMs, maxIntervalMs, closingMs } = options
  const entries = new Map<string, Entry>()
  let perSecond = 1
  let balancedAt = -Infinity

  /** Gives every market its floor, then shares the rest by weight; what one cannot use goes to the others. */
  function rebalance(nowMs: number): void {
    balancedAt = nowMs
    const list = [...entries.values()]
    if (list.length === 0) return
    const cap = 1000 / minIntervalMs
    const floor = Math.min(1000 / maxIntervalMs, (FLOOR_SHARE * perSecond) / list.length, cap)
    const known = list.flatMap(({ activity }) => (activity === undefined ? [] : [activity]))
    // Not the busiest of all: one outlier must not make all others look quiet.
    const busy = known.sort((a, b) => b - a)[Math.floor(known.length / BUSY_RANK)] ?? 0
    const mean = known.reduce((sum, one) => sum + one, 0) / Math.max(1, known.length)
    let left = perSecond - floor * list.length
    let open = list.map((entry) => {
      const activity = entry.activity ?? mean
      const share = busy === 0 ? Number(activity > 0) : Math.min(MAX_SHARE, activity / busy)
      return { entry, weight: (share + QUIET_WEIGHT) * closing(entry.closesInMs) }
    })
    while (open.length > 0) {
      const total = open.reduce((sum, { weight }) => sum + weight, 0)
      const full = open.filter(({ weight }) => floor + (left * weight) / total >= cap)
      for (const { entry } of full) entry.intervalMs = minIntervalMs
      if (full.length === 0) {
        for (const { entry, weight } of open) {
          entry.intervalMs = 1000 / (floor + (left * weight) / total)
        }
        return
      }
      left -= full.length * (cap - floor)
      open = open.filter((one) => !full.includes(one))
    }
  }

  function closing(closesInMs: number | undefined): number {
    if (closesInMs === undefined) return 1
    const near = 1 - Math.min(1, Math.max(0, closesInMs) / closingMs)
    return 1 + (CLOSING_BOOST - 1) * near
  }

  return {
    set(markets, nowMs) {
      const gone = new Set(entries.keys())
      let isNew = false
      for (const { key, closesInMs } of markets) {
        gone.delete(key)
        const entry = entries.get(key)
        if (entry === undefined) {
          isNew = true
          const fresh = { activity: undefined, last: undefined, intervalMs: minIntervalMs }
          entries.set(key, { closesInMs, ...fresh, isUnderWay: false, isUrgent: false })
        } else entry.closesInMs = closesInMs
      }
      for (const key of gone) entries.delete(key)
      if (isNew || gone.size > 0) rebalance(nowMs)
    },
    rate(polls) {
      if (polls === perSecond) return
      perSecond = polls
      balancedAt = -Infinity
    },
    next(nowMs) {
      if (nowMs - balancedAt >= REBALANCE_MS) rebalance(nowMs)
      let best: string | undefined
      let lateness = 1
      for (const [key, entry] of entries) {
        if (entry.isUnderWay) continue
        const age = nowMs - (entry.last ?? -Infinity)
        // Late in terms of its own interval: under overload all intervals stretch alike. Urgency
        // that repeats itself, as for a book that is refused each time, must not take all polls.
        const isFirst = entry.isUrgent && age >= minIntervalMs / 2
        const late = isFirst ? Infinity : age / entry.intervalMs
        if (late >= lateness && (best === undefined || late > lateness)) {
          best = key
          lateness = late
        }
      }
      if (best === undefined) return undefined
      const entry = entries.get(best)!
      entry.isUnderWay = true
      entry.isUrgent = false
      return best
    },
    done(key, nowMs, changes) {
      const entry = entries.get(key)
      if (entry === undefined) return
      if (changes !== undefined && entry.last !== undefined) {
        const seconds = Math.max(1, nowMs - entry.last) / 1000
        const seen = changes / seconds
        const before = entry.activity ?? seen
        entry.activity = before + SMOOTHING * (seen - before)
      }
      entry.last = nowMs
      entry.isUnderWay = false
    },
    hurry(key) {
      const entry = entries.get(key)
      if (entry !== undefined) entry.isUrgent = true
    },
    intervalMs: (key) => entries.get(key)?.intervalMs ?? maxIntervalMs,
  }
}
