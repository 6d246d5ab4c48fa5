import type { MarketRecord, VenueId } from '../domain/index.ts'
import {
  COUNT,
  DECIMAL_OR_NULL,
  described,
  FLAG,
  FLAG_OR_NULL,
  listOf,
  named,
  objectOf,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  TIME_OR_NULL,
  VENUE,
  withMembers,
  wordOf,
  type TypeOf,
} from './json-schema.ts'
import { decimalJson, timeJson, type ValueStyle } from './json-values.ts'
import { MARKET_STATUS_SCHEMA } from './market-common.ts'
import { QUOTE_COVERAGE_SCHEMA, type QuoteJson } from './market.ts'

/** The schema of an event in a list. */
export const EVENT_SCHEMA = named(
  'Event',
  objectOf(
    {
      venue: VENUE,
      event_id: described(TEXT, 'The venue’s own id of the event.'),
      address: described(TEXT, 'Where the event is with its markets.'),
      title: TEXT_OR_NULL,
      slug: TEXT_OR_NULL,
      category: described(TEXT_OR_NULL, 'The venue’s own heading, such as Politics.'),
      tags: described(listOf(TEXT), 'The venue’s own labels.'),
      series: TEXT_OR_NULL,
      asset: described(TEXT_OR_NULL, 'The underlying of all its markets; null where they differ.'),
      is_exclusive: described(
        FLAG_OR_NULL,
        'True where at most one market of the event can end with Yes.',
      ),
      is_neg_risk: described(
        FLAG_OR_NULL,
        'True where No of one market can be converted into Yes of all others.',
      ),
      market_count: described(COUNT, 'How many markets of the event are recorded.'),
      open_market_count: COUNT,
      first_open_time: described(TIME_OR_NULL, 'When its first market opened.'),
      last_close_time: described(
        TIME_OR_NULL,
        'When its last market closes; null where a market has no close time.',
      ),
    },
    { description: 'What a venue groups markets by, such as an election.' },
  ),
)

/** An event in a list. */
export type EventJson = TypeOf<typeof EVENT_SCHEMA>

/** The columns of events as CSV. */
export const EVENT_COLUMNS: readonly (keyof EventJson)[] = [
  ...(['venue', 'event_id', 'address', 'title', 'slug', 'category', 'tags', 'series'] as const),
  ...(['asset', 'is_exclusive', 'is_neg_risk', 'market_count', 'open_market_count'] as const),
  ...(['first_open_time', 'last_close_time'] as const),
]

const EVENT_MARKET_SCHEMA = named(
  'EventMarket',
  objectOf(
    {
      market_id: TEXT,
      address: described(TEXT, 'Where the market is.'),
      outcome: described(TEXT_OR_NULL, 'Its name in the event: a candidate, a range, a team.'),
      title: TEXT_OR_NULL,
      asset: TEXT_OR_NULL,
      status: orNull(MARKET_STATUS_SCHEMA),
      open_time: TIME_OR_NULL,
      close_time: TIME_OR_NULL,
      winning_outcome: described(TEXT_OR_NULL, 'The label of the outcome that won.'),
      volume: DECIMAL_OR_NULL,
      token_id: described(TEXT_OR_NULL, 'The token of the first outcome, whose prices follow.'),
      best_bid: described(DECIMAL_OR_NULL, 'Of the first outcome, in the newest recorded book.'),
      best_ask: DECIMAL_OR_NULL,
      spread: DECIMAL_OR_NULL,
      last_price: described(DECIMAL_OR_NULL, 'The last execution of the first outcome.'),
      last_price_time: TIME_OR_NULL,
      quote_time: described(TIME_OR_NULL, 'When the newest book was received.'),
      coverage: QUOTE_COVERAGE_SCHEMA,
      has_open_gap: described(
        FLAG,
        'True for an open market of which nothing was observed since its newest book.',
      ),
    },
    { description: 'A market of an event, with the prices of its first outcome.' },
  ),
)

/** A market of an event. */
export type EventMarketJson = TypeOf<typeof EVENT_MARKET_SCHEMA>

/** Why a price of a market is not in the sum over its event. */
export const LEFT_OUT_REASONS = ['not_open', 'no_book', 'open_gap', 'no_bid', 'no_ask'] as const

const EVENT_SUMS_SCHEMA = named(
  'EventSums',
  objectOf(
    {
      best_bid: described(DECIMAL_OR_NULL, 'The sum of the best bids; null where there is none.'),
      best_ask: described(DECIMAL_OR_NULL, 'The sum of the best asks; null where there is none.'),
      bid_count: described(COUNT, 'How many markets the sum of bids counts.'),
      ask_count: COUNT,
      left_out: listOf(
        named(
          'EventSumsLeftOut',
          objectOf({
            market_id: TEXT,
            reason: named('EventSumsReason', wordOf(LEFT_OUT_REASONS)),
          }),
        ),
      ),
    },
    {
      description:
        'The best prices of the first outcomes, added up over the open books without a gap. A sum that leaves a market out says nothing about the whole event.',
    },
  ),
)

/** The sums of best prices over an event. */
export type EventSumsJson = TypeOf<typeof EVENT_SUMS_SCHEMA>

/** The schema of an event with its markets. */
export const EVENT_WITH_MARKETS_SCHEMA = named(
  'EventWithMarkets',
  withMembers(EVENT_SCHEMA, {
    conversion: described(TEXT_OR_NULL, 'The rule by which positions of its markets convert.'),
    sums: orNull(EVENT_SUMS_SCHEMA),
    markets: listOf(EVENT_MARKET_SCHEMA),
  }),
)

/** An event with its markets. */
export type EventWithMarketsJson = TypeOf<typeof EVENT_WITH_MARKETS_SCHEMA>

/** The schema of a heading of a venue. */
export const CATEGORY_SCHEMA = named(
  'Category',
  objectOf({
    venue: VENUE,
    category: TEXT,
    market_count: described(orNull(COUNT), 'Null for a plan that does not reach back to all.'),
    open_market_count: COUNT,
    event_count: orNull(COUNT),
    open_event_count: described(COUNT, 'Events with an open market.'),
  }),
)

/** A heading of a venue. */
export type CategoryJson = TypeOf<typeof CATEGORY_SCHEMA>

/** The rule of negative-risk events in words. */
export const NEG_RISK_CONVERSION =
  'One No share of each of n markets converts into one Yes share of every other market of the event, and n − 1 units of collateral.'

/** The address of an event. */
export function eventAddress(venue: VenueId, eventId: string): string {
  return `/v3/events/${encodeURIComponent(eventId)}?venue=${venue}`
}

/** Renders a market of an event. */
export function toEventMarket(
  record: MarketRecord,
  address: string,
  quote: QuoteJson,
  hasOpenGap: boolean,
  style: ValueStyle,
): EventMarketJson {
  return {
    market_id: record.marketId,
    address,
    outcome: record.event?.outcome ?? null,
    title: record.title ?? null,
    asset: record.asset ?? null,
    status: record.status ?? null,
    open_time: timeJson(record.openTime, style),
    close_time: timeJson(record.closeTime, style),
    winning_outcome: record.winningOutcome ?? null,
    volume: decimalJson(record.volume, style),
    token_id: record.outcomes.find(({ index }) => index === 0)?.tokenId ?? null,
    best_bid: quote.best_bid,
    best_ask: quote.best_ask,
    spread: quote.spread,
    last_price: quote.last_price,
    last_price_time: quote.last_price_time,
    quote_time: quote.quote_time,
    coverage: quote.coverage,
    has_open_gap: hasOpenGap,
  }
}
