import type { Json, MarketRecord } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { CaptureSink } from '../capture/contract.ts'
import { recordsOf } from '../capture/followed-markets.ts'
import type { VenueBMarket, VenueBMarkets } from './markets.ts'
import type { RequestContext } from './pages.ts'

/** What following markets to their resolution needs. */
export type ResolutionOptions = RequestContext & {
  readonly sink: CaptureSink
  readonly clock: Clock
  readonly markets: VenueBMarkets
  /** Max wait between two checks of one market. */
  readonly maxWaitMs: number
  /** How often to look for due checks. */
  readonly tickMs: number
  onMarkets(records: readonly MarketRecord[], series: string | undefined): void
}

/** Max tickers per request. */
const BATCH = 50
const WAIT_GROWTH = 1.6
/** After this many lists without it, a market is requested by its ticker and then from the archive. */
const MAX_MISSES = 3
/** A market that neither address knows is asked for ever more rarely, at last once a day where others take 5 minutes. */
const GONE_WAITS = 288

/** Checks markets that are over until they are final; they may be disputed, amended or reopened. */
export class ResolutionChecks {
  readonly #options: ResolutionOptions

  constructor(options: ResolutionOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, tickMs } = this.#options
    while (!signal.aborted) {
      await this.#checkDue(signal)
      await sleep(tickMs, signal, clock)
    }
  }

  async #checkDue(signal: AbortSignal): Promise<void> {
    const nowMs = this.#options.sink.steadyNow() / 1000
    const { maxWaitMs } = this.#options
    const due: VenueBMarket[] = []
    const unlisted: VenueBMarket[] = []
    for (const market of this.#dueAt(nowMs)) {
      const longestMs = market.misses > MAX_MISSES ? maxWaitMs * GONE_WAITS : maxWaitMs
      market.checkMs = nowMs + Math.min(longestMs, market.waitMs)
      market.waitMs = Math.min(longestMs, market.waitMs * WAIT_GROWTH)
      if (market.misses >= MAX_MISSES) unlisted.push(market)
      else due.push(market)
    }
    for (let from = 0; from < due.length; from += BATCH) {
      await this.#checkMany(due.slice(from, from + BATCH), signal)
    }
    for (const market of unlisted) await this.#checkOne(market, signal)
  }

  #dueAt(nowMs: number): VenueBMarket[] {
    const { markets } = this.#options
    return [...markets].filter(
      (market) =>
        market.checkMs <= nowMs && (market.isSuspect || markets.stageOf(market, nowMs) === 'over'),
    )
  }

  async #checkMany(markets: readonly VenueBMarket[], signal: AbortSignal): Promise<void> {
    const tickers = markets.map(({ marketId }) => marketId)
    const query = { tickers: tickers.join(','), limit: String(BATCH) }
    const request = { kind: 'markets', tickers, ...toRequestSeriesOf(markets) }
    const answer = await this.#options.rest.send({ request, path: '/markets', query }, signal)
    if (!answer.ok) return
    const records = recordsOf(answer.reading)
    this.#options.onMarkets(records, undefined)
    const found = new Set(records.map(({ marketId }) => marketId))
    for (const market of markets) if (!found.has(market.marketId)) market.misses++
  }

  async #checkOne(market: VenueBMarket, signal: AbortSignal): Promise<void> {
    const { rest, log } = this.#options
    const { marketId: ticker, series } = market
    const request = { kind: 'market', ticker, ...(series === undefined ? {} : { series }) }
    for (const folder of ['/markets', '/historical/markets']) {
      const path = `${folder}/${encodeURIComponent(ticker)}`
      const answer = await rest.send({ request, path }, signal)
      if (answer.ok) {
        this.#options.onMarkets(recordsOf(answer.reading), series)
        return
      }
      if (answer.status !== 404) return
    }
    if (market.isUnlisted) {
      log.warn({ ticker }, 'venue B named this market and does not know it')
      this.#options.markets.forget(ticker)
      return
    }
    if (market.misses === MAX_MISSES) {
      log.warn({ ticker }, 'venue B does not know this market any more; checks become rarer')
    }
    market.misses++
  }
}

// The venue does not name the series of a market, so the request does: one for all, or one for each.
function toRequestSeriesOf(markets: readonly VenueBMarket[]): Readonly<Record<string, Json>> {
  const [first] = markets
  if (first?.series !== undefined && markets.every(({ series }) => series === first.series)) {
    return { series: first.series }
  }
  const known = markets.flatMap(({ marketId, series }) =>
    series === undefined ? [] : [[marketId, series] as const],
  )
  return known.length === 0 ? {} : { series_of: Object.fromEntries(known) }
}
