import { PriorbookError } from '../domain/index.ts'
import { mergePairs, splitPairs } from './account.ts'
import { addChance, chanceBuckets } from './cell-market.ts'
import type { CellOptions, CellWorld } from './cell-options.ts'
import { CellVenue } from './cell-venue.ts'
import { createContext } from './context.ts'
import {
  EngineOrder,
  outcomeIndex,
  parseOrder,
  parseReplacement,
  parseUnits,
  type ParsedOrder,
} from './engine-order.ts'
import { createLatency, type Latency } from './latency.ts'
import type { MarketState } from './market-state.ts'
import { PRICE_ONE } from './money.ts'
import type { OrderRequest, RejectReason } from './order.ts'
import { createRandom } from './random.ts'
import type { StrategyContext } from './strategy.ts'

/** What a strategy asks for: orders that travel, and things that happen at once. */
export abstract class CellDesk extends CellVenue {
  protected readonly context: StrategyContext
  private readonly latency: Latency
  private nextOrder = 1

  constructor(world: CellWorld, options: CellOptions) {
    super(world, options)
    const random = createRandom(options.seed, 'strategy')
    this.latency = createLatency(options.latency, createRandom(options.seed, 'latency'))
    this.context = createContext(this, random, world, options.params)
  }

  send(request: OrderRequest): number {
    const id = this.nextOrder++
    this.tally.sent++
    const parsed = parseOrder(request, this.world.markets)
    if (typeof parsed === 'string') {
      this.refuse(id, parsed)
      return id
    }
    const order = this.create(id, parsed)
    this.plan(this.now + this.latency.entry(), { kind: 'arrive', order })
    return id
  }

  cancel(id: number): void {
    const order = this.live.get(id)
    if (order === undefined) {
      this.countReason('unknown_order')
      return
    }
    this.plan(this.now + this.latency.cancel(), { kind: 'cancel', order })
  }

  replace(id: number, change: Pick<OrderRequest, 'price' | 'size'>): number {
    const next = this.nextOrder++
    this.tally.sent++
    const old = this.live.get(id)
    if (old === undefined) {
      this.refuse(next, 'unknown_order')
      return next
    }
    const parsed = parseReplacement(old, change)
    if (typeof parsed === 'string') {
      this.refuse(next, parsed)
      return next
    }
    const order = this.create(next, parsed)
    this.plan(this.now + this.latency.cancel(), { kind: 'replace', old, order })
    return next
  }

  merge(market: string, size: unknown): boolean {
    const cell = this.cellOf(market)
    if (cell === undefined) return false
    const { units, reserved } = cell.holding
    const most = size === undefined ? Infinity : parseUnits(cell.state, size)
    if (most === undefined) return false
    const free = Math.min(units[0]! - reserved[0]!, units[1]! - reserved[1]!)
    if (size !== undefined && most > free) return false
    const merged = mergePairs(cell.account, cell.holding, Math.min(most, free))
    this.tally.mergedUnits += merged
    this.noteCapital(cell)
    return merged > 0
  }

  split(market: string, size: unknown): boolean {
    const cell = this.cellOf(market)
    if (cell === undefined || cell.state.venue === 'venueb') return false
    const units = parseUnits(cell.state, size)
    if (units === undefined || cell.state.refusal(this.now) !== undefined) return false
    const done = splitPairs(cell.account, cell.holding, units)
    this.noteCapital(cell)
    return done
  }

  timer(at: number, tag: string): void {
    if (!Number.isSafeInteger(at)) {
      throw new PriorbookError('invalid_time', `a timer at ${at} is not a time in microseconds`)
    }
    this.plan(Math.max(at, this.now), { kind: 'timer', tag })
  }

  forecast(market: string, chance: number, outcome: number | string | undefined): void {
    const cell = this.cellOf(market)
    const index = cell === undefined ? undefined : outcomeIndex(cell.state, outcome)
    if (cell === undefined || index === undefined || !(chance >= 0 && chance <= 1)) return
    const first = index === 0 ? chance : 1 - chance
    const said = (cell.forecasts ??= {
      count: 0,
      sum: 0,
      squares: 0,
      midCount: 0,
      midSum: 0,
      midSquares: 0,
      pairedSum: 0,
      pairedSquares: 0,
      buckets: chanceBuckets(),
    })
    said.count++
    said.sum += first
    said.squares += first * first
    addChance(said.buckets, first, 1)
    const mid = midOf(cell.state)
    if (mid === undefined) return
    said.midCount++
    said.midSum += mid
    said.midSquares += mid * mid
    said.pairedSum += first
    said.pairedSquares += first * first
  }

  protected create(id: number, parsed: ParsedOrder): EngineOrder {
    const order = new EngineOrder(id, parsed, this.now)
    const track = order.market.primary
    if (track !== undefined) {
      const { ladder, factor } = track
      const bid = ladder.bestBid * factor
      const ask = ladder.bestAsk === ladder.one ? 0 : ladder.bestAsk * factor
      const same = order.outcome === track.outcome
      order.sentBid = same ? bid : ask === 0 ? 0 : PRICE_ONE - ask
      order.sentAsk = same ? ask : bid === 0 ? 0 : PRICE_ONE - bid
    }
    if (id <= this.options.explain) order.steps = []
    this.live.set(id, order)
    if (this.orders.length < this.options.keep) this.orders.push(order)
    return order
  }

  // A request that never became an order.
  protected refuse(id: number, reason: RejectReason): void {
    this.countReason(reason)
    const { strategy } = this.options
    if (strategy.onOrder === undefined) return
    const view = Object.freeze({
      id,
      market: '',
      venue: 'venuea' as const,
      outcome: 0,
      side: 'buy' as const,
      price: undefined,
      size: '0',
      filled: '0',
      state: 'rejected' as const,
      reason,
      timeInForce: 'GTC' as const,
      sentAt: this.now,
      arrivedAt: undefined,
      tag: undefined,
    })
    // Not from inside the hook that sent it: that would be a call inside a call.
    this.plan(this.now, { kind: 'told', view })
  }
}

/** The mid of the first outcome as a chance, where there are both sides. */
export function midOf(state: MarketState): number | undefined {
  const track = state.primary
  if (track === undefined || state.inGap) return undefined
  const { ladder, factor } = track
  if (ladder.bestBid === 0 || ladder.bestAsk === ladder.one) return undefined
  const mid = ((ladder.bestBid + ladder.bestAsk) * factor) / 2 / PRICE_ONE
  return track.outcome === 0 ? mid : 1 - mid
}
