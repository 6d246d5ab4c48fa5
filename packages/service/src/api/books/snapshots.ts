import type { VenueId } from '@priorbook/sdk/domain'
import { BOOK_ROW_SCHEMA, listOf, Problem } from '@priorbook/sdk/wire'
import { defineRoute, type Route } from '../route.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { answerPage } from './book-page.ts'
import { snapshotsParams } from './book-params.ts'
import { RENDERER } from './renderer.ts'

/** Venue A's document shows full books; those of B and C name a switch for them. */
const HAS_LADDERS: Readonly<Record<VenueId, boolean>> = {
  venuea: true,
  venueb: false,
  venuec: false,
}

/** Recorded books of a market, page by page, or the last one of every interval. */
export function snapshotsRoute(address: VenueAddress): Route {
  const { venue, alias } = address
  return defineRoute({
    id: `${venue}_snapshots`,
    address: `${address.market}/snapshots`,
    ...(alias !== undefined && { aliases: [`${alias.market}/snapshots`] }),
    tag: venue,
    summary: 'Recorded books of a market',
    description:
      'Every observation in received order, with ladders or without; with `interval` the last one of ' +
      'every bucket that has one. Spans that were not observed stand in `meta.gaps`, each on one page; ' +
      'the last page carries a receipt over all rows of the walk.',
    path: address.path,
    query: snapshotsParams(venue),
    formats: ['ndjson', 'csv'],
    data: listOf(BOOK_ROW_SCHEMA),
    handle(request, context) {
      const { query } = request
      const { interval, clock, depth, order } = query
      if (interval !== undefined && clock === 'source') {
        throw new Problem('invalid_parameter', 'buckets are made by received time', {
          param: 'clock',
          allowed: ['received'],
          hint: 'Leave out clock or interval.',
        })
      }
      const ladders = query.include_orderbook ?? HAS_LADDERS[venue]
      const options = {
        ladders,
        depth,
        numberFormat: query.number_format,
        timeFormat: query.time_format,
        order,
      }
      return answerPage(context, address, request, {
        scope: { ladders, depth },
        render(format, parts, { instruments }, page) {
          if (format === 'ndjson') return RENDERER.renderNdjson(parts, instruments, options, page)
          if (format === 'csv') return RENDERER.renderCsv(parts, instruments, options, page)
          return RENDERER.renderJsonRows(parts, instruments, options, page)
        },
      })
    },
  })
}
