import type { VenueId } from '@priorbook/sdk/domain'
import { applyRows, BookColumns, Ladder, loadBase } from '@priorbook/sdk/tape'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { BookTop, Quote, QuoteQuery } from '../store.ts'
import type { BookReader } from './books.ts'
import { missingRows } from './corrupt-gap.ts'
import { extentOf } from './coverage.ts'
import { placeOfOrdinal } from './directory.ts'
import { countHoles } from './gaps.ts'
import { readSamples, readTrades } from './rows.ts'
import type { Stream } from './streams.ts'
import type { View } from './view.ts'

// Max books whose best prices stay in memory: 150 bytes each.
const KEPT_TOPS = 16_384

type KeptTop = { readonly ordinal: number; readonly version: number; readonly top: BookTop }

/**
 * Reads the newest of what is stored of instruments, for lists of markets. Of a book only its best prices
 * stay in memory: decoded columns and ladders of the thousands of books that lists pass through take
 * 6 KB each, and V8 marks them all in every major collection, which other requests wait for.
 */
export class QuoteReader {
  private readonly view: View
  private readonly books: BookReader
  private readonly tops = new BoundedMap<number, KeptTop>(KEPT_TOPS)
  private readonly columns = new BookColumns()
  // One for each number of decimals: to rescale a ladder is to make a new one.
  private readonly ladders: Ladder[] = []

  constructor(view: View, books: BookReader) {
    this.view = view
    this.books = books
  }

  read(query: QuoteQuery): Quote {
    const { view } = this
    const { venue, last, since } = query
    const stream = view.stream(query, 'book')
    const extent = stream === undefined ? undefined : extentOf(view, stream)
    const isSeen =
      extent !== undefined &&
      extent.firstSequence <= extent.lastSequence &&
      extent.lastReceived >= since
    return {
      extent: isSeen ? extent : undefined,
      top: isSeen ? this.topOf(stream!, extent.lastSequence) : undefined,
      last: last === undefined ? undefined : lastOf(view, venue, last),
      gaps: isSeen ? countHoles(view.database, query, since) : 0,
    }
  }

  private topOf(stream: Stream, last: number): BookTop {
    const { view } = this
    // Newer rows may be lost, so the newest known row may not be the latest.
    if (view.damagedLog !== undefined) throw view.damagedLog.error
    // Rows of the tail change when the log is repaired, so nothing of them is kept here.
    if (last >= stream.next) return bestOf(this.books.newestBook(stream, last))
    const { version } = stream
    const kept = this.tops.get(stream.id)
    if (kept?.ordinal === last && kept.version === version) return kept.top
    const { places } = view.directory(stream)
    const place = places[placeOfOrdinal(places, last)]
    if (place === undefined || 'lost' in place) throw missingRows(stream, last)
    const columns = view.bodies.bookOr(this.columns, stream, place)
    const { priceDecimals } = columns
    const ladder = (this.ladders[priceDecimals] ??= new Ladder(priceDecimals))
    loadBase(ladder, columns)
    applyRows(ladder, columns, 0, last - place.first + 1)
    const top = bestOf(ladder)
    this.tops.set(stream.id, { ordinal: last, version, top })
    return top
  }
}

function bestOf({ decimals, one, bestBid, bestAsk }: Ladder): BookTop {
  return {
    decimals,
    bid: bestBid === 0 ? undefined : bestBid,
    ask: bestAsk === one ? undefined : bestAsk,
  }
}

function lastOf(view: View, venue: VenueId, last: NonNullable<QuoteQuery['last']>): Quote['last'] {
  const { key, metric } = last
  const newest = { venue, key, order: 'desc', limit: 1 } as const
  // Most markets never traded: without a stream, no columns are made.
  const kind = metric === undefined ? 'trade' : 'sample'
  if (view.stream(newest, kind, metric) === undefined) return undefined
  if (metric === undefined) {
    const { rows, ordinals } = readTrades(view, newest)
    if (ordinals.length === 0) return undefined
    return { value: rows.price[0]!, received: rows.received[0]! }
  }
  const { rows, ordinals } = readSamples(view, { ...newest, metric })
  if (ordinals.length === 0) return undefined
  return { value: rows.value[0]!, received: rows.received[0]! }
}
