import { parseFixed } from '../../bench/lib/naive-fold.ts'
import { readLines, type RecordedTicker } from '../../bench/lib/recordings.ts'
import { NaiveFees } from './naive-fees.ts'
import { toMap, type RecordedEvent } from './naive-taker.ts'

/** A quote of a maker; prices in ten-thousandths of its outcome, sizes in contracts. */
export type Quote = {
  readonly side: 'buy' | 'sell'
  readonly outcome: 0 | 1
  readonly price: number
  readonly size: number
}

/** What a maker does: cancel everything first, then quote. */
export type MakerStep = { readonly cancels: boolean; readonly quotes: readonly Quote[] }

/** Decides by best prices and time alone; 0 and 10,000 are sides without levels. */
export type MakerRule = (now: number, bid: number, ask: number) => MakerStep | undefined

/** What a run has made: its fills as text, its cash and its fees in 10^−8 dollars. */
export type Outcome = { readonly fills: string[]; cash: bigint; fees: bigint }

type Side = 'bid' | 'ask'

const SIDES: readonly Side[] = ['bid', 'ask']

type Resting = {
  readonly id: number
  readonly quote: Quote
  readonly entered: number
  readonly fees: NaiveFees
  left: number
  ahead: number
}

/** Orders at one price of Yes, decreases there that no print has explained, and prints that no decrease has. */
type Level = {
  readonly side: Side
  readonly price: number
  orders: Resting[]
  decreases: { readonly at: number; readonly after: number; left: number }[]
  early: number
  earlyAt: number
}

type Step =
  | { readonly kind: 'close' | 'open'; readonly at: number }
  | { readonly kind: 'book' | 'trade'; readonly at: number; readonly event: RecordedEvent }

const LATENCY = 50_000
const LAG = 800_000
const HOLE = 5_000_000
// Events of one time: the end of a gap, books, trades, the beginning of a gap.
const ORDER = ['close', 'book', 'trade', 'open']

/**
 * A maker in one recorded market under the pessimistic queue model, from the words of the guide and with maps, lists
 * and sorting alone: nothing here comes from the engine.
 */
export class NaiveMaker {
  private readonly market: string
  private readonly rule: MakerRule
  private readonly out: Outcome
  private readonly yes = new Map<number, number>()
  private readonly no = new Map<number, number>()
  private taken = new Map<string, number>()
  private readonly levels = new Map<string, Level>()
  /** Steps on their way to the venue; orders with ids before `old` are those that a step cancels. */
  private readonly coming: {
    readonly at: number
    readonly step: MakerStep
    readonly old: number
  }[] = []
  private nextId = 0
  private isOpen = false
  private inGap = false
  private net = 0n

  constructor(market: string, rule: MakerRule, out: Outcome) {
    this.market = market
    this.rule = rule
    this.out = out
  }

  /** Runs over all lines of a recording, `shift` later. */
  run(recorded: RecordedTicker, shift: number): void {
    for (const step of stepsOf(recorded, shift)) {
      this.arriveBefore(step.at)
      switch (step.kind) {
        case 'open':
          this.inGap = true
          this.removeWhere(() => true)
          break
        case 'close':
          this.inGap = false
          this.taken = new Map()
          break
        case 'book':
          this.book(step.at, step.event)
          break
        case 'trade':
          this.trade(step.at, step.event)
      }
    }
    // Contracts that are short are No, each bought for what Yes lacks to a dollar.
    if (this.net < 0n) this.out.cash += this.net * 1_000_000n
  }

  private book(at: number, { type, msg }: RecordedEvent): void {
    if (type === 'orderbook_snapshot') {
      for (const side of SIDES) {
        const own = this.bidsOf(side)
        const all = toMap(side === 'bid' ? msg.yes_dollars_fp : msg.no_dollars_fp)
        for (const price of new Set([...own.keys(), ...all.keys()])) {
          this.resize(at, side, price, all.get(price) ?? 0)
        }
      }
      this.isOpen = true
    } else {
      if (!this.isOpen) return
      const side = msg.side === 'yes' ? 'bid' : 'ask'
      const price = parseFixed(msg.price_dollars!, 4)
      const before = this.bidsOf(side).get(price) ?? 0
      this.resize(at, side, price, before + parseFixed(msg.delta_fp!, 2))
    }
    this.expire(at)
    const bid = Math.max(0, ...this.yes.keys())
    const ask = 10_000 - Math.max(0, ...this.no.keys())
    if (!this.inGap) this.cross(at, bid, ask)
    const step = this.rule(at, bid, ask)
    if (step !== undefined) this.coming.push({ at: at + LATENCY, step, old: this.nextId })
    this.nextId += step?.quotes.length ?? 0
  }

  // Asks of Yes are bids of No at the complement.
  private bidsOf(side: Side): Map<number, number> {
    return side === 'bid' ? this.yes : this.no
  }

  private resize(at: number, side: Side, price: number, now: number): void {
    const own = this.bidsOf(side)
    const before = own.get(price) ?? 0
    if (now === 0) own.delete(price)
    else own.set(price, now)
    const name = `${side} ${side === 'bid' ? price : 10_000 - price}`
    if (now < (this.taken.get(name) ?? 0)) this.taken.set(name, now)
    const level = this.levels.get(name)
    if (level === undefined || now >= before) return
    if (at - level.earlyAt > LAG) level.early = 0
    const explained = Math.min(before - now, level.early)
    level.early -= explained
    const left = before - now - explained
    if (left > 0) level.decreases.push({ at, after: now, left })
  }

  // A decrease without a print was cancelled: behind ours, but no more can be ahead than was displayed.
  private expire(at: number): void {
    for (const level of this.levels.values()) {
      while (level.decreases.length > 0 && level.decreases[0]!.at + LAG < at) {
        const { at: then, after } = level.decreases.shift()!
        for (const order of level.orders) {
          if (order.entered <= then) order.ahead = Math.min(order.ahead, after)
        }
      }
    }
  }

  // The other side of the book shows our price: we would have traded first.
  private cross(at: number, bid: number, ask: number): void {
    for (const side of SIDES) {
      const isBid = side === 'bid'
      const best = isBid ? ask : bid
      if (best === (isBid ? 10_000 : 0)) continue
      const reached = this.ownLevels(side).filter(({ price }) =>
        isBid ? price >= best : price <= best,
      )
      for (const { price, orders } of reached) {
        for (const order of orders) {
          for (const [shown, size] of this.opposite(side)) {
            if (order.left === 0 || (isBid ? shown > price : shown < price)) break
            const units = Math.min(order.left, this.available(side, shown, size))
            if (units <= 0) continue
            const name = `${isBid ? 'ask' : 'bid'} ${shown}`
            this.taken.set(name, (this.taken.get(name) ?? 0) + units)
            this.fill(at, order, units, 'book_cross')
          }
        }
      }
    }
    this.removeFilled()
  }

  private trade(at: number, { msg }: RecordedEvent): void {
    if (this.inGap || this.levels.size === 0) return
    this.expire(at)
    const price = parseFixed(msg.yes_price_dollars!, 4)
    const side = msg.taker_side === 'yes' ? 'ask' : 'bid'
    let left = parseFixed(msg.count_fp!, 2)
    for (const level of this.ownLevels(side)) {
      if (left === 0 || (side === 'ask' ? level.price > price : level.price < price)) break
      const isHere = level.price === price
      if (isHere) explain(level, at, left)
      for (const order of level.orders) {
        if (left === 0) break
        // The print may be older than the order.
        if (at < order.entered + LAG) continue
        const passed = isHere ? Math.min(left, order.ahead) : 0
        order.ahead = isHere ? order.ahead - passed : 0
        const units = Math.min(order.left, left - passed)
        if (units <= 0) continue
        left -= units
        this.fill(at, order, units, isHere ? 'print_at_level' : 'print_through')
      }
    }
    this.removeFilled()
  }

  private arriveBefore(until: number): void {
    while (this.coming.length > 0 && this.coming[0]!.at < until) {
      const { at, step, old } = this.coming.shift()!
      if (step.cancels) this.removeWhere(({ id }) => id < old)
      for (const [index, quote] of step.quotes.entries()) this.arrive(at, quote, old + index)
    }
  }

  // Refused in a gap, where it would take, and where it would meet an order of the same account.
  private arrive(at: number, quote: Quote, id: number): void {
    if (!this.isOpen || this.inGap) return
    const isYes = quote.outcome === 0
    const side = (quote.side === 'buy') === isYes ? 'bid' : 'ask'
    const price = isYes ? quote.price : 10_000 - quote.price
    const isBid = side === 'bid'
    const reaches = (other: number): boolean => (isBid ? other <= price : other >= price)
    if (this.ownLevels(isBid ? 'ask' : 'bid').some((level) => reaches(level.price))) return
    const takes = this.opposite(side).some(
      ([shown, size]) => reaches(shown) && this.available(side, shown, size) > 0,
    )
    if (takes) return
    const name = `${side} ${price}`
    let level = this.levels.get(name)
    if (level === undefined) {
      level = { side, price, orders: [], decreases: [], early: 0, earlyAt: 0 }
      this.levels.set(name, level)
    }
    const ahead = this.bidsOf(side).get(isBid ? price : 10_000 - price) ?? 0
    const fees = new NaiveFees(0n)
    level.orders.push({ id, quote, entered: at, fees, left: Math.round(quote.size * 100), ahead })
  }

  // Levels of the other side as prices of Yes, nearest first.
  private opposite(side: Side): [price: number, size: number][] {
    const isBid = side === 'bid'
    return [...(isBid ? this.no : this.yes)]
      .sort(([left], [right]) => right - left)
      .map(([price, size]) => [isBid ? 10_000 - price : price, size])
  }

  private available(side: Side, shown: number, size: number): number {
    return size - (this.taken.get(`${side === 'bid' ? 'ask' : 'bid'} ${shown}`) ?? 0)
  }

  private ownLevels(side: Side): Level[] {
    return [...this.levels.values()]
      .filter((level) => level.side === side)
      .sort((left, right) => (side === 'bid' ? right.price - left.price : left.price - right.price))
  }

  private removeFilled(): void {
    this.removeWhere(({ left }) => left === 0)
  }

  private removeWhere(isOver: (order: Resting) => boolean): void {
    for (const [name, level] of this.levels) {
      level.orders = level.orders.filter((order) => !isOver(order))
      if (level.orders.length === 0) this.levels.delete(name)
    }
  }

  private fill(at: number, order: Resting, units: number, evidence: string): void {
    const { quote, fees } = order
    const { side, outcome, price } = quote
    const isBuy = side === 'buy'
    const fee = fees.charge(price, units, isBuy)
    order.left -= units
    this.out.fills.push(
      `${this.market} ${at} ${side} ${outcome} ${price}x${units / 100} ${fee} ${evidence}`,
    )
    this.out.fees += fee
    // A purchase of No is a sale of Yes at the complement.
    const yesPrice = BigInt(outcome === 0 ? price : 10_000 - price)
    const sign = isBuy === (outcome === 0) ? 1n : -1n
    this.out.cash -= sign * yesPrice * BigInt(units) * 100n + fee
    this.net += sign * BigInt(units)
  }
}

// A print at the price explains decreases from before it; the rest of it explains decreases that follow.
function explain(level: Level, at: number, size: number): void {
  let rest = size
  for (const decrease of level.decreases) {
    const used = Math.min(rest, decrease.left)
    decrease.left -= used
    rest -= used
  }
  level.decreases = level.decreases.filter(({ left }) => left > 0)
  if (at - level.earlyAt > LAG) level.early = 0
  level.early += rest
  level.earlyAt = at
}

/** All lines of a recording as steps, with the gaps that new connections leave. */
function stepsOf(recorded: RecordedTicker, shift: number): Step[] {
  const steps: Step[] = []
  let isOpen = false
  let last = 0
  for (const line of readLines(recorded)) {
    const { recv_ms: ms, event } = JSON.parse(line) as { recv_ms: number; event: RecordedEvent }
    const at = ms * 1000 + shift
    if (event.type === 'trade') {
      steps.push({ kind: 'trade', at, event })
      continue
    }
    if (event.type === 'orderbook_snapshot') {
      const { yes_dollars_fp: bids, no_dollars_fp: asks } = event.msg
      const isWhole = bids !== undefined || asks !== undefined
      if (isOpen && isWhole && at - last < HOLE) {
        steps.push({ kind: 'open', at: last }, { kind: 'close', at })
      }
      isOpen = true
    } else if (!isOpen) continue
    steps.push({ kind: 'book', at, event })
    last = at
  }
  return steps.sort(
    (left, right) => left.at - right.at || ORDER.indexOf(left.kind) - ORDER.indexOf(right.kind),
  )
}
