import type { Micros } from '@priorbook/sdk/domain'

/** A round of a crypto up-or-down series, as its slug names it. */
export type Round = {
  /** In capitals, as the market record keeps it: `BTC`. */
  readonly asset: string
  /** As the slug writes it: `5m`. */
  readonly window: string
  /** Unix seconds of the start, where the slug holds them. */
  readonly startSeconds?: number
}

// Slugs of all assets have the same form: `btc-updown-5m-1773307200`.
const ROUND = /^([a-z0-9]{2,12})-updown-(\d{1,3}[mhd])-(\d{9,10})$/
// The hourly and daily series have older names: `bitcoin-up-or-down-june-7-8pm-et` (also with a
// year) and `bitcoin-up-or-down-on-june-7`.
const HOURLY = /^([a-z]{3,12})-up-or-down-[a-z]+-\d{1,2}(?:-\d{4})?-\d{1,2}[ap]m-et$/
const DAILY = /^([a-z]{3,12})-up-or-down-on-[a-z]+-\d{1,2}(?:-\d{4})?$/
const TICKERS: ReadonlyMap<string, string> = new Map([
  ['bitcoin', 'BTC'],
  ['ethereum', 'ETH'],
  ['solana', 'SOL'],
  ['xrp', 'XRP'],
  ['bnb', 'BNB'],
  ['dogecoin', 'DOGE'],
  ['hyperliquid', 'HYPE'],
])

/** Reads the slug of a crypto up-or-down round; undefined for every other market. */
export function parseRoundSlug(slug: string): Round | undefined {
  const [, asset, window, start] = ROUND.exec(slug) ?? []
  if (asset !== undefined && window !== undefined) {
    return { asset: asset.toUpperCase(), window, startSeconds: Number(start) }
  }
  for (const [pattern, length] of [
    [HOURLY, '1h'],
    [DAILY, '1d'],
  ] as const) {
    const ticker = TICKERS.get(pattern.exec(slug)?.[1] ?? '')
    if (ticker !== undefined) return { asset: ticker, window: length }
  }
  return undefined
}

/** When a round starts; undefined where the slug does not contain it or it is beyond Micros. */
export function roundStart({ startSeconds = NaN }: Round): Micros | undefined {
  const micros = startSeconds * 1_000_000
  return Number.isSafeInteger(micros) ? (micros as Micros) : undefined
}

/** The slug of a round that starts at these unix seconds. */
export function printRoundSlug(asset: string, window: string, startSeconds: number): string {
  return `${asset.toLowerCase()}-updown-${window}-${startSeconds}`
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 }

/** The length of a window such as `5m` in seconds; undefined for anything else. */
export function windowSeconds(window: string): number | undefined {
  const [, count, unit] = /^(\d{1,3})([mhd])$/.exec(window) ?? []
  return count === undefined ? undefined : Number(count) * UNIT_SECONDS[unit!]!
}
