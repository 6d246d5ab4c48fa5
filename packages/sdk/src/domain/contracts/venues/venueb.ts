import { canonicalDecimal, decimalText, parseScaled, POW10, printScaled } from '../../decimal.ts'
import { PriorbookError } from '../../errors.ts'
import type { Json, MarketRecord } from '../../market.ts'
import { nativeField, nativeText } from '../../native-field.ts'
import { fromRecord, UNKNOWN, type ContractSubject, type MarketTerms, type Term } from '../terms.ts'
import { PRICES, said, sharedTerms, type ContractRules } from './derive.ts'

// KXBTC15M: rounds of 15 minutes, which compare with the price at their start.
const ROUND = /(\d{1,3})([MH])$/
const STRIKE_TYPE = 'native.market.strike_type'

/** Contracts of venue B: rounds of a series, strikes and ranges at a time. */
export const CONTRACTS_B: ContractRules = {
  derive(record) {
    const { asset, closeTime: closes } = record
    if (asset === undefined || closes === undefined) return undefined
    return deriveRound(record) ?? deriveStrike(record, asset, closes)
  },
  mayBePrice: ({ series, asset }) => asset !== undefined && isDecidedAtEnd(series, asset),
}

function deriveRound(record: MarketRecord): MarketTerms | undefined {
  const { asset, seriesTicker = '', openTime: opens, closeTime: closes } = record
  const [, count, unit] = ROUND.exec(seriesTicker) ?? []
  const type = nativeText(record.native['market'], 'strike_type')
  if (count === undefined || opens === undefined || type?.startsWith('greater') !== true) {
    return undefined
  }
  const window = `${Number(count)}${unit!.toLowerCase()}`
  const start = record.strike
  return {
    subject: { kind: 'up_down', asset: asset!, window, opens, closes: closes! },
    evidence: {
      kind: said('series_ticker', seriesTicker),
      asset: said('series_ticker', seriesTicker),
      window: said('series_ticker', seriesTicker),
    },
    terms: {
      ...commonTerms(record),
      reference_price: start === undefined ? UNKNOWN : fromRecord('strike', start),
      tie: fromRecord(STRIKE_TYPE, type, type === 'greater_or_equal' ? 'yes' : 'no'),
    },
    yesIndex: 0,
  }
}

/** A bound that decides, what the record calls it, and who wins exactly on it. */
type Bound = { readonly strike: string; readonly written: string; readonly tie: 'yes' | 'no' }

function deriveStrike(
  record: MarketRecord,
  asset: string,
  closes: ContractSubject['closes'],
): MarketTerms | undefined {
  if (!isDecidedAtEnd(record.seriesTicker, asset)) return undefined
  const { market } = record.native
  const type = nativeText(market, 'strike_type')
  const floor = numberOf(nativeField(market, 'floor_strike'))
  const cap = numberOf(nativeField(market, 'cap_strike'))
  const digits = digitsOf(market)
  if (type === undefined) return undefined
  const evidence = { kind: said(STRIKE_TYPE, type), asset: said('asset', asset) }
  const common = commonTerms(record)
  if (type === 'between' && floor !== undefined && cap !== undefined) {
    const written = `${floor} to ${cap}`
    const term = fromRecord('native.market.floor_strike, cap_strike', written)
    return {
      subject: { kind: 'range', asset, floor, cap: nextAbove(cap, digits), closes },
      evidence: { ...evidence, strike: said(term.evidence!.source, written) },
      terms: { ...common, reference_price: term, tie: fromRecord(STRIKE_TYPE, type, 'yes') },
      yesIndex: 0,
    }
  }
  const isBelow = type.startsWith('less')
  const bound = isBelow ? boundBelow(type, cap, digits) : boundAbove(type, floor, digits)
  if (bound === undefined) return undefined
  const member = `native.market.${isBelow ? 'cap' : 'floor'}_strike`
  return {
    subject: { kind: 'above', asset, strike: bound.strike, closes },
    evidence: { ...evidence, strike: said(member, bound.written) },
    terms: {
      ...common,
      reference_price: fromRecord(member, bound.written),
      tie: fromRecord(STRIKE_TYPE, type, bound.tie),
    },
    // Below a price is the other side of above it.
    yesIndex: isBelow ? 1 : 0,
  }
}

// Series such as KXBTC and KXBTCD are decided by the price at the end. Others have strikes as well, such as
// KXBTCMAXY, which is decided by any price before the end: only the series that are known are contracts.
function isDecidedAtEnd(series: string | undefined, asset: string): boolean {
  return [asset, `${asset}D`].some((name) => series === name || series === `KX${name}`)
}

// A value that was rounded to cents is above 94,999.99 exactly where it is at least 95,000.
function boundAbove(type: string, floor: string | undefined, digits?: number): Bound | undefined {
  if (floor === undefined) return undefined
  if (type === 'greater_or_equal') return { strike: floor, written: floor, tie: 'yes' }
  if (type !== 'greater') return undefined
  return digits === undefined
    ? { strike: floor, written: floor, tie: 'no' }
    : { strike: nextAbove(floor, digits), written: floor, tie: 'yes' }
}

function boundBelow(type: string, cap: string | undefined, digits?: number): Bound | undefined {
  if (cap === undefined) return undefined
  if (type === 'less') return { strike: cap, written: cap, tie: 'yes' }
  if (type !== 'less_or_equal') return undefined
  return digits === undefined
    ? { strike: cap, written: cap, tie: 'no' }
    : { strike: nextAbove(cap, digits), written: cap, tie: 'yes' }
}

const STRIKE_DECIMALS = 8

// The lowest value above a strike that a rounded price can have; the strike where rounding is not known.
function nextAbove(strike: string, digits: number | undefined): string {
  if (digits === undefined) return strike
  const step = POW10[STRIKE_DECIMALS - digits]!
  const steps = Math.floor(parseScaled(strike, STRIKE_DECIMALS) / step) + 1
  return printScaled(steps * step, STRIKE_DECIMALS)
}

function commonTerms(record: MarketRecord): Omit<MarketTerms['terms'], 'reference_price' | 'tie'> {
  const { market } = record.native
  const sources = record.resolution?.source
  return {
    settlement_source:
      sources === undefined ? UNKNOWN : fromRecord('native.event.settlement_sources', sources),
    settlement_price: priceOf(market),
    rounding: roundingOf(market),
    ...sharedTerms(record),
  }
}

const PRICE_RULES: readonly (readonly [
  pattern: RegExp,
  price: (match: RegExpExecArray) => string,
])[] = [
  [/1-minute candlestick/i, () => PRICES.candle],
  [/average of the (?:last )?(?:60|sixty) seconds/i, () => PRICES.average(60)],
  [/^If the price of [^.]*? at \d{4}-/i, () => PRICES.last],
]

function priceOf(market: Json | undefined): Term {
  const rules = nativeText(market, 'rules_primary') ?? ''
  for (const [pattern, price] of PRICE_RULES) {
    const match = pattern.exec(rules)
    if (match !== null) return fromRecord('native.market.rules_primary', match[0], price(match))
  }
  return UNKNOWN
}

const ROUNDED = /rounded to the nearest (\d) decimal places/

function roundingOf(market: Json | undefined): Term {
  const digits = nativeText(nativeField(market, 'custom_strike'), 'round_digits')
  if (digits !== undefined && /^\d$/.test(digits)) {
    return fromRecord('native.market.custom_strike.round_digits', digits, `${digits} decimals`)
  }
  const match = ROUNDED.exec(nativeText(market, 'rules_secondary') ?? '')
  if (match === null) return UNKNOWN
  return fromRecord('native.market.rules_secondary', match[0], `${match[1]} decimals`)
}

function digitsOf(market: Json | undefined): number | undefined {
  const { value } = roundingOf(market)
  const digits = value === undefined ? Number.NaN : Number(value.slice(0, 1))
  return digits <= STRIKE_DECIMALS ? digits : undefined
}

function numberOf(value: Json | undefined): string | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  try {
    const text = canonicalDecimal(decimalText(value))
    return parseScaled(text, STRIKE_DECIMALS) > 0 ? text : undefined
  } catch (error) {
    if (error instanceof PriorbookError) return undefined
    throw error
  }
}
