import type { MarketRecord } from '@priorbook/sdk/domain'
import { sleep } from '../../lib/wait.ts'
import { recordsOf, type Asking } from './ask.ts'
import type { Followed, FollowedMarket } from './followed.ts'

/** What follows markets to their end needs. */
export type EndingsOptions = Asking & {
  readonly followed: Followed
  /** The longest wait between two looks at one market. */
  readonly maxWaitMs: number
  /** How often to see whose turn it is. */
  readonly tickMs: number
  onMarkets(records: readonly MarketRecord[], series: string | undefined): void
}

/** Follows closed markets until they are final: determined, disputed, amended and reopened ones too. */
export interface Endings {
  run(signal: AbortSignal): Promise<void>
}

const BATCH = 50
const GROWTH = 1.6
// After this many lists without it, a market is asked for by its name and then in the archive.
const MISSES = 3

/** Creates the follower of endings. */
export function createEndings(options: EndingsOptions): Endings {
  const { rest, sink, log, cost, followed } = options

  async function askMany(
    series: string | undefined,
    markets: readonly FollowedMarket[],
    signal: AbortSignal,
  ): Promise<void> {
    const tickers = markets.map(({ ticker }) => ticker)
    const query = { tickers: tickers.join(','), limit: String(BATCH) }
    const request = { kind: 'markets', tickers, ...(series === undefined ? {} : { series }) }
    const answer = await rest.ask({ request, path: '/markets', query, cost }, signal)
    if (!answer.ok) return
    const records = recordsOf(answer.value, sink, series)
    options.onMarkets(records, series)
    const found = new Set(records.map(({ marketId }) => marketId))
    for (const market of markets) if (!found.has(market.ticker)) market.misses++
  }

  async function askOne(market: FollowedMarket, signal: AbortSignal): Promise<void> {
    const { ticker, series } = market
    const request = { kind: 'market', ticker, ...(series === undefined ? {} : { series }) }
    for (const folder of ['/markets', '/historical/markets']) {
      const path = `${folder}/${encodeURIComponent(ticker)}`
      const answer = await rest.ask({ request, path, cost }, signal)
      if (answer.ok) {
        options.onMarkets(recordsOf(answer.value, sink, series), series)
        return
      }
      if (answer.status !== 404) return
    }
    if (market.misses === MISSES) {
      log.warn({ ticker }, 'venue B does not know this market any more; asked for ever more rarely')
    }
    market.misses++
  }

  function dueAt(nowMs: number): FollowedMarket[] {
    const due: FollowedMarket[] = []
    for (const market of followed.all) {
      if (market.checkMs > nowMs) continue
      if (market.isSuspect || followed.stage(market, nowMs) === 'over') due.push(market)
    }
    return due
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        const nowMs = sink.now() / 1000
        const groups = new Map<string | undefined, FollowedMarket[]>()
        for (const market of dueAt(nowMs)) {
          market.checkMs = nowMs + market.waitMs
          market.waitMs = Math.min(options.maxWaitMs, market.waitMs * GROWTH)
          if (market.misses >= MISSES) await askOne(market, signal)
          else groups.set(market.series, [...(groups.get(market.series) ?? []), market])
        }
        for (const [series, markets] of groups) {
          for (let from = 0; from < markets.length; from += BATCH) {
            await askMany(series, markets.slice(from, from + BATCH), signal)
          }
        }
        await sleep(options.tickMs, signal)
      }
    },
  }
}
