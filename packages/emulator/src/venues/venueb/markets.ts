import type { Fill, Phase, Proposition, World, WorldEvent } from '../../core/upstream.ts'

/** The venue's markets by their names, with the times of their phases. */
export interface Markets {
  /** In order of listing. */
  all(): readonly Proposition[]
  find(ticker: string): Proposition | undefined
  readonly names: (market: Proposition) => Names
  readonly times: (market: Proposition) => PhaseTimes
  note(event: WorldEvent): void
  /** The venue's clock. */
  now(): number
}

/** When a market entered its phases; the venue shows some of them. */
export type PhaseTimes = ReadonlyMap<Phase, number>

/** Creates the directory; `note` adds markets to it. */
export function createMarkets(world: World, speed: number): Markets {
  const names = createNames(world, speed)
  const byTicker = new Map<string, Proposition>()
  const times = new Map<Proposition, Map<Phase, number>>()
  const none: PhaseTimes = new Map()

  return {
    names,
    now: () => world.now('venueb'),
    all: () => world.propositions('venueb'),
    find: (ticker) => byTicker.get(ticker),
    times: (market) => times.get(market) ?? none,
    note(event) {
      const { proposition } = event
      if (event.kind === 'listed') byTicker.set(names(proposition).ticker, proposition)
      if (event.kind !== 'listed' && event.kind !== 'phase') return
      const own = times.get(proposition) ?? new Map<Phase, number>()
      times.set(proposition, own.set(proposition.phase, event.at))
    },
  }
}

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
function createNames(world: World, speed: number): (proposition: Proposition) => Names {
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
function uuid(hex: string): string {
  const part = (from: number, to: number): string => hex.slice(from, to)
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`
}

/** One public trade as the venue keeps it. */
export type Trade = Fill & { readonly id: string; readonly ticker: string; readonly at: number }

/** The newest trades, for GET /markets/trades. */
export interface Trades {
  note(proposition: Proposition, names: Names, fill: Fill, at: number): Trade
  /** Newest first. */
  list(): readonly Trade[]
}

const KEPT = 20_000

/** Creates an empty list. */
export function createTrades(world: World): Trades {
  let kept: Trade[] = []
  let count = 0
  return {
    note(proposition, { ticker }, fill, at) {
      const id = uuid(
        world.hex(`venueb/trade/${ticker}/${proposition.version}/${at}/${++count}`, 32),
      )
      const trade = { ...fill, id, ticker, at }
      kept.push(trade)
      if (kept.length > 2 * KEPT) kept = kept.slice(-KEPT)
      return trade
    },
    list: () => kept.toReversed(),
  }
}
