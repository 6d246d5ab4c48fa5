import { isMarketState } from '../domain/index.ts'
import type { GapJson } from '../wire/index.ts'

/** What the begin or the end of a gap means for who watches a book. */
export function gapWords({ reason, end_time: end }: GapJson): string {
  if (isMarketState(reason)) {
    const state = reason === 'market_closed' ? 'the market has closed' : 'the market has not opened'
    return end === null ? state : 'the market is open again'
  }
  return end === null ? `not observed from now on: ${reason}` : `observed again after: ${reason}`
}
