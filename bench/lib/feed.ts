import type { BookChange, BookSnapshot, Instrument, Micros } from '@priorbook/sdk/domain'
import { normalizeVenueB } from '../../packages/service/src/venues/venueb/index.ts'
import { findRecordings, readLines } from './recordings.ts'

/** Book events of recorded markets, one list a market, for appending them again under other names. */
export function readFeeds(folder: string, most: number): (BookSnapshot | BookChange)[][] {
  return findRecordings(folder).map((recorded) => {
    const events: (BookSnapshot | BookChange)[] = []
    for (const line of readLines(recorded)) {
      const { recv_ms: millis, event } = JSON.parse(line) as { recv_ms: number; event: unknown }
      const received = (millis * 1000) as Micros
      for (const one of normalizeVenueB(event, { received, journal: 0 })) {
        if (one.kind === 'snapshot' || one.kind === 'change') events.push(one)
      }
      if (events.length >= most) break
    }
    return events
  })
}

/** The same event of another instrument at another place and time. */
export function moveEvent(
  event: BookSnapshot | BookChange,
  instrument: Instrument,
  journal: number,
  shift = 0,
): BookSnapshot | BookChange {
  const received = (event.received + shift) as Micros
  const moved = { ...event, instrument, journal, received }
  return event.source === undefined ? moved : { ...moved, source: (event.source + shift) as Micros }
}

/** The instrument of a benchmark by number. */
export function benchInstrument(number: number): Instrument {
  const key = `BENCH-${number}`
  return { venue: 'venueb', market: key, key }
}
