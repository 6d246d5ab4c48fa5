import type { Proposition, RoundProposition, TopicProposition, World } from '../../core/upstream.ts'

/** The names that venue B gives a market. */
export type Names = {
  readonly series: string
  readonly event: string
  readonly ticker: string
  /** A UUID that the socket sends beside the ticker. */
  readonly id: string
}

/** The series of crypto rounds: up or down in a quarter of an hour, and hourly strikes. */
export const ROUND_SERIES = {
  'BTC/15m': { ticker: 'KXBTC15M', name: 'Bitcoin', cadence: 'fifteen_min' },
  'ETH/15m': { ticker: 'KXETH15M', name: 'Ethereum', cadence: 'fifteen_min' },
  'BTC/1h': { ticker: 'KXBTCD', name: 'Bitcoin', cadence: 'hourly' },
  'ETH/1h': { ticker: 'KXETHD', name: 'Ethereum', cadence: 'hourly' },
} as const

/** One series of rounds. */
export type RoundSeries = (typeof ROUND_SERIES)[keyof typeof ROUND_SERIES]

/** The series of a round. */
export function roundSeriesOf({ asset, window }: RoundProposition): RoundSeries {
  return ROUND_SERIES[`${asset}/${window}` as keyof typeof ROUND_SERIES]
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
      const tickers =
        proposition.topic === undefined ? roundNames(proposition, speed) : topicNames(proposition)
      names = { ...tickers, id: toUuid(world.hex(`venueb/market/${tickers.ticker}`, 32)) }
      known.set(proposition, names)
    }
    return names
  }
}

type Tickers = Omit<Names, 'id'>

function roundNames(proposition: RoundProposition, speed: number): Tickers {
  const { closeTime, strike } = proposition
  const { ticker: series } = roundSeriesOf(proposition)
  const local = new Date(closeTime + ZONE_MS)
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${two(local.getUTCFullYear() % 100)}${MONTHS[local.getUTCMonth()]}${two(local.getUTCDate())}`
  const seconds = speed === 1 ? '' : two(local.getUTCSeconds())
  const event = `${series}-${day}${two(local.getUTCHours())}${two(local.getUTCMinutes())}${seconds}`
  const last = strike === undefined ? two(local.getUTCMinutes()) : `T${strike}`
  return { series, event, ticker: `${event}-${last}` }
}

// A single question has one ticker for the event and its market.
function topicNames({ topic, answer }: TopicProposition): Tickers {
  const series = `KX${topic.series.code}`
  const event = `${series}-${topic.code}`
  return { series, event, ticker: topic.kind === 'question' ? event : `${event}-${answer.code}` }
}

/** Hex digits in the form of a UUID. */
export function toUuid(hex: string): string {
  const part = (from: number, to: number): string => hex.slice(from, to)
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`
}
