import type { SeriesFacts } from '../store.ts'
import { extentOf } from './coverage.ts'
import { listStreamsOfMarket, type StreamName } from './streams.ts'
import type { View } from './view.ts'

/** What is stored of the series of samples under one market's id. */
export function listSeries(
  view: View,
  name: Pick<StreamName, 'venue' | 'market'>,
): readonly SeriesFacts[] {
  return listStreamsOfMarket(view.database, name, 'sample').flatMap(
    ({ id, venue, market, key, metric }) => {
      const extent = extentOf(view, view.streamById(id))
      if (extent === undefined) return []
      return [{ instrument: { venue, market, key }, metric, ...extent }]
    },
  )
}
