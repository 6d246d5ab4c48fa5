import { POW10, VENUES } from '../../domain/index.ts'
import { charge } from '../fees/index.ts'
import type { MarketState } from '../market-state.ts'
import { revenueOf } from '../account.ts'
import { MONEY_PER_TICK, PRICE_ONE } from '../money.ts'
import type { World } from '../world.ts'
import { rounded } from './bootstrap.ts'

/** What a rule without any thought would have made: one share a market at its first two-sided book, held. */
export type Baseline = {
  readonly name: 'always_favourite' | 'always_yes' | 'mid'
  readonly meaning: string
  readonly markets: number
  readonly pnl: number
  readonly per_share: number | null
}

const MEANINGS = {
  always_favourite: 'buy the outcome that the first mid favours, at the ask, with fees',
  always_yes: 'buy the first outcome at the ask, with fees',
  mid: 'buy the first outcome at the mid, without fees: how far first prices were off',
} as const

/** The baselines over all markets that paid. */
export function baselinesOf(world: World): Baseline[] {
  const paid = world.list.filter((state) => state.payouts !== undefined && state.firstQuoteAt > 0)
  return (Object.keys(MEANINGS) as (keyof typeof MEANINGS)[]).map((name) => {
    let pnl = 0
    for (const state of paid) pnl += gainOf(name, state)
    return {
      name,
      meaning: MEANINGS[name],
      markets: paid.length,
      pnl: rounded(pnl / 1e8),
      per_share: paid.length === 0 ? null : rounded(pnl / 1e8 / paid.length),
    }
  })
}

function gainOf(name: keyof typeof MEANINGS, state: MarketState): number {
  const { firstBid, firstAsk, payouts } = state
  const mid = (firstBid + firstAsk) / 2
  if (name === 'mid') return payouts![0]! - mid * MONEY_PER_TICK
  const outcome = name === 'always_yes' || mid >= PRICE_ONE / 2 ? 0 : 1
  const price = outcome === 0 ? firstAsk : PRICE_ONE - firstBid
  const fees = state.fees(state.firstQuoteAt)
  const size = POW10[VENUES[state.venue].sizeDecimals]!
  const revenue = revenueOf(state.venue, 'buy', price, size)
  const fee =
    'unknown' in fees
      ? 0
      : charge(
          fees.formula,
          { venue: state.venue, liquidity: 'taker', side: 'buy', price, size, revenue },
          { owed: 0 },
        ).value
  return payouts![outcome]! + revenue - fee
}
