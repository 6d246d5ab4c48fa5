import { marketContract } from '@priorbook/sdk/wire'
import { defineRoute, type Route } from '../route.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { findTarget } from '../books/book-target.ts'
import { readAsOf } from '../books/read-as-of.ts'
import { styleOf } from '../pages/page.ts'
import { answerBooks, type OneBook } from '../books/one-book.ts'

const SETTLED_MICROS = 60_000_000

/** The book of a market at one instant. */
export function asOfRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(
    marketContract('orderbook', venue, address.isPlain),
    async (request, context) => {
      const { query } = request
      const { at, known_at: knownAt } = query
      const target = await findTarget(context, address, request)
      const style = styleOf(query)
      const books: OneBook[] = []
      let isFinal = at < context.now() - SETTLED_MICROS
      for (const instrument of target.instruments) {
        const book = await readAsOf(context, request.grant, target.record, instrument, query, style)
        const { key } = instrument
        const facts = await context.store.instrument({ venue, key })
        // Received times never decrease: a later row proves that no other one can come before it.
        isFinal &&= book.run !== undefined && facts !== undefined && facts.lastReceived > at
        books.push(book)
      }
      const more = { at, knownAt: Math.min(at, knownAt ?? at), isFinal }
      return answerBooks(venue, target, books, request, more)
    },
  )
}
