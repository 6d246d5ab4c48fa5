import { DAY_MICROS, startOfDay, type Gap } from '@priorbook/sdk/domain'
import type { Coverage, DayCoverage, InstrumentFacts, InstrumentRef, RowExtent } from '../store.ts'
import { isDamage } from './bodies.ts'
import { lastReceivedAtMost } from './stretch.ts'
import { corruptAt, corruptGap } from './corrupt-gap.ts'
import { placeOfTime } from './directory.ts'
import { findRetention, listGaps } from './gaps.ts'
import { listStreams, type Stream } from './streams.ts'
import type { View } from './view.ts'

/** What is stored of one book stream; absent where it never had a row. */
export function factsOf(view: View, stream: Stream): InstrumentFacts | undefined {
  const extent = extentOf(view, stream)
  if (extent === undefined) return undefined
  const { venue, market, key } = stream
  const facts = { instrument: { venue, market, key }, ...extent }
  const head = Buffer.from(stream.head).toString('hex')
  const isEmptied = extent.lastSequence < extent.firstSequence
  return isEmptied || /^0+$/.test(head) ? facts : { ...facts, head }
}

/** The first and the last row of a book stream; absent where it never had one. */
export function extentOf(view: View, stream: Stream): RowExtent | undefined {
  const lastSequence = view.lastOrdinal(stream)
  if (lastSequence <= stream.removed) return emptiedExtent(view, stream)
  const first = view.directory(stream).places[0]
  const firstReceived = first?.firstReceived ?? view.tailOf(stream)!.columns.received[0]!
  const lastReceived = view.lastReceived(stream)
  return { firstSequence: stream.removed + 1, lastSequence, firstReceived, lastReceived }
}

// Retention removed every row: the numbers go on, and the times are those of the last row.
function emptiedExtent(view: View, stream: Stream): RowExtent | undefined {
  const { removed } = stream
  const gap = removed === 0 ? undefined : findRetention(view.database, stream)
  if (gap?.end === undefined) return undefined
  const last = gap.end - 1
  const sequences = { firstSequence: removed + 1, lastSequence: removed }
  return { ...sequences, firstReceived: last, lastReceived: last }
}

/** What is stored of every instrument that has a row. */
export function listFacts(
  view: View,
  venue?: InstrumentFacts['instrument']['venue'],
): InstrumentFacts[] {
  return listStreams(view.database, 'book', venue)
    .map((stream) => factsOf(view, view.streamById(stream.id)))
    .filter((facts) => facts !== undefined)
    .filter(({ firstSequence, lastSequence }) => firstSequence <= lastSequence)
}

/** Coverage of one instrument by UTC day, with its gaps. */
export function readCoverage(view: View, ref: InstrumentRef): Coverage | undefined {
  const stream = view.stream(ref, 'book')
  const facts = stream === undefined ? undefined : factsOf(view, stream)
  if (stream === undefined || facts === undefined) return undefined
  // Gaps of the whole market or venue are also gaps of the instrument.
  const keys = [...new Set([stream.key, stream.market, ''])]
  const listed = keys.flatMap((key) => listGaps(view.database, { venue: stream.venue, key }))
  const gaps = [
    ...listed,
    ...damagedSpans(view, stream).filter((span) => !listed.some((gap) => isSame(gap, span))),
  ].sort((a, b) => a.start - b.start)
  const days: DayCoverage[] = []
  const firstDay = startOfDay(facts.firstReceived)
  for (let day = firstDay; day <= facts.lastReceived; day += DAY_MICROS) {
    days.push(coverDay(view, stream, facts, gaps, day))
  }
  return { facts, days, gaps }
}

function coverDay(
  view: View,
  stream: Stream,
  facts: InstrumentFacts,
  gaps: readonly Gap[],
  day: number,
): DayCoverage {
  const from = Math.max(day, facts.firstReceived)
  const to = Math.min(day + DAY_MICROS, facts.lastReceived)
  const observations = rowsBefore(view, stream, day + DAY_MICROS) - rowsBefore(view, stream, day)
  let gapMicros = 0
  let covered = from
  for (const gap of gaps) {
    const start = Math.max(gap.start, covered)
    const end = Math.min(gap.end ?? to, to)
    if (end <= start) continue
    gapMicros += end - start
    covered = end
  }
  const observedMicros = Math.max(0, to - from - gapMicros)
  const holes = gaps.some((gap) => gap.start < day + DAY_MICROS && (gap.end ?? Infinity) > from)
  const condition = observations === 0 ? 'missing' : holes ? 'degraded' : 'available'
  return {
    day,
    condition,
    observations,
    observedMicros,
    gapMicros,
    ...(observations < 2 ? {} : { meanSpacingMicros: observedMicros / (observations - 1) }),
  }
}

/** How many rows of a stream were received before a time, removed ones included. */
export function rowsBefore(view: View, stream: Stream, time: number): number {
  const tail = view.tailOf(stream)
  if (tail !== undefined && tail.columns.received[0]! < time) {
    return tail.first + lastReceivedAtMost(tail.columns, time - 1)
  }
  const { places } = view.directory(stream)
  const place = places[placeOfTime(places, time - 1)]
  if (place === undefined) return stream.removed
  if (place.lastReceived < time || 'lost' in place) return place.first + place.count - 1
  try {
    const columns = view.bodies.book(stream, place, false)
    return place.first + lastReceivedAtMost(columns, time - 1)
  } catch (error) {
    if (!isDamage(error)) throw error
    return place.first + place.count - 1
  }
}

// Only the directory is checked for damage here; the scrub opens every chunk and stores what it finds.
function damagedSpans(view: View, stream: Stream): Gap[] {
  const { places } = view.directory(stream)
  const spans = places.filter((place) => 'lost' in place)
  const lost = view.lostTail(stream)
  return [
    ...spans.map((place) => corruptAt(view, stream, place)),
    ...(lost === undefined ? [] : [corruptGap(stream, lost)]),
  ]
}

function isSame(gap: Gap, span: Gap): boolean {
  return gap.reason === span.reason && gap.afterSequence === span.afterSequence
}
