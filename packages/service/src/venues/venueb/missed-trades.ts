/** Remembers since when trades of a market may have been missed, until its subscription is back. */
export interface MissedTrades {
  /** `sinceMs` is the wall time of the last message; the first one counts. */
  miss(tickers: Iterable<string>, sinceMs: number): void
  /** The markets are subscribed again: what was missed, grouped by its start. */
  take(tickers: Iterable<string>): Iterable<readonly [sinceMs: number, tickers: readonly string[]]>
}

/** A trade can be this old when it is sent; more than is needed is told apart by its id. */
export const TRADE_MARGIN_MS = 5_000
// A market that is not back after this long ended meanwhile, and its trades were asked for then.
const KEPT_MS = 3_600_000

/** Creates an empty memory. */
export function createMissedTrades(): MissedTrades {
  const missed = new Map<string, number>()
  return {
    miss(tickers, sinceMs) {
      for (const [ticker, since] of missed) if (sinceMs - since > KEPT_MS) missed.delete(ticker)
      for (const ticker of tickers) {
        if (!missed.has(ticker)) missed.set(ticker, sinceMs - TRADE_MARGIN_MS)
      }
    },
    take(tickers) {
      const groups = new Map<number, string[]>()
      for (const ticker of tickers) {
        const sinceMs = missed.get(ticker)
        if (sinceMs === undefined) continue
        missed.delete(ticker)
        const group = groups.get(sinceMs)
        if (group === undefined) groups.set(sinceMs, [ticker])
        else group.push(ticker)
      }
      return groups
    },
  }
}
