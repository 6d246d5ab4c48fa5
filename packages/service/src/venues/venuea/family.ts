import type { Micros } from '@priorbook/sdk/domain'

/** What kind of market it is, from what the venue calls it: `BTC`, `15m`. */

const QUOTES = /(?:FDUSD|USDT|USDC|USD)$/
const NAMES: ReadonlyMap<string, string> = new Map([
  ['btc', 'BTC'],
  ['bitcoin', 'BTC'],
  ['eth', 'ETH'],
  ['ethereum', 'ETH'],
  ['bnb', 'BNB'],
])

/** The underlying asset: of `BTCUSDT` it is BTC; where no symbol is given, by the first word of the slug. */
export function toAsset(symbol: string | undefined, slug: string | undefined): string | undefined {
  if (symbol !== undefined) {
    const asset = symbol.replace(QUOTES, '')
    if (/^[A-Z0-9]{1,12}$/.test(asset)) return asset
  }
  return NAMES.get(slug?.split('-', 1)[0]?.toLowerCase() ?? '')
}

// A number and its unit between dashes: `btc-updown-15m-1787839200`, `btc-price-1h-up-or-down`.
const IN_SLUG = /(?:^|-)(\d{1,3})(m|h|d)(?:-|$)/

const MINUTE = 60_000_000
const BY_LENGTH: ReadonlyMap<number, string> = new Map([
  [5 * MINUTE, '5m'],
  [15 * MINUTE, '15m'],
  [60 * MINUTE, '1h'],
  [240 * MINUTE, '4h'],
  [1440 * MINUTE, '1d'],
])

/** The window of a market: by its slug, which also holds where time runs faster, else by its length. */
export function toWindow(
  slug: string | undefined,
  open: Micros | undefined,
  close: Micros | undefined,
): string | undefined {
  const named = slug === undefined ? null : IN_SLUG.exec(slug)
  if (named !== null) return `${named[1]}${named[2]}`
  return open === undefined || close === undefined ? undefined : BY_LENGTH.get(close - open)
}

/** Exchange contracts of the vendor on BNB chain mainnet, as its page of deployed contracts lists them. */
const EXCHANGES = {
  plain: '0x8BC070BEdAB741406F4B1Eb65A72bee27894B689',
  negRisk: '0x365fb81bd4A24D6303cd2F19c349dE6894D8d58A',
  yield: '0x6bEb5a40C032AFc305961162d8204CDA16DECFa5',
  yieldNegRisk: '0x8A289d458f5a134bA40015085A8F50Ffb681B41d',
} as const

/** The exchange contract that the two flags choose; none unless the venue gave both. */
export function toExchangeContract(
  isNegRisk: boolean | undefined,
  isYieldBearing: boolean | undefined,
): string | undefined {
  if (isNegRisk === undefined || isYieldBearing === undefined) return undefined
  if (isYieldBearing) return isNegRisk ? EXCHANGES.yieldNegRisk : EXCHANGES.yield
  return isNegRisk ? EXCHANGES.negRisk : EXCHANGES.plain
}
