import { DOUBLE_ZERO, POW10, VENUES, VENUE_IDS, type VenueId } from '../domain/index.ts'
import { DailyEquity } from './daily-equity.ts'
import type { FeeCharge } from './fees.ts'
import { MONEY_DECIMALS, MONEY_ONE, mulDiv, notional, payoutOf, priceOne } from './money.ts'

/** Where the money of an account went, in money units. Start and flows together give the cash. */
export type Flows = {
  bought: number
  sold: number
  fees: number
  /** Value of fees paid in shares; not part of the cash. */
  shareFees: number
  paidOut: number
  merged: number
  split: number
  /** Maker rebates, if daily pools paid per fill; not part of the cash. */
  rebates: number
}

/** The cash of a run at one venue: collateral of one venue cannot pay at another. */
export class Account {
  readonly venue: VenueId
  readonly start: number
  /** A number from the start, like all fields below: one that was undefined once allocates with every store. */
  cash = DOUBLE_ZERO
  /** Cash set aside for open orders. */
  reserved = DOUBLE_ZERO
  /** The cost of all positions. */
  positionCost = DOUBLE_ZERO
  /** The capital that the ledger has counted. */
  countedCapital = DOUBLE_ZERO
  readonly flows: Flows = {
    bought: DOUBLE_ZERO,
    sold: DOUBLE_ZERO,
    fees: DOUBLE_ZERO,
    shareFees: DOUBLE_ZERO,
    paidOut: DOUBLE_ZERO,
    merged: DOUBLE_ZERO,
    split: DOUBLE_ZERO,
    rebates: DOUBLE_ZERO,
  }

  constructor(venue: VenueId, start: number) {
    this.venue = venue
    this.start = start
    this.cash = start
  }

  get free(): number {
    return this.cash - this.reserved
  }

  /**
   * The money that is tied up: set aside, and paid for positions. Losses already paid count too, because
   * without that money the account could not have gone on.
   */
  get capital(): number {
    return this.reserved + Math.max(this.positionCost, this.start - this.cash)
  }

  /** The cash that start and flows add up to: always equal to `cash`. */
  get expected(): number {
    const { bought, sold, fees, paidOut, merged, split } = this.flows
    return this.start - bought + sold - fees + paidOut + merged - split
  }
}

/** What gives the shares of a market their value. */
export interface PricedMarket {
  readonly venue: VenueId
  /** Money units per share of an outcome; `net` is the position's first outcome less its second. */
  valueOf(outcome: number, net: number): number
}

/** A fill as the ledger books it. */
export type BookedFill = {
  readonly outcome: number
  readonly side: 'buy' | 'sell'
  /** Ten-thousandths, of the outcome. */
  readonly price: number
  readonly size: number
}

/** What one account holds of one market; all lists are by outcome. */
export class Position {
  readonly market: PricedMarket
  readonly account: Account
  readonly units: [number, number] = [0, 0]
  /** What the units cost with fees, in money units. */
  readonly cost: [number, number] = [0, 0]
  /** Units set aside for resting sells. */
  readonly reserved: [number, number] = [0, 0]
  /** The part of the cost that the ledger has counted as capital. */
  countedCost = DOUBLE_ZERO
  /** The value that the ledger has counted as equity. */
  countedValue = DOUBLE_ZERO
  /** True where units or cost have changed since the ledger counted them. */
  isChanged = false
  private readonly netsOutcomes: boolean

  constructor(market: PricedMarket, account: Account) {
    this.market = market
    this.account = account
    this.netsOutcomes = VENUES[account.venue].trading.netsOutcomes
  }

  get isEmpty(): boolean {
    return this.units[0] === 0 && this.units[1] === 0
  }

  /** Units of an outcome that no resting sell has set aside. */
  free(outcome: number): number {
    return this.units[outcome]! - this.reserved[outcome]!
  }

  /** The value of the units: payouts, or what the net position could be sold for. */
  value(): number {
    const { market, units } = this
    const first = units[0]
    const second = units[1]
    const net = first - second
    let value = 0
    if (first !== 0) value = payoutOf(market.venue, market.valueOf(0, net), first)
    if (second !== 0) value += payoutOf(market.venue, market.valueOf(1, net), second)
    return value
  }

  /**
   * Books a fill with its fee. A sale of more than is held is a purchase of the other outcome; where
   * the venue nets outcomes, pairs turn into cash at once. Returns the fee that was charged.
   */
  book(fill: BookedFill, fee: FeeCharge): FeeCharge {
    const { outcome, side, price, size } = fill
    const { account, units } = this
    const { flows } = account
    flows.fees += fee.cash
    flows.rebates += fee.rebate
    if (fee.shares > 0) flows.shareFees += fee.value
    account.cash -= fee.cash
    if (side === 'buy') {
      this.buy(outcome, price, size, fee)
    } else {
      const held = Math.min(size, units[outcome]!)
      if (held > 0) this.sell(outcome, price, held)
      if (size > held) this.buy(1 - outcome, priceOne(account.venue) - price, size - held, fee)
    }
    if (this.netsOutcomes) this.merge(Infinity)
    return account.free < 0 ? this.waive(fee) : fee
  }

  /** Turns up to `most` pairs into cash; returns the number of pairs merged. */
  merge(most: number): number {
    const { account, units } = this
    const pairs = Math.min(most, units[0], units[1])
    if (pairs <= 0) return 0
    this.remove(0, pairs)
    this.remove(1, pairs)
    const money = payoutOf(account.venue, MONEY_ONE, pairs)
    account.cash += money
    account.flows.merged += money
    return pairs
  }

  /** Turns cash into pairs; returns false where the free cash does not suffice. */
  split(size: number): boolean {
    const { account } = this
    const money = mulDiv(MONEY_ONE, size, POW10[VENUES[account.venue].sizeDecimals]!, 'up')
    if (money > account.free) return false
    account.cash -= money
    account.flows.split += money
    const half = Math.floor(money / 2)
    this.isChanged = true
    this.units[0] += size
    this.units[1] += size
    this.cost[0] += money - half
    this.cost[1] += half
    return true
  }

  /** Pays the position out at `payouts` money units per share; returns what reached the account. */
  payOut(payouts: readonly number[]): number {
    const { account } = this
    let paid = 0
    for (const outcome of [0, 1]) {
      const units = this.units[outcome]!
      paid += payoutOf(account.venue, payouts[outcome] ?? 0, units)
      this.remove(outcome, units)
    }
    const { payoutDecimals = MONEY_DECIMALS } = VENUES[account.venue].trading
    const fee = paid % POW10[MONEY_DECIMALS - payoutDecimals]!
    account.cash += paid - fee
    account.flows.paidOut += paid
    account.flows.fees += fee
    return paid - fee
  }

  // Fees are rounded up per fill, up to a cent each. Many small fills can cost more than an order has set
  // aside: the rounding does not take the free cash below zero.
  private waive(fee: FeeCharge): FeeCharge {
    const { account, cost } = this
    const waived = Math.min(fee.cash, -account.free)
    account.cash += waived
    account.flows.fees -= waived
    const dearer = cost[0] >= cost[1] ? 0 : 1
    cost[dearer] = Math.max(0, cost[dearer] - waived)
    return { ...fee, cash: fee.cash - waived, value: fee.value - waived }
  }

  private buy(outcome: number, price: number, size: number, fee: FeeCharge): void {
    const { account } = this
    const cost = notional(account.venue, price, size, 'up')
    this.isChanged = true
    account.cash -= cost
    account.flows.bought += cost
    this.units[outcome]! += size - fee.shares
    this.cost[outcome]! += cost + fee.cash
  }

  private sell(outcome: number, price: number, size: number): void {
    const { account } = this
    const proceeds = notional(account.venue, price, size, 'down')
    account.cash += proceeds
    account.flows.sold += proceeds
    this.remove(outcome, size)
  }

  // Removed units take their share of the position's cost with them.
  private remove(outcome: number, size: number): void {
    if (size === 0) return
    this.isChanged = true
    const held = this.units[outcome]!
    const cost = this.cost[outcome]!
    this.units[outcome] = held - size
    this.cost[outcome] = cost - (size === held ? cost : mulDiv(cost, size, held, 'down'))
  }
}

/** The signed change of cash of a fill before its fee, rounded against the trader. */
export function revenueOf(
  venue: VenueId,
  side: 'buy' | 'sell',
  price: number,
  size: number,
): number {
  return side === 'buy' ? -notional(venue, price, size, 'up') : notional(venue, price, size, 'down')
}

/** One point of the equity curve, in money units. */
export type EquityPoint = { readonly at: number; readonly equity: number; readonly capital: number }

// Max points of the equity curve; a report stays small whatever the length of the run.
const MAX_POINTS = 2000

/** An equity curve of bounded length: when it is full, every second point goes and the step doubles. */
export class EquityCurve {
  points: EquityPoint[] = []
  /** When the next point is due. */
  due = -Infinity
  peak = 0
  drawdown = 0
  private step = 2_000_000

  constructor(start: number) {
    this.peak = start
  }

  /** Follows peak and drawdown, which count every change and not only the points of the curve. */
  follow(equity: number): void {
    if (equity > this.peak) this.peak = equity
    else if (this.peak - equity > this.drawdown) this.drawdown = this.peak - equity
  }

  add(at: number, equity: number, capital: number): void {
    this.follow(equity)
    const last = this.points.at(-1)
    if (last !== undefined && last.equity === equity && last.capital === capital) {
      this.due = at + this.step
      return
    }
    this.points.push({ at, equity, capital })
    if (this.points.length > MAX_POINTS) {
      this.points = this.points.filter((_, index) => index % 2 === 0)
      this.step *= 2
    }
    this.due = at + this.step
  }
}

/** The money of a run: accounts, positions, the capital they tie up, and the equity curve. */
export class Ledger {
  readonly accounts: Readonly<Record<VenueId, Account>>
  /** The sum of what the accounts started with. */
  readonly start: number
  readonly curve: EquityCurve
  readonly days: DailyEquity = new DailyEquity()
  /** Money units tied up in positions and set aside for orders: now, at most, and integrated over time. */
  capital = 0
  capitalPeak = 0
  capitalTime = 0
  /** Cash and positions at their value, followed from event to event. */
  equityNow = DOUBLE_ZERO
  private readonly positions: Position[] = []
  private positionValue = DOUBLE_ZERO
  private capitalSince = DOUBLE_ZERO

  constructor(cash: Readonly<Record<VenueId, number>>) {
    const accounts = VENUE_IDS.map((venue) => [venue, new Account(venue, cash[venue])])
    this.accounts = Object.fromEntries(accounts) as Record<VenueId, Account>
    this.start = this.cash()
    this.curve = new EquityCurve(this.start)
    this.equityNow = this.start
  }

  /** Opens an empty position. */
  open(market: PricedMarket): Position {
    const position = new Position(market, this.accounts[market.venue])
    this.positions.push(position)
    return position
  }

  /** Cash and positions at their value, all venues, summed again. Reports use it; each event keeps `equityNow`. */
  equity(): number {
    let equity = this.cash()
    for (const position of this.positions) equity += position.value()
    return equity
  }

  /** Starts the integral of the capital. */
  begin(at: number): void {
    this.capitalSince = at
  }

  /** Follows capital and equity after cash, a position or a reservation has changed. */
  noteCapital(position: Position, at: number): void {
    const { account } = position
    if (position.isChanged) this.notePosition(position)
    const bound = account.capital
    if (bound === account.countedCapital) return
    const capital = this.capital + bound - account.countedCapital
    account.countedCapital = bound
    this.capitalTime += this.capital * (at - this.capitalSince)
    this.capitalSince = at
    this.capital = capital
    if (capital > this.capitalPeak) this.capitalPeak = capital
  }

  private notePosition(position: Position): void {
    position.isChanged = false
    const cost = position.cost[0] + position.cost[1]
    position.account.positionCost += cost - position.countedCost
    position.countedCost = cost
    const value = position.value()
    this.positionValue += value - position.countedValue
    position.countedValue = value
    this.equityNow = this.cash() + this.positionValue
    this.curve.follow(this.equityNow)
  }

  /** The prices of a position come from another book: no event of the run, so the curve does not follow it. */
  revalue(position: Position): void {
    const value = position.value()
    this.positionValue += value - position.countedValue
    this.equityNow += value - position.countedValue
    position.countedValue = value
  }

  /** Follows the equity after the quotes of a position have changed. */
  noteQuotes(position: Position): void {
    const value = position.value()
    const change = value - position.countedValue
    if (change === 0) return
    position.countedValue = value
    this.positionValue += change
    this.equityNow += change
    this.curve.follow(this.equityNow)
  }

  /** Adds a point to the equity curve. */
  sample(at: number): void {
    const { equityNow } = this
    this.days.note(at, equityNow)
    this.curve.add(at, equityNow, this.capital)
  }

  /** Ends the integral of the capital and the equity curve. */
  finish(at: number): void {
    this.capitalTime += this.capital * (at - this.capitalSince)
    this.capitalSince = at
    this.sample(at)
  }

  private cash(): number {
    let cash = 0
    for (const venue of VENUE_IDS) cash += this.accounts[venue].cash
    return cash
  }
}
