/** How often and how long things are done at venue A, in milliseconds at the given speed. */
export type Periods = {
  /** Expected interval of books inside a market's window, where a hole of 20 s matters. */
  readonly liveBookMs: number
  /** Expected interval of books of a market that is listed for later. */
  readonly listedBookMs: number
  /** Expected interval of books of markets other than rounds: many of them change a few times a day. */
  readonly quietBookMs: number
  readonly liveTradeMs: number
  readonly listedTradeMs: number
  /** Min time between two sweeps of the catalogue, and what each page adds to it. */
  readonly sweepMs: number
  readonly pageMs: number
  /** Min time between two sweeps of a category, and between two requests of all categories. */
  readonly categoryMs: number
  readonly categoriesMs: number
  /** The wait after a failed call. */
  readonly retryMs: number
  /** The wait after this many calls in a row for a book that was closed. */
  recoveryMs(calls: number): number
  /** From the start of a round until its start price is requested. */
  readonly startPriceMs: number
  /** From the end of a round until its resolution is requested; a winner shows within seconds. */
  readonly resolutionMs: number
  /** The wait after this many polls without a resolution. */
  resolutionPollMs(polls: number): number
  /** Max time for which a resolution is polled. */
  readonly giveUpMs: number
  /** How long before its opening a market is subscribed, for its first frame. */
  readonly aheadMs: number
  /** How long frames of a closed market may still come. */
  readonly lingerMs: number
  /** Between attempts with refused credentials. */
  readonly credentialsMs: number
  /** Between decisions about which markets are recorded. */
  readonly reviewMs: number
  /** Between checks of subscriptions and silence. */
  readonly checkMs: number
}

const SECOND = 1000
const MINUTE = 60 * SECOND

/** Creates the periods at a speed; 1 in production. */
export function createPeriods(speed: number): Periods {
  const at = (ms: number): number => ms / speed
  return {
    liveBookMs: at(20 * SECOND),
    listedBookMs: at(MINUTE),
    quietBookMs: at(10 * MINUTE),
    liveTradeMs: at(20 * SECOND),
    listedTradeMs: at(10 * MINUTE),
    sweepMs: at(30 * SECOND),
    pageMs: at(5 * SECOND),
    categoryMs: at(5 * MINUTE),
    categoriesMs: at(60 * MINUTE),
    retryMs: at(5 * SECOND),
    recoveryMs: (calls) => (calls === 0 ? 0 : at(SECOND * 2 ** Math.min(calls - 1, 10))),
    startPriceMs: at(3 * SECOND),
    resolutionMs: at(2 * SECOND),
    resolutionPollMs: (polls) => at(Math.min(10 * MINUTE, 3 * SECOND * 2 ** Math.min(polls, 10))),
    giveUpMs: at(6 * 60 * MINUTE),
    aheadMs: at(30 * SECOND),
    lingerMs: at(10 * SECOND),
    credentialsMs: at(MINUTE),
    reviewMs: at(MINUTE),
    checkMs: at(SECOND),
  }
}

/** A book is requested once the socket has been quiet for this part of the expected interval. */
export const QUIET_SHARE = 0.65

/** A market without a book for this many expected intervals is silent. */
export const SILENT_INTERVALS = 3
