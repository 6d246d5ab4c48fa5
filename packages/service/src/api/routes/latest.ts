import { PriorbookError } from '@priorbook/sdk/domain'
import type { BookRun } from '@priorbook/sdk/tape'
import { marketContract, type ValueStyle } from '@priorbook/sdk/wire'
import { gapKeysOf } from '../../rows/index.ts'
import { defineRoute, type ApiContext, type Grant, type Route } from '../route.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { findTarget, type BookTarget, type TokenFilter } from '../books/book-target.ts'
import { because, openGap, planWindow } from '../books/notices.ts'
import { answerBooks, type OneBook, type OneBookQuery } from '../books/one-book.ts'
import type { VenueMemory } from '../books/store-memory.ts'

/** The newest recorded book of a market. */
export function latestRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('orderbook_latest', venue), async (request, context) => {
    const { grant } = request
    const query = request.query as OneBookQuery & TokenFilter
    const target = await findTarget(context, address, {
      path: request.path,
      grant: request.grant,
      query,
    })
    const style = { numberFormat: query.number_format, timeFormat: query.time_format }
    const books: OneBook[] = []
    for (const instrument of target.instruments) {
      books.push(await readLatest(context, grant, target, instrument, style))
    }
    const more = { knownAt: Number.MAX_SAFE_INTEGER, isFinal: false }
    const leasePage = (before?: number) => request.leasePage(before)
    return answerBooks(venue, target, books, { format: request.format, query, leasePage }, more)
  })
}

async function readLatest(
  { store, now }: ApiContext,
  grant: Grant,
  { record, known }: BookTarget,
  instrument: MarketInstrument,
  style: ValueStyle,
): Promise<OneBook> {
  const { venue, key, tokenId } = instrument
  const run = await latestOrDamage(known, instrument)
  if (run === 'damaged') {
    // The newest rows cannot be read, so the newest book is unknown.
    const { gap } = await store.asOf({ venue, key, at: Number.MAX_SAFE_INTEGER })
    return { instrument, gap, notice: because('corrupt') }
  }
  if (run === undefined) {
    const isEarly = record.openTime !== undefined && record.openTime > now()
    const notice = because(isEarly ? 'market_not_open' : 'before_capture')
    return { instrument, notice: { ...notice, token_id: tokenId } }
  }
  const window = grant.windowStart(now())
  if (run.columns.received[run.from]! < window) {
    return { instrument, notice: planWindow(grant.plan, window, style) }
  }
  const gap = await known.openGap(gapKeysOf([instrument]))
  if (gap === undefined) return { instrument, run }
  return { instrument, run, gap, notice: openGap(gap, tokenId, style) }
}

async function latestOrDamage(
  known: VenueMemory,
  { key }: MarketInstrument,
): Promise<BookRun | 'damaged' | undefined> {
  try {
    return await known.latest(key)
  } catch (error) {
    if (!(error instanceof PriorbookError) || !DAMAGE.has(error.code)) throw error
    return 'damaged'
  }
}

const DAMAGE = new Set<PriorbookError['code']>(['corrupt_chunk', 'corrupt_row'])
