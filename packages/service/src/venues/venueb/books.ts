/** A request for full books of some markets of one subscription. */
export type SnapshotRequest = { readonly sid: number; readonly tickers: readonly string[] }

/** A book that a snapshot request did not bring within this time after a loss needs a new connection. */
export const LOST_MS = 2_000
/** A book that a new subscription did not bring within this time is not available on the socket. */
export const SILENT_BOOK_MS = 10_000
/** A market without a first book for this long after its subscription is reported as silent. */
export const LATE_BOOK_MS = 3_000
const REQUEST_AGAIN_MS = 600
const FIRST_REQUEST_MS = 1_000
// Waits between requests for a book that the recorder closes again and again.
const REPEAT_MS = 500
const MAX_REPEAT_MS = 5_000
/** After this long without another closing, the waits start again from zero. */
const CALM_MS = 15_000

type AwaitedBook = { readonly sid: number; isLost: boolean; sinceMs: number; requestMs: number }
type FirstBook = { readonly sid: number; readonly sinceMs: number; isReported: boolean }
type Repeat = { readonly atMs: number; readonly count: number }

/**
 * The full books that one connection still owes: when to request each of them and which are overdue.
 * Times are given by the caller; the periods are those of a network, so no speed scales them.
 */
export class AwaitedBooks {
  readonly #awaited = new Map<string, AwaitedBook>()
  /** Markets that have not had any book since they were subscribed. */
  readonly #firsts = new Map<string, FirstBook>()
  readonly #repeats = new Map<string, Repeat>()

  /** A subscription started: its books come by themselves and are requested only when they do not. */
  expect(sid: number, tickers: Iterable<string>, nowMs: number): void {
    for (const ticker of tickers) {
      const requestMs = nowMs + FIRST_REQUEST_MS
      this.#awaited.set(ticker, { sid, isLost: false, sinceMs: nowMs, requestMs })
      this.#firsts.set(ticker, { sid, sinceMs: nowMs, isReported: false })
    }
  }

  /** Messages were lost: earlier books are void, and every book is requested at once. */
  lose(sid: number, tickers: Iterable<string>, nowMs: number): void {
    for (const ticker of tickers) {
      this.#awaited.set(ticker, { sid, isLost: true, sinceMs: nowMs, requestMs: nowMs })
    }
  }

  /** The recorder closed this book: requests it at once, and ever more slowly while that repeats. */
  recover(sid: number, ticker: string, nowMs: number): void {
    if (this.#awaited.has(ticker)) return
    const last = this.#repeats.get(ticker) ?? { atMs: -Infinity, count: 0 }
    const count = nowMs - last.atMs > CALM_MS ? 0 : last.count
    const pauseMs = count === 0 ? 0 : Math.min(MAX_REPEAT_MS, REPEAT_MS * 2 ** (count - 1))
    const requestMs = Math.max(nowMs, last.atMs + pauseMs)
    this.#repeats.set(ticker, { atMs: requestMs, count: count + 1 })
    this.#awaited.set(ticker, { sid, isLost: true, sinceMs: requestMs, requestMs })
  }

  /** The book arrived, or is not awaited any more. */
  settle(ticker: string): void {
    this.#awaited.delete(ticker)
    this.#firsts.delete(ticker)
  }

  /** Returns true from a loss until the full book arrives. */
  isLost(ticker: string): boolean {
    return this.#awaited.get(ticker)?.isLost === true
  }

  /** The requests to send now; each market is due again after a while, until its book arrives. */
  due(nowMs: number): readonly SnapshotRequest[] {
    const requests = new Map<number, string[]>()
    for (const [ticker, book] of this.#awaited) {
      if (book.requestMs > nowMs) continue
      book.requestMs = nowMs + REQUEST_AGAIN_MS
      const tickers = requests.get(book.sid)
      if (tickers === undefined) requests.set(book.sid, [ticker])
      else tickers.push(ticker)
    }
    return [...requests].map(([sid, tickers]) => ({ sid, tickers }))
  }

  /** Markets, of one subscription or of all, without any book since they were subscribed. */
  unheard(sid?: number): readonly string[] {
    const found = [...this.#firsts].filter(([, first]) => sid === undefined || first.sid === sid)
    return found.map(([ticker]) => ticker)
  }

  /** Unheard markets that have waited too long, each reported once. */
  late(nowMs: number): readonly string[] {
    const tickers: string[] = []
    for (const [ticker, first] of this.#firsts) {
      if (first.isReported || nowMs - first.sinceMs <= LATE_BOOK_MS) continue
      first.isReported = true
      tickers.push(ticker)
    }
    return tickers
  }

  /** Books that did not arrive in time: after a loss, and after a subscription. */
  overdue(nowMs: number): {
    readonly lost: readonly string[]
    readonly silent: readonly string[]
  } {
    const lost: string[] = []
    const silent: string[] = []
    for (const [ticker, { isLost, sinceMs }] of this.#awaited) {
      if (nowMs - sinceMs <= (isLost ? LOST_MS : SILENT_BOOK_MS)) continue
      ;(isLost ? lost : silent).push(ticker)
    }
    return { lost, silent }
  }

  /** A new connection owes nothing yet. */
  clear(): void {
    this.#awaited.clear()
    this.#firsts.clear()
  }
}

/** How long a subscription may be quiet before it is probed; with the answer within 6 s. */
export const QUIET_MS = 2_500
const ANSWER_MS = 3_000

type Probed = { heardMs: number; probedMs: number | undefined; readonly tickers: Set<string> }

/**
 * Finds dead subscriptions. A quiet market sends nothing for minutes, and so does a dead subscription:
 * after a silence one full book is requested, and any answer proves that the subscription lives.
 */
export class SubscriptionProbe {
  readonly #subscriptions = new Map<number, Probed>()

  /** A book message of this subscription arrived. */
  heard(sid: number, ticker: string, nowMs: number, isFull: boolean): void {
    let probed = this.#subscriptions.get(sid)
    if (probed === undefined) {
      probed = { heardMs: nowMs, probedMs: undefined, tickers: new Set() }
      this.#subscriptions.set(sid, probed)
    }
    probed.heardMs = nowMs
    probed.probedMs = undefined
    if (isFull) probed.tickers.add(ticker)
  }

  /** True for a market of which the connection has sent a full book. */
  knows(ticker: string): boolean {
    return this.#subscriptions.values().some(({ tickers }) => tickers.has(ticker))
  }

  /** The venue answered a command of this subscription, even with an error. */
  answered(sid: number): void {
    const probed = this.#subscriptions.get(sid)
    if (probed !== undefined) probed.probedMs = undefined
  }

  /** A market left its subscription. */
  forget(ticker: string): void {
    for (const { tickers } of this.#subscriptions.values()) tickers.delete(ticker)
  }

  end(sid: number): void {
    this.#subscriptions.delete(sid)
  }

  clear(): void {
    this.#subscriptions.clear()
  }

  /** The probes to send now: per quiet subscription one market whose full book came before. */
  due(nowMs: number): readonly { readonly sid: number; readonly ticker: string }[] {
    const probes: { sid: number; ticker: string }[] = []
    for (const [sid, probed] of this.#subscriptions) {
      const [ticker] = probed.tickers
      if (probed.probedMs !== undefined || ticker === undefined) continue
      if (nowMs - probed.heardMs < QUIET_MS) continue
      probed.probedMs = nowMs
      // Moves the market to the end, so that the next probe asks for another one.
      probed.tickers.delete(ticker)
      probed.tickers.add(ticker)
      probes.push({ sid, ticker })
    }
    return probes
  }

  /** Subscriptions that did not answer their probe. */
  dead(nowMs: number): readonly number[] {
    return [...this.#subscriptions].flatMap(([sid, { probedMs }]) =>
      probedMs !== undefined && nowMs - probedMs > ANSWER_MS ? [sid] : [],
    )
  }

  /** How many markets the connection has sent a full book of. */
  get size(): number {
    let size = 0
    for (const { tickers } of this.#subscriptions.values()) size += tickers.size
    return size
  }
}

/** How a message's `seq` relates to the one before it in its subscription. */
export type SeqStep = 'first' | 'next' | 'jump' | 'old'

/** The last `seq` of every subscription of one connection. */
export class Sequences {
  readonly #lasts = new Map<number, number>()

  /**
   * Checks the next number of a subscription. Control messages have numbers too. The first number of a
   * sid may be any (22 was recorded).
   */
  check(sid: number, seq: number): SeqStep {
    const last = this.#lasts.get(sid)
    if (last !== undefined && seq <= last) return 'old'
    this.#lasts.set(sid, seq)
    if (last === undefined) return 'first'
    return seq === last + 1 ? 'next' : 'jump'
  }

  last(sid: number): number | undefined {
    return this.#lasts.get(sid)
  }

  /** A new connection numbers its subscriptions from the start. */
  clear(): void {
    this.#lasts.clear()
  }
}
