import type { TradeColumns } from '@priorbook/sdk/tape'
import {
  marketContract,
  toTradeCells,
  toTradeJson,
  TRADE_CSV_COLUMNS,
  type TradeJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { RowPart } from '../../rows/index.ts'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import { findPastTrades, pastTradesOf, refuseKnownAt } from '../markets/past-trades.ts'
import { explainNoTrades, gapsOfTrades } from '../markets/trade-source.ts'
import { answerRowPage } from '../pages/row-page.ts'
import { defineRoute, type Route } from '../route.ts'

/** The execution prints of a market. */
export const TRADE_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(tradesRoute)

function tradesRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('trades', venue, address.isPlain), async (request, context) => {
    const state = await findMarket(context, address, request.path, request.grant)
    const instruments = await instrumentsOf(context, state.record)
    const { origin, known_at: knownAt } = request.query
    if (origin === 'backfill') {
      refuseKnownAt(knownAt)
      const past = pastTradesOf(context.store, state.record, instruments)
      return answerRowPage(context, request, state, { ...TRADES, ...past })
    }
    return answerRowPage(context, request, state, {
      ...TRADES,
      missing: await explainNoTrades(context.store, venue),
      scope: {},
      meta: {},
      streams: instruments,
      noticeBefore: (range, oldest) =>
        findPastTrades(context.store, state.record, instruments, range, oldest),
      gapsOf: (streams, span) => gapsOfTrades(context.store, state.record, streams, span),
      read: (query) => context.store.trades(query),
    })
  })
}

const TRADES = {
  type: 'trade',
  dataset: 'trades',
  columns: TRADE_CSV_COLUMNS,
  toCells: toTradeCells,
  toJson: (
    { columns, row, ordinal }: RowPart<TradeColumns>,
    stream: MarketInstrument,
    style: ValueStyle,
  ): TradeJson => toTradeJson(columns, row, ordinal, stream, style),
} as const
