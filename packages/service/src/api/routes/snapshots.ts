import { Problem, marketContract } from '@priorbook/sdk/wire'
import { defineRoute, type Route } from '../route.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { answerPage, RENDERER } from '../books/book-page.ts'
import { styleOf } from '../pages/page.ts'
import { VENUES } from '@priorbook/sdk/domain'

/** Recorded books of a market, page by page, or the last one of every interval. */
export function snapshotsRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('snapshots', venue, address.isPlain), (request, context) => {
    const { query } = request
    const { interval, clock, depth, order } = query
    if (interval !== undefined && clock === 'source') {
      throw new Problem('invalid_parameter', 'buckets are made by received time', {
        param: 'clock',
        allowed: ['received'],
        hint: 'Leave out clock or interval.',
      })
    }
    const ladders = query.include_orderbook ?? VENUES[venue].laddersByDefault
    const options = { ladders, depth, ...styleOf(query), order }
    return answerPage(context, address, request, {
      scope: { ladders, depth },
      render(format, parts, { instruments }, page) {
        if (format === 'ndjson') return RENDERER.renderNdjson(parts, instruments, options, page)
        if (format === 'csv') return RENDERER.renderCsv(parts, instruments, options, page)
        return RENDERER.renderJsonRows(parts, instruments, options, page)
      },
    })
  })
}
