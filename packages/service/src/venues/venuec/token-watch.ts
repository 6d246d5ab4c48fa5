import type { Instrument } from '@priorbook/sdk/domain'
import { SilenceDetector } from '../capture/silence.ts'
import type { Followed } from './roster.ts'

/** One subscribed token and what is known of its stream; times are monotonic milliseconds. */
export type WatchedToken = {
  readonly key: string
  readonly instrument: Instrument
  readonly market: Followed
  readonly silence: SilenceDetector
  /** Counts subscriptions: an answer that was asked for under another one says nothing of this one. */
  subscription: number
  /** When a frame last named it. */
  heardMs: number
  /** A full book came since the token was last subscribed or reset. */
  hasBook: boolean
  /** Subscribed since then, and no full book came; undefined once one did. */
  awaitingMs: number | undefined
  /** No request for a missing book before this. */
  askAfterMs: number
  /** When a silence was last looked into, or could begin. */
  checkedMs: number
  /** Whether its market traded when it was last looked at. */
  isTrading: boolean
  comparedMs: number
  /** True while a request is under way. */
  isBusy: boolean
  /** Requests in a row for a first book that brought none. */
  misses: number
  /** Subscriptions in a row that were made anew and brought nothing. */
  failures: number
  /** Comparisons in a row that differed. */
  doubts: number
  /** The socket must bring something until then, or the token is silent. */
  probationMs: number | undefined
}

/** Watches one token of a market. */
export function watchToken(market: Followed, key: string, nowMs: number): WatchedToken {
  return {
    key,
    instrument: { venue: 'venuec', market: market.conditionId, key },
    market,
    silence: new SilenceDetector(SILENT_TOKEN_MS),
    subscription: 0,
    heardMs: -Infinity,
    hasBook: false,
    awaitingMs: undefined,
    askAfterMs: 0,
    checkedMs: nowMs,
    isTrading: false,
    comparedMs: nowMs,
    isBusy: false,
    misses: 0,
    failures: 0,
    doubts: 0,
    probationMs: undefined,
  }
}

/** A subscription that brought no full book for this long is helped by REST; never scaled. */
export const FIRST_BOOK_MS = 3_000
/** A token of a trading market is silent after this, unless it is slow by habit; never scaled. */
export const SILENT_TOKEN_MS = 6_000

/** What a token needs now. */
export type Need = 'nothing' | 'first_book' | 'silence' | 'lost' | 'comparison'

/** Says what a token needs, with comparisons so far apart. */
export function needOf(token: WatchedToken, nowMs: number, comparisonMs: number): Need {
  if (token.isBusy) return 'nothing'
  if (token.probationMs !== undefined) return nowMs > token.probationMs ? 'lost' : 'nothing'
  if (token.awaitingMs !== undefined) {
    const isDue = nowMs - token.awaitingMs > FIRST_BOOK_MS && nowMs >= token.askAfterMs
    return isDue ? 'first_book' : 'nothing'
  }
  const quietMs = nowMs - Math.max(token.heardMs, token.checkedMs)
  if (token.isTrading && token.silence.isSilence(quietMs)) return 'silence'
  return nowMs - token.comparedMs > comparisonMs ? 'comparison' : 'nothing'
}

/** Notes whether the market trades: before it does, silence means nothing. */
export function noteTrading(token: WatchedToken, isTrading: boolean, nowMs: number): void {
  if (isTrading && !token.isTrading) token.checkedMs = nowMs
  token.isTrading = isTrading
}

/** A frame named the token. */
export function noteHeard(token: WatchedToken, nowMs: number): void {
  if (token.heardMs > -Infinity) token.silence.note(nowMs - token.heardMs)
  token.heardMs = nowMs
  token.probationMs = undefined
  token.failures = 0
}
