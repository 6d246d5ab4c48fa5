import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { Proposition } from '../core/upstream.ts'
import type { Asset } from './underlying.ts'

/** A line of rounds that follow each other without a pause, each with one or more markets. */
export type Family = {
  readonly venue: VenueId
  readonly asset: Asset
  readonly window: Proposition['window']
  /** Markets of a round: 0 stands for one that compares with the start price, n for n fixed strikes. */
  readonly strikes: number
}

/** The nominal length of a window. */
export const WINDOW_MS: Readonly<Record<Proposition['window'], number>> = {
  '5m': 300_000,
  '15m': 900_000,
  '1h': 3_600_000,
}

/** How many markets of a venue are open at a time by default. */
export const DEFAULT_MARKETS: Readonly<Record<VenueId, number>> = {
  venuea: 6,
  venueb: 12,
  venuec: 6,
}

const MAX_STRIKES = 500

/** The rounds of a venue such that this many markets are open at a time. */
export function familiesOf(venue: VenueId, markets: number): readonly Family[] {
  if (!Number.isInteger(markets) || markets < 1) {
    throw new PriorbookError('invalid_argument', `${markets} is not a number of markets`)
  }
  if (venue === 'venueb') return seriesOf(markets)
  const families = (['BTC', 'ETH', 'BNB'] as const).flatMap((asset) =>
    (['5m', '15m'] as const).map((window): Family => ({ venue, asset, window, strikes: 0 })),
  )
  if (markets > families.length) {
    throw new PriorbookError(
      'invalid_argument',
      `${venue} has at most ${families.length} markets at a time, not ${markets}`,
    )
  }
  return families.slice(0, markets)
}

// Two up-or-down series, and hourly events with as many strikes as the rest asks for.
function seriesOf(markets: number): readonly Family[] {
  const venue = 'venueb'
  const families: Family[] = [{ venue, asset: 'BTC', window: '15m', strikes: 0 }]
  if (markets > 1) families.push({ venue, asset: 'ETH', window: '15m', strikes: 0 })
  const rest = markets - families.length
  const first = Math.ceil(rest / 2)
  if (first > MAX_STRIKES) {
    throw new PriorbookError('invalid_argument', `${markets} markets are too many`)
  }
  if (first > 0) families.push({ venue, asset: 'BTC', window: '1h', strikes: first })
  if (rest > first) families.push({ venue, asset: 'ETH', window: '1h', strikes: rest - first })
  return families
}
