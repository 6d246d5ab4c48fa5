import type { MarketRecord } from '@priorbook/sdk/domain'
import type { CaptureRequest } from '../capture/contract.ts'
import { sleep } from '../../lib/wait.ts'
import { recordsOf, walk, type Asking, type WalkEnd } from './ask.ts'
import { feesOf, type SeriesFees } from './series-fees.ts'

/** What discovery looks for, how often, and whom it tells. */
export type DiscoveryOptions = Asking & {
  readonly series: readonly string[]
  /** Listings of every series are asked for this often. */
  readonly intervalMs: number
  /** The events, with their titles and settlement sources, this often; the series themselves more rarely. */
  readonly eventsMs: number
  readonly seriesMs: number
  onMarkets(records: readonly MarketRecord[], series: string): void
  /** A whole listing of what has not opened and what is open; markets not in it are neither. */
  onListing(tickers: ReadonlySet<string>, series: string): void
}

/** Finds markets: those listed before they open, and whatever is open. */
export interface Discovery {
  run(signal: AbortSignal): Promise<void>
  /** Look soon: something was created. */
  hurry(): void
  /** True when the last listing of every series was complete. */
  readonly isHealthy: boolean
  /** True once every series was listed. */
  readonly isStarted: boolean
}

// One word a request (the venue takes no list); together everything that is or will be traded.
const STATUSES = ['unopened', 'open'] as const

/** Creates the discovery of the given series. */
export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { series, sink, rest, cost, log } = options
  const failed = new Set<string>()
  const listed = new Set<string>()
  const fees = new Map<string, SeriesFees>()
  let eventsAt = -Infinity
  let seriesAt = -Infinity
  let wake: (() => void) | undefined
  let isHurried = false

  // An answer about markets does not say what its series charges; the request in front of it does.
  function toRequest(kind: string, name: string, status: string): CaptureRequest {
    const known = fees.get(name)
    return { kind, series: name, status, ...(known === undefined ? {} : { fees: known }) }
  }

  async function askSeries(name: string, signal: AbortSignal): Promise<void> {
    const path = `/series/${encodeURIComponent(name)}`
    const request = { kind: 'series', series: name }
    const answer = await rest.ask({ request, path, cost }, signal)
    const said = answer.ok ? feesOf(answer.value) : undefined
    if (said !== undefined) fees.set(name, said)
  }

  async function listMarkets(name: string, signal: AbortSignal): Promise<void> {
    const tickers = new Set<string>()
    let isComplete = true
    for (const status of STATUSES) {
      const query = { series_ticker: name, status, limit: '1000', mve_filter: 'exclude' }
      const request = toRequest('markets', name, status)
      const end = await walk(options, { request, path: '/markets', query }, signal, (value) => {
        const records = recordsOf(value, sink, name)
        for (const { marketId } of records) tickers.add(marketId)
        options.onMarkets(records, name)
        return records.length
      })
      if (end !== 'complete') isComplete = false
      health(name, end)
    }
    if (isComplete) options.onListing(tickers, name)
  }

  async function listEvents(name: string, signal: AbortSignal): Promise<void> {
    for (const status of STATUSES) {
      const query = {
        series_ticker: name,
        status,
        limit: '200',
        with_nested_markets: 'true',
      }
      const request = toRequest('events', name, status)
      await walk(options, { request, path: '/events', query }, signal, (value) => {
        options.onMarkets(recordsOf(value, sink, name), name)
        return countOf(value)
      })
    }
  }

  function health(name: string, end: WalkEnd): void {
    if (end !== 'failed') {
      failed.delete(name)
      listed.add(name)
      return
    }
    if (!failed.has(name)) log.warn({ series: name }, 'a series of venue B cannot be listed')
    failed.add(name)
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        const started = performance.now()
        isHurried = false
        for (const name of series) await listMarkets(name, signal)
        if (started - eventsAt >= options.eventsMs) {
          eventsAt = started
          for (const name of series) await listEvents(name, signal)
        }
        if (started - seriesAt >= options.seriesMs) {
          seriesAt = started
          for (const name of series) await askSeries(name, signal)
        }
        // Whatever happens, the quota is for books first.
        const least = options.intervalMs / 10
        await sleep(least, signal)
        const left = options.intervalMs - (performance.now() - started)
        if (!isHurried && left > 0) await pause(left, signal)
      }
    },
    hurry() {
      isHurried = true
      wake?.()
    },
    get isHealthy() {
      return failed.size === 0
    },
    get isStarted() {
      return listed.size === series.length
    },
  }

  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    const early = new AbortController()
    wake = () => early.abort()
    await sleep(ms, AbortSignal.any([signal, early.signal]))
    wake = undefined
  }
}

function countOf(value: unknown): number {
  const { events } = (value ?? {}) as { readonly events?: unknown }
  return Array.isArray(events) ? events.length : 0
}
