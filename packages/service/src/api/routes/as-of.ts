import { printRowId, VENUES, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { timeJson, marketContract, type ValueStyle } from '@priorbook/sdk/wire'
import { defineRoute, type ApiContext, type Grant, type Notice, type Route } from '../route.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { findTarget } from '../books/book-target.ts'
import { because, planWindow } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { answerBooks, type OneBook } from '../books/one-book.ts'
import { asKnownAt } from '../../rows/index.ts'

// Clocks differ a little: an instant this far ahead of ours is still the present.
const AHEAD_MICROS = 5_000_000
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

async function readAsOf(
  { store, now }: ApiContext,
  grant: Grant,
  record: MarketRecord,
  instrument: MarketInstrument,
  { at, known_at: knownAt }: { readonly at: Micros; readonly known_at?: Micros | undefined },
  style: ValueStyle,
): Promise<OneBook> {
  const { venue, key, tokenId } = instrument
  const about = VENUES[venue].booksPer === 'token' ? { token_id: tokenId ?? key } : {}
  const none = (notice: Notice): OneBook => ({
    instrument,
    notice: { last_before: null, ...notice, ...about },
  })
  const window = grant.windowStart(now())
  if (at < window) return none(planWindow(grant.plan, window, style))
  const ref = { venue, key }
  const facts = await store.instrument(ref)
  if (at > Math.max(now() + AHEAD_MICROS, facts?.lastReceived ?? 0)) {
    return none({ code: 'in_the_future', message: 'The instant has not come yet.' })
  }
  const found = await store.asOf({ ...ref, at, knownAt })
  if (found.gap !== undefined) {
    const { gap, lastBefore } = found
    const [shown = gap] = asKnownAt(gap, knownAt ?? Infinity)
    return {
      ...none({
        ...because(gap.reason),
        start_time: timeJson(shown.start, style),
        end_time: timeJson(shown.end, style),
        ...(lastBefore !== undefined && {
          last_before: {
            id: printRowId({ ...ref, sequence: lastBefore.sequence }),
            sequence: lastBefore.sequence,
            received_time: timeJson(lastBefore.received, style),
          },
        }),
      }),
      gap: shown,
    }
  }
  if (found.run === undefined) {
    const isEarly = record.openTime !== undefined && at < record.openTime
    return none(because(isEarly ? 'market_not_open' : 'before_capture'))
  }
  if (found.run.columns.received[found.run.from]! < window) {
    return none(planWindow(grant.plan, window, style))
  }
  return { instrument, run: found.run }
}
