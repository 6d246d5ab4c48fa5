import { flagNames, printScaled, VENUES, type Flag, type VenueId } from '../domain/index.ts'
import { ABSENT, TAKERS, type TradeColumns } from '../tape/index.ts'
import { subscriptionOf } from './channel.ts'
import {
  DECIMAL,
  described,
  listOf,
  objectOf,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  wordOrNull,
  type JsonSchema,
} from './json-schema.ts'
import {
  decimalJson,
  timeJson,
  type DecimalJson,
  type TimeJson,
  type ValueStyle,
} from './json-values.ts'
import type { BookContext } from './page.ts'

/** One execution print on the wire. */
export type TradeJson = {
  /** `venue:instrument/trade:sequence`: observations and trades of an instrument count apart. */
  readonly id: string
  readonly venue: VenueId
  readonly market_id: string
  readonly condition_id: string | null
  readonly event_id: string | null
  readonly series_ticker: string | null
  readonly outcome: string | null
  readonly token_id: string | null
  /** The venue's own id of the trade. */
  readonly trade_id: string
  readonly price: DecimalJson
  readonly size: DecimalJson
  /** What the taker did with the row's outcome. */
  readonly taker_side: 'buy' | 'sell' | null
  readonly source_time: TimeJson | null
  readonly received_time: TimeJson
  readonly sequence: number
  readonly flags: readonly Flag[]
  readonly native: {
    /** The venue's own word: `yes` and `no` of venue B, `BUY` and `SELL` of venue C. */
    readonly taker_side: string | null
    readonly sid: number | null
    readonly seq: number | null
  }
}

/** The columns of a trade in CSV, in this order. */
export const TRADE_CSV_COLUMNS = [
  'id',
  'venue',
  'market_id',
  'condition_id',
  'event_id',
  'series_ticker',
  'outcome',
  'token_id',
  'trade_id',
  'price',
  'size',
  'taker_side',
  'source_time',
  'received_time',
  'sequence',
  'flags',
  'native',
] as const satisfies readonly (keyof TradeJson)[]

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
      taker_side: taker === null ? null : NATIVE_SIDES[venue][taker],
      sid: subscriptionOf(columns.channel[row]!) || null,
      seq: present(columns.venueSeq[row]!) ?? null,
    },
  }
}

const NATIVE_SIDES: Readonly<Record<VenueId, { readonly buy: string; readonly sell: string }>> = {
  venuea: { buy: 'buy', sell: 'sell' },
  venueb: { buy: 'yes', sell: 'no' },
  venuec: { buy: 'BUY', sell: 'SELL' },
}

function present(value: number): number | undefined {
  return value === ABSENT ? undefined : value
}

/** The schema of a trade. */
export const TRADE_SCHEMA: JsonSchema = objectOf({
  id: TEXT,
  venue: TEXT,
  market_id: TEXT,
  condition_id: TEXT_OR_NULL,
  event_id: TEXT_OR_NULL,
  series_ticker: TEXT_OR_NULL,
  outcome: TEXT_OR_NULL,
  token_id: TEXT_OR_NULL,
  trade_id: described(TEXT, 'The venue’s own id of the trade.'),
  price: DECIMAL,
  size: DECIMAL,
  taker_side: described(
    wordOrNull(['buy', 'sell']),
    'What the taker did with the outcome of the row.',
  ),
  source_time: described(TIME_OR_NULL, 'The venue’s clock.'),
  received_time: described(TIME, 'Our clock.'),
  sequence: { type: 'integer', minimum: 1 },
  flags: listOf(TEXT),
  native: objectOf({
    taker_side: TEXT_OR_NULL,
    sid: { type: ['integer', 'null'] },
    seq: { type: ['integer', 'null'] },
  }),
})
