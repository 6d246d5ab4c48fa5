import { flagNames } from '../domain/index.ts'
import { printSampleValue, type SampleColumns } from '../tape/index.ts'
import { ROW_FLAG } from './book-schema.ts'
import {
  DECIMAL,
  described,
  listOf,
  membersOf,
  named,
  objectOf,
  ORDINAL,
  TIME,
  wordOf,
  type TypeOf,
} from './json-schema.ts'
import { decimalJson, timeJson, type ValueStyle } from './json-values.ts'
import { marketFirst, SAMPLE_IDENTITY, sampleIdentity, type SampleContext } from './trade-sample.ts'

/**
 * The metrics of the price history that venues keep themselves: prices and amounts of candlesticks, and prices
 * at times.
 */
export const HISTORY_METRICS = [
  'open',
  'high',
  'low',
  'close',
  'bid',
  'ask',
  'volume',
  'open_interest',
  'price',
] as const

/** The name of one metric. */
export type HistoryMetric = (typeof HISTORY_METRICS)[number]

/** The schema of a value of the price history. */
export const HISTORY_SCHEMA = named(
  'PriceHistory',
  objectOf(
    {
      ...SAMPLE_IDENTITY,
      metric: named('HistoryMetric', wordOf(HISTORY_METRICS)),
      value: DECIMAL,
      source_time: described(TIME, 'The venue’s time of the value: the end of a candlestick.'),
      received_time: described(TIME, 'When the value was fetched.'),
      sequence: ORDINAL,
      flags: listOf(ROW_FLAG),
    },
    { description: 'One value of the price history that a venue keeps, as it was fetched.' },
  ),
)

/** One value of the price history on the wire. */
export type PriceHistoryJson = TypeOf<typeof HISTORY_SCHEMA>

/** The columns of the price history in CSV, in this order. */
export const HISTORY_CSV_COLUMNS = marketFirst(membersOf(HISTORY_SCHEMA))

/** Renders one value; `ordinal` is its number within its series. */
export function toHistoryJson(
  columns: SampleColumns,
  row: number,
  ordinal: number,
  context: SampleContext<HistoryMetric>,
  style: ValueStyle = {},
): PriceHistoryJson {
  return {
    ...sampleIdentity(context, ordinal),
    metric: context.metric,
    value: decimalJson(printSampleValue(columns, row), style)!,
    // Rows of a venue's history are stored by its clock.
    source_time: timeJson(columns.received[row], style)!,
    received_time: timeJson(columns.source[row], style)!,
    sequence: ordinal,
    flags: flagNames(columns.flags[row]!),
  }
}
