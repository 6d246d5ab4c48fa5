import { PriorbookError, type BookSnapshot } from '@priorbook/sdk/domain'
import { createBackoff } from '../capture/backoff.ts'
import { sleep } from '../../lib/wait.ts'
import type { RestAnswer } from '../capture/rest.ts'
import { walk, type Asking } from './ask.ts'
import { countChanges } from './book-changes.ts'
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
    try {
      const request = { kind: 'orderbook', ticker, depth }
      const path = `/markets/${encodeURIComponent(ticker)}/orderbook`
      const query = { depth: String(depth) }
      const answer = await rest.ask({ request, path, query, cost, urgent: true }, signal)
      bookPlan.done(ticker, performance.now(), readBook(ticker, answer))
    } finally {
      busy.delete(ticker)
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
    if (status === 401 || status === 403) options.onUnauthorized()
    // A venue that does not answer at all is left alone for a moment; 429 is the quota's business.
    if (status === undefined || status >= 500) {
      blockedUntil = performance.now() + backoff.next(performance.now())
    } else backoff.reset()
  }

  async function pollTrades(ticker: string, sinceMs: number, signal: AbortSignal): Promise<void> {
    const min = Math.max(0, Math.floor(sinceMs / 1000))
    const query = { ticker, min_ts: String(min), limit: '1000' }
    const request = { kind: 'trades', ticker, min_ts: min }
    let count = 0
    let newest = sinceMs
    const end = await walk(
      options,
      { request, path: '/markets/trades', query },
      signal,
      (value) => {
        const { trades } = (value ?? {}) as { readonly trades?: unknown }
        if (!Array.isArray(trades)) return 0
        for (const trade of trades as readonly unknown[]) {
          const { created_time } = (trade ?? {}) as { readonly created_time?: unknown }
          const time = typeof created_time === 'string' ? Date.parse(created_time) : NaN
          if (time > sinceMs) count++
          if (time > newest) newest = time
        }
        return trades.length
      },
    )
    if (end !== 'failed' && polled.has(ticker)) tradesFrom.set(ticker, newest)
    tradePlan.done(ticker, performance.now(), end === 'failed' ? undefined : count)
  }

  /** Starts polls in the plan's order, evenly spread: bursts would come to the venue as too many. */
  async function loop(
    plan: PollPlan,
    rate: () => number,
    poll: (ticker: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const underWay = new Set<Promise<void>>()
    while (!signal.aborted) {
      const now = performance.now()
      const isOpen = now >= blockedUntil && underWay.size < MAX_UNDER_WAY
      const ticker = isOpen ? plan.next(now) : undefined
      if (ticker === undefined) {
        await sleep(IDLE_MS, signal)
        continue
      }
      const one = poll(ticker).finally(() => underWay.delete(one))
      // Aborting rejects what is under way; that is no news.
      one.catch(ignore)
      underWay.add(one)
      await sleep(1000 / rate(), signal)
    }
    await Promise.allSettled(underWay)
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
      await pollTrades(ticker, sinceMs, signal)
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
      const trades = (ticker: string): Promise<void> =>
        pollTrades(ticker, tradesFrom.get(ticker) ?? sink.now() / 1000, signal)
      try {
        await Promise.allSettled([
          loop(
            bookPlan,
            () => bookRate,
            (ticker) => pollBook(ticker, signal),
            signal,
          ),
          loop(tradePlan, () => tradeRate, trades, signal),
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
        if (from !== undefined) backfills.set(key, from)
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
    backfill(ticker, sinceMs) {
      backfills.set(ticker, Math.min(sinceMs, backfills.get(ticker) ?? Infinity))
    },
    get outages() {
      return outages.size
    },
  }
}

function ignore(): void {}
