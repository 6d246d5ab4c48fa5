import type { MarketRecord } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { CaptureRequest } from '../capture/contract.ts'
import { isObject } from '../capture/fields.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import type { PagesEnd, RestCall } from '../capture/rest.ts'
import { readSeries, toRequestSeries, type OneSeries } from './catalog.ts'
import { readCursorPages, type RequestContext } from './pages.ts'

/** Finds markets, and finds them again when something changed. */
export interface Discovery {
  run(signal: AbortSignal): Promise<void>
  /** Lists soon: something was created, in this event where it is known. */
  hurry(eventTicker?: string): void
  /** True while lists can be read. */
  readonly isHealthy: boolean
  /** True once everything has been listed. */
  readonly isStarted: boolean
}

/** Which series are looked at, how often, and whom that notifies. */
export type SeriesDiscoveryOptions = RequestContext & {
  readonly clock: Clock
  readonly series: readonly string[]
  /** How often the markets of every series are listed. */
  readonly marketsMs: number
  /** How often events, with their titles and settlement sources, are listed. */
  readonly eventsMs: number
  /** How often the series, with their fees, are read. */
  readonly seriesMs: number
  /** Completes a request with the decisions about the markets of its answer. */
  tell(request: CaptureRequest, value: unknown): CaptureRequest | undefined
  onMarkets(records: readonly MarketRecord[], series: string): void
  /** Called after a complete listing of unopened and open markets; any other market is neither. */
  onListing(tickers: ReadonlySet<string>, series: string): void
}

/** One status per request, because the venue takes no list; together all that trades or will trade. */
export const STATUSES = ['unopened', 'open'] as const

/** Finds the markets of some series before they open, and whatever is open. */
export class SeriesDiscovery implements Discovery {
  readonly #options: SeriesDiscoveryOptions
  readonly #failed = new Set<string>()
  readonly #listed = new Set<string>()
  readonly #facts = new Map<string, OneSeries>()
  #eventsAtMs = -Infinity
  #seriesAtMs = -Infinity
  #wake: (() => void) | undefined
  #isHurried = false

  constructor(options: SeriesDiscoveryOptions) {
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
      const list = { ...this.#requestOf('markets', series, status), path: '/markets', query }
      const end = await readCursorPages(
        this.#options,
        list,
        ({ value, reading }) => {
          const records = recordsOf(reading)
          for (const { marketId } of records) tickers.add(marketId)
          this.#options.onMarkets(records, series)
          // Also those that are not recorded: only a page without any market ends a list.
          const { markets } = (value ?? {}) as { readonly markets?: unknown }
          return Array.isArray(markets) ? markets.length : 0
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
      const list = { ...this.#requestOf('events', series, status), path: '/events', query }
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
  #requestOf(kind: string, series: string, status: string): Pick<RestCall, 'request' | 'describe'> {
    const facts = this.#facts.get(series)
    const known = facts === undefined ? {} : { facts: { [series]: toRequestSeries(facts) } }
    const request = { kind, series, status, ...known }
    return { request, describe: (value) => this.#options.tell(request, value) }
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
