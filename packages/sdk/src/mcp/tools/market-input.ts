import { described, PARAM_TEXTS, TEXT, VENUE } from '../../wire/index.ts'

/** Names one market; both members come from find_markets. */
export const MARKET_INPUT = {
  venue: VENUE,
  market_id: described(TEXT, 'The venue’s own id of the market, as find_markets gives it.'),
} as const

/** What a question must have to name a market. */
export const MARKET_NEEDED = ['venue', 'market_id'] as const

/** The instant that a question is about; now where absent. */
export const AT = described(TEXT, `${PARAM_TEXTS['at']} Now where absent.`)
