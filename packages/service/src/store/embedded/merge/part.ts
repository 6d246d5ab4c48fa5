import {
  PriorbookError,
  type Gap,
  type Instrument,
  type VenueId,
  type Origin,
} from '@priorbook/sdk/domain'
import type { Maker } from '../log.ts'
import type { Stream } from '../streams.ts'
import { definitionOf } from '../../../venues/registry.ts'
import type { Numbers, Source, StreamMakers } from './source.ts'
import { Sight, type Blind } from './blind-spans.ts'
import type { JournalBlock } from '@priorbook/sdk/journal'
import { readJournal } from '../../../journal/index.ts'
import { openJournalWriter, type JournalWriter } from '../../../journal/index.ts'
import { parseNote } from '../../../recorder/notes.ts'

/** One recorder's part of a venue. */
export type Part = {
  readonly source: Source
  readonly numbers: Numbers
  readonly heard: Heard
  /** By `toStreamName`. */
  readonly streams: ReadonlyMap<string, Stream>
  readonly maker: Maker
}

/** When a recorder saw an instrument, its renumbered gaps, and the makers of its rows. */
export type PartSight = {
  readonly key: string
  readonly sight: Sight
  readonly gaps: readonly Gap[]
  readonly makers: StreamMakers | undefined
}

/** Copies a recorder's journal of a venue and determines when the recorder listened. */
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
  const maker = {
    origin,
    recorder: recorders[0]!,
    normalizer: definitionOf(venue).normalizer.version,
  }
  return { source, numbers, heard, streams, maker }
}

/** Reads when a recorder saw an instrument; without a row, never. */
export async function readPartSight(part: Part, instrument: Instrument): Promise<PartSight> {
  const { source, numbers, heard, streams } = part
  const { venue, market, key } = instrument
  const stream = streams.get(toStreamName({ key, kind: 'book', metric: '' }))
  const makers = stream === undefined ? undefined : source.list.makersOf(stream)
  const facts = await source.store.instrument(instrument)
  const found: Gap[] = [...(makers?.damaged ?? [])]
  // Gaps of the whole market or venue are also gaps of an instrument that was seen.
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

/** Reads when a recorder heard a series of reference prices. */
export async function readSeriesSight(part: Part, instrument: Instrument): Promise<Sight> {
  const { source, numbers, heard } = part
  const { venue, market, key } = instrument
  const found = await source.store.gaps({ venue, key })
  const gaps = found.map((gap) => numbers.gapOf(gap)).filter((gap) => gap !== undefined)
  const all = await source.store.series(venue, market)
  const facts = all.find((one) => one.instrument.key === key)
  if (facts === undefined) return new Sight(gaps, undefined)
  const { firstReceived: from, lastReceived } = facts
  return new Sight(gaps, { from, to: Math.max(heard.to!, lastReceived) })
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

// Without a journal, the rows themselves show how long a recorder listened.
async function hearFromTape(venue: VenueId, { store }: Source): Promise<Heard> {
  let from = Infinity
  let to = 0
  for (const { firstReceived, lastReceived } of await store.instruments(venue)) {
    from = Math.min(from, firstReceived)
    to = Math.max(to, lastReceived)
  }
  return { from, to, downs: [] }
}

/** When one recorder listened to a venue, as its journal tells. */
export type Heard = {
  /** The received time of its first and its newest record; absent where it has no journal. */
  readonly from: number | undefined
  readonly to: number | undefined
  /** Spans between records in which it did not run or could not write. */
  readonly downs: readonly Blind[]
}

// Max bytes of records in memory before a commit.
const COMMIT_BYTES = 4 * 1024 * 1024

/**
 * Appends one recorder's journal of a venue to the merged one, with new numbers and its own recorder
 * name. Records missing in the source are missing in the copy.
 */
function copyJournal(options: {
  readonly from: string
  readonly to: string
  readonly venue: VenueId
  readonly numbers: Numbers
  readonly onRecords: (count: number) => void
}): Heard {
  const { venue, numbers } = options
  const copy = new JournalCopy(options.to, venue)
  const downs: Blind[] = []
  let from: number | undefined
  let to: number | undefined
  try {
    for (const block of readJournal({ dir: options.from, venue, to: numbers.bound })) {
      if (block.kind === 'damage') continue
      copy.append(block, numbers.at(block.first))
      for (let index = 0; index < block.count; index++) {
        const received = block.received[index]!
        if (to !== undefined && block.kinds[index] === 'note' && isBack(block.bytes[index]!)) {
          downs.push({ start: to, end: received, afterSequence: 0 })
        }
        from ??= received
        to = Math.max(to ?? 0, received)
      }
      options.onRecords(block.count)
    }
  } finally {
    copy.close()
  }
  return { from, to, downs: downs.filter(({ start, end }) => start < end) }
}

class JournalCopy {
  private readonly dir: string
  private readonly venue: VenueId
  private writer: JournalWriter | undefined
  private maker: { readonly origin: Origin; readonly recorder: string } | undefined

  constructor(dir: string, venue: VenueId) {
    this.dir = dir
    this.venue = venue
  }

  append(block: JournalBlock, first: number): void {
    const writer = this.writerFor(block, first)
    for (let index = 0; index < block.count; index++) {
      const { received, kinds, bytes, slots } = block
      writer.append(received[index]!, kinds[index]!, bytes[index]!, slots[index])
    }
    if (writer.pendingBytes > COMMIT_BYTES) writer.commit()
  }

  close(): void {
    this.writer?.close()
    this.writer = undefined
  }

  // A writer has one recorder name and no holes: another name or a missing record needs a new writer.
  private writerFor({ origin, recorder }: JournalBlock, first: number): JournalWriter {
    const isSame = this.maker?.origin === origin && this.maker.recorder === recorder
    if (this.writer !== undefined && isSame && this.writer.nextNumber === first) return this.writer
    this.close()
    const { dir, venue } = this
    this.maker = { origin, recorder }
    this.writer = openJournalWriter({ dir, venue, origin, recorder, acknowledged: first - 1 })
    return this.writer
  }
}

// True when the recorder was started, or could write again.
function isBack(bytes: Uint8Array): boolean {
  try {
    const { note } = parseNote(bytes)
    return note === 'started' || note === 'disk_full'
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return false
  }
}
