import type { GapReason } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import { createBackoff } from '../capture/link.ts'
import type { CaptureSink } from '../capture/contract.ts'
import { isObject } from '../capture/fields.ts'
import type { RestAnswer } from '../capture/rest.ts'
import { CallsInFlight } from '../capture/scheduler.ts'

import { readCursorPages, type RequestContext } from './pages.ts'
import { PollPlan, type PolledMarket, type PollPlanOptions } from './poll-plan.ts'

/** How the quota of the REST interface is shared; rates are requests per second. */
export type PollBudget = {
  /** How often every series is listed; longer where there are many, so that books keep most requests. */
  readonly listingMs: number
  readonly bookRate: number
  readonly tradeRate: number
}

// The rest is left to urgent polls and to answers of more than one page.
const USABLE_SHARE = 0.9
const TRADE_SHARE = 0.1
const LISTING_SHARE = 0.2
const RESOLUTION_SHARE = 0.05
const MIN_BOOK_SHARE = 0.2
/** One for unopened markets, one for open ones. */
const REQUESTS_PER_SERIES = 2

/** Shares a rate of requests: what listings, trades and resolutions do not need goes to books. */
export function toBudget(perSecond: number, series: number, minListingMs: number): PollBudget {
  const requests = series * REQUESTS_PER_SERIES
  const listingMs = Math.max(minListingMs, (requests * 1000) / (LISTING_SHARE * perSecond))
  const tradeRate = TRADE_SHARE * perSecond
  const others = (requests * 1000) / listingMs + tradeRate + RESOLUTION_SHARE * perSecond
  const bookRate = Math.max(MIN_BOOK_SHARE * perSecond, USABLE_SHARE * perSecond - others)
  return { listingMs, bookRate, tradeRate }
}

/** How books and trades are polled. */
export type PollerOptions = RequestContext & {
  readonly sink: CaptureSink
  readonly clock: Clock
  /** Levels per side to request; 0: all. */
  readonly depth: number
  readonly books: PollPlanOptions
  readonly trades: PollPlanOptions
  /** Polls per second for books and for trades. */
  readonly bookRate: number
  readonly tradeRate: number
  /** The venue gives no books without credentials. */
  onUnauthorized(): void
}

/** A market to poll; trades are requested from this wall time on when the market is new to the poller. */
export type TradedMarket = PolledMarket & { readonly sinceMs: number }

const MAX_IN_FLIGHT = 16
const IDLE_MS = 20
const OUTAGE_CHECK_MS = 100

/** Polls the books and trades of markets that no socket brings. */
export class Poller {
  readonly #options: PollerOptions
  readonly #bookPlan: PollPlan
  readonly #tradePlan: PollPlan
  readonly #outages = new PollOutages()
  readonly #backoff = createBackoff()
  readonly #busy = new Set<string>()
  readonly #polled = new Set<string>()
  /** The recorder's count of changed levels at the last poll of each book. */
  readonly #changedLevels = new Map<string, number>()
  readonly #tradesFromMs = new Map<string, number>()
  readonly #backfills = new Map<string, number>()
  #blockedUntilMs = 0

  constructor(options: PollerOptions) {
    this.#options = options
    this.#bookPlan = new PollPlan(options.books, options.bookRate)
    this.#tradePlan = new PollPlan(options.trades, options.tradeRate)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, bookRate, tradeRate } = this.#options
    const timer = clock.setInterval(() => this.#noteOutages(), OUTAGE_CHECK_MS)
    try {
      await Promise.all([
        this.#loop(this.#bookPlan, bookRate, (ticker) => this.#pollBook(ticker, signal), signal),
        this.#loop(
          this.#tradePlan,
          tradeRate,
          (ticker) => this.#pollTrades(ticker, signal),
          signal,
        ),
        this.#runBackfills(signal),
      ])
    } finally {
      timer.cancel()
    }
  }

  /** Replaces the polled markets. */
  follow(markets: readonly TradedMarket[]): void {
    const keys = new Set(markets.map(({ key }) => key))
    for (const key of this.#polled) {
      if (keys.has(key)) continue
      this.#polled.delete(key)
      this.#outages.forget(key)
      this.#changedLevels.delete(key)
      // Requests the trades since the last poll once more.
      const fromMs = this.#tradesFromMs.get(key)
      this.#tradesFromMs.delete(key)
      if (fromMs !== undefined) this.backfill(key, fromMs)
    }
    for (const { key, sinceMs } of markets) {
      if (this.#polled.has(key)) continue
      this.#polled.add(key)
      this.#tradesFromMs.set(key, sinceMs)
    }
    const nowMs = this.#nowMs()
    this.#bookPlan.set(markets, nowMs)
    this.#tradePlan.set(markets, nowMs)
  }

  /** True while a book of this market is requested; until it is false, no socket may bring it. */
  isBusy(ticker: string): boolean {
    return this.#busy.has(ticker)
  }

  /** Polls the book of this market before others. */
  hurry(ticker: string): void {
    this.#bookPlan.hurry(ticker)
  }

  /** Requests the trades of a market since this wall time once. */
  backfill(ticker: string, sinceMs: number): void {
    this.#backfills.set(ticker, Math.min(sinceMs, this.#backfills.get(ticker) ?? Infinity))
  }

  /** How many polled markets are without a good answer. */
  get outages(): number {
    return this.#outages.size
  }

  /** Starts polls in the order of the plan, evenly spread: the venue refuses bursts. */
  async #loop(
    plan: PollPlan,
    perSecond: number,
    poll: (ticker: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log } = this.#options
    const calls = new CallsInFlight(log, 'venue B')
    const spacingMs = 1000 / perSecond
    let turnMs = this.#nowMs()
    while (!signal.aborted) {
      const nowMs = this.#nowMs()
      const mayPoll = nowMs >= this.#blockedUntilMs && calls.size < MAX_IN_FLIGHT
      const ticker = mayPoll ? plan.next(nowMs) : undefined
      if (ticker === undefined) {
        await sleep(IDLE_MS, signal, clock)
        continue
      }
      calls.start(() => poll(ticker), signal)
      // A late turn is made up for, but never more than one.
      turnMs = Math.max(turnMs + spacingMs, nowMs - spacingMs)
      if (turnMs > nowMs) await sleep(turnMs - nowMs, signal, clock)
    }
    await calls.settled()
  }

  async #pollBook(ticker: string, signal: AbortSignal): Promise<void> {
    const { rest, depth } = this.#options
    this.#busy.add(ticker)
    let changes: number | undefined
    try {
      const request = { kind: 'orderbook', ticker, depth }
      const path = `/markets/${encodeURIComponent(ticker)}/orderbook`
      const query = { depth: String(depth) }
      const answer = await rest.send({ request, path, query, urgent: true }, signal)
      if (answer.ok) changes = this.#applyBook(ticker, answer)
      else this.#applyFailure(ticker, answer)
    } finally {
      this.#busy.delete(ticker)
      this.#bookPlan.done(ticker, this.#nowMs(), changes)
    }
  }

  /** Returns how many levels changed since the last book; undefined for the first one. */
  #applyBook(ticker: string, { reading }: RestAnswer & { readonly ok: true }): number | undefined {
    this.#backoff.reset()
    if (!this.#polled.has(ticker)) return undefined
    if (reading.error !== undefined) {
      const why = `answers without a book: ${reading.error.message}`
      this.#outages.failed(ticker, 'venue_silent', why)
      return undefined
    }
    this.#outages.succeeded(ticker, this.#nowMs())
    const before = this.#changedLevels.get(ticker)
    // The recorder may still be loading the first book, which changes no level.
    const after = this.#options.sink.book(ticker)?.changedLevels ?? 0
    this.#changedLevels.set(ticker, after)
    return before === undefined ? undefined : after - before
  }

  #applyFailure(ticker: string, { status, why }: RestAnswer & { readonly ok: false }): void {
    const reason = status === 429 ? 'quota' : 'disconnected'
    this.#outages.failed(ticker, reason, `${status ?? 'error'}: ${why}`)
    const isUnauthorized = status === 401 || status === 403
    if (isUnauthorized) this.#options.onUnauthorized()
    // Backs off from a venue that answers no request at all; after a 429 the quota does that.
    if (isUnauthorized || status === undefined || status >= 500) {
      const nowMs = this.#nowMs()
      this.#blockedUntilMs = nowMs + this.#backoff.next(nowMs)
    } else this.#backoff.reset()
  }

  async #pollTrades(ticker: string, signal: AbortSignal): Promise<void> {
    let changes: number | undefined
    try {
      const sinceMs = this.#tradesFromMs.get(ticker) ?? this.#options.sink.steadyNow() / 1000
      const found = await this.#requestTrades(ticker, sinceMs, signal)
      if (found === undefined) return
      changes = found.count
      if (this.#polled.has(ticker)) this.#tradesFromMs.set(ticker, found.newestMs)
    } finally {
      this.#tradePlan.done(ticker, this.#nowMs(), changes)
    }
  }

  /** Requests the trades of a market since a wall time; undefined where the venue did not answer. */
  async #requestTrades(
    ticker: string,
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly count: number; readonly newestMs: number } | undefined> {
    const minSeconds = Math.max(0, Math.floor(sinceMs / 1000))
    const query = { ticker, min_ts: String(minSeconds), limit: '1000' }
    const request = { kind: 'trades', ticker, min_ts: minSeconds }
    let count = 0
    let newestMs = sinceMs
    const end = await readCursorPages(
      this.#options,
      { request, path: '/markets/trades', query },
      ({ value }) => {
        const times = tradeTimes(value)
        for (const timeMs of times) {
          if (timeMs > sinceMs) count++
          // Never later than now: a wrong time must not hide the trades until then.
          if (timeMs > newestMs) newestMs = Math.min(timeMs, this.#options.sink.steadyNow() / 1000)
        }
        return times.length
      },
      signal,
    )
    return end === 'failed' ? undefined : { count, newestMs }
  }

  async #runBackfills(signal: AbortSignal): Promise<void> {
    const { clock, tradeRate } = this.#options
    while (!signal.aborted) {
      const [first] = this.#backfills
      if (first === undefined) {
        await sleep(OUTAGE_CHECK_MS, signal, clock)
        continue
      }
      const [ticker, sinceMs] = first
      this.#backfills.delete(ticker)
      const found = await this.#requestTrades(ticker, sinceMs, signal)
      // Goes to the end of the queue, merged with what was requested meanwhile.
      if (found === undefined) this.backfill(ticker, sinceMs)
      await sleep(1000 / tradeRate, signal, clock)
    }
  }

  #noteOutages(): void {
    const { sink, log } = this.#options
    for (const { key, reason, why } of this.#outages.begun(
      this.#nowMs(),
      (key) => this.#bookPlan.intervalMs(key),
      (key) => this.#busy.has(key),
    )) {
      log.warn({ ticker: key, reason, why }, 'a polled market of venue B has an outage')
      sink.note({ note: 'loss', reason, why, keys: [key] })
      // Changes across an outage say nothing about the activity between two polls.
      this.#changedLevels.delete(key)
    }
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}

// Milliseconds, or NaN for a trade without a time.
function tradeTimes(value: unknown): number[] {
  const trades = isObject(value) ? value['trades'] : undefined
  if (!Array.isArray(trades)) return []
  return trades.map((trade: unknown) => {
    const time = isObject(trade) ? trade['created_time'] : undefined
    return typeof time === 'string' ? Date.parse(time) : NaN
  })
}

/** An outage begins after this many realized intervals without a good answer. */
export const OUTAGE_INTERVALS = 3
const SMOOTHING = 0.3
/** The shortest interval that counts: less is jitter of scheduling, not an outage. */
const MIN_INTERVAL_MS = 1_000

type PollHistory = {
  succeededMs: number
  /** The realized interval, exponentially averaged; absent until the second good answer. */
  realizedMs: number | undefined
  failure: { readonly reason: GapReason; readonly why: string } | undefined
  isOut: boolean
}

/** Finds polled markets without a good answer for too long; one that never had any is not an outage. */
export class PollOutages {
  readonly #histories = new Map<string, PollHistory>()
  #size = 0

  succeeded(key: string, nowMs: number): void {
    const history = this.#histories.get(key)
    if (history === undefined) {
      const fresh = { realizedMs: undefined, failure: undefined, isOut: false }
      this.#histories.set(key, { succeededMs: nowMs, ...fresh })
      return
    }
    // The length of an outage does not count as a realized interval.
    if (!history.isOut) {
      const seenMs = nowMs - history.succeededMs
      const beforeMs = history.realizedMs ?? seenMs
      history.realizedMs = beforeMs + SMOOTHING * (seenMs - beforeMs)
    }
    history.succeededMs = nowMs
    history.failure = undefined
    this.#end(history)
  }

  /** A poll failed; an outage reports its last failure. */
  failed(key: string, reason: GapReason, why: string): void {
    const history = this.#histories.get(key)
    if (history !== undefined) history.failure = { reason, why }
  }

  forget(key: string): void {
    const history = this.#histories.get(key)
    if (history === undefined) return
    this.#end(history)
    this.#histories.delete(key)
  }

  /** The outages that began since the last call, each once. */
  begun(
    nowMs: number,
    plannedMs: (key: string) => number,
    isInFlight: (key: string) => boolean,
  ): readonly { readonly key: string; readonly reason: GapReason; readonly why: string }[] {
    const list: { key: string; reason: GapReason; why: string }[] = []
    for (const [key, history] of this.#histories) {
      if (history.isOut) continue
      const quietMs = nowMs - history.succeededMs
      // The planned interval counts too, because the plan may just have made it longer.
      const usualMs = Math.max(MIN_INTERVAL_MS, history.realizedMs ?? 0, plannedMs(key))
      if (quietMs <= OUTAGE_INTERVALS * usualMs) continue
      history.isOut = true
      this.#size++
      const { reason, why } =
        history.failure ??
        (isInFlight(key)
          ? { reason: 'venue_silent' as const, why: 'no answer yet' }
          : { reason: 'quota' as const, why: 'no poll was allowed' })
      list.push({ key, reason, why: `${why}; no good answer for ${Math.round(quietMs)} ms` })
    }
    return list
  }

  /** How many markets are in an outage now. */
  get size(): number {
    return this.#size
  }

  #end(history: PollHistory): void {
    if (history.isOut) this.#size--
    history.isOut = false
  }
}
