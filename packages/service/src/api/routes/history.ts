import { toBackfillKey } from '@priorbook/sdk/domain'
import {
  HISTORY_CSV_COLUMNS,
  marketContract,
  toHistoryJson,
  type PriceHistoryJson,
} from '@priorbook/sdk/wire'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { explainNoPrices, gapsOfPastPrices } from '../markets/past-prices.ts'
import { answerRowPage } from '../pages/row-page.ts'
import { defineRoute, type Route } from '../route.ts'

/** The price history that a venue keeps of a market. */
export const HISTORY_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(historyRoute)

function historyRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(
    marketContract('history', venue, address.isPlain),
    async (request, context) => {
      const { metric } = request.query
      const { store } = context
      const state = await findMarket(context, address, request.path, request.grant)
      const instruments = await instrumentsOf(context, state.record)
      return answerRowPage(context, request, state, {
        type: 'history',
        dataset: 'metrics',
        columns: HISTORY_CSV_COLUMNS,
        missing: undefined,
        isPast: true,
        scope: { metric },
        meta: { metric, origin: 'backfill' },
        streams: instruments.map((one) => ({ ...one, key: toBackfillKey(one.key), metric })),
        metric,
        gapsOf: (streams, span) => gapsOfPastPrices(store, state.record, streams, span),
        read: (query) => store.samples({ ...query, metric }),
        explainEmpty: () => explainNoPrices(store, state.record),
        toJson: ({ columns, row, ordinal }, stream, style): PriceHistoryJson =>
          toHistoryJson(columns, row, ordinal, stream, style),
      })
    },
  )
}
