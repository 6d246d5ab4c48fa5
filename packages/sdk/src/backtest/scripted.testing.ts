import type { OrderRequest } from './order.ts'
import { backtest, type BacktestOptions, type BacktestResult } from './run.ts'
import type { Strategy, StrategyContext } from './strategy.ts'
import type { TestTape } from './tape.testing.ts'

/** What a script does at a time; the orders that it sends get ids from 1 on. */
export type Script = readonly (readonly [at: number, act: (context: StrategyContext) => unknown])[]

/** A strategy that does what is written, when it is written. */
export function scripted(script: Script): Strategy {
  return {
    name: 'script',
    onStart({ timerAt }) {
      for (const [index, [at]] of script.entries()) timerAt(at, String(index))
    },
    onTimer({ tag }, context) {
      script[Number(tag)]![1](context)
    },
  }
}

/** Runs a script over a tape without latency, by one queue model. */
export function play(
  tape: TestTape,
  script: Script,
  options: Partial<BacktestOptions> = {},
): Promise<BacktestResult> {
  return backtest({
    events: tape.batches(),
    strategy: scripted(script),
    queue: 'pessimistic',
    latency: { entry: 0, cancel: 0 },
    ...options,
  })
}

/** Sends an order at a time. */
export const send =
  (request: OrderRequest) =>
  ({ order }: StrategyContext): number =>
    order(request)

/** Fills in short: order, price, size, evidence. */
export function fillsOf({ report }: BacktestResult): string[] {
  return report.fills_kept.map(
    ({ order, side, outcome, price, size, evidence, liquidity }) =>
      `${order} ${side} ${outcome} ${price}x${size} ${liquidity} ${evidence}`,
  )
}
