import { CHANGES_ROW_SCHEMA, listOf, renderChanges } from '@priorbook/sdk/wire'
import { defineRoute, type Route } from '../route.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { answerPage } from './book-page.ts'
import { changesParams } from './book-params.ts'

/** What every observation changed, level by level. */
export function changesRoute(address: VenueAddress): Route {
  const { venue, alias } = address
  return defineRoute({
    id: `${venue}_changes`,
    address: `${address.market}/changes`,
    ...(alias !== undefined && { aliases: [`${alias.market}/changes`] }),
    tag: venue,
    summary: 'Changed levels of a market’s books',
    description:
      'The observations of `snapshots` by what each changed: side, price and new size (0: gone). A row ' +
      'flagged `restart` starts from an empty book and holds all of it. The book before the first row ' +
      'is that of the sequence before it.',
    path: address.path,
    query: changesParams(venue),
    formats: ['ndjson', 'csv'],
    data: listOf(CHANGES_ROW_SCHEMA),
    handle(request, context) {
      const { query } = request
      const options = {
        numberFormat: query.number_format,
        timeFormat: query.time_format,
        order: query.order,
      }
      return answerPage(context, address, request, {
        scope: {},
        render(format, parts, { instruments }, page) {
          const runs = parts.flatMap((part) => ('row' in part ? [] : [part]))
          const bytes = renderChanges(runs, instruments, { ...options, format })
          page?.append(bytes)
          return bytes
        },
      })
    },
  })
}
