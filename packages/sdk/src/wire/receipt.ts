import {
  COUNT,
  described,
  listOf,
  named,
  objectOf,
  ORDINAL,
  TEXT,
  TEXT_OR_NULL,
  type TypeOf,
} from './json-schema.ts'

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
      instruments: listOf(INSTRUMENT_RECEIPT_SCHEMA),
    },
    { description: 'Lets a client check that it got every row of a walk; on the last page.' },
  ),
)

/** Lets a client check that it got every row of a walk. */
export type ReceiptJson = TypeOf<typeof RECEIPT_SCHEMA>
