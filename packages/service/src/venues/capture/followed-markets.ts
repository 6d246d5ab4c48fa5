import type { MarketRecord, MarketStatus } from '@priorbook/sdk/domain'
import type { Normalized } from './contract.ts'

/** What every connector knows about a market that it follows; times are wall-clock milliseconds. */
export type FollowedMarket = {
  readonly marketId: string
  openMs: number | undefined
  closeMs: number | undefined
  status: MarketStatus | undefined
}

/**
 * The markets that a connector follows from discovery to resolution. A venue adds its own fields to
 * `FollowedMarket` and creates the entries.
 */
export class FollowedMarkets<Market extends FollowedMarket> {
  readonly #markets = new Map<string, Market>()
  readonly #create: (marketId: string, nowMs: number) => Market

  constructor(create: (marketId: string, nowMs: number) => Market) {
    this.#create = create
  }

  /** Returns the market, following it from now on if it is new. */
  follow(marketId: string, nowMs: number): Market {
    const known = this.#markets.get(marketId)
    if (known !== undefined) return known
    const market = this.#create(marketId, nowMs)
    this.#markets.set(marketId, market)
    return market
  }

  /** Follows the market of a record and copies its times and status; omitted fields keep their value. */
  update({ marketId, openTime, closeTime, status }: MarketRecord, nowMs: number): Market {
    const market = this.follow(marketId, nowMs)
    if (openTime !== undefined) market.openMs = openTime / 1000
    if (closeTime !== undefined) market.closeMs = closeTime / 1000
    if (status !== undefined) market.status = status
    return market
  }

  get(marketId: string): Market | undefined {
    return this.#markets.get(marketId)
  }

  /** Nothing more will happen to this market. */
  delete(marketId: string): void {
    this.#markets.delete(marketId)
  }

  [Symbol.iterator](): Iterator<Market> {
    return this.#markets.values()
  }

  get size(): number {
    return this.#markets.size
  }
}

const TRADING: ReadonlySet<MarketStatus> = new Set(['scheduled', 'open', 'paused'])

/** Returns true once the venue says that a market does not trade any more; it may reopen. */
export function hasEnded({ status }: Pick<FollowedMarket, 'status'>): boolean {
  return status !== undefined && !TRADING.has(status)
}

/** Returns true when a market's closing time is known and has passed. */
export function isPastClose({ closeMs }: Pick<FollowedMarket, 'closeMs'>, nowMs: number): boolean {
  return closeMs !== undefined && nowMs >= closeMs
}

/** The market records in what was read from an answer or a frame. */
export function recordsOf({ events }: Pick<Normalized, 'events'>): MarketRecord[] {
  return events.flatMap((event) => (event.kind === 'market' ? [event.record] : []))
}
