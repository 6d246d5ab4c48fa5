import type { MarketStatus, Resolution } from '@priorbook/sdk/domain'

/** What venue A's two status words and its outcomes say of a market's life. */
export type Life = {
  readonly status?: MarketStatus
  readonly state: Resolution['state']
}

/**
 * How `status` of a market maps to ours. REGISTERED only says that the market exists on chain:
 * whether it trades is in `tradingStatus`. Both vendors share the words (Binance shows those of
 * Predict.fun); a word that is not listed leaves our status absent.
 */
export const STATUS_WORDS: ReadonlyMap<string, Life | 'by_trading_status'> = new Map<
  string,
  Life | 'by_trading_status'
>([
  ['REGISTERED', 'by_trading_status'],
  ['OPEN', 'by_trading_status'],
  ['UNPAUSED', 'by_trading_status'],
  ['PAUSED', { status: 'paused', state: 'none' }],
  ['PRICE_PROPOSED', { status: 'determined', state: 'proposed' }],
  ['PRICE_DISPUTED', { status: 'disputed', state: 'disputed' }],
  ['RESOLVED', { status: 'resolved', state: 'final' }],
  ['REMOVED', { status: 'voided', state: 'none' }],
])

/** How `tradingStatus` maps to ours. */
export const TRADING_WORDS: ReadonlyMap<string, MarketStatus> = new Map<string, MarketStatus>([
  ['MATCHING_NOT_ENABLED', 'scheduled'],
  ['OPEN', 'open'],
  ['CANCEL_ONLY', 'paused'],
  ['CLOSED', 'closed'],
])

/**
 * The life of a market. `isEnded` is that its outcomes name a winner or a tie: venue A's status
 * lags behind them, so they win over a word that still says REGISTERED.
 */
export function toLife(
  status: string | undefined,
  tradingStatus: string | undefined,
  isEnded: boolean,
): Life {
  const known = status === undefined ? 'by_trading_status' : STATUS_WORDS.get(status)
  if (known !== undefined && known !== 'by_trading_status' && known.status !== 'paused') {
    return known
  }
  if (isEnded) return { status: 'resolved', state: 'final' }
  if (known !== 'by_trading_status') return known ?? { state: 'none' }
  const trading = tradingStatus === undefined ? undefined : TRADING_WORDS.get(tradingStatus)
  return trading === undefined ? { state: 'none' } : { status: trading, state: 'none' }
}

/** The venue's own words as one text: `REGISTERED/OPEN`, or the one that it gave. */
export function toStatusNative(
  status: string | undefined,
  tradingStatus: string | undefined,
): string | undefined {
  if (status === undefined || tradingStatus === undefined) return status ?? tradingStatus
  return `${status}/${tradingStatus}`
}
