import { renderChanges, marketContract } from '@priorbook/sdk/wire'
import { defineRoute, type Route } from '../route.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { answerPage } from '../books/book-page.ts'
import { styleOf } from '../pages/page.ts'

/** The levels that every observation changed. */
export function changesRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('changes', venue, address.isPlain), (request, context) => {
    const { query } = request
    const options = { ...styleOf(query), order: query.order }
    return answerPage(context, address, request, {
      scope: {},
      render(format, parts, { instruments }, page) {
        const runs = parts.flatMap((part) => ('row' in part ? [] : [part]))
        const bytes = renderChanges(runs, instruments, { ...options, format })
        page?.append(bytes)
        return bytes
      },
    })
  })
}
