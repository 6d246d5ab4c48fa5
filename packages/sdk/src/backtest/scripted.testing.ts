import type { OrderRequest } from './order.ts'
import { backtest, type BacktestOptions, type BacktestResult } from './run.ts'
import type { Strategy, StrategyContext } from './strategy.ts'
import type { TestTape } from './tape.testing.ts'

/** Actions at times; the orders that they send have ids from 1 on. */
export type Script = readonly (readonly [at: number, act: (context: StrategyContext) => unknown])[]

/** A strategy that runs the actions of a script at their times. */
function scripted(script: Script): Strategy {
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

/** Runs a script over a tape without latency and with one queue model. */
export function play(
  tape: TestTape,
  script: Script,
  options: Partial<BacktestOptions> = {},
): Promise<BacktestResult> {
  return backtest({
    events: tape.batches(),
    strategy: () => scripted(script),
    queue: 'pessimistic',
    latency: { entry: 0, cancel: 0 },
    ...options,
  })
}

/** An action that sends an order. */
export const send =
  (request: OrderRequest) =>
  ({ order }: StrategyContext): number =>
    order(request)

/** Fills as short text: order, side, outcome, price, size, liquidity, evidence. */
export function fillsOf({ report }: BacktestResult): string[] {
  return report.fills_kept.map(
    ({ order, side, outcome, price, size, evidence, liquidity }) =>
      `${order} ${side} ${outcome} ${price}x${size} ${liquidity} ${evidence}`,
  )
}
