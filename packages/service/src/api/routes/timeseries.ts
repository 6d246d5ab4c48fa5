import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import { marketContract, sampleCsvColumns, toSampleJson } from '@priorbook/sdk/wire'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { sampleSeriesOf } from '../markets/instruments.ts'
import { gapsOfSeries } from '../markets/series-gaps.ts'
import { answerRowPage } from '../pages/row-page.ts'
import { defineRoute, type Notice, type Route } from '../route.ts'

/** Samples of one metric of a market. */
export const TIMESERIES_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(timeseriesRoute)

function timeseriesRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(
    marketContract('timeseries', venue, address.isPlain),
    async (request, context) => {
      const { metric } = request.query
      const state = await findMarket(context, address, request.path, request.grant)
      return answerRowPage(context, request, state, {
        type: 'sample',
        dataset: 'metrics',
        columns: sampleCsvColumns(metric),
        missing: VENUES[venue].metrics.length === 0 ? noSamples(venue) : undefined,
        scope: { metric },
        meta: { metric },
        streams: sampleSeriesOf(state.record, metric),
        metric,
        gapsOf: (streams, span) => gapsOfSeries(context, state.record, streams, span),
        read: (query) => context.store.samples({ ...query, metric }),
        toJson: ({ columns, row, ordinal }, stream, style) =>
          toSampleJson(columns, row, ordinal, stream, style),
      })
    },
  )
}

function noSamples(venue: VenueId): Notice {
  return {
    code: 'no_samples_of_venue',
    message: `${VENUES[venue].label} publishes no such samples; its books and trades are served instead.`,
  }
}
