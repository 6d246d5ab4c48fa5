import type { MarketRecord } from '@priorbook/sdk/domain'

/** A market that is being recorded, or was and has not resolved; times in milliseconds of the wall clock. */
export type FollowedMarket = {
  readonly ticker: string
  series: string | undefined
  openMs: number | undefined
  closeMs: number | undefined
  /** The venue's word, absent until the venue was asked. */
  status: string | undefined
  /** When to ask how it ended, and how long to wait after that. */
  checkMs: number
  waitMs: number
  /** How often in a row the venue did not know it. */
  misses: number
  /** What is known of it is in doubt: it is asked for, though by its times it trades. */
  isSuspect: boolean
}

/** Where a market stands: before its opening, to be recorded, or over and not resolved. */
export type Stage = 'early' | 'live' | 'over'

/** The markets that the connector follows. No clock: times are given. */
export interface Followed {
  /** Takes what a catalogue answer or a lifecycle message says; true where the market is new. */
  update(record: MarketRecord, nowMs: number, series?: string): boolean
  /** A market of an earlier run, of which nothing is known: it is asked for at once. */
  resume(ticker: string, nowMs: number, series?: string): void
  /** It is asked for at once: something may have happened to it. */
  suspect(ticker: string, nowMs: number): void
  get(ticker: string): FollowedMarket | undefined
  stage(market: FollowedMarket, nowMs: number): Stage
  /** Nothing more will happen to it. */
  drop(ticker: string): void
  readonly all: Iterable<FollowedMarket>
  readonly size: number
}

/** Words after which a market does not trade, but may again. */
const OVER: ReadonlySet<string> = new Set(['closed', 'determined', 'disputed', 'amended'])
const FINAL = 'finalized'

/** Creates an empty list; a market is recorded from `leadMs` before its opening on. */
export function createFollowed(leadMs: number, firstWaitMs: number): Followed {
  const markets = new Map<string, FollowedMarket>()

  function add(ticker: string, nowMs: number): FollowedMarket {
    const market: FollowedMarket = {
      ticker,
      series: undefined,
      openMs: undefined,
      closeMs: undefined,
      status: undefined,
      checkMs: nowMs,
      waitMs: firstWaitMs,
      misses: 0,
      isSuspect: false,
    }
    markets.set(ticker, market)
    return market
  }

  return {
    update(record, nowMs, series) {
      const { marketId, statusNative, openTime, closeTime } = record
      const known = markets.get(marketId)
      if (statusNative === FINAL) {
        markets.delete(marketId)
        return false
      }
      const market = known ?? add(marketId, nowMs)
      market.series = record.seriesTicker ?? series ?? market.series
      if (openTime !== undefined) market.openMs = openTime / 1000
      if (closeTime !== undefined) market.closeMs = closeTime / 1000
      market.misses = 0
      market.isSuspect = false
      if (statusNative !== undefined && statusNative !== market.status) {
        market.status = statusNative
        // Something happened: what follows may come soon.
        market.waitMs = firstWaitMs
        market.checkMs = Math.min(market.checkMs, nowMs + firstWaitMs)
      }
      return known === undefined
    },
    resume(ticker, nowMs, series) {
      if (!markets.has(ticker)) add(ticker, nowMs).series = series
    },
    suspect(ticker, nowMs) {
      const market = markets.get(ticker)
      if (market === undefined || market.isSuspect) return
      market.isSuspect = true
      market.checkMs = nowMs
      market.waitMs = firstWaitMs
    },
    get: (ticker) => markets.get(ticker),
    stage(market, nowMs) {
      const { status, openMs, closeMs } = market
      if (status === undefined || OVER.has(status)) return 'over'
      if (closeMs !== undefined && nowMs >= closeMs) return 'over'
      return openMs !== undefined && nowMs < openMs - leadMs ? 'early' : 'live'
    },
    drop: (ticker) => void markets.delete(ticker),
    get all() {
      return markets.values()
    },
    get size() {
      return markets.size
    },
  }
}
