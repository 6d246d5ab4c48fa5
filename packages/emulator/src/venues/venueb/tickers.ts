import type { Proposition, World } from '../../core/upstream.ts'

/** The names that venue B gives a market. */
export type Names = {
  readonly series: string
  readonly event: string
  readonly ticker: string
  /** A UUID that the socket sends beside the ticker. */
  readonly id: string
}

/** The series of the emulated venue: up or down in a quarter of an hour, and hourly strikes. */
export const SERIES = {
  'BTC/15m': { ticker: 'KXBTC15M', name: 'Bitcoin', cadence: 'fifteen_min' },
  'ETH/15m': { ticker: 'KXETH15M', name: 'Ethereum', cadence: 'fifteen_min' },
  'BTC/1h': { ticker: 'KXBTCD', name: 'Bitcoin', cadence: 'hourly' },
  'ETH/1h': { ticker: 'KXETHD', name: 'Ethereum', cadence: 'hourly' },
} as const

/** One series. */
export type Series = (typeof SERIES)[keyof typeof SERIES]

/** The series of a market. */
export function seriesOf({ asset, window }: Proposition): Series {
  const series = SERIES[`${asset}/${window}` as keyof typeof SERIES]
  return series
}

/** The times of venue B are those of New York in summer. */
const ZONE_MS = -4 * 3_600_000
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']

/** Names markets deterministically; `speed` above 1 adds seconds to keep names unique. */
export function createNames(world: World, speed: number): (proposition: Proposition) => Names {
  const known = new Map<Proposition, Names>()
  return (proposition) => {
    let names = known.get(proposition)
    if (names === undefined) {
      names = nameOf(proposition, world, speed)
      known.set(proposition, names)
    }
    return names
  }
}

function nameOf(proposition: Proposition, world: World, speed: number): Names {
  const { closeTime, strike } = proposition
  const { ticker: series } = seriesOf(proposition)
  const local = new Date(closeTime + ZONE_MS)
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${two(local.getUTCFullYear() % 100)}${MONTHS[local.getUTCMonth()]}${two(local.getUTCDate())}`
  const seconds = speed === 1 ? '' : two(local.getUTCSeconds())
  const event = `${series}-${day}${two(local.getUTCHours())}${two(local.getUTCMinutes())}${seconds}`
  const last = strike === undefined ? two(local.getUTCMinutes()) : `T${strike}`
  const ticker = `${event}-${last}`
  return { series, event, ticker, id: uuid(world.hex(`venueb/market/${ticker}`, 32)) }
}

/** Hex digits in the form of a UUID. */
export function uuid(hex: string): string {
  const part = (from: number, to: number): string => hex.slice(from, to)
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`
}
