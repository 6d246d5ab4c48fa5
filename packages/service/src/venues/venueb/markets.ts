import type { MarketRecord } from '@priorbook/sdk/domain'
import { FollowedMarkets, isPastClose, type FollowedMarket } from '../capture/followed-markets.ts'

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
    // One that was missing may have waited for a day: whatever names it again, it is checked like others.
    if (market.misses > 0) market.checkMs = Math.min(market.checkMs, nowMs + this.#firstWaitMs)
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

  /** Follows a market as an earlier run left it; whether that is still so is checked at this time. */
  adopt(record: MarketRecord, nowMs: number, checkMs: number): void {
    this.update(record, nowMs)
    const market = this.get(record.marketId)
    if (market === undefined) return
    market.isSuspect = true
    market.checkMs = checkMs
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
