import { PriorbookError, VENUES } from '../domain/index.ts'
import {
  outcomeIndex,
  parseOrder,
  parseReplacement,
  parseUnits,
  type SidedRequest,
} from './engine-order.ts'
import type { EventQueue } from './event-queue.ts'
import type { Latency } from './run-options.ts'
import type { Ledger } from './ledger.ts'
import type { MarketState } from './market-state.ts'
import type { OrderRequest } from './order.ts'
import type { Orders, RunEvent } from './orders.ts'
import type { RunMarket } from './run-market.ts'
import { countReject, type Tally } from './statistics.ts'

/** How the desk finds the run's side of a market. */
export type FindMarket = (name: string) => RunMarket | undefined

/** The requests of a strategy: orders travel to the venue with latency, the rest happens at once. */
export class Desk {
  private readonly markets: ReadonlyMap<string, MarketState>
  private readonly find: FindMarket
  private readonly queue: EventQueue<RunEvent>
  private readonly latency: Latency
  private readonly ledger: Ledger
  private readonly orders: Orders
  private readonly tally: Tally
  /** Called where an account changes without an order: what the strategy did itself it knows at once. */
  onChange: (market: MarketState) => void = () => undefined

  constructor(
    markets: ReadonlyMap<string, MarketState>,
    find: FindMarket,
    queue: EventQueue<RunEvent>,
    latency: Latency,
    ledger: Ledger,
    orders: Orders,
    tally: Tally,
  ) {
    this.markets = markets
    this.find = find
    this.queue = queue
    this.latency = latency
    this.ledger = ledger
    this.orders = orders
    this.tally = tally
  }

  /** Sends an order, of a side that is given apart or that the request names; returns its id. */
  send(request: SidedRequest, side?: 'buy' | 'sell'): number {
    const id = this.orders.nextId()
    const parsed = parseOrder(request, this.markets, side)
    if (typeof parsed === 'string') this.orders.refuse(id, parsed)
    else {
      const order = this.orders.create(id, parsed)
      this.queue.add(this.queue.now + this.latency.entry(), { kind: 'arrive', order })
    }
    return id
  }

  /** Sends a cancel; until it arrives the order can be filled. */
  cancel(id: number): void {
    const order = this.orders.open.get(id)
    if (order === undefined) countReject(this.tally, 'unknown_order')
    else this.queue.add(this.queue.now + this.latency.cancel(), { kind: 'cancel', order })
  }

  /** Sends a replacement; returns the id of the new order. */
  replace(id: number, change: Pick<OrderRequest, 'price' | 'size'>): number {
    const next = this.orders.nextId()
    const old = this.orders.open.get(id)
    const parsed = old === undefined ? 'unknown_order' : parseReplacement(old, change)
    if (old === undefined || typeof parsed === 'string') {
      this.orders.refuse(next, parsed as Extract<typeof parsed, string>)
    } else {
      const order = this.orders.create(next, parsed)
      const keepsSize = change.size === undefined
      const at = this.queue.now + this.latency.cancel()
      this.queue.add(at, { kind: 'replace', old, order, keepsSize })
    }
    return next
  }

  /** Turns free pairs into cash, all of them without a size; returns whether any were merged. */
  merge(name: string, size: unknown): boolean {
    const market = this.find(name)
    if (market === undefined) return false
    const { position } = market
    const free = Math.min(position.free(0), position.free(1))
    const wanted = size === undefined ? free : parseUnits(market.state, size)
    if (wanted === undefined || wanted > free) return false
    const merged = position.merge(wanted)
    market.updateHolding()
    this.ledger.noteCapital(position, this.queue.now)
    this.onChange(market.state)
    return merged > 0
  }

  /** Turns cash into pairs; returns whether it could. */
  split(name: string, size: unknown): boolean {
    const market = this.find(name)
    if (market === undefined || VENUES[market.state.venue].trading.netsOutcomes) return false
    const units = parseUnits(market.state, size)
    if (units === undefined || market.state.refusal(this.queue.now) !== undefined) return false
    const isDone = market.position.split(units)
    market.updateHolding()
    this.ledger.noteCapital(market.position, this.queue.now)
    this.onChange(market.state)
    return isDone
  }

  /** Calls `onTimer` at a time. */
  timer(at: number, tag: string): void {
    if (!Number.isSafeInteger(at)) {
      throw new PriorbookError('invalid_time', `${at} is not a time in whole microseconds`)
    }
    this.queue.add(Math.max(at, this.queue.now), { kind: 'timer', tag })
  }

  /** Notes the strategy's estimate of an outcome's probability. */
  forecast(name: string, chance: number, outcome: number | string | undefined): void {
    const market = this.find(name)
    const index = market === undefined ? undefined : outcomeIndex(market.state, outcome)
    if (market === undefined || index === undefined || !(chance >= 0 && chance <= 1)) return
    market.statistics.forecast(index === 0 ? chance : 1 - chance, impliedChance(market.state))
  }
}

// The mid of the first outcome as a probability.
function impliedChance({ primary, inGap, one }: MarketState): number | undefined {
  const mid = inGap ? undefined : primary?.mid
  if (mid === undefined) return undefined
  return primary!.outcome === 0 ? mid / one : 1 - mid / one
}
