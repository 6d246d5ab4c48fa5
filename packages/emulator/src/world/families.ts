import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { RoundProposition } from '../core/upstream.ts'
import type { MatchStyle } from './breadth/matches.ts'
import type { Asset } from './underlying.ts'

/** A line of rounds that follow each other without a pause, each with one or more markets. */
export type Family = {
  readonly asset: Asset
  readonly window: RoundProposition['window']
  /** Markets of a round: 0 stands for one that compares with the start price, n for n fixed strikes. */
  readonly strikes: number
}

/** How the markets of a venue differ from those of others. */
export type MarketStyle = {
  /** How many markets are open at a time by default. */
  readonly openMarkets: number
  /** The families such that this many markets are open at a time. */
  families(markets: number): readonly Family[]
  /** The step of sizes, in millionths of a share. */
  readonly lot: number
  /** Who wins a round that ends exactly where it began. */
  readonly tieWinner: 'first' | 'tie'
  /** The nominal seconds before its start and its end whose average price counts; absent: the price at that time. */
  averageSeconds?(window: RoundProposition['window'], openTime: number): number | undefined
  /** True where the tick becomes finer near prices of 0 and 1. */
  readonly refinesTick: boolean
  /** The finest step of prices from the middle of a window on; absent: the tick. */
  readonly finestGrain?: number
  readonly breadth: BroadStyle
}

/** How a venue lists topics. */
type BroadStyle = {
  readonly matches: MatchStyle
  /** Combinations of results, as a share of the other markets. */
  readonly combos: number
}

/** The markets that a world makes for one venue. */
export type VenueMarkets = {
  readonly venue: VenueId
  readonly style: MarketStyle
  readonly families: readonly Family[]
}

/** The markets of a venue such that `count` are open at a time. */
export function venueMarkets(
  venue: VenueId,
  style: MarketStyle,
  count = style.openMarkets,
): VenueMarkets {
  if (!Number.isInteger(count) || count < 1) {
    throw new PriorbookError('invalid_argument', `${count} is not a number of markets`)
  }
  return { venue, style, families: style.families(count) }
}

/** The nominal length of a window. */
export const WINDOW_MS: Readonly<Record<RoundProposition['window'], number>> = {
  '5m': 300_000,
  '15m': 900_000,
  '1h': 3_600_000,
}

/** Rounds of 5 and 15 minutes of three assets, at most six at a time. */
export function upDownFamilies(markets: number): readonly Family[] {
  const families = (['BTC', 'ETH', 'BNB'] as const).flatMap((asset) =>
    (['5m', '15m'] as const).map((window): Family => ({ asset, window, strikes: 0 })),
  )
  if (markets > families.length) {
    const most = `at most ${families.length} markets at a time`
    throw new PriorbookError('invalid_argument', `the venue has ${most}, not ${markets}`)
  }
  return families.slice(0, markets)
}
