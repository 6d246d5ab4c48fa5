import type { MarketRecord } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { CaptureRequest, CaptureSink } from '../capture/contract.ts'
import { isObject } from '../capture/fields.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import { PAGE_MS, type RestAnswer } from '../capture/rest.ts'
import { readSeries, toRequestSeries, type OneSeries } from './catalog.ts'
import { STATUSES, type Discovery } from './discovery.ts'
import { readCursorPages, type RequestContext } from './pages.ts'

/** How often the venue is walked, and whom that notifies. */
export type VenueWalkOptions = RequestContext & {
  readonly clock: Clock
  readonly sink: Pick<CaptureSink, 'now' | 'note'>
  /** How often all events are listed, and how often what is new or changed. */
  readonly walkMs: number
  readonly recentMs: number
  /** When the last complete walk began, in wall milliseconds; a run goes on after it. */
  readonly walkedMs: number | undefined
  /** Which rules walk; see `rulesNumber`. */
  readonly rules: number
  /** Completes a request with the decisions about the markets of its answer, or about known ones only. */
  tell(request: CaptureRequest, value: unknown, of: 'all' | 'known'): CaptureRequest | undefined
  isKnown(marketId: string): boolean
  onMarkets(records: readonly MarketRecord[]): void
  /** Called after a complete walk with all markets that trade or will trade. */
  onWalked(tickers: ReadonlySet<string>): void
}

/** Max pages of a walk: 200,000 events. */
const MAX_PAGES = 1000
/** Lists of what is new begin this long before the last one, because the venue may list late. */
const OVERLAP_SECONDS = 60
/** A walk that failed is tried again this often in the time of one. */
const RETRIES = 20
/** Max events that are read by name between two lists. */
const EVENTS_AT_ONCE = 100

/**
 * Finds all markets of the venue: by a walk over its events at times, and between walks by what was created or
 * changed since the last list, and by events that the socket named. A restart goes on with the walk before it.
 */
export class VenueWalk implements Discovery {
  readonly #options: VenueWalkOptions
  readonly #series = new Map<string, OneSeries>()
  /** Events that are to be read: ticker by ticker. */
  readonly #events = new Set<string>()
  #walkAtMs = -Infinity
  #retryAtMs = -Infinity
  /** Up to when everything was listed, in seconds of the wall clock. */
  #listedTo: number | undefined
  #wake: (() => void) | undefined
  #isHurried = false
  isHealthy = true
  isStarted = false

  constructor(options: VenueWalkOptions) {
    this.#options = options
    const { walkedMs, clock, sink, walkMs } = options
    if (walkedMs === undefined) return
    const ageMs = sink.now() / 1000 - walkedMs
    if (ageMs >= walkMs) return
    this.#walkAtMs = clock.monotonicMs() - ageMs
    this.#listedTo = Math.floor(walkedMs / 1000)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, walkMs, recentMs } = this.#options
    while (!signal.aborted) {
      const startMs = clock.monotonicMs()
      this.#isHurried = false
      const isDue = startMs - this.#walkAtMs >= walkMs && startMs >= this.#retryAtMs
      if (this.#series.size === 0 || isDue) await this.#listSeries(signal)
      const isComplete = isDue ? await this.#walk(signal) : await this.#listRecent(signal)
      if (isDue && isComplete) this.#walkAtMs = startMs
      // Meanwhile what is new is listed; before the first walk there is nothing else to do.
      else if (isDue && this.#listedTo !== undefined) this.#retryAtMs = startMs + walkMs / RETRIES
      this.isHealthy = isComplete
      this.isStarted ||= isComplete
      await this.#readEvents(signal)
      // Even a hurried list waits this long, because books have priority in the quota.
      await sleep(recentMs / 10, signal, clock)
      const leftMs = recentMs - (clock.monotonicMs() - startMs)
      if (!this.#isHurried && leftMs > 0) await this.#pause(leftMs, signal)
    }
  }

  hurry(eventTicker?: string): void {
    if (eventTicker !== undefined) this.#events.add(eventTicker)
    this.#isHurried = true
    this.#wake?.()
  }

  async #listSeries(signal: AbortSignal): Promise<void> {
    const request = { kind: 'all_series' }
    const answer = await this.#options.rest.send({ request, path: '/series' }, signal)
    const list = answer.ok && isObject(answer.value) ? answer.value['series'] : undefined
    for (const series of Array.isArray(list) ? list : []) {
      if (!isObject(series) || typeof series['ticker'] !== 'string') continue
      this.#series.set(series['ticker'], readSeries(series))
    }
  }

  /** Lists all events with their markets; true where the lists were complete. */
  async #walk(signal: AbortSignal): Promise<boolean> {
    const { sink } = this.#options
    const since = sink.now()
    const tickers = new Set<string>()
    for (const status of STATUSES) {
      const request = { kind: 'events', status }
      const query = { status, limit: '200', with_nested_markets: 'true' }
      const list = { request, path: '/events', query, maxPages: MAX_PAGES, timeoutMs: PAGE_MS }
      const end = await readCursorPages(
        this.#options,
        { ...list, describe: (value) => this.#describe(request, value) },
        (answer) => {
          for (const ticker of tickersIn(answer.value)) tickers.add(ticker)
          this.#take(answer)
          return eventsIn(answer.value).length
        },
        signal,
      )
      if (end !== 'complete') return false
    }
    sink.note({ note: 'walked', since, rules: this.#options.rules })
    this.#listedTo = Math.floor(since / 1e6)
    this.#options.onWalked(tickers)
    return true
  }

  /** Lists what was created or changed since the last list; true where the lists were complete. */
  async #listRecent(signal: AbortSignal): Promise<boolean> {
    const now = Math.floor(this.#options.sink.now() / 1e6)
    const from = String((this.#listedTo ?? now) - OVERLAP_SECONDS)
    const shared = { limit: '1000', mve_filter: 'exclude' }
    const created = await readCursorPages(
      this.#options,
      {
        request: { kind: 'markets' },
        path: '/markets',
        query: { ...shared, min_created_ts: from },
        keep: false,
      },
      ({ value }) => this.#noteUnknown(value),
      signal,
    )
    const request = { kind: 'markets' }
    const updated = await readCursorPages(
      this.#options,
      {
        request,
        path: '/markets',
        query: { ...shared, min_updated_ts: from },
        // The list does not say what events and series do, by which others are selected or not.
        describe: (value) => this.#options.tell(request, value, 'known'),
      },
      (answer) => {
        this.#take(answer)
        return this.#noteUnknown(answer.value)
      },
      signal,
    )
    if (created !== 'complete' || updated !== 'complete') return false
    this.#listedTo = now
    return true
  }

  // The list of markets does not say what their events do, so the events of new markets are read.
  #noteUnknown(value: unknown): number {
    const markets = marketsIn(value)
    for (const market of markets) {
      const { ticker, event_ticker: event } = market
      if (typeof ticker !== 'string' || typeof event !== 'string') continue
      if (!this.#options.isKnown(ticker)) this.#events.add(event)
    }
    return markets.length
  }

  // Some of them at a time; one that fails is read again after the others.
  async #readEvents(signal: AbortSignal): Promise<void> {
    for (const ticker of [...this.#events].slice(0, EVENTS_AT_ONCE)) {
      const request = { kind: 'event', ticker }
      const path = `/events/${encodeURIComponent(ticker)}`
      const query = { with_nested_markets: 'true' }
      const answer = await this.#options.rest.send(
        { request, path, query, describe: (value) => this.#describe(request, value) },
        signal,
      )
      this.#events.delete(ticker)
      if (answer.ok) this.#take(answer)
      // One that the venue does not know will be in the next walk.
      else if (answer.status !== 404) this.#events.add(ticker)
    }
  }

  #take({ reading }: RestAnswer & { readonly ok: true }): void {
    this.#options.onMarkets(recordsOf(reading))
  }

  // Answers about markets do not contain what their series says, so the journaled request does.
  #describe(request: CaptureRequest, value: unknown): CaptureRequest | undefined {
    const named = new Set(eventsIn(value).map(({ series_ticker: series }) => series))
    const facts = [...named].flatMap((ticker) => {
      const series = typeof ticker === 'string' ? this.#series.get(ticker) : undefined
      return series === undefined ? [] : [[ticker as string, toRequestSeries(series)] as const]
    })
    const told = facts.length === 0 ? request : { ...request, facts: Object.fromEntries(facts) }
    return this.#options.tell(told, value, 'all')
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const early = new AbortController()
    this.#wake = () => early.abort()
    await sleep(ms, AbortSignal.any([signal, early.signal]), this.#options.clock)
    this.#wake = undefined
  }
}

type Fields = Readonly<Record<string, unknown>>

function listIn(value: unknown, name: string): readonly Fields[] {
  const list = isObject(value) ? value[name] : undefined
  return Array.isArray(list) ? list.filter((item) => isObject(item)) : []
}

function marketsIn(value: unknown): readonly Fields[] {
  return listIn(value, 'markets')
}

function eventsIn(value: unknown): readonly Fields[] {
  if (isObject(value) && isObject(value['event'])) return [value['event']]
  return listIn(value, 'events')
}

function tickersIn(value: unknown): readonly string[] {
  return eventsIn(value)
    .flatMap((event) => listIn(event, 'markets'))
    .flatMap(({ ticker }) => (typeof ticker === 'string' ? [ticker] : []))
}
