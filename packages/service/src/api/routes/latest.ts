import { PriorbookError, type Gap } from '@priorbook/sdk/domain'
import type { BookRun } from '@priorbook/sdk/tape'
import { marketContract, type ValueStyle } from '@priorbook/sdk/wire'
import { gapKeysOf } from '../../rows/index.ts'
import { defineRoute, type ApiContext, type Grant, type Route } from '../route.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { findTarget, type BookTarget } from '../books/book-target.ts'
import { answerBooks, type OneBook } from '../books/one-book.ts'
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
      const target = await findTarget(context, address, request)
      const latest = { context, grant, target, style: styleOf(request.query) }
      const books: OneBook[] = []
      for (const instrument of target.instruments) {
        const book = readLatest(latest, instrument)
        books.push(book instanceof Promise ? await book : book)
      }
      const more = { knownAt: Number.MAX_SAFE_INTEGER, isFinal: false }
      return answerBooks(venue, target, books, request, more)
    },
  )
}

// At once where the newest book and its gaps are cached.
function readLatest(latest: Latest, instrument: MarketInstrument): OneBook | Promise<OneBook> {
  const run = latest.target.cache.latest(instrument.key)
  return run instanceof Promise
    ? awaitLatest(latest, instrument, run)
    : showLatest(latest, instrument, run)
}

/** What the books of a request have in common. */
type Latest = {
  readonly context: ApiContext
  readonly grant: Grant
  readonly target: BookTarget
  readonly style: ValueStyle
}

async function awaitLatest(
  latest: Latest,
  instrument: MarketInstrument,
  reading: Promise<BookRun | undefined>,
): Promise<OneBook> {
  const { store, now } = latest.context
  const { record } = latest.target
  const { venue, key, tokenId } = instrument
  const run = await orDamage(reading)
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
  return showLatest(latest, instrument, run)
}

function showLatest(
  { context, grant, target, style }: Latest,
  instrument: MarketInstrument,
  run: BookRun,
): OneBook | Promise<OneBook> {
  const window = grant.windowStart(context.now())
  if (run.columns.received[run.from]! < window) {
    return { instrument, notice: planWindow(grant.plan, window, style) }
  }
  const gap = target.cache.openGap(gapKeysOf([instrument]))
  return gap instanceof Promise
    ? gap.then((one) => withGap(instrument, run, one, style))
    : withGap(instrument, run, gap, style)
}

function withGap(
  instrument: MarketInstrument,
  run: BookRun,
  gap: Gap | undefined,
  style: ValueStyle,
): OneBook {
  if (gap === undefined) return { instrument, run }
  return { instrument, run, gap, notice: openGap(gap, instrument.tokenId, style) }
}

async function orDamage(
  reading: Promise<BookRun | undefined>,
): Promise<BookRun | 'damaged' | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof PriorbookError) || !DAMAGE.has(error.code)) throw error
    return 'damaged'
  }
}

const DAMAGE = new Set<PriorbookError['code']>(['corrupt_chunk', 'corrupt_row'])
