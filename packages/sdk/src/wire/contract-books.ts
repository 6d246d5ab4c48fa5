import { LADDER_SCHEMA, ROW_FLAG } from './book-schema.ts'
import { MEMBER_IDENTITY, REASON_SCHEMA } from './contract.ts'
import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  FLAG,
  listOf,
  named,
  objectOf,
  ORDER_SIDE,
  orNull,
  ROW_ID,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  wordOf,
  type TypeOf,
} from './json-schema.ts'

const ROW = {
  row_id: described(orNull(ROW_ID), 'The recorded row that the values come from.'),
  received_time: TIME_OR_NULL,
  age_ms: described(DECIMAL_OR_NULL, 'How old the book is at the time.'),
  reason: described(orNull(REASON_SCHEMA), 'Why there is no book.'),
} as const

const MEMBER_BOOK_SCHEMA = named(
  'ContractBook',
  objectOf({
    ...MEMBER_IDENTITY,
    outcome: described(TEXT_OR_NULL, 'The outcome that is Yes of the contract.'),
    bids: orNull(LADDER_SCHEMA),
    asks: orNull(LADDER_SCHEMA),
    source_time: TIME_OR_NULL,
    is_complement: described(FLAG, 'True where the recorded book is that of the other outcome.'),
    flags: listOf(ROW_FLAG),
    ...ROW,
  }),
)

/** The schema of the books of all members at one instant. */
export const CONTRACT_BOOKS_SCHEMA = named(
  'ContractBooks',
  objectOf({ contract_id: TEXT, at: TIME, members: listOf(MEMBER_BOOK_SCHEMA) }),
)

/** The books of all members at one instant, in terms of Yes. */
export type ContractBooksJson = TypeOf<typeof CONTRACT_BOOKS_SCHEMA>

const QUOTE_SCHEMA = named(
  'ContractQuote',
  objectOf({
    ...MEMBER_IDENTITY,
    best_bid: DECIMAL_OR_NULL,
    best_bid_size: DECIMAL_OR_NULL,
    best_ask: DECIMAL_OR_NULL,
    best_ask_size: DECIMAL_OR_NULL,
    row_id: orNull(ROW_ID),
    received_time: TIME_OR_NULL,
    age_ms: described(DECIMAL_OR_NULL, 'Age of the book at the end of the bucket.'),
    reason: described(
      TEXT_OR_NULL,
      'Why there is no book: the reason of a gap, `no_observation` where nothing was received in the bucket, `market_not_open`, `market_closed`, `before_capture` or `plan_window`.',
    ),
  }),
)

/** The schema of a row of aligned snapshots. */
export const CONTRACT_SNAPSHOT_SCHEMA = named(
  'ContractSnapshot',
  objectOf(
    { bucket_start: TIME, bucket_end: TIME, members: listOf(QUOTE_SCHEMA) },
    { description: 'The best prices of every member in one bucket of time.' },
  ),
)

/** A row of aligned snapshots. */
export type ContractSnapshotJson = TypeOf<typeof CONTRACT_SNAPSHOT_SCHEMA>

const FEE_SCHEMA = named(
  'ContractFee',
  objectOf({
    formula: described(TEXT, 'How a taker is charged; p is the price, C the size.'),
    basis: described(
      named('FeeBasis', wordOf(['market', 'table', 'assumed'])),
      '`market`: the market’s own record; `table`: the dated table of published fees.',
    ),
    source: TEXT,
  }),
)

const CONSOLIDATED_MEMBER_SCHEMA = named(
  'ConsolidatedMember',
  objectOf({
    ...MEMBER_IDENTITY,
    outcome: TEXT_OR_NULL,
    is_included: FLAG,
    best_bid: described(DECIMAL_OR_NULL, 'As the venue shows it.'),
    best_ask: DECIMAL_OR_NULL,
    net_bid: described(DECIMAL_OR_NULL, 'After the fee of a taker.'),
    net_ask: DECIMAL_OR_NULL,
    net_no_ask: described(
      DECIMAL_OR_NULL,
      'What No costs after the fee; who buys it takes the best bid of Yes.',
    ),
    fee: orNull(FEE_SCHEMA),
    ...ROW,
  }),
)

const CONSOLIDATED_SIDE_SCHEMA = named(
  'ConsolidatedSide',
  objectOf(
    {
      net_price: described(
        listOf(DECIMAL),
        'What a share costs (asks) or brings (bids) after the fee, best first.',
      ),
      size: described(listOf(DECIMAL), 'What is delivered of the level after the fee.'),
      venue: listOf(VENUE),
      member: described(listOf(COUNT), 'The place of its member in `members`.'),
      price: described(listOf(DECIMAL), 'As the venue shows it.'),
      native_size: listOf(DECIMAL),
    },
    { description: 'Levels of all venues in one order, one list per value.' },
  ),
)

const ORDER_PART_SCHEMA = named(
  'ConsolidatedPart',
  objectOf({
    ...MEMBER_IDENTITY,
    size: described(DECIMAL, 'What is ordered at the venue, in its size unit.'),
    delivered: described(DECIMAL, 'What is held or sold after a fee in shares.'),
    limit_price: described(DECIMAL, 'The worst price that is used.'),
    levels: COUNT,
    amount: described(DECIMAL, 'The sum of price × size.'),
    fee: described(DECIMAL, 'The value of the fee, with the rounding of the venue.'),
    net_amount: described(DECIMAL, 'What is paid or received in cash.'),
  }),
)

const ORDER_SCHEMA = named(
  'ConsolidatedOrder',
  objectOf({
    side: ORDER_SIDE,
    size: DECIMAL,
    filled_size: DECIMAL,
    is_complete: FLAG,
    net_amount: described(DECIMAL, 'Paid or received over all venues, one collateral for one.'),
    fee: DECIMAL,
    average_price: described(
      DECIMAL_OR_NULL,
      '`net_amount` / `filled_size`, rounded against the trader.',
    ),
    parts: described(listOf(ORDER_PART_SCHEMA), 'How the order is split by venue.'),
  }),
)

const PAIR_SCHEMA = named(
  'ConsolidatedPair',
  objectOf({
    yes: described(COUNT, 'The place in `members` of the one on which Yes is bought.'),
    no: described(COUNT, 'The place of the one on which No is bought.'),
    edge: described(
      DECIMAL,
      'What is left of 1 after both prices and fees, per share; may be negative.',
    ),
  }),
)

/** The schema of one book over all venues. */
export const CONSOLIDATED_SCHEMA = named(
  'Consolidated',
  objectOf({
    contract_id: TEXT,
    at: TIME,
    members: listOf(CONSOLIDATED_MEMBER_SCHEMA),
    bids: CONSOLIDATED_SIDE_SCHEMA,
    asks: CONSOLIDATED_SIDE_SCHEMA,
    pair: described(
      orNull(PAIR_SCHEMA),
      'The cheapest Yes and No of two members; null where there are no two.',
    ),
    order: described(orNull(ORDER_SCHEMA), 'The best way to trade `size`; null without a size.'),
    disclaimer: TEXT,
  }),
)

/** One book over all venues. */
export type ConsolidatedJson = TypeOf<typeof CONSOLIDATED_SCHEMA>

const LEG_SCHEMA = named(
  'SpreadLeg',
  objectOf({
    ...MEMBER_IDENTITY,
    outcome: described(TEXT_OR_NULL, 'What is bought there.'),
    price: described(DECIMAL, 'The price of that outcome at the best moment.'),
    net_price: described(DECIMAL, 'The same after the fee.'),
  }),
)

const PROOF_SCHEMA = named(
  'SpreadRows',
  objectOf({
    yes: described(ROW_ID, 'The book of the venue on which Yes is bought.'),
    no: described(ROW_ID, 'The book of the venue on which No is bought.'),
  }),
)

/** The schema of an edge between two venues. */
export const SPREAD_SCHEMA = named(
  'Spread',
  objectOf(
    {
      yes: described(LEG_SCHEMA, 'Where Yes is bought.'),
      no: described(LEG_SCHEMA, 'Where No is bought.'),
      start_time: TIME,
      end_time: TIME,
      duration_ms: DECIMAL,
      ended_by: described(
        named('SpreadEnd', wordOf(['edge', 'gap', 'range'])),
        '`edge`: a book changed; `gap`: a book was not observed any more; `range`: the range ends.',
      ),
      best_edge: described(
        DECIMAL,
        'The most that was left of 1 after both prices and fees, per share.',
      ),
      best_time: TIME,
      fillable_size: described(DECIMAL, 'Shares of each outcome with an edge at that moment.'),
      rows: named(
        'SpreadProof',
        objectOf({
          start: described(PROOF_SCHEMA, 'The books from which the edge began.'),
          best: described(PROOF_SCHEMA, 'The books of the best moment.'),
          end: described(
            orNull(PROOF_SCHEMA),
            'The books that ended it; null unless `ended_by` is edge.',
          ),
        }),
      ),
    },
    { description: 'A span in which Yes at one venue and No at another cost less than they pay.' },
  ),
)

/** An edge between two venues over time. */
export type SpreadJson = TypeOf<typeof SPREAD_SCHEMA>
