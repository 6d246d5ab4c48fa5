import {
  COUNT,
  described,
  FLAG,
  listOf,
  named,
  objectOf,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  onlyWord,
  wordOf,
  type TypeOf,
} from './json-schema.ts'
import { INSTRUMENT_RECEIPT_SCHEMA } from './envelope.ts'
import { FILE_DATASETS, FILE_FORMATS } from './routes/params.ts'

const RANGE = named('TimeRange', objectOf({ start_time: TIME, end_time: TIME }))

const FILE_RECEIPT_SCHEMA = named(
  'FileReceipt',
  objectOf({
    rows: COUNT,
    markets: COUNT,
    gaps: COUNT,
    instruments: described(
      listOf(INSTRUMENT_RECEIPT_SCHEMA),
      'Those that have rows in the file, in its order.',
    ),
    first_received_time: TIME_OR_NULL,
    last_received_time: TIME_OR_NULL,
    range: RANGE,
    is_final: described(FLAG, 'No row can be added to the range any more.'),
  }),
)

/** Proves that a file is complete. */
export type FileReceiptJson = TypeOf<typeof FILE_RECEIPT_SCHEMA>

const FILE_SCHEMA = named(
  'ManifestFile',
  objectOf({
    format: named('FileFormat', wordOf(FILE_FORMATS)),
    file_name: TEXT,
    content_type: TEXT,
    bytes: described(COUNT, 'Before any content encoding.'),
    sha256: described(TEXT_OR_NULL, 'Of the whole file; null in an estimate.'),
  }),
)

/** One file of a manifest. */
export type ManifestFileJson = TypeOf<typeof FILE_SCHEMA>

/** The schema of a manifest. */
export const MANIFEST_SCHEMA = named(
  'Manifest',
  objectOf(
    {
      schema_version: TEXT,
      venue: VENUE,
      market_id: TEXT_OR_NULL,
      family: orNull(
        named(
          'Family',
          objectOf({ asset: TEXT_OR_NULL, series: TEXT_OR_NULL, window: TEXT_OR_NULL }),
        ),
      ),
      dataset: named('FileDataset', wordOf(FILE_DATASETS)),
      metric: TEXT_OR_NULL,
      origin: described(
        onlyWord('backfill'),
        'Present for trades and prices of the venue’s history, which are by source time.',
      ),
      feed: described(TEXT_OR_NULL, 'With the dataset reference: its feed; null for all feeds.'),
      range: RANGE,
      known_at: TIME_OR_NULL,
      sort_order: listOf(TEXT),
      is_estimate: FLAG,
      rows: COUNT,
      markets: described(COUNT, 'Markets with rows or gaps in the file; in an estimate with rows.'),
      time_range: orNull(named('RowTimes', objectOf({ first: TIME_OR_NULL, last: TIME_OR_NULL }))),
      schema: named(
        'FileSchema',
        objectOf({
          columns: listOf(
            named('FileColumn', objectOf({ name: TEXT, type: TEXT, is_nullable: FLAG })),
          ),
          csv: listOf(TEXT),
        }),
      ),
      files: listOf(FILE_SCHEMA),
      gap_count: described(orNull(COUNT), 'Gaps in the file, repeated by market.'),
      receipt: orNull(FILE_RECEIPT_SCHEMA),
    },
    { optional: ['feed', 'origin'] },
  ),
)

/** What a download holds. */
export type ManifestJson = TypeOf<typeof MANIFEST_SCHEMA>
