import { charge, notional, printMoney, RATE_DECIMALS, scheduleOf } from '@priorbook/sdk/backtest'
import {
  nativeField,
  POW10,
  printScaled,
  VENUES,
  type Json,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { Taken } from '../walk-ladder.ts'
import { parseExact, printExact, type Exact } from '../exact.ts'

/** The taker's fee by the schedule in the market record, or why there is none. */
export type Fee =
  | {
      readonly amount: string
      readonly formula: string
      readonly rate: string
      /** Where the schedule comes from. */
      readonly source: string
    }
  | { readonly amount: null; readonly reason: string }

/** The taker's fee of an order by the venue's published formula. */
export function takerFee(
  record: MarketRecord,
  taken: readonly Taken[],
  decimals: { readonly price: number; readonly size: number },
  order: { readonly side: 'buy' | 'sell'; readonly arrival: number },
): Fee {
  return FORMULAS[record.venue](record, taken, decimals, order)
}

type Formula = (...of: Parameters<typeof takerFee>) => Fee

const FORMULAS: Readonly<Record<VenueId, Formula>> = {
  venuea: venueAFee,
  venueb: venueBFee,
  venuec: venueCFee,
}
const RECORD = 'the market record'

// By the schedule and the rounding of the backtester: each level is one fill of the order.
function venueBFee(
  record: MarketRecord,
  taken: readonly Taken[],
  decimals: { readonly price: number; readonly size: number },
  { side, arrival }: { readonly side: 'buy' | 'sell'; readonly arrival: number },
): Fee {
  const { venue } = record
  const schedule = scheduleOf(record, arrival)
  if ('unknown' in schedule) return { amount: null, reason: `${schedule.unknown}.` }
  const { formula, basis, source } = schedule
  const type = nativeField(record.native['series'], 'fee_type')
  if (formula.kind !== 'quadratic' || (basis === 'table' && type !== undefined)) {
    return { amount: null, reason: `The formula of the fee ${JSON.stringify(type)} is not known.` }
  }
  const rounding = { owed: 0 }
  let total = 0
  for (const { price: ticks, size } of taken) {
    const price = ticks * POW10[VENUES[venue].priceDecimals - decimals.price]!
    const value = notional(venue, price, size, side === 'buy' ? 'up' : 'down')
    const revenue = side === 'buy' ? -value : value
    const fill = { venue, liquidity: 'taker', side, price, size, revenue } as const
    total += charge(formula, fill, rounding).value
  }
  return {
    amount: printMoney(total),
    formula:
      'size × rate × price × (1 − price) per level, rounded up to 0.0001; balances are rounded to the cent, and whole cents of rounding are refunded',
    rate: printScaled(formula.taker, RATE_DECIMALS),
    source,
  }
}

// `feeRateBps`, of the market or its topic: basis points of size × min(price, 1 − price).
function venueAFee(
  { native }: MarketRecord,
  taken: readonly Taken[],
  decimals: { readonly price: number; readonly size: number },
): Fee {
  const rates = ['market', 'topic', 'category'].map((name) =>
    nativeField(native[name], 'feeRateBps'),
  )
  const bps = exactOf(rates.find((value) => value !== undefined))
  if (bps === undefined) return { amount: null, reason: 'The market record holds no feeRateBps.' }
  const one = 10 ** decimals.price
  const base = sum(taken, (price) => BigInt(Math.min(price, one - price)))
  const scale = decimals.price + decimals.size + bps.scale + 4
  return {
    amount: printExact({ units: base * bps.units, scale }),
    formula: 'size × min(price, 1 − price) × rate / 10,000',
    rate: printExact(bps),
    source: RECORD,
  }
}

// `feeSchedule {rate, exponent}`: size × rate × (price × (1 − price))^exponent.
function venueCFee(
  { native }: MarketRecord,
  taken: readonly Taken[],
  decimals: { readonly price: number; readonly size: number },
): Fee {
  const { gamma } = native
  if (nativeField(gamma, 'feesEnabled') === false) {
    return { amount: '0', formula: 'fees are not enabled', rate: '0', source: RECORD }
  }
  const schedule = nativeField(gamma, 'feeSchedule')
  const rate = exactOf(nativeField(schedule, 'rate'))
  if (rate === undefined) return { amount: null, reason: 'The market record holds no feeSchedule.' }
  const exponent = exactOf(nativeField(schedule, 'exponent')) ?? { units: 1n, scale: 0 }
  if (exponent.scale !== 0 || exponent.units < 0n || exponent.units > 8n) {
    return { amount: null, reason: 'The exponent of the feeSchedule is not a small whole number.' }
  }
  const one = 10 ** decimals.price
  const base = sum(taken, (price) => (BigInt(price) * BigInt(one - price)) ** exponent.units)
  const scale = decimals.size + rate.scale + Number(exponent.units) * 2 * decimals.price
  return {
    amount: printExact({ units: base * rate.units, scale }),
    formula: 'size × rate × (price × (1 − price))^exponent',
    rate: printExact(rate),
    source: RECORD,
  }
}

function sum(taken: readonly Taken[], weigh: (price: number) => bigint): bigint {
  return taken.reduce((total, { price, size }) => total + weigh(price) * BigInt(size), 0n)
}

function exactOf(value: Json | undefined): Exact | undefined {
  return typeof value === 'number' || typeof value === 'string'
    ? parseExact(String(value))
    : undefined
}
