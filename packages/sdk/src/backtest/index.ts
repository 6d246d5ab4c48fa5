/** The backtester: what would have happened, and how sure that is. */
export { GAP_POLICIES, type Failure, type GapPolicy } from './cell-options.ts'
export * from './fees/index.ts'
export * from './fill.ts'
export { DEFAULT_LATENCY, type Delay, type LatencyOptions } from './latency.ts'
export type { Assumptions } from './market-state.ts'
export {
  MONEY_DECIMALS,
  MONEY_ONE,
  PRICE_DECIMALS,
  PRICE_ONE,
  parseMoney,
  printMoney,
} from './money.ts'
export * from './order.ts'
export { paper, type PaperOptions } from './paper.ts'
export { QUEUE_MODELS, type QueueModel } from './queue.ts'
export { withoutOutcome, type Revision } from './records.ts'
export * from './report/index.ts'
export type { RuleAssumption } from './rules.ts'
export * from './run.ts'
export * from './strategy.ts'
export * from './why.ts'
