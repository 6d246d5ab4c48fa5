import { parseScaled, VENUES, type VenueId } from '../../domain/index.ts'
import { revenueOf } from '../ledger.ts'
import { MONEY_ONE, notional, parseMoney, payoutOf, PRICE_ONE, priceOne } from '../money.ts'
import type { FillView } from '../order.ts'
import type { SettlementView } from '../strategy.ts'

/** The net position of a market after a fill or payout: units of the first outcome less those of the second. */
export type PositionStep = { readonly at: number; readonly units: number }

/** From the fill that opens a position until it is flat again or paid out. */
export type RoundTrip = {
  readonly market: string
  readonly start: number
  /** Absent while the position is open. */
  readonly end: number | undefined
  readonly fills: number
  /** Money units with fees; of an open trip what it has cost so far. */
  readonly pnl: number
}

/** The positions of one market over time, and its round trips. */
export type MarketPath = {
  readonly market: string
  readonly venue: VenueId
  readonly steps: readonly PositionStep[]
  readonly trips: readonly RoundTrip[]
}

type Open = { start: number; fills: number; pnl: number }

/** Follows the position of every market through its fills and its payout, in order of time. */
export function marketPaths(
  fills: readonly FillView[],
  settlements: readonly SettlementView[],
): MarketPath[] {
  const byMarket = new Map<string, FillView[]>()
  for (const fill of fills) {
    const own = byMarket.get(fill.market)
    if (own === undefined) byMarket.set(fill.market, [fill])
    else own.push(fill)
  }
  const paid = new Map(settlements.map((settlement) => [settlement.market, settlement]))
  return [...byMarket].map(([market, own]) => pathOf(market, own, paid.get(market)))
}

function pathOf(
  market: string,
  fills: readonly FillView[],
  settlement: SettlementView | undefined,
): MarketPath {
  const { venue } = fills[0]!
  const steps: PositionStep[] = []
  const trips: RoundTrip[] = []
  let units = 0
  let open: Open | undefined
  const end = ({ start, fills: count, pnl }: Open, at: number | undefined): void => {
    trips.push({ market, start, end: at, fills: count, pnl })
    open = undefined
  }
  for (const fill of fills) {
    const { units: change, cash } = ofFirstOutcome(fill)
    open ??= { start: fill.at, fills: 0, pnl: 0 }
    units += change
    open.fills++
    open.pnl += cash
    steps.push({ at: fill.at, units })
    if (units === 0) end(open, fill.at)
  }
  if (settlement !== undefined) {
    if (open !== undefined) {
      open.pnl += payoutFor(venue, units, settlement.payouts)
      end(open, settlement.time)
    }
    steps.push({ at: settlement.time, units: 0 })
  } else if (open !== undefined) end(open, undefined)
  return { market, venue, steps, trips }
}

// A purchase of the second outcome is a sale of the first: one of each pays 1.
function ofFirstOutcome(fill: FillView): { readonly units: number; readonly cash: number } {
  const { venue, outcome, side } = fill
  const { sizeDecimals } = VENUES[venue]
  const one = priceOne(venue)
  const size = parseScaled(fill.size, sizeDecimals)
  const missing = parseScaled(fill.feeShares, sizeDecimals)
  const fee = missing === 0 ? parseMoney(fill.fee) : 0
  const price = Math.round((fill.price * one) / PRICE_ONE)
  const revenue = revenueOf(venue, side, price, size)
  const sign = (side === 'buy') === (outcome === 0) ? 1 : -1
  const delivered = size - missing
  // Shares of the second outcome are worth 1 each together with a short share of the first.
  const pair = outcome === 0 ? 0 : notional(venue, one, delivered, 'down')
  const cash = revenue - fee + (side === 'buy' ? pair : -pair)
  return { units: sign * delivered, cash }
}

function payoutFor(venue: VenueId, units: number, payouts: readonly string[]): number {
  if (units >= 0) return payoutOf(venue, parseMoney(payouts[0] ?? '0'), units)
  return -payoutOf(venue, MONEY_ONE - parseMoney(payouts[1] ?? '0'), -units)
}
