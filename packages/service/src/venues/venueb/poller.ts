import { PriorbookError, type BookSnapshot } from '@priorbook/sdk/domain'
import { createBackoff } from '../capture/backoff.ts'
import { sleep } from '../../lib/wait.ts'
import type { RestAnswer } from '../capture/rest.ts'
import { walk, type Asking } from './ask.ts'
import { countChanges } from './book-changes.ts'
import { isObject } from './market-fields.ts'
import { normalizeOrderbookAnswer } from './orderbook.ts'
import { createOutages } from './outages.ts'
import {
  createPollPlan,
  type PolledMarket,
  type PollPlan,
  type PollPlanOptions,
} from './poll-plan.ts'

/** How books and trades are polled. */
export type PollerOptions = Asking & {
  /** Levels per side to ask for; 0: all. */
  readonly depth: number
  readonly books: PollPlanOptions
  readonly trades: PollPlanOptions
  /** The venue gives no books without credentials. */
  onUnauthorized(): void
}

/** Polls the books and trades of markets that no socket brings. */
export interface Poller {
  run(signal: AbortSignal): Promise<void>
  /** Replaces the polled markets; `sinceMs` is the wall time from which trades of a new one are asked for. */
  follow(markets: readonly (PolledMarket & { readonly sinceMs: number })[]): void
  /** Polls a second for books and for trades. */
  rates(books: number, trades: number): void
  /** True while a book of this market is asked for: until then no socket may bring it. */
  isBusy(ticker: string): boolean
  hurry(ticker: string): void
  /** Asks once for the trades of a market since that wall time. */
  backfill(ticker: string, sinceMs: number): void
  /** Polled markets without a good answer. */
  readonly outages: number
}

const MAX_UNDER_WAY = 16
const IDLE_MS = 20
const OUTAGE_CHECK_MS = 100

/** Creates a poller without markets. */
export function createPoller(options: PollerOptions): Poller {
  const { rest, sink, log, cost, depth } = options
  const bookPlan = createPollPlan(options.books)
  const tradePlan = createPollPlan(options.trades)
  const outages = createOutages()
  const backoff = createBackoff()
  const busy = new Set<string>()
  const books = new Map<string, BookSnapshot>()
  const tradesFrom = new Map<string, number>()
  const backfills = new Map<string, number>()
  const polled = new Set<string>()
  let bookRate = 1
  let tradeRate = 1
  let blockedUntil = 0

  async function pollBook(ticker: string, signal: AbortSignal): Promise<void> {
    busy.add(ticker)
    let changes: number | undefined
    try {
      const request = { kind: 'orderbook', ticker, depth }
      const path = `/markets/${encodeURIComponent(ticker)}/orderbook`
      const query = { depth: String(depth) }
      const answer = await rest.ask({ request, path, query, cost, urgent: true }, signal)
      changes = readBook(ticker, answer)
    } finally {
      busy.delete(ticker)
      bookPlan.done(ticker, performance.now(), changes)
    }
  }

  /** Counts what changed since the last book; undefined where there is nothing to compare. */
  function readBook(ticker: string, answer: RestAnswer): number | undefined {
    if (!answer.ok) {
      fail(ticker, answer)
      return undefined
    }
    backoff.reset()
    if (!polled.has(ticker)) return undefined
    const at = { received: sink.now(), journal: 0 }
    let book: BookSnapshot
    try {
      book = normalizeOrderbookAnswer(ticker, answer.value, at, depth)
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      outages.bad(ticker, 'venue_silent', `answers without a book: ${error.message}`)
      return undefined
    }
    outages.good(ticker, performance.now())
    const before = books.get(ticker)
    books.set(ticker, book)
    return before === undefined ? undefined : countChanges(before, book)
  }

  function fail(ticker: string, answer: RestAnswer & { readonly ok: false }): void {
    const { status, why } = answer
    outages.bad(ticker, status === 429 ? 'quota' : 'disconnected', `${status ?? 'error'}: ${why}`)
    const isUnauthorized = status === 401 || status === 403
    if (isUnauthorized) options.onUnauthorized()
    // A venue that gives nothing to anybody is left alone for a moment; 429 is the quota's business.
    if (isUnauthorized || status === undefined || status >= 500) {
      blockedUntil = performance.now() + backoff.next(performance.now())
    } else backoff.reset()
  }

  /** Asks for the trades of a market since a wall time; false where the venue did not answer. */
  async function askTrades(
    ticker: string,
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<TradesSeen> {
    const min = Math.max(0, Math.floor(sinceMs / 1000))
    const query = { ticker, min_ts: String(min), limit: '1000' }
    const request = { kind: 'trades', ticker, min_ts: min }
    let count = 0
    let newestMs = sinceMs
    const take = (value: unknown): number => {
      const times = tradeTimes(value)
      for (const time of times) {
        if (time > sinceMs) count++
        // Not after now: a time by mistake must not hide the trades until then.
        if (time > newestMs) newestMs = Math.min(time, sink.now() / 1000)
      }
      return times.length
    }
    const end = await walk(options, { request, path: '/markets/trades', query }, signal, take)
    return { isAnswered: end !== 'failed', count, newestMs }
  }

  async function pollTrades(ticker: string, signal: AbortSignal): Promise<void> {
    let changes: number | undefined
    try {
      const sinceMs = tradesFrom.get(ticker) ?? sink.now() / 1000
      const { isAnswered, count, newestMs } = await askTrades(ticker, sinceMs, signal)
      if (!isAnswered) return
      changes = count
      if (polled.has(ticker)) tradesFrom.set(ticker, newestMs)
    } finally {
      tradePlan.done(ticker, performance.now(), changes)
    }
  }

  /** Starts polls in the plan's order, evenly spread: bursts would come to the venue as too many. */
  async function loop(
    plan: PollPlan,
    rate: () => number,
    poll: (ticker: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const underWay = new Set<Promise<void>>()
    let turn = performance.now()
    while (!signal.aborted) {
      const now = performance.now()
      const isOpen = now >= blockedUntil && underWay.size < MAX_UNDER_WAY
      const ticker = isOpen ? plan.next(now) : undefined
      if (ticker === undefined) {
        await sleep(IDLE_MS, signal)
        continue
      }
      const one = poll(ticker)
        // Aborting rejects what is under way; anything else would be a fault of ours.
        .catch((error: unknown) => {
          if (!signal.aborted) log.error({ error, ticker }, 'a poll of venue B failed')
        })
        .finally(() => underWay.delete(one))
      underWay.add(one)
      const spacing = 1000 / rate()
      // A turn that came late is made up for, but not more than one.
      turn = Math.max(turn + spacing, now - spacing)
      if (turn > now) await sleep(turn - now, signal)
    }
    await Promise.all(underWay)
  }

  function backfill(ticker: string, sinceMs: number): void {
    backfills.set(ticker, Math.min(sinceMs, backfills.get(ticker) ?? Infinity))
  }

  async function runBackfills(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [first] = backfills
      if (first === undefined) {
        await sleep(OUTAGE_CHECK_MS, signal)
        continue
      }
      const [ticker, sinceMs] = first
      backfills.delete(ticker)
      const { isAnswered } = await askTrades(ticker, sinceMs, signal)
      // To the end of the line; whatever was asked for meanwhile counts too.
      if (!isAnswered) backfill(ticker, sinceMs)
      await sleep(1000 / tradeRate, signal)
    }
  }

  function checkOutages(): void {
    const isUnderWay = (key: string): boolean => busy.has(key)
    for (const { key, reason, why } of outages.found(
      performance.now(),
      (key) => bookPlan.intervalMs(key),
      isUnderWay,
    )) {
      log.warn({ ticker: key, reason, why }, 'a polled market of venue B is out')
      sink.note({ note: 'loss', reason, why, keys: [key] })
      // What changes from here on is not known to have changed between two polls.
      books.delete(key)
    }
  }

  return {
    async run(signal) {
      const timer = setInterval(checkOutages, OUTAGE_CHECK_MS)
      try {
        await Promise.all([
          loop(
            bookPlan,
            () => bookRate,
            (ticker) => pollBook(ticker, signal),
            signal,
          ),
          loop(
            tradePlan,
            () => tradeRate,
            (ticker) => pollTrades(ticker, signal),
            signal,
          ),
          runBackfills(signal),
        ])
      } finally {
        clearInterval(timer)
      }
    },
    follow(markets) {
      const now = performance.now()
      const keys = new Set(markets.map(({ key }) => key))
      for (const key of polled) {
        if (keys.has(key)) continue
        polled.delete(key)
        outages.forget(key)
        books.delete(key)
        // What was traded since the last look.
        const from = tradesFrom.get(key)
        tradesFrom.delete(key)
        if (from !== undefined) backfill(key, from)
      }
      for (const { key, sinceMs } of markets) {
        if (polled.has(key)) continue
        polled.add(key)
        tradesFrom.set(key, sinceMs)
      }
      bookPlan.set(markets, now)
      tradePlan.set(markets, now)
    },
    rates(perSecond, trades) {
      bookRate = perSecond
      tradeRate = trades
      bookPlan.rate(perSecond)
      tradePlan.rate(trades)
    },
    isBusy: (ticker) => busy.has(ticker),
    hurry: (ticker) => bookPlan.hurry(ticker),
    backfill,
    get outages() {
      return outages.size
    },
  }
}

type TradesSeen = {
  readonly isAnswered: boolean
  readonly count: number
  readonly newestMs: number
}

// Milliseconds, or NaN for a trade without a time; the normalizer reads the rest.
function tradeTimes(value: unknown): number[] {
  const trades = isObject(value) ? value['trades'] : undefined
  if (!Array.isArray(trades)) return []
  return trades.map((trade: unknown) => {
    const time = isObject(trade) ? trade['created_time'] : undefined
    return typeof time === 'string' ? Date.parse(time) : NaN
  })
}
