/** The use of one bucket of a venue's quota. */
export type QuotaUse = {
  /** Allowed per window, at the emulated speed. */
  readonly limit: number
  readonly windowMs: number
  /** The highest cost requested in any window, refused requests included. */
  readonly peak: number
  readonly requests: number
  readonly refused: number
}

/** Counts cost in a sliding window, the strictest interpretation of a limit. */
export interface QuotaMeter {
  /** Spends the cost if it fits into the window that ends now; false otherwise. */
  spend(cost: number, now?: number): boolean
  readonly use: QuotaUse
}

/** Creates a meter. At speed n a window allows n times as much. */
export function createQuotaMeter(
  quota: { readonly limit: number; readonly windowMs: number },
  speed: number,
): QuotaMeter {
  const limit = quota.limit * speed
  const { windowMs } = quota
  const spent: { readonly at: number; readonly cost: number }[] = []
  let first = 0
  let used = 0
  let peak = 0
  let requests = 0
  let refused = 0
  return {
    spend(cost, now = performance.now()) {
      while (first < spent.length && spent[first]!.at <= now - windowMs)
        used -= spent[first++]!.cost
      if (first > 1_024 && first * 2 > spent.length) {
        spent.splice(0, first)
        first = 0
      }
      requests++
      peak = Math.max(peak, used + cost)
      if (used + cost > limit) {
        refused++
        return false
      }
      used += cost
      spent.push({ at: now, cost })
      return true
    },
    get use() {
      return { limit, windowMs, peak, requests, refused }
    },
  }
}
