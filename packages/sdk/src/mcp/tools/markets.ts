import {
  COUNT,
  DECIMAL_OR_NULL,
  described,
  listOf,
  membersOf,
  objectOf,
  ROUTES,
  TEXT,
  TEXT_OR_NULL,
  TIME_OR_NULL,
  VENUE,
  type ListedMarketJson,
} from '../../wire/index.ts'
import { CONTINUE, defineTool, endOf, pageOf, pick, questionOf, rowLimit } from '../tool.ts'

const MARKET_ROW = objectOf({
  venue: VENUE,
  market_id: described(TEXT, 'With `venue` it names the market in every other tool.'),
  title: TEXT_OR_NULL,
  asset: TEXT_OR_NULL,
  window: TEXT_OR_NULL,
  status: TEXT_OR_NULL,
  open_time: TIME_OR_NULL,
  close_time: TIME_OR_NULL,
  outcomes: described(listOf(TEXT), 'Prices of lists are those of the first one.'),
  winning_outcome: TEXT_OR_NULL,
  best_bid: DECIMAL_OR_NULL,
  best_ask: DECIMAL_OR_NULL,
  quote_time: described(TIME_OR_NULL, 'When the newest book was received.'),
  observations: described(COUNT, 'Recorded books of the first outcome.'),
  gaps: described(COUNT, 'Spans that were not observed; the tool `gaps` lists them.'),
})

/** Markets by words, asset, window, series or status. */
export const FIND_MARKETS = defineTool({
  name: 'find_markets',
  title: 'Find markets',
  description:
    'Find recorded markets of all venues, with their newest prices and how much is recorded of them.',
  input: questionOf(
    ROUTES.markets.query,
    ['q', 'venue', 'asset', 'window', 'status', 'series', 'event', 'category', 'sort', 'order'],
    { limit: rowLimit(100, 10), continue: CONTINUE },
  ),
  output: pageOf(MARKET_ROW),
  async run({ limit = 10, continue: resume, ...filters }, { client, signal }) {
    const params = { ...filters, limit, number_format: 'string' } as const
    const page = await client.markets(params, { signal, resume }).page()
    return {
      rows: page.data.map(toMarketRow),
      ...endOf(page, 'narrow it by words, venue, asset, window or status'),
    }
  },
})

const COPIED = [
  ...(['venue', 'market_id', 'title', 'asset', 'window', 'status', 'open_time'] as const),
  ...(['close_time', 'winning_outcome', 'best_bid', 'best_ask', 'quote_time'] as const),
] as const

function toMarketRow(market: ListedMarketJson) {
  const { outcomes, coverage } = market
  return {
    ...pick(market, COPIED),
    outcomes: outcomes.map(({ label }) => label),
    observations: coverage.observations,
    gaps: coverage.gaps,
  }
}

const EVENT_ROW = objectOf({
  venue: VENUE,
  event_id: described(TEXT, 'Goes into `event` of find_markets.'),
  title: TEXT_OR_NULL,
  category: TEXT_OR_NULL,
  market_count: COUNT,
  open_market_count: COUNT,
  last_close_time: TIME_OR_NULL,
})

/** Events such as elections, with the number of their markets. */
export const FIND_EVENTS = defineTool({
  name: 'find_events',
  title: 'Find events',
  description:
    'Find events such as an election or a match; find_markets with `event` lists their markets.',
  input: questionOf(
    ROUTES.events.query,
    ['q', 'venue', 'series', 'status', 'category', 'tag', 'sort', 'order'],
    { limit: rowLimit(100, 10), continue: CONTINUE },
  ),
  output: pageOf(EVENT_ROW),
  async run({ limit = 10, continue: resume, ...filters }, { client, signal }) {
    const page = await client.events({ ...filters, limit }, { signal, resume }).page()
    return {
      rows: page.data.map((event) => pick(event, membersOf(EVENT_ROW))),
      ...endOf(page, 'narrow it by words, venue or category'),
    }
  },
})
