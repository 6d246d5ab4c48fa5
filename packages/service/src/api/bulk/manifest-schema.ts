import {
  COUNT,
  described,
  FLAG,
  listOf,
  objectOf,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type JsonSchema,
} from '@priorbook/sdk/wire'
import { BULK_FORMATS, DATASETS } from './params.ts'

const RANGE = objectOf({ start_time: TIME, end_time: TIME })

const RECEIPT = objectOf({
  rows: COUNT,
  markets: COUNT,
  gaps: COUNT,
  first_id: TEXT_OR_NULL,
  last_id: TEXT_OR_NULL,
  first_received_time: TIME_OR_NULL,
  last_received_time: TIME_OR_NULL,
  range: RANGE,
  is_final: described(FLAG, 'No row can be added to the range any more.'),
  ids_sha256: described(TEXT, 'Of the row ids in the order of the file, each with a line feed.'),
})

const FILE = objectOf({
  format: { enum: [...BULK_FORMATS] },
  file_name: TEXT,
  content_type: TEXT,
  bytes: described(COUNT, 'Before any content encoding.'),
  sha256: described(TEXT_OR_NULL, 'Of the whole file; null in an estimate.'),
})

/** The schema of a manifest. */
export const MANIFEST_SCHEMA: JsonSchema = objectOf({
  schema_version: TEXT,
  venue: TEXT,
  market_id: TEXT_OR_NULL,
  family: orNull(objectOf({ asset: TEXT_OR_NULL, series: TEXT_OR_NULL, window: TEXT_OR_NULL })),
  dataset: { enum: [...DATASETS] },
  metric: TEXT_OR_NULL,
  range: RANGE,
  known_at: TIME_OR_NULL,
  sort_order: listOf(TEXT),
  is_estimate: FLAG,
  rows: COUNT,
  markets: described(COUNT, 'Markets with rows or gaps in the file; in an estimate with rows.'),
  time_range: orNull(objectOf({ first: TIME_OR_NULL, last: TIME_OR_NULL })),
  schema: objectOf({
    columns: listOf(objectOf({ name: TEXT, type: TEXT, is_nullable: FLAG })),
    csv: listOf(TEXT),
  }),
  files: listOf(FILE),
  gap_count: described({ type: ['integer', 'null'] }, 'Gaps in the file, repeated by market.'),
  receipt: orNull(RECEIPT),
})
