import { marketContract, toTradeJson, TRADE_CSV_COLUMNS } from '@priorbook/sdk/wire'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { explainNoTrades, gapsOfTrades } from '../markets/trade-source.ts'
import { answerRowPage } from '../pages/row-page.ts'
import { defineRoute, type Route } from '../route.ts'

/** The execution prints of a market. */
export const TRADE_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(tradesRoute)

function tradesRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('trades', venue, address.isPlain), async (request, context) => {
    const state = await findMarket(context, address, request.path, request.grant)
    return answerRowPage(context, request, state, {
      type: 'trade',
      dataset: 'trades',
      columns: TRADE_CSV_COLUMNS,
      missing: await explainNoTrades(context.store, venue),
      scope: {},
      meta: {},
      streams: await instrumentsOf(context, state.record),
      gapsOf: (streams, span) => gapsOfTrades(context.store, state.record, streams, span),
      read: (query) => context.store.trades(query),
      toJson: ({ columns, row, ordinal }, stream, style) =>
        toTradeJson(columns, row, ordinal, stream, style),
    })
  })
}
