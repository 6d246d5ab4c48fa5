import type { Json, MarketRecord, VenueId } from '@priorbook/sdk/domain'
import type { Taken } from '../walk-ladder.ts'
import { parseExact, printExact, type Exact } from '../exact.ts'

/** The taker's fee by the schedule in the market record, or why there is none. */
export type Fee =
  | { readonly amount: string; readonly formula: string; readonly rate: string }
  | { readonly amount: null; readonly reason: string }

/** The taker's fee by the venue's published formula, before the venue rounds it. */
export function takerFee(
  record: MarketRecord,
  taken: readonly Taken[],
  decimals: { readonly price: number; readonly size: number },
): Fee {
  const formula = FORMULAS[record.venue]
  if (formula === undefined) return { amount: null, reason: NO_RATE }
  return formula(record, taken, decimals)
}

type Formula = (...of: Parameters<typeof takerFee>) => Fee

// Venue B is not here: its series name the kind of the fee and a multiplier, but no rate.
const FORMULAS: Readonly<Partial<Record<VenueId, Formula>>> = {
  venuea: venueAFee,
  venuec: venueCFee,
}
const NO_RATE = 'The market record does not hold the rate of the fee.'

// `feeRateBps`, of the market or its topic: basis points of size × min(price, 1 − price).
function venueAFee(
  { native }: MarketRecord,
  taken: readonly Taken[],
  decimals: { readonly price: number; readonly size: number },
): Fee {
  const rates = ['market', 'topic', 'category'].map((name) => field(native[name], 'feeRateBps'))
  const bps = exactOf(rates.find((value) => value !== undefined))
  if (bps === undefined) return { amount: null, reason: 'The market record holds no feeRateBps.' }
  const one = 10 ** decimals.price
  const base = sum(taken, (price) => BigInt(Math.min(price, one - price)))
  const scale = decimals.price + decimals.size + bps.scale + 4
  return {
    amount: printExact({ units: base * bps.units, scale }),
    formula: 'size × min(price, 1 − price) × rate / 10,000',
    rate: printExact(bps),
  }
}

// `feeSchedule {rate, exponent}`: size × rate × (price × (1 − price))^exponent.
function venueCFee(
  { native }: MarketRecord,
  taken: readonly Taken[],
  decimals: { readonly price: number; readonly size: number },
): Fee {
  const { gamma } = native
  if (field(gamma, 'feesEnabled') === false) {
    return { amount: '0', formula: 'fees are not enabled', rate: '0' }
  }
  const schedule = field(gamma, 'feeSchedule')
  const rate = exactOf(field(schedule, 'rate'))
  if (rate === undefined) return { amount: null, reason: 'The market record holds no feeSchedule.' }
  const exponent = exactOf(field(schedule, 'exponent')) ?? { units: 1n, scale: 0 }
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
  }
}

function sum(taken: readonly Taken[], weigh: (price: number) => bigint): bigint {
  return taken.reduce((total, { price, size }) => total + weigh(price) * BigInt(size), 0n)
}

function field(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (value as { readonly [key: string]: Json })[name] ?? undefined
}

function exactOf(value: Json | undefined): Exact | undefined {
  return typeof value === 'number' || typeof value === 'string'
    ? parseExact(String(value))
    : undefined
}
