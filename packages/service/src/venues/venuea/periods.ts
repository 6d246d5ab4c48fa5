/** How often and how long things are done at venue A, in milliseconds at the speed asked for. */
export type Periods = {
  /** A book of a market inside its window; a hole of 20 s matters in 5 minutes. */
  readonly liveBookMs: number
  /** A book of a market that is listed for later: at least one a minute. */
  readonly listedBookMs: number
  readonly liveTradeMs: number
  readonly listedTradeMs: number
  /** The least time from one walk through the catalogue to the next, and what a page adds to it. */
  readonly sweepMs: number
  readonly pageMs: number
  /** After a failed call. */
  readonly retryMs: number
  /** The wait after so many calls in a row for a book that is wanted before others. */
  hasteMs(calls: number): number
  /** From the start of a round until its start price is asked for. */
  readonly startPriceMs: number
  /** From the end of a round until its resolution is asked for; a winner shows within seconds. */
  readonly resolutionMs: number
  /** The wait after so many polls without a resolution. */
  resolutionPollMs(polls: number): number
  /** Resolutions are not asked for any longer than this. */
  readonly giveUpMs: number
  /** A market is subscribed so long before it opens, for its first frame. */
  readonly aheadMs: number
  /** Frames of a closed market may still come. */
  readonly lingerMs: number
  /** Between attempts with credentials that were refused. */
  readonly credentialsMs: number
  /** Between looks at subscriptions and silence. */
  readonly lookMs: number
}

const SECOND = 1000
const MINUTE = 60 * SECOND

/** The periods at a speed; 1 in production. */
export function createPeriods(speed: number): Periods {
  const at = (ms: number): number => ms / speed
  return {
    liveBookMs: at(20 * SECOND),
    listedBookMs: at(MINUTE),
    liveTradeMs: at(20 * SECOND),
    listedTradeMs: at(10 * MINUTE),
    sweepMs: at(30 * SECOND),
    pageMs: at(5 * SECOND),
    retryMs: at(5 * SECOND),
    hasteMs: (calls) => (calls === 0 ? 0 : at(SECOND * 2 ** Math.min(calls - 1, 10))),
    startPriceMs: at(3 * SECOND),
    resolutionMs: at(2 * SECOND),
    resolutionPollMs: (polls) => at(Math.min(10 * MINUTE, 3 * SECOND * 2 ** Math.min(polls, 10))),
    giveUpMs: at(6 * 60 * MINUTE),
    aheadMs: at(30 * SECOND),
    lingerMs: at(10 * SECOND),
    credentialsMs: at(MINUTE),
    lookMs: at(SECOND),
  }
}

/** A book is asked for once the socket has been quiet for this part of the expected interval. */
export const QUIET_SHARE = 0.65

/** A market that was not heard for this many expected intervals is silent. */
export const SILENT_INTERVALS = 3
