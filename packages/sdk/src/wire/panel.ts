import { GAP_REASONS, type GapReason } from '../domain/index.ts'
import {
  DECIMAL_OR_NULL,
  described,
  membersOf,
  named,
  NUMBER,
  objectOf,
  orNull,
  ROW_ID,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  wordOf,
  type JsonSchema,
  type TypeOf,
} from './json-schema.ts'
import { REFERENCE_FEED } from './reference.ts'

const REASONS = Object.keys(GAP_REASONS) as GapReason[]
const OFFSET: JsonSchema<number> = { type: 'integer', maximum: 0 }

/** The schema of a round at an offset from its close. */
export const PANEL_SCHEMA = named(
  'PanelRow',
  objectOf(
    {
      venue: VENUE,
      market_id: described(TEXT, 'The venue’s own identifier of the market.'),
      event_id: described(TEXT_OR_NULL, 'The venue’s own id of the event.'),
      asset: described(TEXT_OR_NULL, 'The underlying, such as BTC.'),
      window: described(TEXT_OR_NULL, 'The length of the round, such as 15m.'),
      open_time: TIME_OR_NULL,
      close_time: TIME,
      strike: described(
        DECIMAL_OR_NULL,
        'The price of the underlying that decides the market: a fixed strike, or the price at the start of the round.',
      ),
      offset_s: described(OFFSET, 'Seconds from the close: −60 is a minute before it.'),
      at: described(TIME, 'The instant: close_time plus the offset.'),
      outcome: described(TEXT_OR_NULL, 'The first outcome, whose book this is: Yes or Up.'),
      best_bid: DECIMAL_OR_NULL,
      bid_size: described(DECIMAL_OR_NULL, 'The size at the best bid.'),
      best_ask: DECIMAL_OR_NULL,
      ask_size: described(DECIMAL_OR_NULL, 'The size at the best ask.'),
      mid: described(DECIMAL_OR_NULL, 'Exact; null unless both sides have a price.'),
      book_id: described(orNull(ROW_ID), 'The row of the book: the last at or before the instant.'),
      book_time: described(TIME_OR_NULL, 'When that row was received.'),
      age_ms: described(orNull(NUMBER), 'How long before the instant that was.'),
      gap: described(
        orNull(named('PanelGap', wordOf([...REASONS, 'plan_window']))),
        'Why there is no book at the instant; null where there is one.',
      ),
      reference_feed: described(
        orNull(REFERENCE_FEED),
        'The feed that the venue settles the round on, where it publishes it.',
      ),
      reference_price: described(
        DECIMAL_OR_NULL,
        'The last price of that feed at or before the instant.',
      ),
      reference_age_ms: described(orNull(NUMBER), 'How long before the instant it was received.'),
      reference_gap: described(
        orNull(named('PanelReferenceGap', wordOf([...REASONS, 'plan_window', 'no_feed']))),
        'Why there is no price; `no_feed` where the venue publishes none that the round settles on.',
      ),
      resolution_state: described(
        orNull(named('ResolutionState', wordOf(['none', 'proposed', 'disputed', 'final']))),
        'How far the resolution has come, as known now.',
      ),
      winning_outcome: described(TEXT_OR_NULL, 'The label of the outcome that won.'),
      settlement_value: described(
        DECIMAL_OR_NULL,
        'What one of the first outcome paid, once the resolution is final and the venue said it.',
      ),
      end_price: described(
        DECIMAL_OR_NULL,
        'The price of the underlying at the end of the round, as the venue said it.',
      ),
    },
    { description: 'The first outcome’s best prices some seconds before a round closed.' },
  ),
)

/** A round at an offset from its close, on the wire. */
export type PanelRowJson = TypeOf<typeof PANEL_SCHEMA>

/** The columns of panels in every format, in this order. */
export const PANEL_COLUMNS = membersOf(PANEL_SCHEMA)
