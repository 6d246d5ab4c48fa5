import { VENUES } from '@priorbook/sdk/domain'
import {
  toMarketJson,
  toTradeJson,
  TRADE_CSV_COLUMNS,
  marketContract,
  type TradeJson,
} from '@priorbook/sdk/wire'
import { gapKeysOf } from '../../rows/index.ts'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { findMarket } from '../markets/find.ts'
import { defineRoute, type Route } from '../route.ts'
import { chooseOutcomes } from '../pages/outcome-filter.ts'
import { TRADES_NOT_RECONSTRUCTED } from '../pages/empty.ts'
import { openPage, rangeMeta, styleOf, noticeMeta } from '../pages/page.ts'
import { answerRows } from '../pages/row-answer.ts'
import { readRowPage } from '../pages/row-page.ts'

/** The execution prints of a market. */
export const TRADE_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(tradesRoute)

function tradesRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('trades', venue), async (request, context) => {
    const { query } = request
    const style = styleOf(query)
    const state = await findMarket(context, address, request.path, request.grant)
    const { record } = state
    const { marketId: market } = record
    const { outcome, token_id: token, known_at: knownAt } = query
    const page = openPage(request, context, { venue, market, outcome, token, knownAt })
    const columns = TRADE_CSV_COLUMNS
    if (!VENUES[venue].hasTrades) {
      const meta = {
        range: rangeMeta(page.range, style),
        market: toMarketJson(state, style),
        ...noticeMeta(TRADES_NOT_RECONSTRUCTED),
      }
      return answerRows<TradeJson>(request, { type: 'trade', rows: [], columns, meta, gaps: [] })
    }
    const streams = chooseOutcomes(await instrumentsOf(context, record), query)
    const { rows, ...around } = await readRowPage(context, state, page, {
      dataset: 'trades',
      streams,
      gapKeys: gapKeysOf(streams),
      read: (asked) => context.store.trades(asked),
      knownAt,
      style,
    })
    return answerRows(request, {
      type: 'trade',
      rows: rows.map((part) =>
        toTradeJson(part.columns, part.row, part.ordinal, streams[part.source]!, style),
      ),
      columns,
      ...around,
    })
  })
}
