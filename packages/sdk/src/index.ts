/**
 * The front door: the client, and the words that it uses. The tape codec, replay and backtest have
 * doors of their own (`@priorbook/sdk/tape`, `/replay`, `/backtest`).
 */
export * from './client/index.ts'
export {
  ERROR_CODES,
  FLAGS,
  GAP_REASONS,
  isVenueId,
  MARKET_STATUSES,
  PriorbookError,
  VENUE_IDS,
  VENUES,
  type ErrorCode,
  type Flag,
  type GapReason,
  type MarketStatus,
  type VenueId,
} from './domain/index.ts'
export {
  PROBLEMS,
  STREAM_CLOSE_CODES,
  type DatasetCoverageJson,
  type DayCoverageJson,
  type GapJson,
  type InstrumentCoverageJson,
  type MarketJson,
  type MarketSelector,
  type ProblemCode,
  type SampleJson,
  type StreamMessage,
  type StreamRequest,
  type StreamStyle,
  type TimeJson,
  type TradeJson,
  type VenueAMarketJson,
  type VenueBMarketJson,
  type VenueCMarketJson,
} from './wire/index.ts'
