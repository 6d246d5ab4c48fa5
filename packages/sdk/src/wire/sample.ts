import { flagNames, printScaled, type VenueId } from '../domain/index.ts'
import { ABSENT, SAMPLE_DECIMALS, type SampleColumns } from '../tape/index.ts'
import { ROW_FLAG } from './book-schema.ts'
import {
  DECIMAL,
  described,
  listOf,
  named,
  objectOf,
  ORDINAL,
  ROW_ID,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  type TypeOf,
} from './json-schema.ts'
import { decimalJson, timeJson, type ValueStyle } from './json-values.ts'

/** The metrics of samples, each a series of its own. */
export const SAMPLE_METRICS = ['chance', 'price', 'last_trade'] as const

/** The name of one metric. */
export type SampleMetric = (typeof SAMPLE_METRICS)[number]

/** The identity that every sample of one outcome carries. */
export type SampleContext = {
  readonly venue: VenueId
  readonly key: string
  readonly metric: SampleMetric
  readonly marketId: string
  readonly topicId?: string | undefined
  readonly conditionId?: string | undefined
  readonly outcome?: string | undefined
  readonly tokenId?: string | undefined
}

/** The schema of a sample: exactly one of the three values is present, under its metric's name. */
export const SAMPLE_SCHEMA = named(
  'Sample',
  objectOf(
    {
      /** `venue:token/metric:sequence`. */
      id: ROW_ID,
      venue: VENUE,
      topic_id: TEXT_OR_NULL,
      market_id: TEXT,
      condition_id: TEXT_OR_NULL,
      outcome: TEXT_OR_NULL,
      token_id: TEXT_OR_NULL,
      source_time: described(TIME_OR_NULL, 'The venue’s clock; null where it gave none.'),
      received_time: described(TIME, 'The recorder’s clock.'),
      sequence: ORDINAL,
      chance: described(DECIMAL, 'The displayed probability signal.'),
      price: described(DECIMAL, 'The displayed quoted market value.'),
      last_trade: described(DECIMAL, 'The newest execution sample.'),
      flags: listOf(ROW_FLAG),
    },
    {
      optional: SAMPLE_METRICS,
      description: 'One sample of one metric; its value is named after the metric.',
    },
  ),
)

/** One sample on the wire. */
export type SampleJson = TypeOf<typeof SAMPLE_SCHEMA>

/** The columns of samples of one metric in CSV, in this order. */
export function sampleCsvColumns(metric: SampleMetric): readonly (keyof SampleJson)[] {
  return [
    'id',
    'venue',
    'topic_id',
    'market_id',
    'condition_id',
    'outcome',
    'token_id',
    'source_time',
    'received_time',
    'sequence',
    metric,
    'flags',
  ]
}

/** Renders one row of samples; `ordinal` is its number within its series. */
export function toSampleJson(
  columns: SampleColumns,
  row: number,
  ordinal: number,
  context: SampleContext,
  style: ValueStyle = {},
): SampleJson {
  const { venue, key, metric } = context
  const source = columns.source[row]!
  return {
    id: `${venue}:${key}/${metric}:${ordinal}`,
    venue,
    topic_id: context.topicId ?? null,
    market_id: context.marketId,
    condition_id: context.conditionId ?? null,
    outcome: context.outcome ?? null,
    token_id: context.tokenId ?? null,
    source_time: timeJson(source === ABSENT ? undefined : source, style),
    received_time: timeJson(columns.received[row], style)!,
    sequence: ordinal,
    [metric]: decimalJson(printScaled(columns.value[row]!, SAMPLE_DECIMALS), style)!,
    flags: flagNames(columns.flags[row]!),
  }
}
