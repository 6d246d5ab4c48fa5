import type { EventQueue } from './event-queue.ts'
import type { MarketState } from './market-state.ts'
import type { RunEvent } from './orders.ts'
import { isTrading } from './records.ts'
import type { StrategyHooks } from './strategy-hooks.ts'
import { FrozenMarket } from './views.ts'

/** Tells a strategy once when a market of the run begins, and once when its trading ends. */
export class MarketLife {
  private readonly queue: EventQueue<RunEvent>
  private readonly hooks: StrategyHooks
  private readonly begun = new Set<MarketState>()
  private readonly ended = new Set<MarketState>()

  constructor(queue: EventQueue<RunEvent>, hooks: StrategyHooks) {
    this.queue = queue
    this.hooks = hooks
  }

  /** A row of a market is there: the first one begins it. */
  beginOnce(state: MarketState): void {
    if (this.begun.has(state)) return
    this.begun.add(state)
    if (this.hooks.strategy.onMarketBegin !== undefined) {
      const view = new FrozenMarket(state)
      this.hooks.call('onMarketBegin', (strategy, context) => {
        strategy.onMarketBegin!(view, context)
      })
    }
    this.recordChanged(state)
  }

  /** A record became known: the market may have ended, or end at another time. */
  recordChanged(state: MarketState): void {
    if (this.hooks.strategy.onMarketEnd === undefined || !this.begun.has(state)) return
    if (!isTrading(state.record)) this.end(state)
    else if (state.closesAt < Infinity) {
      this.queue.add(Math.max(state.closesAt, this.queue.now), { kind: 'closeDue', market: state })
    }
  }

  /** A time has come at which the market was to close; a later record may have moved it. */
  closeDue(state: MarketState): void {
    if (state.closesAt <= this.queue.now) this.end(state)
  }

  /** The market no longer trades. */
  end(state: MarketState): void {
    if (this.hooks.strategy.onMarketEnd === undefined) return
    if (!this.begun.has(state) || this.ended.has(state)) return
    this.ended.add(state)
    const view = new FrozenMarket(state)
    this.hooks.defer('onMarketEnd', (strategy, context) => strategy.onMarketEnd!(view, context))
  }
}
