import type { VenueId } from '@priorbook/sdk/domain'
import { OUTCOME_PARAMS } from '../catalogue/outcome-filter.ts'
import {
  BOOK_PARAMS,
  KNOWN_AT_PARAM,
  PAGE_PARAMS,
  RANGE_PARAMS,
  required,
  STYLE_PARAMS,
  timeParam,
} from '../params.ts'

// Venue C has one book a token; the others have one a market.
const tokenParamsOf = (venue: VenueId): Partial<typeof OUTCOME_PARAMS> =>
  venue === 'venuec' ? OUTCOME_PARAMS : {}

/** The parameters of `changes`. */
export const changesParams = (venue: VenueId) => ({
  ...PAGE_PARAMS,
  ...RANGE_PARAMS,
  clock: BOOK_PARAMS.clock,
  ...STYLE_PARAMS,
  ...KNOWN_AT_PARAM,
  ...tokenParamsOf(venue),
})

/** The parameters of `snapshots`. */
export const snapshotsParams = (venue: VenueId) => ({
  ...changesParams(venue),
  include_orderbook: BOOK_PARAMS.include_orderbook,
  depth: BOOK_PARAMS.depth,
  interval: BOOK_PARAMS.interval,
})

/** The parameters of `orderbook/latest`. */
export const latestParams = (venue: VenueId) => ({
  depth: BOOK_PARAMS.depth,
  ...STYLE_PARAMS,
  ...tokenParamsOf(venue),
})

/** The parameters of `orderbook`. */
export const asOfParams = (venue: VenueId) => ({
  at: required(timeParam('The instant: the last book received at or before it.')),
  ...latestParams(venue),
  ...KNOWN_AT_PARAM,
})
