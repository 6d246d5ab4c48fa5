import type { Gap, Instrument, VenueId } from '@priorbook/sdk/domain'
import type { Maker } from '../store/embedded/log.ts'
import type { Stream } from '../store/embedded/streams.ts'
import { NORMALIZERS } from '../venues/registry.ts'
import { copyJournal, type Heard } from './merge-recorders-journal.ts'
import type { Numbers } from './merge-recorders-numbers.ts'
import type { Source } from './merge-recorders-source.ts'
import { Sight } from './merge-recorders-spans.ts'
import type { StreamMakers } from './merge-recorders-streams.ts'

/** One recorder's part of a venue. */
export type Part = {
  readonly source: Source
  readonly numbers: Numbers
  readonly heard: Heard
  /** By `toStreamName`. */
  readonly streams: ReadonlyMap<string, Stream>
  readonly maker: Maker
}

/** What a recorder could see of an instrument, its gaps under their new numbers, and who made its rows. */
export type PartSight = {
  readonly key: string
  readonly sight: Sight
  readonly gaps: readonly Gap[]
  readonly makers: StreamMakers | undefined
}

/** Copies a recorder's journal of a venue and learns from it when the recorder listened. */
export async function openPart(
  venue: VenueId,
  source: Source,
  numbers: Numbers,
  journalDir: string,
  onRecords: (count: number) => void,
): Promise<Part> {
  const { data, list, origin, recorders } = source
  const copied = copyJournal({ from: data.journal, to: journalDir, venue, numbers, onRecords })
  const heard = copied.to === undefined ? await hearFromTape(venue, source) : copied
  const streams = new Map<string, Stream>()
  for (const stream of list.streams) {
    if (stream.venue === venue) streams.set(toStreamName(stream), stream)
  }
  const maker = { origin, recorder: recorders[0]!, normalizer: NORMALIZERS[venue].version }
  return { source, numbers, heard, streams, maker }
}

/** What a recorder could see of an instrument; without a row of it, nothing at all. */
export async function readPartSight(part: Part, instrument: Instrument): Promise<PartSight> {
  const { source, numbers, heard, streams } = part
  const { venue, market, key } = instrument
  const stream = streams.get(toStreamName({ key, kind: 'book', metric: '' }))
  const makers = stream === undefined ? undefined : source.list.makersOf(stream)
  const facts = await source.store.instrument(instrument)
  const found: Gap[] = [...(makers?.damaged ?? [])]
  // What the whole market or the whole venue missed, an instrument that was seen missed too.
  for (const name of new Set(stream === undefined ? [key] : [key, market, ''])) {
    found.push(...(await source.store.gaps({ venue, key: name })))
  }
  const gaps = found
    .map((gap) => numbers.gapOf(gap))
    .filter((gap) => gap !== undefined)
    .sort((a, b) => a.start - b.start)
  const known =
    facts === undefined
      ? undefined
      : { from: facts.firstReceived, to: Math.max(heard.to!, facts.lastReceived) }
  return { key, sight: new Sight(gaps, known), gaps, makers }
}

/** Names a stream within its venue. */
export function toStreamName({
  key,
  kind,
  metric,
}: Pick<Stream, 'key' | 'kind' | 'metric'>): string {
  return `${key} ${kind} ${metric}`
}

/** True when a recorder did not run at a time, or could not write. */
export function isDown({ from, to, downs }: Heard, time: number): boolean {
  if (from === undefined || to === undefined || time < from || time > to) return true
  return downs.some(({ start, end }) => start < time && time < end)
}

// Without a journal the rows themselves say how long a recorder listened.
async function hearFromTape(venue: VenueId, { store }: Source): Promise<Heard> {
  let from = Infinity
  let to = 0
  for (const { firstReceived, lastReceived } of await store.instruments(venue)) {
    from = Math.min(from, firstReceived)
    to = Math.max(to, lastReceived)
  }
  return { from, to, downs: [] }
}
