import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import {
  sampleCsvColumns,
  toMarketJson,
  toSampleJson,
  marketContract,
  type SampleJson,
} from '@priorbook/sdk/wire'
import { VENUE_KEY } from '../../rows/index.ts'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { sampleSeriesOf } from '../markets/instruments.ts'
import { defineRoute, type Notice, type Route } from '../route.ts'
import { chooseOutcomes } from '../pages/outcome-filter.ts'
import { openPage, rangeMeta, styleOf, noticeMeta } from '../pages/page.ts'
import { answerRows } from '../pages/row-answer.ts'
import { readRowPage } from '../pages/row-page.ts'

/** Samples of one metric of a market. */
export const TIMESERIES_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(timeseriesRoute)

function timeseriesRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('timeseries', venue), async (request, context) => {
    const { query } = request
    const style = styleOf(query)
    const state = await findMarket(context, address, request.path, request.grant)
    const { record } = state
    const { marketId: market } = record
    const { metric, outcome, token_id: token, known_at: knownAt } = query
    const page = openPage(request, context, { venue, market, metric, outcome, token, knownAt })
    const columns = sampleCsvColumns(metric)
    if (VENUES[venue].metrics.length === 0) {
      const meta = {
        range: rangeMeta(page.range, style),
        market: toMarketJson(state, style),
        ...noticeMeta(noSamples(venue)),
      }
      return answerRows<SampleJson>(request, {
        type: 'sample',
        rows: [],
        columns,
        meta,
        gaps: [],
      })
    }
    const streams = chooseOutcomes(sampleSeriesOf(record, metric), query)
    const { rows, meta, ...around } = await readRowPage(context, state, page, {
      dataset: 'metrics',
      streams,
      // Samples are polled by themselves: gaps of the market are gaps of its book.
      gapKeys: [...streams.map(({ key }) => key), VENUE_KEY],
      read: (asked) => context.store.samples({ ...asked, metric }),
      knownAt,
      style,
    })
    return answerRows(request, {
      type: 'sample',
      rows: rows.map((part) =>
        toSampleJson(part.columns, part.row, part.ordinal, streams[part.source]!, style),
      ),
      columns,
      meta: { ...meta, metric },
      ...around,
    })
  })
}

function noSamples(venue: VenueId): Notice {
  return {
    code: 'no_samples_of_venue',
    message: `${VENUES[venue].label} publishes no such samples; its books and trades are served instead.`,
  }
}
