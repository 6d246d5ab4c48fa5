import {
  COUNT,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  FLAG,
  GAP_SCHEMA,
  listOf,
  objectOf,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type JsonSchema,
} from '@priorbook/sdk/wire'

/** The document's words, in every answer about executions. */
export const DISCLAIMER =
  'The service does not reproduce hidden liquidity, queue priority or the market impact of a real order.'

const { properties, required } = GAP_SCHEMA as {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
}

/** The schema of an evaluated order; null inside a gap. */
export const EXECUTION_SCHEMA: JsonSchema = {
  anyOf: [
    { type: 'null' },
    objectOf({
      venue: TEXT,
      market_id: TEXT,
      outcome: TEXT_OR_NULL,
      token_id: TEXT_OR_NULL,
      side: { enum: ['buy', 'sell'] },
      at: TIME,
      size: DECIMAL,
      filled_size: DECIMAL,
      is_complete: FLAG,
      vwap: described(DECIMAL_OR_NULL, 'Exact; where the digits never end, rounded behind 18.'),
      vwap_is_exact: { type: ['boolean', 'null'] },
      cost: described(DECIMAL, 'Exact: the sum of price × size of the levels.'),
      best_price: DECIMAL_OR_NULL,
      worst_price: DECIMAL_OR_NULL,
      price_range: DECIMAL_OR_NULL,
      levels: objectOf({ price: listOf(DECIMAL), size: listOf(DECIMAL) }),
      fee: objectOf({
        amount: described(DECIMAL_OR_NULL, 'By the schedule of the record, before rounding.'),
        rate: DECIMAL_OR_NULL,
        formula: TEXT_OR_NULL,
        reason: described(TEXT_OR_NULL, 'Why there is no amount.'),
      }),
      evidence: objectOf({
        row_id: TEXT,
        sequence: COUNT,
        is_complement: FLAG,
        received_time: TIME,
        source_time: TIME_OR_NULL,
        book_age_ms: DECIMAL,
        flags: listOf(TEXT),
        next_gap: {
          anyOf: [
            { type: 'null' },
            objectOf(
              { ...properties, distance_ms: DECIMAL },
              { optional: Object.keys(properties).filter((name) => !required.includes(name)) },
            ),
          ],
        },
      }),
      disclaimer: TEXT,
    }),
  ],
}
