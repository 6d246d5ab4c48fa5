import { PriorbookError } from '@priorbook/sdk/domain'
import type { BookRun } from '@priorbook/sdk/tape'
import { marketContract, type ValueStyle } from '@priorbook/sdk/wire'
import { gapKeysOf } from '../../rows/index.ts'
import { defineRoute, type ApiContext, type Grant, type Route } from '../route.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { findTarget, type BookTarget } from '../books/book-target.ts'
import { answerBooks, type OneBook } from '../books/one-book.ts'
import type { VenueCache } from '../books/store-cache.ts'
import { because, openGap, planWindow } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { findRemoved } from '../pages/removed-rows.ts'

/** The newest recorded book of a market. */
export function latestRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(
    marketContract('orderbook_latest', venue, address.isPlain),
    async (request, context) => {
      const { grant } = request
      const { query } = request
      const target = await findTarget(context, address, request)
      const style = styleOf(query)
      const books: OneBook[] = []
      for (const instrument of target.instruments) {
        books.push(await readLatest(context, grant, target, instrument, style))
      }
      const more = { knownAt: Number.MAX_SAFE_INTEGER, isFinal: false }
      return answerBooks(venue, target, books, request, more)
    },
  )
}

async function readLatest(
  { store, now }: ApiContext,
  grant: Grant,
  { record, cache }: BookTarget,
  instrument: MarketInstrument,
  style: ValueStyle,
): Promise<OneBook> {
  const { venue, key, tokenId } = instrument
  const run = await latestOrDamage(cache, instrument)
  if (run === 'damaged') {
    // The newest rows cannot be read, so the newest book is unknown.
    const { gap } = await store.asOf({ venue, key, at: Number.MAX_SAFE_INTEGER })
    return { instrument, gap, notice: because('corrupt') }
  }
  if (run === undefined) {
    const removed = await findRemoved(store, { venue, key })
    if (removed !== undefined) {
      return { instrument, gap: removed, notice: { ...because('retention'), token_id: tokenId } }
    }
    const isEarly = record.openTime !== undefined && record.openTime > now()
    const notice = because(isEarly ? 'market_not_open' : 'before_capture')
    return { instrument, notice: { ...notice, token_id: tokenId } }
  }
  const window = grant.windowStart(now())
  if (run.columns.received[run.from]! < window) {
    return { instrument, notice: planWindow(grant.plan, window, style) }
  }
  const gap = await cache.openGap(gapKeysOf([instrument]))
  if (gap === undefined) return { instrument, run }
  return { instrument, run, gap, notice: openGap(gap, tokenId, style) }
}

async function latestOrDamage(
  cache: VenueCache,
  { key }: MarketInstrument,
): Promise<BookRun | 'damaged' | undefined> {
  try {
    return await cache.latest(key)
  } catch (error) {
    if (!(error instanceof PriorbookError) || !DAMAGE.has(error.code)) throw error
    return 'damaged'
  }
}

const DAMAGE = new Set<PriorbookError['code']>(['corrupt_chunk', 'corrupt_row'])
