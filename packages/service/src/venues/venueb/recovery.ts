/** A set of tickers of one subscription whose full books are to be asked for. */
export type SnapshotAsk = { readonly sid: number; readonly tickers: readonly string[] }

/** Waits for full books on one connection, says when to ask (again) and which never came. */
export interface Recovery {
  /** A subscription was made: its books come by themselves, and are asked for only when they do not. */
  expect(sid: number, tickers: Iterable<string>, nowMs: number): void
  /** Messages were lost: whatever came before is void, every book is asked for at once. */
  lost(sid: number, tickers: Iterable<string>, nowMs: number): void
  /** Somebody closed this book; asked for at once, but ever more slowly while that repeats. */
  want(sid: number, ticker: string, nowMs: number): void
  /** A full book came. */
  arrived(ticker: string): void
  /** Nobody waits for this book any more. */
  drop(ticker: string): void
  /** What to ask for now; each ticker again after a while, until its book came. */
  due(nowMs: number): readonly SnapshotAsk[]
  /** Markets of this subscription, or of all, that no book came of since they were subscribed. */
  unheard(sid?: number): readonly string[]
  /** Those of them that have been waited for too long, each once. */
  late(nowMs: number): readonly string[]
  /** Books that did not come in time: after a loss, and after a subscription. */
  overdue(nowMs: number): { readonly lost: readonly string[]; readonly silent: readonly string[] }
  clear(): void
}

/** A book that was asked for after a loss and did not come for this long needs a new connection. */
export const LOST_MS = 2_000
/** A book that a new subscription did not bring for this long is not to be had on the socket. */
export const SILENT_BOOK_MS = 10_000
/** A market that was polled before is told to be silent after this long without a first book. */
export const LATE_BOOK_MS = 3_000
const ASK_AGAIN_MS = 600
const FIRST_ASK_MS = 1_000
const REPEAT_MS = 500
const MAX_REPEAT_MS = 5_000
const CALM_MS = 15_000

type Entry = { readonly sid: number; isLoss: boolean; since: number; askAt: number }
/** A first book that is awaited. */
type First = { readonly sid: number; readonly since: number; isTold: boolean }
type Strike = { at: number; count: number }

/** Creates the list of awaited books. Its periods are those of a network, at any speed. */
export function createRecovery(): Recovery {
  const entries = new Map<string, Entry>()
  const firsts = new Map<string, First>()
  const strikes = new Map<string, Strike>()

  function since(nowMs: number, isLoss: boolean, limitMs: number): string[] {
    const tickers: string[] = []
    for (const [ticker, entry] of entries) {
      if (entry.isLoss === isLoss && nowMs - entry.since > limitMs) tickers.push(ticker)
    }
    return tickers
  }

  function forget(ticker: string): void {
    entries.delete(ticker)
    firsts.delete(ticker)
  }

  return {
    expect(sid, tickers, nowMs) {
      for (const ticker of tickers) {
        entries.set(ticker, { sid, isLoss: false, since: nowMs, askAt: nowMs + FIRST_ASK_MS })
        firsts.set(ticker, { sid, since: nowMs, isTold: false })
      }
    },
    lost(sid, tickers, nowMs) {
      for (const ticker of tickers) {
        entries.set(ticker, { sid, isLoss: true, since: nowMs, askAt: nowMs })
      }
    },
    want(sid, ticker, nowMs) {
      if (entries.has(ticker)) return
      const strike = strikes.get(ticker) ?? { at: -Infinity, count: 0 }
      const isCalm = nowMs - strike.at > CALM_MS
      const count = isCalm ? 0 : strike.count
      const pause = count === 0 ? 0 : Math.min(MAX_REPEAT_MS, REPEAT_MS * 2 ** (count - 1))
      const askAt = Math.max(nowMs, strike.at + pause)
      strikes.set(ticker, { at: askAt, count: count + 1 })
      entries.set(ticker, { sid, isLoss: true, since: askAt, askAt })
    },
    arrived: forget,
    drop: forget,
    due(nowMs) {
      const asks = new Map<number, string[]>()
      for (const [ticker, entry] of entries) {
        if (entry.askAt > nowMs) continue
        entry.askAt = nowMs + ASK_AGAIN_MS
        const tickers = asks.get(entry.sid)
        if (tickers === undefined) asks.set(entry.sid, [ticker])
        else tickers.push(ticker)
      }
      return [...asks].map(([sid, tickers]) => ({ sid, tickers }))
    },
    unheard(sid) {
      const found = [...firsts].filter(([, first]) => sid === undefined || first.sid === sid)
      return found.map(([ticker]) => ticker)
    },
    late(nowMs) {
      const tickers: string[] = []
      for (const [ticker, first] of firsts) {
        if (first.isTold || nowMs - first.since <= LATE_BOOK_MS) continue
        first.isTold = true
        tickers.push(ticker)
      }
      return tickers
    },
    overdue: (nowMs) => ({
      lost: since(nowMs, true, LOST_MS),
      silent: since(nowMs, false, SILENT_BOOK_MS),
    }),
    clear() {
      entries.clear()
      firsts.clear()
    },
  }
}
