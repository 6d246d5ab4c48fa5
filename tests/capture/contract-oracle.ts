import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'

// An oracle of contracts: it knows what the emulator says of its rounds, and the fees as the venues publish
// them, and shares no code with the service.

/** One round by what it is about, with the keys that each venue gave its market. */
export type TrueRound = {
  readonly asset: string
  readonly window: string
  /** In milliseconds. */
  readonly opens: number
  readonly closes: number
  readonly keys: Map<string, readonly string[]>
}

/** The rounds that compare with their start, as the emulator logged them. */
export function trueRounds(entries: readonly TruthEntry[]): readonly TrueRound[] {
  const rounds = new Map<string, TrueRound>()
  for (const entry of entries) {
    if (entry.type !== 'market' || entry.round === undefined) continue
    const { asset, window, opens, closes, strike } = entry.round
    if (strike !== undefined) continue
    const name = [asset, window, opens, closes].join()
    const round = rounds.get(name) ?? { asset, window, opens, closes, keys: new Map() }
    round.keys.set(entry.venue, entry.keys)
    rounds.set(name, round)
  }
  return [...rounds.values()]
}

/** A number of 10^−12, exact. */
const NET = 12n

/** One level with what it costs or brings after the fee, as text of up to 12 decimals. */
export type OracleLevel = {
  readonly venue: string
  readonly price: string
  readonly net: bigint
  readonly size: string
}

/** A book as a market's own route serves it. */
export type ServedBook = {
  readonly bids: { readonly price: readonly string[]; readonly size: readonly string[] }
  readonly asks: { readonly price: readonly string[]; readonly size: readonly string[] }
}

/** All levels of one side of several books by their net price, the naive way. */
export function naiveMerge(
  books: ReadonlyMap<string, ServedBook>,
  side: 'asks' | 'bids',
): readonly OracleLevel[] {
  const levels: OracleLevel[] = []
  for (const [venue, book] of books) {
    book[side].price.forEach((price, at) => {
      const net = side === 'asks' ? netBuy(venue, price) : netSell(venue, price)
      levels.push({ venue, price, net, size: book[side].size[at]! })
    })
  }
  const sign = side === 'asks' ? 1 : -1
  const compare = (a: OracleLevel, b: OracleLevel): number =>
    a.net === b.net ? (a.venue < b.venue ? -1 : 1) : a.net < b.net ? -sign : sign
  return levels.sort(compare)
}

/** What Yes at one venue and No at another leave of 1 after fees; undefined where one cannot be bought. */
export function naiveEdge(
  yes: readonly [venue: string, book: ServedBook | undefined],
  no: readonly [venue: string, book: ServedBook | undefined],
): bigint | undefined {
  const ask = yes[1]?.asks.price[0]
  const bid = no[1]?.bids.price[0]
  if (ask === undefined || bid === undefined) return undefined
  return 10n ** NET - netBuy(yes[0], ask) - netBuy(no[0], complement(bid))
}

/** A net price as the service prints it. */
export function printNet(units: bigint): string {
  const sign = units < 0n ? '-' : ''
  const digits = String(units < 0n ? -units : units).padStart(Number(NET) + 1, '0')
  const whole = digits.slice(0, -Number(NET))
  const rest = digits.slice(-Number(NET)).replace(/0+$/, '')
  return `${sign}${whole}${rest === '' ? '' : `.${rest}`}`
}

// Prices as fractions of ten-millionths, which all venues have.
const ONE = 10n ** 7n

function units(price: string): bigint {
  const [whole = '0', rest = ''] = price.split('.')
  return BigInt(whole) * ONE + BigInt(rest.padEnd(7, '0'))
}

function complement(price: string): string {
  const left = String(ONE - units(price)).padStart(8, '0')
  return `${left.slice(0, -7)}.${left.slice(-7)}`
}

// A: 2 % of the cheaper side, of a purchase in shares. B and C: 0.07 × p × (1 − p).
function netBuy(venue: string, price: string): bigint {
  const p = units(price)
  const q = ONE - p
  const cheaper = p < q ? p : q
  if (venue === 'venuea') {
    // p / (1 − 0.02 × cheaper / p) = p² / (p − 0.02 × cheaper)
    return up(100n * p * p * 10n ** NET, (100n * p - 2n * cheaper) * ONE)
  }
  return up((100n * p * ONE + 7n * p * q) * 10n ** NET, 100n * ONE * ONE)
}

function netSell(venue: string, price: string): bigint {
  const p = units(price)
  const q = ONE - p
  const cheaper = p < q ? p : q
  return venue === 'venuea'
    ? ((100n * p - 2n * cheaper) * 10n ** NET) / (100n * ONE)
    : ((100n * p * ONE - 7n * p * q) * 10n ** NET) / (100n * ONE * ONE)
}

function up(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator
}
