import {
  DECIMAL,
  described,
  listOf,
  MARKET_ROUTES,
  objectOf,
  ROW_ID,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type TradeJson,
} from '../../wire/index.ts'
import { GAP_ROW, gapRow } from '../gap-row.ts'
import { CONTINUE, defineTool, endOf, pageOf, questionOf, rowLimit } from '../tool.ts'
import { MARKET_INPUT, MARKET_NEEDED } from './market-input.ts'

const TRADE = objectOf({
  outcome: TEXT_OR_NULL,
  price: DECIMAL,
  size: DECIMAL,
  taker_side: described(TEXT_OR_NULL, 'What the taker did with the outcome.'),
  source_time: TIME_OR_NULL,
  received_time: TIME,
  row_id: ROW_ID,
})

/** Trades of a market. */
export const TRADES = defineTool({
  name: 'trades',
  title: 'Trades of a market',
  description: 'Recorded trades of a market, oldest first unless `order` is desc.',
  input: questionOf(
    MARKET_ROUTES.trades.query,
    ['outcome', 'start_time', 'end_time', 'order', 'origin'],
    { ...MARKET_INPUT, limit: rowLimit(500, 20), continue: CONTINUE },
    MARKET_NEEDED,
  ),
  output: pageOf(TRADE, {
    gaps: described(listOf(GAP_ROW), 'Spans in which trades may have been missed.'),
  }),
  async run(question, { client, signal }) {
    const { venue, market_id, limit = 20, continue: resume, ...filters } = question
    const params = { ...filters, limit, number_format: 'string' } as const
    const page = await client.market({ venue, market_id }).trades(params, { signal, resume }).page()
    return {
      rows: page.data.map(toTrade),
      gaps: page.meta.gaps.map(gapRow),
      ...endOf(page, 'shorten the range'),
    }
  },
})

function toTrade({ id, outcome, price, size, taker_side, source_time, received_time }: TradeJson) {
  return { outcome, price, size, taker_side, source_time, received_time, row_id: id }
}
