import type { MarketRecord } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { CaptureLog, CaptureRequest } from '../capture/contract.ts'
import {
  FollowedMarkets,
  isPastClose,
  recordsOf,
  type FollowedMarket,
} from '../capture/followed-markets.ts'
import { readPages, type PagesEnd, type Rest, type RestAnswer } from '../capture/rest.ts'
import { readSeries, toRequestSeries, type OneSeries } from './catalog.ts'
import { isObject } from '../capture/fields.ts'

/** A market of venue B that is recorded, or was and has not resolved. */
export type VenueBMarket = FollowedMarket & {
  series: string | undefined
  /** The venue's status word; absent until the venue was asked. */
  statusNative: string | undefined
  /** When to check for its resolution, and the wait after that check. */
  checkMs: number
  waitMs: number
  /** How often in a row the venue's list did not contain it. */
  misses: number
  /** Its record may be outdated: it is checked although it should be trading by its times. */
  isSuspect: boolean
  /** No list and no answer has named it so far. */
  isUnlisted: boolean
}

/** Where a market stands: before it is recorded, to be recorded, or over and not resolved. */
export type Stage = 'early' | 'live' | 'over'

// Status words after which a market does not trade, but may trade again.
const OVER: ReadonlySet<string> = new Set(['closed', 'determined', 'disputed', 'amended'])
const FINAL = 'finalized'

/** The markets that the connector follows. Times are given by the caller. */
export class VenueBMarkets {
  readonly #markets: FollowedMarkets<VenueBMarket>
  readonly #leadMs: number
  readonly #firstWaitMs: number

  /** A market is recorded from `leadMs` before it opens. */
  constructor(leadMs: number, firstWaitMs: number) {
    this.#leadMs = leadMs
    this.#firstWaitMs = firstWaitMs
    this.#markets = new FollowedMarkets((marketId, nowMs) => ({
      marketId,
      openMs: undefined,
      closeMs: undefined,
      status: undefined,
      series: undefined,
      statusNative: undefined,
      checkMs: nowMs,
      waitMs: firstWaitMs,
      misses: 0,
      isSuspect: false,
      isUnlisted: false,
    }))
  }

  /** Applies a record of the catalogue or of a lifecycle message. */
  update(record: MarketRecord, nowMs: number, series?: string): void {
    const { marketId, statusNative, seriesTicker } = record
    if (statusNative === FINAL) {
      this.#markets.delete(marketId)
      return
    }
    const market = this.#markets.update(record, nowMs)
    market.series = seriesTicker ?? series ?? market.series
    market.misses = 0
    market.isSuspect = false
    market.isUnlisted = false
    if (statusNative === undefined || statusNative === market.statusNative) return
    market.statusNative = statusNative
    // The next status may follow soon.
    market.waitMs = this.#firstWaitMs
    market.checkMs = Math.min(market.checkMs, nowMs + this.#firstWaitMs)
  }

  /** Follows a market of an earlier run, of which only the id is known: it is checked at once. */
  resume(ticker: string, nowMs: number, series: string | undefined): void {
    if (this.get(ticker) === undefined) this.#markets.follow(ticker, nowMs).series = series
  }

  /** Follows a market that only a status message has named: it is checked at once. */
  hear({ marketId, seriesTicker }: MarketRecord, nowMs: number): void {
    this.resume(marketId, nowMs, seriesTicker)
    this.get(marketId)!.isUnlisted = true
  }

  /** The venue does not know this market. */
  forget(ticker: string): void {
    this.#markets.delete(ticker)
  }

  /** Checks a market at once: it may have changed. */
  suspect(ticker: string, nowMs: number): void {
    const market = this.get(ticker)
    if (market === undefined || market.isSuspect) return
    market.isSuspect = true
    market.checkMs = nowMs
    market.waitMs = this.#firstWaitMs
  }

  get(ticker: string): VenueBMarket | undefined {
    return this.#markets.get(ticker)
  }

  stageOf(market: VenueBMarket, nowMs: number): Stage {
    const { statusNative, openMs } = market
    if (statusNative === undefined || OVER.has(statusNative)) return 'over'
    if (isPastClose(market, nowMs)) return 'over'
    return openMs !== undefined && nowMs < openMs - this.#leadMs ? 'early' : 'live'
  }

  [Symbol.iterator](): Iterator<VenueBMarket> {
    return this.#markets[Symbol.iterator]()
  }

  get size(): number {
    return this.#markets.size
  }
}

/** What discovery looks for, how often, and whom it notifies. */
export type DiscoveryOptions = RequestContext & {
  readonly clock: Clock
  readonly series: readonly string[]
  /** How often the markets of every series are listed. */
  readonly marketsMs: number
  /** How often events, with their titles and settlement sources, are listed. */
  readonly eventsMs: number
  /** How often the series, with their fees, are read. */
  readonly seriesMs: number
  onMarkets(records: readonly MarketRecord[], series: string): void
  /** Called after a complete listing of unopened and open markets; any other market is neither. */
  onListing(tickers: ReadonlySet<string>, series: string): void
}

// One status per request, because the venue takes no list; together all that trades or will trade.
const STATUSES = ['unopened', 'open'] as const

/** Finds markets before they open, and whatever is open. */
export class Discovery {
  readonly #options: DiscoveryOptions
  readonly #failed = new Set<string>()
  readonly #listed = new Set<string>()
  readonly #facts = new Map<string, OneSeries>()
  #eventsAtMs = -Infinity
  #seriesAtMs = -Infinity
  #wake: (() => void) | undefined
  #isHurried = false

  constructor(options: DiscoveryOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, series, marketsMs, eventsMs, seriesMs } = this.#options
    while (!signal.aborted) {
      const startMs = clock.monotonicMs()
      this.#isHurried = false
      for (const name of series) await this.#listMarkets(name, signal)
      if (startMs - this.#eventsAtMs >= eventsMs) {
        this.#eventsAtMs = startMs
        for (const name of series) await this.#listEvents(name, signal)
      }
      if (startMs - this.#seriesAtMs >= seriesMs) {
        this.#seriesAtMs = startMs
        for (const name of series) await this.#readSeries(name, signal)
      }
      // Even a hurried listing waits this long, because books have priority in the quota.
      await sleep(marketsMs / 10, signal, clock)
      const leftMs = marketsMs - (clock.monotonicMs() - startMs)
      if (!this.#isHurried && leftMs > 0) await this.#pause(leftMs, signal)
    }
  }

  /** Lists soon: something was created. */
  hurry(): void {
    this.#isHurried = true
    this.#wake?.()
  }

  /** True while the last listing of every series succeeded. */
  get isHealthy(): boolean {
    return this.#failed.size === 0
  }

  /** True once every series has been listed. */
  get isStarted(): boolean {
    return this.#listed.size === this.#options.series.length
  }

  async #listMarkets(series: string, signal: AbortSignal): Promise<void> {
    const tickers = new Set<string>()
    let isComplete = true
    for (const status of STATUSES) {
      const query = { series_ticker: series, status, limit: '1000', mve_filter: 'exclude' }
      const list = { request: this.#requestOf('markets', series, status), path: '/markets', query }
      const end = await readCursorPages(
        this.#options,
        list,
        ({ reading }) => {
          const records = recordsOf(reading)
          for (const { marketId } of records) tickers.add(marketId)
          this.#options.onMarkets(records, series)
          return records.length
        },
        signal,
      )
      if (end !== 'complete') isComplete = false
      this.#setHealth(series, end)
    }
    if (isComplete) this.#options.onListing(tickers, series)
  }

  async #listEvents(series: string, signal: AbortSignal): Promise<void> {
    for (const status of STATUSES) {
      const query = { series_ticker: series, status, limit: '200', with_nested_markets: 'true' }
      const list = { request: this.#requestOf('events', series, status), path: '/events', query }
      await readCursorPages(
        this.#options,
        list,
        ({ value, reading }) => {
          this.#options.onMarkets(recordsOf(reading), series)
          const { events } = (value ?? {}) as { readonly events?: unknown }
          return Array.isArray(events) ? events.length : 0
        },
        signal,
      )
    }
  }

  async #readSeries(series: string, signal: AbortSignal): Promise<void> {
    const path = `/series/${encodeURIComponent(series)}`
    const request = { kind: 'series', series }
    const answer = await this.#options.rest.send({ request, path }, signal)
    if (!answer.ok || !isObject(answer.value)) return
    this.#facts.set(series, readSeries(answer.value['series']))
  }

  // Answers about markets do not contain what their series says, so the journaled request does.
  #requestOf(kind: string, series: string, status: string): CaptureRequest {
    const facts = this.#facts.get(series)
    const known = facts === undefined ? {} : { facts: { [series]: toRequestSeries(facts) } }
    return { kind, series, status, ...known }
  }

  #setHealth(series: string, end: PagesEnd): void {
    if (end !== 'failed') {
      this.#failed.delete(series)
      this.#listed.add(series)
      return
    }
    if (!this.#failed.has(series)) {
      this.#options.log.warn({ series }, 'a series of venue B cannot be listed')
    }
    this.#failed.add(series)
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const early = new AbortController()
    this.#wake = () => early.abort()
    await sleep(ms, AbortSignal.any([signal, early.signal]), this.#options.clock)
    this.#wake = undefined
  }
}

/** What the parts of the connector need to send requests. */
export type RequestContext = { readonly rest: Rest; readonly log: CaptureLog }

/** A list that the venue sends in pages. */
export type CursorList = {
  readonly request: CaptureRequest
  readonly path: string
  readonly query: Readonly<Record<string, string>>
}

/** Max pages per list: beyond any recorded series, with 1,000 markets or 200 events per page. */
const MAX_PAGES = 50

/** Reads all pages of a list; `onPage` returns how many items the page holds. */
export async function readCursorPages(
  { rest, log }: RequestContext,
  { request, path, query }: CursorList,
  onPage: (answer: RestAnswer & { readonly ok: true }) => number,
  signal: AbortSignal,
): Promise<PagesEnd> {
  const end = await readPages<string>(MAX_PAGES, async (cursor) => {
    const paged = cursor === undefined ? query : { ...query, cursor }
    const answer = await rest.send({ request, path, query: paged }, signal)
    if (!answer.ok) return undefined
    const { cursor: next } = (answer.value ?? {}) as { readonly cursor?: unknown }
    const items = onPage(answer)
    return typeof next === 'string' && next !== '' ? { items, next } : { items }
  })
  if (end === 'cut') {
    log.warn({ path, query }, 'pages of venue B repeat, are empty or do not end: reading stops')
  }
  return end
}
