import { parseScaled, PriorbookError, toMicros, VENUES, type VenueId } from '@priorbook/sdk/domain'
import { DISCLAIMER, marketContract, Problem, toMarketJson } from '@priorbook/sdk/wire'
import { isInFuture } from '../books/book-at.ts'
import { IN_FUTURE, noticeMeta, planWindow, windowNotice } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { chooseBook } from '../execution/choose-book.ts'
import { evaluate, explainNoBook, explainStale } from '../execution/evaluate.ts'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { defineRoute, type Notice, type Route } from '../route.ts'

/** What an order would have met in the recorded book, with the evidence for it. */
export const EXECUTION_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(executionRoute)

function executionRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(
    marketContract('execution', venue, address.isPlain),
    async (request, context) => {
      const { query } = request
      const style = styleOf(query)
      const state = await findMarket(context, address, request.path, request.grant)
      const { record } = state
      const now = context.now()
      const { latency_ms: latency = 0, max_age_ms: maxAge } = query
      const at = toMicros(query.at ?? now - latency * 1000)
      const arrival = toMicros(at + latency * 1000)
      const size = parseSize(query.size, venue)
      const chosen = await chooseBook(context, record, query)
      const window = request.grant.windowStart(now)
      const known = (await context.store.market(venue, record.marketId, arrival)) ?? state
      const meta = { market: toMarketJson(known, style), disclaimer: DISCLAIMER }
      const nothing = (notice: Notice) =>
        ({ kind: 'data', data: null, count: 0, meta: { ...meta, ...noticeMeta(notice) } }) as const
      if (at < window) {
        return nothing(windowNotice({ asked: at, window, from: window, end: at })!)
      }
      const { known_at: knownAt } = query
      const { key } = chosen.instrument
      // An order cannot meet a book that nobody has seen yet.
      if (await isInFuture(context, { venue, key }, arrival)) return nothing(IN_FUTURE)
      const asOf = await context.store.asOf({
        venue,
        key,
        at: arrival,
        knownAt,
      })
      if (asOf.run === undefined) {
        const { instrument } = chosen
        return nothing(await explainNoBook(context, record, instrument, asOf, arrival, style))
      }
      if (asOf.run.columns.received[asOf.run.from]! < window) {
        return nothing(planWindow(request.grant.plan, window, style))
      }
      const stale = explainStale(asOf.run, arrival, maxAge, style)
      if (stale !== undefined) return nothing(stale)
      const data = await evaluate(context, known.record, asOf.run, chosen, {
        at,
        latency,
        arrival,
        size,
        side: query.side,
        style,
      })
      const short: Notice | undefined = data.is_complete
        ? undefined
        : {
            code: 'insufficient_depth',
            message: 'The recorded book does not hold the whole size.',
            filled_size: data.filled_size,
          }
      return { kind: 'data', data, count: 1, meta: { ...meta, ...noticeMeta(short) } }
    },
  )
}

function parseSize(text: string, venue: VenueId): number {
  const { sizeDecimals } = VENUES[venue]
  let size = 0
  try {
    size = parseScaled(text, sizeDecimals)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
  }
  if (size > 0) return size
  throw new Problem('invalid_parameter', `size is ${JSON.stringify(text)}, not a size`, {
    param: 'size',
    hint: `A positive decimal with at most ${sizeDecimals} decimals, such as 100.`,
  })
}
