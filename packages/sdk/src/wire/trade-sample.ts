import {
  flagNames,
  isBackfillKey,
  printScaled,
  readTradeNative,
  TRADE_NATIVE_FIELDS,
  VENUES,
  type TradeNative,
  type TradeNativeField,
  type VenueId,
} from '../domain/index.ts'
import {
  ABSENT,
  printSampleValue,
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

const { taker_side: TAKER_WORD, is_block_trade: BLOCK_TRADE, ...SAID } = TRADE_NATIVE_FIELDS

const TEXT_OR_NUMBER: JsonSchema<string | number> = { type: ['string', 'number'] }

const SAID_MEMBERS = Object.fromEntries(
  Object.entries(SAID).map(([name, text]) => [name, described(TEXT_OR_NUMBER, text)]),
) as Readonly<Record<keyof typeof SAID, JsonSchema<string | number>>>

const BOOLEAN: JsonSchema<boolean> = { type: 'boolean' }

const TRADE_NATIVE_SCHEMA = named(
  'TradeNative',
  objectOf(
    {
      taker_side: described(TEXT_OR_NULL, TAKER_WORD),
      ...SAID_MEMBERS,
      is_block_trade: described(BOOLEAN, BLOCK_TRADE),
      sid: NATIVE_NUMBER,
      seq: NATIVE_NUMBER,
    },
    {
      optional: ['is_block_trade', ...(Object.keys(SAID) as (keyof typeof SAID)[])],
      description: 'What the message said in the venue’s own words, unchanged.',
    },
  ),
)

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
      native: TRADE_NATIVE_SCHEMA,
    },
    { description: 'One execution print.' },
  ),
)

/** One execution print on the wire. */
export type TradeJson = TypeOf<typeof TRADE_SCHEMA>

/** The columns of a trade in CSV, in this order: those of Arrow and Parquet. */
export const TRADE_CSV_COLUMNS: readonly string[] = [
  ...membersOf(TRADE_SCHEMA).filter((name) => name !== 'native'),
  'native_taker_side',
  'native_sid',
  'native_seq',
  'native',
]

/** A trade by the columns of CSV: `native` is the JSON text of what its message said. */
export function toTradeCells({ native, ...rest }: TradeJson): Readonly<Record<string, unknown>> {
  return {
    ...rest,
    native_taker_side: native.taker_side,
    native_sid: native.sid,
    native_seq: native.seq,
    native: saidOfTrade(native),
  }
}

/** Renders one row of trades; `ordinal` is its number within the instrument. */
export function toTradeJson(
  columns: TradeColumns,
  row: number,
  ordinal: number,
  context: BookContext,
  style: ValueStyle = {},
): TradeJson {
  const { venue, key } = context
  const { priceDecimals, sizeDecimals } = VENUES[venue]
  const taker = TAKERS[columns.taker[row]!] ?? null
  const price = printScaled(columns.price[row]!, priceDecimals)
  const size = printScaled(columns.size[row]!, sizeDecimals)
  const [source, received] = timesOf(columns, row, key)
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
    source_time: timeJson(source, style),
    received_time: timeJson(received, style)!,
    sequence: ordinal,
    flags: flagNames(columns.flags[row]!),
    native: {
      ...saidIn(columns.native[row]),
      sid: subscriptionOf(columns.channel[row]!) || null,
      seq: present(columns.venueSeq[row]!) ?? null,
    },
  }
}

/** The venue's time of a trade, and when it was received: in rows of a venue's history they change places. */
export function timesOf(
  { received, source }: Pick<TradeColumns, 'received' | 'source'>,
  row: number,
  key: string,
): readonly [number | undefined, number] {
  if (isBackfillKey(key)) return [received[row]!, source[row]!]
  return [present(source[row]!), received[row]!]
}

type SaidJson = Omit<TradeJson['native'], 'sid' | 'seq'>

// Rows of versions that did not keep what messages said have none of it. Nothing is made up.
function saidIn(text: string | undefined): SaidJson {
  if (text === undefined) return { taker_side: null }
  const said = JSON.parse(text) as TradeNative
  // Venue C has the taker's word in `side`.
  return { ...said, taker_side: said.taker_side ?? said.side ?? null } as SaidJson
}

/** What a trade on the wire says that its message said; undefined where it says nothing of it. */
export function saidOfTrade(native: { readonly [name: string]: unknown }): string | undefined {
  const { side, taker_side: taker, ...rest } = native
  const own =
    side === undefined && taker !== null ? { taker_side: taker, ...rest } : { ...rest, side }
  const said = readTradeNative(own, Object.keys(TRADE_NATIVE_FIELDS) as TradeNativeField[])
  return said === undefined ? undefined : JSON.stringify(said)
}

function present(value: number): number | undefined {
  return value === ABSENT ? undefined : value
}

/** The metrics of samples, each a series of its own. */
export const SAMPLE_METRICS = ['chance', 'price', 'last_trade'] as const

/** The name of one metric. */
export type SampleMetric = (typeof SAMPLE_METRICS)[number]

/** The identity that every sample of one outcome carries. */
export type SampleContext<Metric extends string = SampleMetric> = {
  readonly venue: VenueId
  readonly key: string
  readonly metric: Metric
  readonly marketId: string
  readonly eventId?: string | undefined
  readonly conditionId?: string | undefined
  readonly outcome?: string | undefined
  readonly tokenId?: string | undefined
}

/** The members by which samples, and values of a price history, say what they are about. */
export const SAMPLE_IDENTITY = {
  /** `venue:token/metric:sequence`. */
  id: ROW_ID,
  venue: VENUE,
  event_id: TEXT_OR_NULL,
  market_id: TEXT,
  condition_id: TEXT_OR_NULL,
  outcome: TEXT_OR_NULL,
  token_id: TEXT_OR_NULL,
}

/** Renders these members; `ordinal` is the number of the row within its series. */
export function sampleIdentity(
  context: SampleContext<string>,
  ordinal: number,
): Pick<SampleJson, keyof typeof SAMPLE_IDENTITY> {
  const { venue, key, metric } = context
  return {
    id: `${venue}:${key}/${metric}:${ordinal}`,
    venue,
    event_id: context.eventId ?? null,
    market_id: context.marketId,
    condition_id: context.conditionId ?? null,
    outcome: context.outcome ?? null,
    token_id: context.tokenId ?? null,
  }
}

/** The schema of a sample: exactly one of the three values is present, under its metric's name. */
export const SAMPLE_SCHEMA = named(
  'Sample',
  objectOf(
    {
      ...SAMPLE_IDENTITY,
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
  return marketFirst(membersOf(SAMPLE_SCHEMA)).filter((name) => !others.includes(name))
}

/** Columns with the market before its event, as rows of all other datasets have them. */
export function marketFirst<Name extends string>(names: readonly Name[]): readonly Name[] {
  const moved = names.filter((name) => name === 'market_id')
  const rest = names.filter((name) => name !== 'market_id')
  const at = rest.findIndex((name) => name === 'event_id')
  return [...rest.slice(0, at), ...moved, ...rest.slice(at)]
}

/** Renders one row of samples; `ordinal` is its number within its series. */
export function toSampleJson(
  columns: SampleColumns,
  row: number,
  ordinal: number,
  context: SampleContext,
  style: ValueStyle = {},
): SampleJson {
  const source = columns.source[row]!
  return {
    ...sampleIdentity(context, ordinal),
    source_time: timeJson(source === ABSENT ? undefined : source, style),
    received_time: timeJson(columns.received[row], style)!,
    sequence: ordinal,
    [context.metric]: decimalJson(printSampleValue(columns, row), style)!,
    flags: flagNames(columns.flags[row]!),
  }
}
