/** The backtester: simulates strategies on recorded books and reports how certain the results are. */
export type { AccountLimits } from './account-limits.ts'
export * from './feeds/data-feed.ts'
export * from './fees.ts'
export { DEFAULT_LATENCY, type Delay, type LatencyOptions } from './run-options.ts'
export * from './log/compare-logs.ts'
export { messageTime, orderMessages } from './log/order-messages.ts'
export { replayLog, type ReplayLogOptions } from './log/replay-log.ts'
export * from './log/run-log.ts'
export type { Assumptions } from './market-state.ts'
export {
  MONEY_DECIMALS,
  MONEY_ONE,
  PRICE_DECIMALS,
  PRICE_ONE,
  notional,
  parseMoney,
  printMoney,
} from './money.ts'
export * from './net-price.ts'
export * from './order.ts'
export { paper, type PaperOptions } from './paper.ts'
export { QUEUE_MODELS, type QueueModel } from './queue.ts'
export { withoutOutcome, type Revision } from './records.ts'
export { createRandom } from './random.ts'
export * from './report/index.ts'
export { GAP_POLICIES, type GapPolicy } from './run-options.ts'
export * from './rolling/find-markets.ts'
export * from './run.ts'
export type { Failure } from './strategy-hooks.ts'
export * from './strategy.ts'
export {
  deflateSharpe,
  sharpeOf,
  type DeflatedSharpe,
  type Sharpe,
} from './sweep/deflated-sharpe.ts'
export * from './sweep/param-space.ts'
export { sweepHtml } from './sweep/sweep-html.ts'
export {
  summarizeSweep,
  type HeatMap,
  type SweepAxis,
  type SweepCell,
  type SweepSummary,
} from './sweep/sweep-summary.ts'
export * from './sweep/walk-forward.ts'
export { FEE_TABLE, rulesOf, scheduleOf, type RuleAssumption } from './venues/index.ts'
export type { TickRange } from './venues/profile.ts'
export { printWhy, type BookGlance, type Why, type WhyStep } from './why.ts'
