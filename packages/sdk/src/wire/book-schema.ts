import { FLAGS, VENUE_IDS } from '../domain/index.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  listOf,
  objectOf,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type JsonSchema,
} from './json-schema.ts'

const IDENTITY: Readonly<Record<string, JsonSchema>> = {
  id: described(TEXT, 'The row id, `venue:instrument:sequence`: the same everywhere and for ever.'),
  venue: { enum: VENUE_IDS },
  market_id: TEXT,
  condition_id: TEXT_OR_NULL,
  event_id: TEXT_OR_NULL,
  series_ticker: TEXT_OR_NULL,
  outcome: TEXT_OR_NULL,
  token_id: TEXT_OR_NULL,
  source_time: described(TIME_OR_NULL, 'The venue’s clock; null where it gave no time.'),
  received_time: described(TIME, 'The recorder’s clock; never decreases within an instrument.'),
  sequence: described(COUNT, 'The number of the observation within its instrument, from 1.'),
}

const FLAG_LIST: JsonSchema = listOf({ enum: [...Object.keys(FLAGS), 'truncated', 'partial'] })

const NATIVE: JsonSchema = objectOf(
  {
    sid: described(COUNT, 'The venue’s number of the subscription.'),
    connection: described(COUNT, 'Our number of the connection; absent for imported rows.'),
    seq: described(COUNT, 'The venue’s number of the message.'),
  },
  { optional: ['sid', 'connection', 'seq'] },
)

const LADDER: JsonSchema = objectOf(
  { price: listOf(DECIMAL), size: listOf(DECIMAL) },
  { description: 'Prices and sizes of one side, best first.' },
)

const LADDERS = ['bids', 'asks', 'yes', 'no']

/** The schema of a book row; ladders stand in it with `include_orderbook`, buckets with `interval`. */
export const BOOK_ROW_SCHEMA: JsonSchema = objectOf(
  {
    ...IDENTITY,
    bucket_start: TIME,
    bucket_end: TIME,
    age_ms: described({ type: 'number' }, 'How old the book was at the end of its bucket.'),
    observations: described(COUNT, 'Observations in the bucket.'),
    changes: described(COUNT, 'Level changes in the bucket.'),
    best_bid: DECIMAL_OR_NULL,
    best_ask: DECIMAL_OR_NULL,
    mid: DECIMAL_OR_NULL,
    spread: DECIMAL_OR_NULL,
    bid_levels: described(COUNT, 'Levels of the whole book, whatever part of it is shown.'),
    ask_levels: COUNT,
    flags: FLAG_LIST,
    native: NATIVE,
    bids: LADDER,
    asks: LADDER,
    yes: described(LADDER, 'Venue B: the ladder of yes bids as the venue has it.'),
    no: described(LADDER, 'Venue B: the ladder of no bids; asks are 1 − its prices.'),
  },
  {
    optional: ['bucket_start', 'bucket_end', 'age_ms', 'observations', 'changes', ...LADDERS],
    description: 'One observation of a book.',
  },
)

/** The schema of a row of changed levels. */
export const CHANGES_ROW_SCHEMA: JsonSchema = objectOf(
  {
    ...IDENTITY,
    flags: FLAG_LIST,
    native: NATIVE,
    changes: objectOf(
      {
        side: listOf({ enum: ['bid', 'ask'] }),
        price: listOf(DECIMAL),
        size: described(listOf(DECIMAL), 'The new size; 0 where the level is gone.'),
      },
      { description: 'Changed levels; all of the book where the flag `restart` stands.' },
    ),
  },
  { description: 'What one observation changed.' },
)
