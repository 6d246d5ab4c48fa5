import {
  decimalText,
  DOUBLE_ZERO,
  parseScaled,
  POW10,
  printScaled,
  VENUES,
  type VenueId,
} from '../domain/index.ts'
import type { FeeAccumulator } from './fees.ts'
import type { MarketState } from './market-state.ts'
import { parseMoney, PRICE_ONE, priceOne, printMoney, shownPrice } from './money.ts'
import {
  TIMES_IN_FORCE,
  type EndReason,
  type OrderRequest,
  type OrderState,
  type OrderView,
  type RejectReason,
  type TimeInForce,
} from './order.ts'

/** An order inside the engine; sizes are in units of the venue. */
export class EngineOrder implements FeeAccumulator {
  readonly id: number
  readonly market: MarketState
  readonly outcome: number
  readonly side: 'buy' | 'sell'
  readonly price: number | undefined
  size = DOUBLE_ZERO
  /** Money to spend instead of a size. */
  readonly money: number | undefined
  readonly timeInForce: TimeInForce
  readonly expires: number | undefined
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly tag: string | undefined
  readonly sentAt: number
  state: OrderState = 'sent'
  reason: EndReason | undefined
  arrivedAt: number | undefined
  remaining = DOUBLE_ZERO
  filled = 0
  /** Side (0 is a bid) and price in the market's primary book, from the arrival on. */
  bookSide: 0 | 1 = 0
  bookPrice = 0
  /** Units of others that are ahead in the queue. */
  ahead = DOUBLE_ZERO
  enteredAt = DOUBLE_ZERO
  reservedCash = DOUBLE_ZERO
  /** Units set aside, of `closedOutcome`. */
  reservedUnits = DOUBLE_ZERO
  /** Why the order ends with the current step; a loop over orders must not remove any. */
  ending: EndReason | undefined
  /** The rounding of fees that has not been refunded. */
  owed = DOUBLE_ZERO
  /** Best prices of the outcome when the order was sent, as strategies see them; 0 where a side was empty. */
  sentBid = 0
  sentAsk = 0
  /** True where the steps that explain the order are kept. */
  isExplained = false
  /** The place among the orders of the report; −1 where the order is not among them. */
  place = -1

  constructor(id: number, parsed: ParsedOrder, sentAt: number) {
    this.id = id
    this.market = parsed.market
    this.outcome = parsed.outcome
    this.side = parsed.side
    this.price = parsed.price
    this.size = parsed.size
    this.remaining = parsed.size
    this.money = parsed.money
    this.timeInForce = parsed.timeInForce
    this.expires = parsed.expires
    this.postOnly = parsed.postOnly
    this.reduceOnly = parsed.reduceOnly
    this.tag = parsed.tag
    this.sentAt = sentAt
  }

  get isOpen(): boolean {
    return this.state === 'sent' || this.state === 'resting'
  }

  /** True where the order stays in the book after it has met it. */
  get canRest(): boolean {
    return this.timeInForce === 'GTC' || this.timeInForce === 'GTD'
  }

  /**
   * The outcome whose units the order uses up: a sale those it sells, a purchase where outcomes are netted
   * those of the other outcome. Undefined for other purchases.
   */
  get closedOutcome(): 0 | 1 | undefined {
    const { outcome, side } = this
    if (side === 'sell') return outcome as 0 | 1
    return VENUES[this.market.venue].trading.netsOutcomes ? ((1 - outcome) as 0 | 1) : undefined
  }

  /** The limit as strategies see it. */
  get shownPrice(): number | undefined {
    return this.price === undefined ? undefined : shownPrice(this.price, this.market.one)
  }

  /** A frozen copy for strategies and reports. */
  view(): OrderView {
    return toOrderView(this)
  }
}

/** What a view shows of an order. */
export type OrderFacts = Readonly<
  Pick<
    EngineOrder,
    | 'id'
    | 'market'
    | 'outcome'
    | 'side'
    | 'price'
    | 'size'
    | 'filled'
    | 'money'
    | 'state'
    | 'reason'
    | 'timeInForce'
    | 'sentAt'
    | 'arrivedAt'
    | 'tag'
  >
>

/** Makes the frozen view of an order. */
export function toOrderView(order: OrderFacts): OrderView {
  const { market, price, filled, money } = order
  const decimals = VENUES[market.venue].sizeDecimals
  return Object.freeze({
    id: order.id,
    market: market.name,
    venue: market.venue,
    outcome: order.outcome,
    side: order.side,
    price: price === undefined ? undefined : shownPrice(price, market.one),
    size: printUnits(order.size, decimals),
    filled: filled === 0 ? '0' : printUnits(filled, decimals),
    amount: money === undefined ? undefined : printMoney(money),
    state: order.state,
    reason: order.reason,
    timeInForce: order.timeInForce,
    sentAt: order.sentAt,
    arrivedAt: order.arrivedAt,
    tag: order.tag,
  })
}

/** A valid request; whether the venue accepts it is decided on arrival. */
export type ParsedOrder = {
  readonly market: MarketState
  readonly outcome: number
  readonly side: 'buy' | 'sell'
  readonly price: number | undefined
  readonly size: number
  readonly money: number | undefined
  readonly timeInForce: TimeInForce
  readonly expires: number | undefined
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly tag: string | undefined
}

/** A request whose side is given apart. */
export type SidedRequest = Omit<OrderRequest, 'side'> & { readonly side?: OrderRequest['side'] }

/** Parses a request of a strategy, which may be any value; `given` is its side where it does not name one. */
export function parseOrder(
  request: SidedRequest,
  markets: ReadonlyMap<string, MarketState>,
  given?: 'buy' | 'sell',
): ParsedOrder | RejectReason {
  if (typeof request !== 'object' || request === null) {
    return given === undefined ? 'invalid_order' : 'unknown_market'
  }
  const market = markets.get(request.market)
  if (market === undefined) return 'unknown_market'
  const outcome = outcomeIndex(market, request.outcome)
  if (outcome === undefined) return 'unknown_outcome'
  const { postOnly = false, reduceOnly = false, tag } = request
  const side = given ?? request.side
  if (side !== 'buy' && side !== 'sell') return 'invalid_order'
  if (tag !== undefined && typeof tag !== 'string') return 'invalid_order'
  const price = request.price === undefined ? undefined : parseTicks(market.venue, request.price)
  if (price === null) return 'invalid_price'
  const timeInForce = request.timeInForce ?? (price === undefined ? 'IOC' : 'GTC')
  if (!TIMES_IN_FORCE.includes(timeInForce)) return 'invalid_order'
  const rests = timeInForce === 'GTC' || timeInForce === 'GTD'
  if (rests && price === undefined) return 'invalid_order'
  if (postOnly && !rests) return 'invalid_order'
  const { expires } = request
  if ((timeInForce === 'GTD') !== (expires !== undefined)) return 'invalid_order'
  if (expires !== undefined && !Number.isSafeInteger(expires)) return 'invalid_order'
  let money: number | undefined
  let size: number | undefined = 0
  if (request.amount !== undefined) {
    if (side !== 'buy' || price !== undefined || request.size !== undefined) return 'invalid_order'
    money = attempt(() => parseMoney(request.amount))
    if (money === undefined || money <= 0) return 'invalid_amount'
  } else {
    size = parseUnits(market, request.size)
    if (size === undefined) return 'invalid_size'
  }
  // One literal: orders come by the hundred thousand, and a spread takes longer than all of the parsing.
  return {
    market,
    outcome,
    side,
    price,
    size,
    money,
    timeInForce,
    expires,
    postOnly,
    reduceOnly,
    tag,
  }
}

/** Parses a replacement: price and size default to the price and the remaining size of the old order. */
export function parseReplacement(
  old: EngineOrder,
  change: Pick<OrderRequest, 'price' | 'size'>,
): ParsedOrder | RejectReason {
  if (typeof change !== 'object' || change === null) return 'invalid_order'
  const price = change.price === undefined ? old.price : parseTicks(old.market.venue, change.price)
  if (price === null) return 'invalid_price'
  const size = change.size === undefined ? old.remaining : parseUnits(old.market, change.size)
  if (size === undefined) return 'invalid_size'
  const { market, outcome, side, timeInForce, expires, postOnly, reduceOnly, tag } = old
  return {
    market,
    outcome,
    side,
    price,
    size,
    money: undefined,
    timeInForce,
    expires,
    postOnly,
    reduceOnly,
    tag,
  }
}

/** Parses a size into units of the market; undefined where it is not valid. */
export function parseUnits(market: MarketState, size: unknown): number | undefined {
  const decimals = VENUES[market.venue].sizeDecimals
  // Fast path: whole numbers need no decimal parsing.
  const isWhole = Number.isInteger(size) && (size as number) <= 1_000_000
  const units = isWhole
    ? (size as number) * POW10[decimals]!
    : attempt(() => parseScaled(decimalText(size), decimals))
  return units === undefined || units <= 0 ? undefined : units
}

/** Finds an outcome by index or label; default: the first one. */
export function outcomeIndex(
  market: MarketState,
  outcome: number | string | undefined,
): number | undefined {
  if (outcome === undefined) return 0
  if (typeof outcome === 'number') return outcome === 0 || outcome === 1 ? outcome : undefined
  if (typeof outcome !== 'string') return undefined
  const wanted = outcome.toLowerCase()
  return market.record?.outcomes.find(({ label }) => label.toLowerCase() === wanted)?.index
}

// Decimal text, or a number of ten-thousandths; null where it is not a price between 0 and 1 in whole
// ticks of the venue.
function parseTicks(venue: VenueId, price: unknown): number | null {
  const one = priceOne(venue)
  const ticks =
    typeof price === 'string'
      ? attempt(() => parseScaled(price, VENUES[venue].priceDecimals))
      : typeof price === 'number'
        ? wholeTicks(price, one)
        : undefined
  return ticks !== undefined && Number.isInteger(ticks) && ticks > 0 && ticks < one ? ticks : null
}

// A sum of views such as 5200.25 + 0.01 may be off by less than a billionth of a tick.
function wholeTicks(price: number, one: number): number {
  const ticks = price * (one / PRICE_ONE)
  const whole = Math.round(ticks)
  return one !== PRICE_ONE && Math.abs(ticks - whole) < 1e-6 ? whole : ticks
}

// The sizes of most orders are equal, so the last text is mostly the next one.
let printedUnits = -1
let printedDecimals = -1
let printedText = ''

function printUnits(units: number, decimals: number): string {
  if (units !== printedUnits || decimals !== printedDecimals) {
    printedUnits = units
    printedDecimals = decimals
    printedText = printScaled(units, decimals)
  }
  return printedText
}

// Strategies may pass any value: one that cannot be parsed rejects the order and throws nothing.
function attempt(read: () => number): number | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
