import { flagNames, printScaled, VENUES, type VenueId } from '../domain/index.ts'
import {
  ABSENT,
  SAMPLE_DECIMALS,
  TAKERS,
  type SampleColumns,
  type TradeColumns,
} from '../tape/index.ts'
import { ROW_FLAG } from './book-schema.ts'
import {
  DECIMAL,
  described,
  listOf,
  membersOf,
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
  type JsonSchema,
  type TypeOf,
} from './json-schema.ts'
import { decimalJson, subscriptionOf, timeJson, type ValueStyle } from './json-values.ts'
import type { BookContext } from './page.ts'

const NATIVE_NUMBER: JsonSchema<number | null> = { type: ['integer', 'null'] }

/** The schema of a trade. */
export const TRADE_SCHEMA = named(
  'Trade',
  objectOf(
    {
      /** `venue:instrument/trade:sequence`: observations and trades of an instrument count apart. */
      id: ROW_ID,
      venue: VENUE,
      market_id: TEXT,
      condition_id: TEXT_OR_NULL,
      event_id: TEXT_OR_NULL,
      series_ticker: TEXT_OR_NULL,
      outcome: TEXT_OR_NULL,
      token_id: TEXT_OR_NULL,
      /** The venue's own id of the trade. */
      trade_id: described(TEXT, 'The venue’s own id of the trade.'),
      price: DECIMAL,
      size: DECIMAL,
      /** What the taker did with the outcome of the row. */
      taker_side: described(orNull(ORDER_SIDE), 'What the taker did with the outcome of the row.'),
      source_time: described(TIME_OR_NULL, 'The venue’s clock.'),
      received_time: described(TIME, 'The recorder’s clock.'),
      sequence: ORDINAL,
      flags: listOf(ROW_FLAG),
      native: named(
        'TradeNative',
        objectOf({
          /** The venue's own word for the side. */
          taker_side: described(TEXT_OR_NULL, 'The venue’s own word for the side.'),
          sid: NATIVE_NUMBER,
          seq: NATIVE_NUMBER,
        }),
      ),
    },
    { description: 'One execution print.' },
  ),
)

/** One execution print on the wire. */
export type TradeJson = TypeOf<typeof TRADE_SCHEMA>

/** The columns of a trade in CSV, in this order. */
export const TRADE_CSV_COLUMNS = membersOf(TRADE_SCHEMA)

/** Renders one row of trades; `ordinal` is its number within the instrument. */
export function toTradeJson(
  columns: TradeColumns,
  row: number,
  ordinal: number,
  context: BookContext,
  style: ValueStyle = {},
): TradeJson {
  const { venue, key } = context
  const { priceDecimals, sizeDecimals, nativeSides } = VENUES[venue]
  const taker = TAKERS[columns.taker[row]!] ?? null
  const price = printScaled(columns.price[row]!, priceDecimals)
  const size = printScaled(columns.size[row]!, sizeDecimals)
  return {
    id: `${venue}:${key}/trade:${ordinal}`,
    venue,
    market_id: context.marketId,
    condition_id: context.conditionId ?? null,
    event_id: context.eventId ?? null,
    series_ticker: context.seriesTicker ?? null,
    outcome: context.outcome ?? null,
    token_id: context.tokenId ?? null,
    trade_id: columns.tradeId[row]!,
    price: decimalJson(price, style)!,
    size: decimalJson(size, style)!,
    taker_side: taker,
    source_time: timeJson(present(columns.source[row]!), style),
    received_time: timeJson(columns.received[row], style)!,
    sequence: ordinal,
    flags: flagNames(columns.flags[row]!),
    native: {
      taker_side: taker === null ? null : nativeSides[taker],
      sid: subscriptionOf(columns.channel[row]!) || null,
      seq: present(columns.venueSeq[row]!) ?? null,
    },
  }
}

function present(value: number): number | undefined {
  return value === ABSENT ? undefined : value
}

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
  readonly eventId?: string | undefined
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
      event_id: TEXT_OR_NULL,
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
  const others: readonly string[] = SAMPLE_METRICS.filter((name) => name !== metric)
  return membersOf(SAMPLE_SCHEMA).filter((name) => !others.includes(name))
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
    event_id: context.eventId ?? null,
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
