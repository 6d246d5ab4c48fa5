import {
  decimalText,
  parseScaled,
  POW10,
  VENUES,
  type Json,
  type MarketRecord,
  type VenueId,
} from '../domain/index.ts'
import { MONEY_ONE, PRICE_DECIMALS, PRICE_ONE } from './money.ts'
import { nativeField, nativeUnits } from './native-value.ts'

/** Prices from `from` up to `to` go in steps, all in ten-thousandths. */
export type TickRange = { readonly from: number; readonly to: number; readonly step: number }

/** What a venue takes as an order, as known at one time. */
export type VenueRules = {
  readonly ticks: readonly TickRange[]
  /** In units of the venue's sizes. */
  readonly minimumSize: number
  readonly sizeStep: number
  /** The least an order that takes must be worth, in money units. */
  readonly minimumValue: number
  /** How much before its time a GTD order is taken away. */
  readonly gtdEarly: number
  readonly source: string
}

/** What the caller assumes where a record says nothing: ticks and sizes as decimal text. */
export type RuleAssumption = { readonly tick: string; readonly minimumSize?: string }

const MINUTE = 60_000_000

/** The rules of a market by its record, or undefined where the record does not say its ticks. */
export function rulesOf(record: MarketRecord): VenueRules | undefined {
  const { venue, native } = record
  switch (venue) {
    case 'venuea': {
      const places = nativeUnits(
        nativeField(native['market'], 'decimalPrecision') ??
          nativeField(native['topic'], 'decimalPrecision'),
        0,
      )
      if (places === undefined || places > PRICE_DECIMALS) return undefined
      return {
        ...VENUE_RULES.venuea,
        ticks: even(POW10[PRICE_DECIMALS - places]!),
        source: 'decimalPrecision of the market record',
      }
    }
    case 'venueb': {
      const ticks = priceRanges(nativeField(native['market'], 'price_ranges'))
      if (ticks === undefined) return undefined
      const whole = nativeField(native['market'], 'fractional_trading_enabled') === false
      const contract = POW10[VENUES.venueb.sizeDecimals]!
      return {
        ...VENUE_RULES.venueb,
        ...(whole ? { minimumSize: contract, sizeStep: contract } : {}),
        ticks,
        source: 'price_ranges of the market record',
      }
    }
    case 'venuec': {
      const said = native['gamma'] ?? native['new_market'] ?? native['clob']
      const tick = nativeUnits(
        nativeField(said, 'orderPriceMinTickSize') ??
          nativeField(said, 'order_price_min_tick_size') ??
          nativeField(said, 'minimum_tick_size'),
        PRICE_DECIMALS,
      )
      if (tick === undefined || tick === 0) return undefined
      const least = nativeUnits(
        nativeField(said, 'orderMinSize') ?? nativeField(said, 'minimum_order_size'),
        VENUES.venuec.sizeDecimals,
      )
      return {
        ...VENUE_RULES.venuec,
        ...(least === undefined ? {} : { minimumSize: least }),
        ticks: even(tick),
        source: 'orderPriceMinTickSize and orderMinSize of the market record',
      }
    }
  }
}

/** The rules that a caller assumes for a venue. */
export function assumedRules(venue: VenueId, assumption: RuleAssumption): VenueRules {
  const step = parseScaled(decimalText(assumption.tick), PRICE_DECIMALS)
  const least =
    assumption.minimumSize === undefined
      ? {}
      : { minimumSize: parseScaled(assumption.minimumSize, VENUES[venue].sizeDecimals) }
  return { ...VENUE_RULES[venue], ...least, ticks: even(step), source: 'assume.rules' }
}

/** True when a price lies on a tick. */
export function isOnTick(rules: VenueRules, price: number): boolean {
  return rules.ticks.some(
    ({ from, to, step }) => price >= from && price <= to && (price - from) % step === 0,
  )
}

// What a venue's orders have in common whatever the market: B counts hundredths of a contract; C takes
// sizes of two decimals, 5 shares and $1 at least, and ends GTD orders a minute early; A wants $1.
const VENUE_RULES: Readonly<Record<VenueId, Omit<VenueRules, 'ticks' | 'source'>>> = {
  venuea: { minimumSize: 1, sizeStep: 1, minimumValue: MONEY_ONE, gtdEarly: 0 },
  venueb: { minimumSize: 1, sizeStep: 1, minimumValue: 0, gtdEarly: 0 },
  venuec: {
    minimumSize: 5_000_000,
    sizeStep: 10_000,
    minimumValue: MONEY_ONE,
    gtdEarly: MINUTE,
  },
}

function even(step: number): TickRange[] {
  return [{ from: step, to: PRICE_ONE - step, step }]
}

function priceRanges(value: Json | undefined): TickRange[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const ranges: TickRange[] = []
  for (const range of value as readonly Json[]) {
    const from = nativeUnits(nativeField(range, 'start'), PRICE_DECIMALS)
    const to = nativeUnits(nativeField(range, 'end'), PRICE_DECIMALS)
    const step = nativeUnits(nativeField(range, 'step'), PRICE_DECIMALS)
    if (from === undefined || to === undefined || step === undefined || step <= 0) return undefined
    ranges.push({ from, to, step })
  }
  return ranges
}
