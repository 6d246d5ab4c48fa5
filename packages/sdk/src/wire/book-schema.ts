import { FLAGS, type Flag } from '../domain/index.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  listOf,
  named,
  NUMBER,
  objectOf,
  ORDINAL,
  ROW_ID,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  wordOf,
  type TypeOf,
} from './json-schema.ts'

const IDENTITY = {
  id: ROW_ID,
  venue: VENUE,
  market_id: TEXT,
  condition_id: TEXT_OR_NULL,
  event_id: TEXT_OR_NULL,
  series_ticker: TEXT_OR_NULL,
  outcome: TEXT_OR_NULL,
  token_id: TEXT_OR_NULL,
  source_time: described(TIME_OR_NULL, 'The venue’s clock; null where it gave no time.'),
  received_time: described(TIME, 'The recorder’s clock; never decreases within an instrument.'),
  sequence: described(ORDINAL, 'The number of the observation within its instrument, from 1.'),
} as const

/** What is remarkable about an observation; pages add the last two, which say that levels are left out. */
export const ROW_FLAG = named(
  'RowFlag',
  wordOf([...(Object.keys(FLAGS) as Flag[]), 'truncated', 'partial']),
)

const NATIVE = named(
  'BookNative',
  objectOf(
    {
      sid: described(COUNT, 'The venue’s number of the subscription.'),
      connection: described(COUNT, 'Our number of the connection; absent for imported rows.'),
      seq: described(COUNT, 'The venue’s number of the message.'),
    },
    { optional: ['sid', 'connection', 'seq'] },
  ),
)

/** The schema of one side of a book, or of the levels that an order would use. */
export const LADDER_SCHEMA = named(
  'Ladder',
  objectOf(
    { price: listOf(DECIMAL), size: listOf(DECIMAL) },
    { description: 'Prices and sizes of one side, best first.' },
  ),
)

/** One side of a book, best first. */
export type LadderJson = TypeOf<typeof LADDER_SCHEMA>

/** The schema of a book row; ladders are in it with `include_orderbook`, buckets with `interval`. */
export const BOOK_ROW_SCHEMA = named(
  'Book',
  objectOf(
    {
      ...IDENTITY,
      bucket_start: TIME,
      bucket_end: TIME,
      age_ms: described(NUMBER, 'Age of the book at the end of its bucket.'),
      observations: described(COUNT, 'Observations in the bucket.'),
      changes: described(COUNT, 'Level changes in the bucket.'),
      best_bid: DECIMAL_OR_NULL,
      best_ask: DECIMAL_OR_NULL,
      mid: DECIMAL_OR_NULL,
      spread: DECIMAL_OR_NULL,
      bid_levels: described(COUNT, 'Levels of the whole book, whatever part of it is shown.'),
      ask_levels: COUNT,
      flags: listOf(ROW_FLAG),
      native: NATIVE,
      bids: LADDER_SCHEMA,
      asks: LADDER_SCHEMA,
      yes: described(LADDER_SCHEMA, 'Venue B: the ladder of yes bids as the venue has it.'),
      no: described(LADDER_SCHEMA, 'Venue B: the ladder of no bids; asks are 1 − its prices.'),
    },
    {
      optional: [
        'bucket_start',
        'bucket_end',
        'age_ms',
        'observations',
        'changes',
        'bids',
        'asks',
        'yes',
        'no',
      ],
      description: 'One observation of a book.',
    },
  ),
)

/** One observation of a book; ladders with `include_orderbook`, buckets with `interval`. */
export type BookRowJson = TypeOf<typeof BOOK_ROW_SCHEMA>

/** A book row with its ladders: the newest book, or one out of the past. */
export type FullBookRowJson = BookRowJson & Required<Pick<BookRowJson, 'bids' | 'asks'>>

/** The schema of a row of changed levels. */
export const CHANGES_ROW_SCHEMA = named(
  'BookChange',
  objectOf(
    {
      ...IDENTITY,
      flags: listOf(ROW_FLAG),
      native: NATIVE,
      changes: named(
        'ChangedLevels',
        objectOf(
          {
            side: listOf(named('BookSide', wordOf(['bid', 'ask']))),
            price: listOf(DECIMAL),
            size: described(listOf(DECIMAL), 'The new size; 0 where the level is gone.'),
          },
          { description: 'Changed levels; the whole book where the row is flagged `restart`.' },
        ),
      ),
    },
    { description: 'What one observation changed.' },
  ),
)

/** What one observation changed; size 0: the level is gone. */
export type ChangesRowJson = TypeOf<typeof CHANGES_ROW_SCHEMA>
