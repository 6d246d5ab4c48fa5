import { PriorbookError, showValue, VENUE_IDS, type VenueId } from '../domain/index.ts'
import { Account } from './account.ts'
import { Agenda } from './agenda.ts'
import { CellMarket } from './cell-market.ts'
import type { CellOptions, CellWorld, Failure, Plan } from './cell-options.ts'
import type { EngineOrder } from './engine-order.ts'
import { EquityCurve } from './equity.ts'
import { chargeBound, type FeeFormula } from './fees/index.ts'
import type { FillView } from './fill.ts'
import type { MarketState, Track } from './market-state.ts'
import { MONEY_ONE, notional, payoutOf, PRICE_ONE } from './money.ts'
import type { EndReason, OrderState, RejectReason } from './order.ts'
import type { SettlementView, Strategy, StrategyContext } from './strategy.ts'
import { createTally } from './tally.ts'
import type { BookGlance, WhyStep } from './why.ts'

const MOST_LOGS = 1000
const GLANCE_DEPTH = 5

/** What a run remembers: accounts, markets, orders, plans, and how orders end. */
export abstract class CellBase {
  readonly options: CellOptions
  readonly accounts: Readonly<Record<VenueId, Account>>
  readonly tally = createTally()
  readonly curve: EquityCurve
  readonly markets: (CellMarket | undefined)[] = []
  /** Markets that something happened in. */
  readonly active: CellMarket[] = []
  readonly orders: EngineOrder[] = []
  readonly fills: FillView[] = []
  readonly logs: string[] = []
  readonly settlements: SettlementView[] = []
  readonly agenda = new Agenda<Plan>()
  readonly fillCount = { value: 0 }
  now = 0
  failure: Failure | undefined
  /** Money units bound in positions and set aside for orders, its peak and its integral over time. */
  capital = 0
  capitalPeak = 0
  capitalTime = 0
  protected capitalSince = 0
  /** What positions cost, all markets. */
  private bound = 0
  protected readonly world: CellWorld
  protected abstract readonly context: StrategyContext
  protected readonly live = new Map<number, EngineOrder>()
  protected readonly outbox: (() => void)[] = []

  constructor(world: CellWorld, options: CellOptions) {
    this.world = world
    this.options = options
    const accounts = VENUE_IDS.map((venue) => [venue, new Account(venue, options.cash[venue])])
    this.accounts = Object.fromEntries(accounts) as Record<VenueId, Account>
    this.curve = new EquityCurve(this.equity())
  }

  get isAlive(): boolean {
    return this.failure === undefined
  }

  /** The context, for hooks that the world calls. */
  get strategyContext(): StrategyContext {
    return this.context
  }

  /** Cash and positions at their marks, all venues. */
  equity(): number {
    let equity = 0
    for (const venue of VENUE_IDS) equity += this.accounts[venue].cash
    for (const cell of this.active) equity += this.valueOf(cell)
    return equity
  }

  /** What the holding of a market is worth: payouts, or what its net side would be sold for. */
  valueOf({ state, holding }: CellMarket): number {
    const [first, second] = holding.units as [number, number]
    if (first === 0 && second === 0) return 0
    const net = first - second
    return (
      payoutOf(state.venue, state.valueOf(0, net), first) +
      payoutOf(state.venue, state.valueOf(1, net), second)
    )
  }

  samplePoint(at: number): void {
    this.curve.add(at, this.equity(), this.capital)
  }

  openOrders(market: string | undefined): EngineOrder[] {
    return [...this.live.values()].filter(
      (order) => market === undefined || order.market.name === market,
    )
  }

  order(id: number): EngineOrder | undefined {
    return this.live.get(id) ?? this.orders.find((order) => order.id === id)
  }

  /** The run's side of a market, made when first needed. */
  cellOf(name: string): CellMarket | undefined {
    const state = this.world.markets.get(name)
    return state === undefined ? undefined : this.cellFor(state)
  }

  /** Calls a hook of the strategy; a strategy that throws is done. */
  call(hook: string, run: (strategy: Strategy) => void): void {
    if (!this.isAlive) return
    try {
      run(this.options.strategy)
    } catch (error) {
      this.fail(hook, error)
    }
  }

  log(text: unknown): void {
    if (this.logs.length >= MOST_LOGS) return
    this.logs.push(`${this.now} ${typeof text === 'string' ? text.slice(0, 500) : showValue(text)}`)
  }

  protected cellFor(state: MarketState): CellMarket {
    const known = this.markets[state.index]
    if (known !== undefined) return known
    const made = new CellMarket(state, this.accounts[state.venue])
    this.markets[state.index] = made
    this.active.push(made)
    return made
  }

  protected plan(at: number, what: Plan): void {
    this.agenda.add(at, what)
    this.world.noteDue(at)
  }

  protected feesOf(state: MarketState): FeeFormula {
    const fees = state.fees(this.now)
    if ('unknown' in fees) {
      throw new PriorbookError('fee_unknown', `${fees.unknown}; say what to assume: assume.fees`)
    }
    return fees.formula
  }

  // What must be set aside for what is left of an order, at its limit and with the highest fee.
  protected need(cell: CellMarket, order: EngineOrder, formula: FeeFormula): number {
    const { holding, state } = cell
    const { remaining, outcome } = order
    const price = order.price!
    if (order.side === 'buy') {
      const fee = chargeBound(formula, state.venue, price, remaining)
      const cost = notional(state.venue, price, remaining, 'up') + fee
      // Pairs pay for themselves where they turn into money at once.
      const pairs = state.venue === 'venueb' ? Math.min(remaining, holding.units[1 - outcome]!) : 0
      return Math.max(0, cost - payoutOf(state.venue, MONEY_ONE, pairs))
    }
    if (state.venue !== 'venueb') return 0
    const short = remaining - Math.min(remaining, holding.units[outcome]!)
    if (short === 0) return 0
    const other = PRICE_ONE - price
    // A sale can fill above its limit, the purchase of the other outcome is then cheaper.
    const fee = chargeBound(formula, state.venue, PRICE_ONE / 2, short)
    return notional(state.venue, other, short, 'up') + fee
  }

  protected reserve(cell: CellMarket, order: EngineOrder, formula: FeeFormula): void {
    order.reservedCash = this.need(cell, order, formula)
    cell.account.reserved += order.reservedCash
    if (order.side === 'sell') {
      const { units, reserved } = cell.holding
      const free = units[order.outcome]! - reserved[order.outcome]!
      order.reservedUnits = Math.max(0, Math.min(order.remaining, free))
      reserved[order.outcome]! += order.reservedUnits
    }
  }

  protected release(cell: CellMarket, order: EngineOrder): void {
    cell.account.reserved -= order.reservedCash
    cell.holding.reserved[order.outcome]! -= order.reservedUnits
    order.reservedCash = 0
    order.reservedUnits = 0
  }

  protected done(cell: CellMarket, order: EngineOrder): void {
    this.release(cell, order)
    order.state = 'filled'
    this.tally.whole++
    this.live.delete(order.id)
    this.tellLater(order)
  }

  protected end(
    cell: CellMarket,
    order: EngineOrder,
    state: OrderState,
    reason: EndReason | undefined,
  ): void {
    this.release(cell, order)
    order.state = state
    order.reason = reason
    this.live.delete(order.id)
    if (state === 'cancelled') this.tally.cancelled++
    if (state === 'expired') this.tally.expired++
    const key = order.framePrice * 2 + order.frameSide
    const level = cell.levels.get(key)
    const index = level?.orders.indexOf(order) ?? -1
    if (level !== undefined && index >= 0) {
      level.orders.splice(index, 1)
      if (level.orders.length === 0) cell.levels.delete(key)
      cell.noteBest()
    }
    cell.noteBusy()
    this.noteCapital(cell)
    if (order.steps !== undefined) {
      this.step(order, { rule: `${state}${reason === undefined ? '' : `: ${reason}`}` })
    }
    this.tellLater(order)
  }

  protected reject(
    cell: CellMarket,
    order: EngineOrder,
    reason: RejectReason,
    before?: BookGlance,
  ): void {
    this.countReason(reason)
    this.step(order, { rule: `refused: ${reason}`, before })
    this.end(cell, order, 'rejected', reason)
  }

  protected countReason(reason: RejectReason): void {
    this.tally.rejected++
    this.tally.reasons[reason] = (this.tally.reasons[reason] ?? 0) + 1
  }

  protected tellLater(order: EngineOrder): void {
    if (this.options.strategy.onOrder === undefined) return
    this.outbox.push(() => this.tellOrder(order))
  }

  protected tellOrder(order: EngineOrder): void {
    const { strategy } = this.options
    if (strategy.onOrder === undefined) return
    const view = order.view()
    this.call('onOrder', () => strategy.onOrder!(view, this.context))
  }

  // Hooks are called when the engine's own work is done, so that they see whole states.
  protected flush(): void {
    const { outbox } = this
    for (let index = 0; index < outbox.length; index++) outbox[index]!()
    outbox.length = 0
  }

  /** Follows the money that is bound. */
  protected noteCapital(cell: CellMarket): void {
    const cost = cell.holding.cost[0]! + cell.holding.cost[1]!
    this.bound += cost - cell.boundCost
    cell.boundCost = cost
    let capital = this.bound
    for (const venue of VENUE_IDS) capital += this.accounts[venue].reserved
    this.capitalTime += this.capital * (this.now - this.capitalSince)
    this.capitalSince = this.now
    this.capital = capital
    if (capital > this.capitalPeak) this.capitalPeak = capital
  }

  protected glance(cell: CellMarket, track: Track, outcome: number): BookGlance {
    const { ladder, factor } = track
    const same = outcome === track.outcome
    const side = (which: 0 | 1): [number, number][] => {
      const { price, size } = which === 0 ? ladder.bids(GLANCE_DEPTH) : ladder.asks(GLANCE_DEPTH)
      return price.map((ticks, index) => {
        const frame = ticks * factor
        const taken = cell.taken.get(frame * 2 + which) ?? 0
        return [same ? frame : PRICE_ONE - frame, size[index]! - taken]
      })
    }
    return same ? { bids: side(0), asks: side(1) } : { bids: side(1), asks: side(0) }
  }

  protected step(
    order: EngineOrder,
    step: { readonly [Key in keyof Omit<WhyStep, 'at'>]?: WhyStep[Key] | undefined } & {
      readonly rule: string
    },
  ): void {
    if (order.steps === undefined || order.steps.length > 100) return
    const known = Object.entries(step).filter(([, value]) => value !== undefined)
    order.steps.push({ at: this.now, ...Object.fromEntries(known) } as WhyStep)
  }

  protected fail(hook: string, error: unknown): void {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    this.failure ??= { hook, at: this.now, message: message.slice(0, 1000) }
  }
}
