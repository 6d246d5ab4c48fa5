import { POW10, VENUES, VENUE_IDS, type VenueId } from '../domain/index.ts'
import type { Ledger } from './ledger.ts'
import type { MarketState } from './market-state.ts'
import { MONEY_ONE } from './money.ts'
import type { OrderView } from './order.ts'
import type { RunMarket } from './run-market.ts'
import type { PositionView } from './strategy.ts'

/** What the account held in a market, and its order, at the time of an answer of the venue. */
export type AccountSnapshot = {
  readonly market: MarketState
  readonly position: PositionView
  readonly cash: number
  readonly order: OrderView | undefined
}

/** The account as a strategy knows it: positions, free cash and open orders. */
export interface KnownAccount {
  position(market: MarketState): PositionView
  cash(venue: VenueId): number
  /** Open orders, those on their way included. */
  orders(market: string | undefined): readonly OrderView[]
}

// The open orders of a run.
type OpenOrders = {
  list(market: string | undefined): readonly { view(): OrderView }[]
}

/** The account of a strategy that knows of everything at once. */
export class PresentAccount implements KnownAccount {
  private readonly own: readonly (RunMarket | undefined)[]
  private readonly ledger: Ledger
  private readonly open: OpenOrders

  constructor(own: readonly (RunMarket | undefined)[], ledger: Ledger, orders: OpenOrders) {
    this.own = own
    this.ledger = ledger
    this.open = orders
  }

  position({ index, name, venue }: MarketState): PositionView {
    const position = this.own[index]?.position
    if (position === undefined) return emptyPosition(name)
    const unit = POW10[VENUES[venue].sizeDecimals]!
    const { units, cost } = position
    return Object.freeze({
      market: name,
      shares: Object.freeze([units[0] / unit, units[1] / unit]),
      cost: (cost[0] + cost[1]) / MONEY_ONE,
    })
  }

  cash(venue: VenueId): number {
    return this.ledger.accounts[venue].free / MONEY_ONE
  }

  orders(market: string | undefined): readonly OrderView[] {
    return this.open.list(market).map((order) => order.view())
  }
}

/** The account as of the venue's answers that have reached the strategy. */
export class AnsweredAccount implements KnownAccount {
  private readonly present: KnownAccount
  private readonly positions = new Map<string, PositionView>()
  private readonly money: Map<VenueId, number>
  private readonly open = new Map<number, OrderView>()

  constructor(present: KnownAccount) {
    this.present = present
    this.money = new Map(VENUE_IDS.map((venue) => [venue, present.cash(venue)]))
  }

  /** The account as it is now, to be applied when the answer has arrived. */
  snapshot(market: MarketState, order: OrderView | undefined): AccountSnapshot {
    const position = this.present.position(market)
    return { market, position, cash: this.present.cash(market.venue), order }
  }

  apply({ market, position, cash, order }: AccountSnapshot): void {
    this.positions.set(market.name, position)
    this.money.set(market.venue, cash)
    if (order === undefined) return
    if (order.state === 'sent' || order.state === 'resting') this.open.set(order.id, order)
    else this.open.delete(order.id)
  }

  position({ name }: MarketState): PositionView {
    return this.positions.get(name) ?? emptyPosition(name)
  }

  cash(venue: VenueId): number {
    return this.money.get(venue) ?? 0
  }

  orders(market: string | undefined): readonly OrderView[] {
    return [...this.open.values()].filter(
      (order) => market === undefined || order.market === market,
    )
  }

  /** Notes an order that the strategy has just sent. */
  sent(order: OrderView): void {
    this.open.set(order.id, order)
  }
}

/** A market in which nothing was ever traded. */
export function emptyPosition(market: string): PositionView {
  return Object.freeze({ market, shares: Object.freeze([0, 0]), cost: 0 })
}
