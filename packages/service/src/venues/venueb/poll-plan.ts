/** A market to poll. */
export type PolledMarket = {
  readonly key: string
  /** How long until it closes; absent where that is unknown. */
  readonly closesInMs?: number
}

/** The bounds of poll intervals. */
export type PollPlanOptions = {
  /** No market is polled more often than this. */
  readonly minIntervalMs: number
  /** Every market is polled at least this often, as long as that uses at most half of the rate. */
  readonly maxIntervalMs: number
  /** A market that closes within this span is polled up to `CLOSING_BOOST` times as often. */
  readonly closingMs: number
}

/** How much more often a market is polled that is about to close. */
const CLOSING_BOOST = 4
const SMOOTHING = 0.3
/** The weight of a market without activity, relative to one of the busiest tenth. */
const QUIET_WEIGHT = 0.02
const BUSY_RANK = 10
const MAX_SHARE = 10
const FLOOR_SHARE = 0.5
const REBALANCE_MS = 1000

type Entry = {
  closesInMs: number | undefined
  /** Changes per second, exponentially averaged over polls; absent until the second poll. */
  activity: number | undefined
  lastMs: number | undefined
  intervalMs: number
  isInFlight: boolean
  isUrgent: boolean
}

/**
 * Decides which market is polled next: the busiest and soonest-closing ones most often. Times come from
 * the caller, in milliseconds of one monotonic clock.
 */
export class PollPlan {
  readonly #options: PollPlanOptions
  readonly #entries = new Map<string, Entry>()
  #perSecond: number
  #balancedMs = -Infinity

  /** `perSecond` is how many polls per second the plan may spend. */
  constructor(options: PollPlanOptions, perSecond: number) {
    this.#options = options
    this.#perSecond = perSecond
  }

  /** Replaces the markets; those that stay keep their statistics, new ones are due at once. */
  set(markets: readonly PolledMarket[], nowMs: number): void {
    const gone = new Set(this.#entries.keys())
    let hasNew = false
    for (const { key, closesInMs } of markets) {
      gone.delete(key)
      const entry = this.#entries.get(key)
      if (entry !== undefined) {
        entry.closesInMs = closesInMs
        continue
      }
      hasNew = true
      this.#entries.set(key, {
        closesInMs,
        activity: undefined,
        lastMs: undefined,
        intervalMs: this.#options.minIntervalMs,
        isInFlight: false,
        isUrgent: false,
      })
    }
    for (const key of gone) this.#entries.delete(key)
    if (hasNew || gone.size > 0) this.#rebalance(nowMs)
  }

  /** The most overdue market, if one is due; it counts as in flight until `done`. */
  next(nowMs: number): string | undefined {
    if (nowMs - this.#balancedMs >= REBALANCE_MS) this.#rebalance(nowMs)
    let best: string | undefined
    let bestLateness = 1
    for (const [key, entry] of this.#entries) {
      if (entry.isInFlight) continue
      const ageMs = nowMs - (entry.lastMs ?? -Infinity)
      // Lateness is relative to the market's own interval, so overload stretches all intervals alike.
      // Urgency waits half of the minimal interval: a book refused at every poll must not use all polls.
      const isFirst = entry.isUrgent && ageMs >= this.#options.minIntervalMs / 2
      const lateness = isFirst ? Infinity : ageMs / entry.intervalMs
      if (lateness >= bestLateness && (best === undefined || lateness > bestLateness)) {
        best = key
        bestLateness = lateness
      }
    }
    if (best === undefined) return undefined
    const entry = this.#entries.get(best)!
    entry.isInFlight = true
    entry.isUrgent = false
    return best
  }

  /** A poll ended. `changes` is how much had changed; absent where there was nothing to compare. */
  done(key: string, nowMs: number, changes?: number): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    if (changes !== undefined && entry.lastMs !== undefined) {
      const seen = changes / (Math.max(1, nowMs - entry.lastMs) / 1000)
      const before = entry.activity ?? seen
      entry.activity = before + SMOOTHING * (seen - before)
    }
    entry.lastMs = nowMs
    entry.isInFlight = false
  }

  /** Makes a market due before all others, though not within half of the minimal interval. */
  hurry(key: string): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) entry.isUrgent = true
  }

  /** The current interval of a market. */
  intervalMs(key: string): number {
    return this.#entries.get(key)?.intervalMs ?? this.#options.maxIntervalMs
  }

  /** Gives every market a floor, then shares the rest by weight; what one cannot use goes to others. */
  #rebalance(nowMs: number): void {
    this.#balancedMs = nowMs
    const list = [...this.#entries.values()]
    if (list.length === 0) return
    const { minIntervalMs, maxIntervalMs } = this.#options
    const cap = 1000 / minIntervalMs
    const floor = Math.min(1000 / maxIntervalMs, (FLOOR_SHARE * this.#perSecond) / list.length, cap)
    let left = this.#perSecond - floor * list.length
    let open = this.#weigh(list)
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

  #weigh(list: readonly Entry[]): { readonly entry: Entry; readonly weight: number }[] {
    const known = list.flatMap(({ activity }) => (activity === undefined ? [] : [activity]))
    // Not the busiest of all: one outlier must not make all others look quiet.
    const busy = known.sort((a, b) => b - a)[Math.floor(known.length / BUSY_RANK)] ?? 0
    const mean = known.reduce((sum, one) => sum + one, 0) / Math.max(1, known.length)
    return list.map((entry) => {
      const activity = entry.activity ?? mean
      const share = busy === 0 ? Number(activity > 0) : Math.min(MAX_SHARE, activity / busy)
      return { entry, weight: (share + QUIET_WEIGHT) * this.#closingBoost(entry.closesInMs) }
    })
  }

  #closingBoost(closesInMs: number | undefined): number {
    if (closesInMs === undefined) return 1
    const nearness = 1 - Math.min(1, Math.max(0, closesInMs) / this.#options.closingMs)
    return 1 + (CLOSING_BOOST - 1) * nearness
  }
}
