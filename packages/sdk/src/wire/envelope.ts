import { GAP_SCHEMA } from './gap.ts'
import {
  anyOf,
  COUNT,
  described,
  FLAG,
  listOf,
  named,
  objectOf,
  ORDINAL,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  TIME_OR_NULL,
  type JsonSchema,
  type TypeOf,
} from './json-schema.ts'
import { MARKET_SCHEMA } from './market.ts'

/** The version of rows and envelopes; it rises with every addition. */
export const SCHEMA_VERSION = '3.0'

/** The schema of the rows of one instrument in a receipt. */
export const INSTRUMENT_RECEIPT_SCHEMA = named(
  'InstrumentReceipt',
  objectOf({
    key: described(TEXT, 'The part of its row ids between venue and sequence.'),
    first: described(ORDINAL, 'The lowest sequence, whatever the order of the rows.'),
    last: described(ORDINAL, 'The highest sequence.'),
    rows: COUNT,
    head: described(
      TEXT_OR_NULL,
      'SHA-256 of the newest sealed chunk that holds one of the rows; chunks are chained, so it proves the contents of all rows up to the end of that chunk. Null while none of the rows is sealed.',
    ),
  }),
)

/** The rows of one instrument in a receipt. */
export type InstrumentReceiptJson = TypeOf<typeof INSTRUMENT_RECEIPT_SCHEMA>

/** The schema of the receipt of a walk. */
export const RECEIPT_SCHEMA = named(
  'Receipt',
  objectOf(
    {
      rows: COUNT,
      gaps: described(COUNT, 'Gaps that the pages listed.'),
      instruments: described(
        listOf(INSTRUMENT_RECEIPT_SCHEMA),
        'Absent on lists of markets, revisions and gaps, whose rows have no ids with sequences.',
      ),
    },
    {
      optional: ['instruments'],
      description: 'Lets a client check that it got every row of a walk; on the last page.',
    },
  ),
)

/** Lets a client check that it got every row of a walk. */
export type ReceiptJson = TypeOf<typeof RECEIPT_SCHEMA>

/** One thing to know about an answer. */
export type NoticeJson = {
  readonly code: string
  readonly message: string
  readonly [more: string]: unknown
}

/** The schema of a notice. */
export const NOTICE_SCHEMA: JsonSchema<NoticeJson> = named('Notice', {
  type: 'object',
  description: 'One thing to know about the answer, such as why it is empty.',
  properties: { code: TEXT, message: TEXT },
  required: ['code', 'message'],
  additionalProperties: true,
})

const META_MEMBERS = {
  count: described(COUNT, 'Rows of this answer.'),
  range: described(
    orNull(named('ServedRange', objectOf({ start_time: TIME_OR_NULL, end_time: TIME_OR_NULL }))),
    'What was really served.',
  ),
  gaps: described(
    listOf(GAP_SCHEMA),
    'What was not observed between the row before this page and its last row.',
  ),
  market: described(orNull(MARKET_SCHEMA), 'The market as known at the last row of the page.'),
  schema_version: TEXT,
  notices: described(
    listOf(NOTICE_SCHEMA),
    'What to know about the answer, such as why it is empty; always a list.',
  ),
  notice: described(
    anyOf(NOTICE_SCHEMA, listOf(NOTICE_SCHEMA)),
    'The same as it was before `notices`: absent, one notice, or a list of several.',
  ),
  receipt: RECEIPT_SCHEMA,
} as const

const CLOSED_META = objectOf(META_MEMBERS, { optional: ['notice', 'receipt'] })

/** What is beside the data of every answer. */
export type MetaJson = TypeOf<typeof CLOSED_META> & { readonly [more: string]: unknown }

/** The schema of `meta`; routes may add members. */
export const META_SCHEMA: JsonSchema<MetaJson> = named('Meta', {
  ...CLOSED_META,
  additionalProperties: true,
})

/** The schema of `pagination`. */
export const PAGINATION_SCHEMA = named(
  'Pagination',
  objectOf({ next_cursor: TEXT_OR_NULL, has_more: FLAG }),
)

/** The schema of a whole answer around its data. */
export function envelopeOf<T>(data: JsonSchema<T>) {
  return objectOf({ data, meta: META_SCHEMA, pagination: PAGINATION_SCHEMA })
}
