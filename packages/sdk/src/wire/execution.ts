import { LADDER_SCHEMA, ROW_FLAG } from './book-schema.ts'
import { GAP_SCHEMA } from './gap.ts'
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
  ORDINAL,
  orNull,
  ROW_ID,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  withMembers,
  wordOf,
  type JsonSchema,
  type TypeOf,
} from './json-schema.ts'

/** The document's words, in every answer about executions. */
export const DISCLAIMER =
  'The service does not reproduce hidden liquidity, queue priority or the market impact of a real order.'

/** The schema of an evaluated order. */
export const EXECUTION_SCHEMA = named(
  'Execution',
  objectOf(
    {
      venue: VENUE,
      market_id: TEXT,
      outcome: TEXT_OR_NULL,
      token_id: TEXT_OR_NULL,
      side: ORDER_SIDE,
      at: TIME,
      latency_ms: COUNT,
      arrival_time: described(TIME, '`at` and `latency_ms` later: the order meets this book.'),
      size: DECIMAL,
      filled_size: DECIMAL,
      is_complete: FLAG,
      vwap: described(DECIMAL_OR_NULL, 'Exact; a repeating decimal is rounded to 18 digits.'),
      vwap_is_exact: orNull(FLAG),
      cost: described(DECIMAL, 'Exact: the sum of price × size of the levels.'),
      best_price: DECIMAL_OR_NULL,
      worst_price: DECIMAL_OR_NULL,
      price_range: DECIMAL_OR_NULL,
      levels: LADDER_SCHEMA,
      fee: named(
        'ExecutionFee',
        objectOf({
          amount: described(
            DECIMAL_OR_NULL,
            'By the schedule of the record or the published one; rounded where `formula` says so.',
          ),
          rate: DECIMAL_OR_NULL,
          formula: TEXT_OR_NULL,
          source: described(TEXT_OR_NULL, 'Where the schedule comes from.'),
          reason: described(TEXT_OR_NULL, 'Why there is no amount.'),
        }),
      ),
      evidence: named(
        'ExecutionEvidence',
        objectOf({
          row_id: ROW_ID,
          sequence: ORDINAL,
          is_complement: FLAG,
          received_time: TIME,
          source_time: TIME_OR_NULL,
          book_age_ms: DECIMAL,
          flags: listOf(ROW_FLAG),
          next_gap: orNull(named('NextGap', withMembers(GAP_SCHEMA, { distance_ms: DECIMAL }))),
        }),
      ),
      disclaimer: TEXT,
    },
    {
      description: 'What an order would have met in the recorded book.',
    },
  ),
)

/** What an order would have met. */
export type ExecutionJson = TypeOf<typeof EXECUTION_SCHEMA>

const ANYTHING: JsonSchema = { description: 'Any JSON value.' }

/** The schema of a stored row beside its raw message. */
export const AUDIT_SCHEMA = named(
  'Audit',
  objectOf({
    id: ROW_ID,
    kind: named('RowKind', wordOf(['book', 'trade', 'sample'])),
    metric: TEXT_OR_NULL,
    state: named(
      'AuditState',
      wordOf(['equal', 'different', 'raw_expired', 'raw_missing', 'raw_damaged']),
    ),
    detail: TEXT_OR_NULL,
    differences: listOf(TEXT),
    journal_record: COUNT,
    received_time: TIME,
    normalizer_version: COUNT,
    stored: ANYTHING,
    derived: ANYTHING,
    raw: orNull(
      named(
        'RawMessage',
        objectOf({
          text: TEXT,
          encoding: named('RawEncoding', wordOf(['utf8', 'base64'])),
          bytes: COUNT,
          received_time: TIME,
          socket: COUNT,
          origin: TEXT,
          recorder: TEXT,
          request: described(
            ANYTHING,
            'The request that the message answers; null where the venue pushed it.',
          ),
        }),
      ),
    ),
  }),
)

/** A stored row beside its raw message. */
export type AuditJson = TypeOf<typeof AUDIT_SCHEMA>
