import type { MarketStatus, Resolution } from '@priorbook/sdk/domain'
import type { NativeObject } from '../capture/fields.ts'

/** What venue A's two status words and its outcomes say about a market. */
export type MarketState = {
  readonly status?: MarketStatus
  readonly resolution: Resolution['state']
}

/**
 * How `status` of a market maps to ours. REGISTERED only says that the market exists on chain; whether
 * it trades is in `tradingStatus`. Both vendors share the words (Binance shows those of Predict.fun). A
 * word that is not listed leaves our status absent.
 */
export const STATUS_WORDS: ReadonlyMap<string, MarketState | 'by_trading_status'> = new Map<
  string,
  MarketState | 'by_trading_status'
>([
  ['REGISTERED', 'by_trading_status'],
  ['OPEN', 'by_trading_status'],
  ['UNPAUSED', 'by_trading_status'],
  ['PAUSED', { status: 'paused', resolution: 'none' }],
  ['PRICE_PROPOSED', { status: 'determined', resolution: 'proposed' }],
  ['PRICE_DISPUTED', { status: 'disputed', resolution: 'disputed' }],
  ['RESOLVED', { status: 'resolved', resolution: 'final' }],
  ['REMOVED', { status: 'voided', resolution: 'none' }],
])

/** How `tradingStatus` maps to ours. */
export const TRADING_WORDS: ReadonlyMap<string, MarketStatus> = new Map<string, MarketStatus>([
  ['MATCHING_NOT_ENABLED', 'scheduled'],
  ['OPEN', 'open'],
  ['CANCEL_ONLY', 'paused'],
  ['CLOSED', 'closed'],
])

/**
 * Derives the state of a market. `hasResult` is true when its outcomes name a winner or a tie: venue A's
 * status lags behind them, so they win over a word that still says REGISTERED.
 */
export function toMarketState(
  status: string | undefined,
  tradingStatus: string | undefined,
  hasResult: boolean,
): MarketState {
  const known = status === undefined ? 'by_trading_status' : STATUS_WORDS.get(status)
  if (known !== undefined && known !== 'by_trading_status' && known.status !== 'paused') {
    return known
  }
  if (hasResult) return { status: 'resolved', resolution: 'final' }
  if (known !== 'by_trading_status') return known ?? { resolution: 'none' }
  const trading = tradingStatus === undefined ? undefined : TRADING_WORDS.get(tradingStatus)
  return trading === undefined ? { resolution: 'none' } : { status: trading, resolution: 'none' }
}

/** The venue's own words as one text: `REGISTERED/OPEN`, or the one word that it sent. */
export function toStatusNative(
  status: string | undefined,
  tradingStatus: string | undefined,
): string | undefined {
  if (status === undefined || tradingStatus === undefined) return status ?? tradingStatus
  return `${status}/${tradingStatus}`
}

/** The result of a market: the place of the winning outcome, a tie, or unknown. */
export type Result = number | 'tie' | undefined

/**
 * Reads the result of a market from the flags of its outcomes, `winner` (Binance) or `status` WON/LOST
 * (Predict.fun), or from `resolution`, which names the winning outcome. Never from prices, not even from
 * those of the reference feed. It is a tie when all outcomes won, or none of a market that is RESOLVED;
 * then each outcome pays its share (Chainlink rounds that end where they began).
 */
export function readResult(market: NativeObject, outcomes: readonly NativeObject[]): Result {
  const flags = outcomes.map(wonOf)
  const winners = flags.filter((won) => won === true).length
  if (outcomes.length > 1) {
    if (winners === outcomes.length) return 'tie'
    const isResolved = market['status'] === 'RESOLVED'
    if (isResolved && flags.every((won) => won === false)) return 'tie'
  }
  if (winners === 1) return flags.indexOf(true)
  return winners === 0 ? namedWinner(market['resolution'], outcomes) : undefined
}

/** What each outcome pays as decimal text: 1 and 0, or equal shares of a tie of two. */
export function toPayouts(result: Result, count: number): readonly string[] | undefined {
  if (result === undefined) return undefined
  if (result === 'tie') return count === 2 ? ['0.5', '0.5'] : undefined
  return Array.from({ length: count }, (_, index) => (index === result ? '1' : '0'))
}

function wonOf(outcome: NativeObject): boolean | undefined {
  if (typeof outcome['winner'] === 'boolean') return outcome['winner']
  switch (outcome['status']) {
    case 'WON':
      return true
    case 'LOST':
      return false
    default:
      return undefined
  }
}

// Predict.fun repeats the winning outcome as {name, indexSet, status}.
function namedWinner(resolution: unknown, outcomes: readonly NativeObject[]): Result {
  if (typeof resolution !== 'object' || resolution === null) return undefined
  const { name, indexSet, status } = resolution as NativeObject
  if (typeof name !== 'string' || (status !== 'WON' && status !== undefined)) return undefined
  const index = outcomes.findIndex(
    (outcome) =>
      outcome['name'] === name && (indexSet === undefined || outcome['indexSet'] === indexSet),
  )
  return index < 0 ? undefined : index
}
