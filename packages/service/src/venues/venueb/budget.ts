/** How the quota of the REST interface is shared out; rates are requests a second. */
export type Budget = {
  /** How often every series is listed; longer where there are many, so that books keep the larger part. */
  readonly listingMs: number
  readonly bookRate: number
  readonly tradeRate: number
}

// The rest is left to urgent polls and to requests that take more than one page.
const USABLE = 0.9
const TRADE_SHARE = 0.1
const LISTING_SHARE = 0.2
const ENDINGS_SHARE = 0.05
const LEAST_BOOKS = 0.2
/** One of what has not opened, one of what is open. */
const REQUESTS_PER_SERIES = 2

/** Shares out so many requests a second: what listings, trades and endings do not need goes to books. */
export function toBudget(perSecond: number, series: number, fastestListingMs: number): Budget {
  const requests = series * REQUESTS_PER_SERIES
  const listingMs = Math.max(fastestListingMs, (requests * 1000) / (LISTING_SHARE * perSecond))
  const tradeRate = TRADE_SHARE * perSecond
  const others = (requests * 1000) / listingMs + tradeRate + ENDINGS_SHARE * perSecond
  const bookRate = Math.max(LEAST_BOOKS * perSecond, USABLE * perSecond - others)
  return { listingMs, bookRate, tradeRate }
}
