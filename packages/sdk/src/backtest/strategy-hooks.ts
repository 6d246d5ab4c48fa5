import { showValue } from '../domain/index.ts'
import type { MarketState } from './market-state.ts'
import type { OrderView } from './order.ts'
import type { BookView, Strategy, StrategyContext } from './strategy.ts'

/** Where a strategy failed. */
export type Failure = { readonly hook: string; readonly at: number; readonly message: string }

/** Calls one hook of a strategy. */
export type HookCall = (strategy: Strategy, context: StrategyContext) => void

/** Tells a strategy later about its account in a market, and about one order of it. */
export type Answer = (
  market: MarketState,
  order: OrderView | undefined,
  hook: string,
  run: HookCall,
) => void

type DeferredCall = { readonly hook: string; readonly run: HookCall }

// An order, which the strategy sees as it is when the hook is called.
type ToldOrder = { view(): OrderView }

// Max log lines per run, and characters per line.
const MAX_LOGS = 1000
const MAX_LOG_LENGTH = 500

/** Calls the hooks of a strategy. A strategy that throws is stopped: no hook is called again. */
export class StrategyHooks {
  readonly strategy: Strategy
  readonly logs: string[] = []
  failure: Failure | undefined
  /** Set where the venue's answers travel: tells the strategy later, instead of `defer`. */
  answer: Answer | undefined
  private readonly clock: { readonly now: number }
  /** Orders to tell of, and calls of other hooks, in the order in which they were deferred. */
  private readonly deferred: (DeferredCall | ToldOrder | undefined)[] = []
  /** How many entries of `deferred` wait. The array keeps its length: emptying it would allocate it again. */
  private waiting = 0
  private context: StrategyContext | undefined

  constructor(strategy: Strategy, clock: { readonly now: number }) {
    this.strategy = strategy
    this.clock = clock
  }

  get isAlive(): boolean {
    return this.failure === undefined
  }

  /** True where hooks wait for `flush`. */
  get hasDeferred(): boolean {
    return this.waiting > 0
  }

  /** Sets the context that hooks get. */
  setContext(context: StrategyContext): void {
    this.context = context
  }

  /** Calls a hook now. */
  call(hook: string, run: HookCall): void {
    if (!this.isAlive) return
    try {
      run(this.strategy, this.context!)
    } catch (error) {
      this.fail(hook, error)
    }
  }

  /** Calls `onBook`: once per row and run, so without a closure. */
  bookSeen(book: BookView): void {
    if (this.failure !== undefined) return
    try {
      this.strategy.onBook!(book, this.context!)
    } catch (error) {
      this.fail('onBook', error)
    }
  }

  /** Calls `onQuote`, without a closure too. */
  quoteSeen(book: BookView): void {
    if (this.failure !== undefined) return
    try {
      this.strategy.onQuote!(book, this.context!)
    } catch (error) {
      this.fail('onQuote', error)
    }
  }

  /** Calls a hook once the engine has finished its current step, so that the hook sees a valid state. */
  defer(hook: string, run: HookCall): void {
    this.deferred[this.waiting++] = { hook, run }
  }

  /** Calls `onOrder`, which the strategy must have, like `defer`: twice per order, so without a closure. */
  deferOrder(order: ToldOrder): void {
    this.deferred[this.waiting++] = order
  }

  /** Calls the deferred hooks. */
  flush(): void {
    if (this.waiting === 0) return
    const { deferred } = this
    // Hooks may defer more.
    for (let index = 0; index < this.waiting; index++) {
      const each = deferred[index]!
      deferred[index] = undefined
      if ('run' in each) this.call(each.hook, each.run)
      else this.tell(each)
    }
    this.waiting = 0
  }

  private tell(order: ToldOrder): void {
    if (this.failure !== undefined) return
    try {
      this.strategy.onOrder!(order.view(), this.context!)
    } catch (error) {
      this.fail('onOrder', error)
    }
  }

  /** Stops the strategy; the first failure is kept. */
  fail(hook: string, error: unknown): void {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    this.failure ??= { hook, at: this.clock.now, message: message.slice(0, 1000) }
  }

  /** Keeps a log line with its time. */
  log(text: unknown): void {
    if (this.logs.length >= MAX_LOGS) return
    const line = typeof text === 'string' ? text.slice(0, MAX_LOG_LENGTH) : showValue(text)
    this.logs.push(`${this.clock.now} ${line}`)
  }
}
