import type { VenueId } from '@priorbook/sdk/domain'
import type {
  ChunkOfRange,
  ChunkQuery,
  HeadQuery,
  InstrumentRef,
  StoredChunk,
  StoreReader,
  VenueTotals,
} from '../store.ts'
import { isDamage } from './bodies.ts'
import { BookReader } from './books.ts'
import { listMarkets, listRevisions, readMarket } from './catalog.ts'
import { factsOf, listFacts, readCoverage } from './coverage.ts'
import { isSealed, placeOfOrdinal } from './directory.ts'
import type { Database } from './database.ts'
import { countCategories, listEvents } from './event-list.ts'
import { readEvent } from './events.ts'
import { LogFollower } from './follow.ts'
import { countOpenGaps, listIncidents, listUnbroken } from './gap-tally.ts'
import { listGaps } from './gaps.ts'
import { OpenGaps } from './open-gaps.ts'
import { listParity } from './parity.ts'
import { listQuarantine } from './quarantine.ts'
import { QuoteReader } from './quotes.ts'
import { factsOfMarket, requireKept } from './recount.ts'
import { readSamples, readTrades } from './rows.ts'
import type { Session } from './session.ts'
import { findState, listStates, readState, STATE } from './state.ts'
import { listSeries } from './series.ts'
import { listStreamsOf } from './streams.ts'
import { lastReceivedOf, listDays, listExtents } from './tally.ts'
import type { View } from './view.ts'

/** Creates the reading side of an opened tape. */
export function createReader(session: Session): StoreReader {
  const { database, view, read, writer } = session
  const books = new BookReader(view)
  const quotes = new QuoteReader(view, books)
  const openGaps = new OpenGaps(view)
  const kept = <T>(work: () => T): Promise<T> =>
    read(() => {
      requireKept(database)
      return work()
    })
  return {
    stamp: async () => {
      session.ensureOpen()
      return view.stampNow()
    },
    follow: async () => {
      // Brings the view up to date first: a follower reports only commits after its opening.
      await read(() => undefined)
      return new LogFollower(view, read)
    },
    appliedPosition: (venue) =>
      writer === undefined
        ? read(() => readState(database, STATE.applied(venue)))
        : session.write((own) => own.appliedPosition(venue)),
    version: () => read(() => readState(database, STATE.version)),
    fact: (name) => read(() => findState(database, STATE.fact(name))),
    facts: (beginning) => read(() => readFacts(database, beginning)),

    instrument: (ref) =>
      read(() => {
        const stream = view.stream(ref, 'book')
        return stream === undefined ? undefined : factsOf(view, stream)
      }),
    instruments: (venue) => read(() => listFacts(view, venue)),
    unbroken: (venue) => read(() => listUnbroken(database, venue)),
    latest: (ref) => read(() => books.latest(ref)),
    quotes: (queries) => read(() => queries.map((query) => quotes.read(query))),
    books: (query) => read(() => books.page(query)),
    asOf: (query) => read(() => books.asOf(query)),
    booksByInterval: (query) => read(() => books.sample(query)),
    trades: (query) => read(() => readTrades(view, query)),
    samples: (query) => read(() => readSamples(view, query)),
    chunks: (ref) => readChunks(session, ref) as AsyncIterable<StoredChunk>,
    chunksOfRange: (query) => readChunks(session, query, query),
    head: (query) => read(() => headOf(view, query)),

    market: (venue, marketId, knownAt) =>
      read(() => readMarket(database, venue, marketId, knownAt)),
    revisions: (venue, id, page) => read(() => listRevisions(database, venue, id, page)),
    markets: (query) => kept(() => listMarkets(database, query)),
    event: (venue, eventId) => kept(() => readEvent(database, venue, eventId)),
    events: (query) => kept(() => listEvents(database, query)),
    categories: () => kept(() => countCategories(database)),
    gaps: (query) => read(() => listGaps(database, query)),
    parity: (query) => read(() => listParity(database, query)),
    instrumentsOf: (venue, market) => read(() => factsOfMarket(view, { venue, market })),
    marketOf: (ref) => read(() => listStreamsOf(database, ref)[0]?.market),
    series: (venue, market) => read(() => listSeries(view, { venue, market })),
    totals: (venue) => kept(() => readTotals(view, venue)),
    days: (venue, from, to) =>
      kept(() => openGaps.addTo(listDays(database, venue, from, to), { venue, from, to })),
    extents: (venue) => kept(() => listExtents(database, venue)),
    incidents: (query) => kept(() => listIncidents(database, query)),
    coverage: (ref) => read(() => readCoverage(view, ref)),
    quarantine: (page) => read(() => listQuarantine(database, page)),
  }
}

function readFacts(database: Database, beginning: string): ReadonlyMap<string, number> {
  const { length } = STATE.fact('')
  const states = listStates(database, STATE.fact(beginning))
  return new Map(states.map(([name, value]) => [name.slice(length), value]))
}

function readTotals({ database }: View, venue: VenueId): VenueTotals {
  const books = listExtents(database, venue).filter(({ kind }) => kind === 'book')
  return {
    instruments: books.reduce((sum, { streams }) => sum + streams, 0),
    lastReceived: lastReceivedOf(database, venue),
    openGaps: countOpenGaps(database, venue),
  }
}

// Without a range every chunk has its bytes.
async function* readChunks(
  { database, view, read }: Session,
  ref: InstrumentRef,
  range?: ChunkQuery,
): AsyncGenerator<ChunkOfRange, void, void> {
  const streams = await read(() => listStreamsOf(database, ref))
  for (const { id, kind, metric } of streams) {
    if (range !== undefined && (kind !== range.kind || metric !== range.metric)) continue
    // Every step reads the directory again: between two of them a part can be repacked.
    for (let next = 1; ;) {
      const chunk = await read(() => chunkFrom(view, id, next, range))
      if (chunk === undefined) break
      yield chunk
      if (!chunk.sealed) break
      next = chunk.first + chunk.count
    }
  }
}

function headOf(view: View, query: HeadQuery): string | undefined {
  const { kind, metric, first, last, knownAt } = query
  const stream = view.stream(query, kind, metric, knownAt)
  if (stream === undefined) return undefined
  const { places } = view.directory(stream)
  for (let index = placeOfOrdinal(places, last); index >= 0; index--) {
    const place = places[index]!
    if (place.first + place.count <= first) return undefined
    if ('lost' in place || !isSealed(place)) continue
    try {
      return view.bodies.chainHash(stream, place)
    } catch (error) {
      // A damaged chunk gives no rows, so the chunk before it is the newest that did.
      if (!isDamage(error)) throw error
    }
  }
  return undefined
}

// The first readable chunk that starts at an ordinal or after it.
function chunkFrom(
  view: View,
  id: number,
  ordinal: number,
  range: ChunkQuery | undefined,
): ChunkOfRange | undefined {
  const stream = view.streamById(id)
  const { places } = view.directory(stream)
  for (let index = Math.max(0, placeOfOrdinal(places, ordinal)); index < places.length; index++) {
    const place = places[index]!
    if ('lost' in place || place.first < ordinal) continue
    const { first, count, firstReceived, lastReceived } = place
    const isOutside =
      range !== undefined &&
      index < places.length - 1 &&
      (lastReceived < range.start || firstReceived >= range.end)
    const { bodies } = view
    const { kind, metric } = stream
    const sealed = isSealed(place)
    const found = { kind, metric, first, count, firstReceived, lastReceived, sealed }
    if (isOutside) return { ...found, bytes: undefined }
    const chunk = bodies.packedChunk(stream, place)
    const bytes = place.form === 'packed' ? undefined : bodies.stored(place)
    if (chunk === undefined && bytes === undefined) continue
    if (chunk === undefined) return { ...found, bytes }
    // Compressed again for those who send it.
    return {
      ...found,
      chunk,
      get bytes() {
        return bodies.bytesOf(chunk)
      },
    }
  }
  return undefined
}
