import { PriorbookError, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { readJournal, readRecord, type RecordKind } from '@priorbook/sdk/journal'
import { listSegments } from '@priorbook/sdk/journal/format'
import { ABSENT } from '@priorbook/sdk/tape'
import { Yielder } from '../lib/yielder.ts'
import type { StoreReader } from '../store/store.ts'
import type { Applier } from './applier.ts'
import { toEpoch, toSubscription } from './channel.ts'
import { reachedFact } from './batch.ts'
import { findJoin, SKEW_MICROS, type Join } from './find-join.ts'
import type { JoinedBook, Note } from './notes.ts'

/** A journal record of our own, as it is copied. */
export type OwnRecord = {
  readonly received: Micros
  readonly kind: RecordKind
  readonly slot: number
  readonly bytes: Uint8Array
}

/** What a recorder has of a venue for which it stood by. */
export type OwnCapture = {
  readonly venue: VenueId
  readonly journalDir: string
  readonly store: StoreReader
  readonly applier: Pick<Applier, 'connections' | 'slotOf' | 'channelOf'>
}

/**
 * How the rows of another recorder are continued with our own records, by the numbers of our own journal: the
 * first record to take, the first one after the other's last row, the sockets that were open before both, and
 * the books that go on.
 */
export type TakeoverPlan = {
  readonly first: number
  readonly since: number
  readonly slots: readonly number[]
  readonly joins: readonly BookJoin[]
}

/** A book that goes on, and the channel that feeds it. */
type BookJoin = Join & { readonly slot: number; readonly fed: number }

/** How far before the last row of the other recorder our own records are taken: clocks and delays differ. */
const OVERLAP_MICROS = 10_000_000

/** Compares another recorder's tape, which has ended, with our own records. */
export async function planTakeover(tape: StoreReader, own: OwnCapture): Promise<TakeoverPlan> {
  const { venue, journalDir, applier } = own
  const yielder = new Yielder()
  const reached = await timeReached(tape, venue)
  const { first: end, received: newest } = await findRecord(journalDir, venue, Infinity, yielder)
  const slots = [...applier.connections.keys()]
  // With clocks that are so far apart nothing can be told.
  if (reached > newest + SKEW_MICROS) return { first: end, since: end, slots, joins: [] }
  const { first } = await findRecord(journalDir, venue, reached - OVERLAP_MICROS, yielder)
  const { first: after } = await findRecord(journalDir, venue, reached + 1, yielder)
  const joins: BookJoin[] = []
  for (const instrument of await tape.unbroken(venue)) {
    await yielder.yieldIfDue()
    const join = await findJoin(tape, own.store, instrument, reached)
    if (join === undefined) continue
    // What an answer led to goes on over the socket that feeds the book.
    const { channel } = join.mark
    const fed = channel === ABSENT ? applier.channelOf(instrument.key) : channel
    const slot = fed === undefined ? undefined : applier.slotOf(fed)
    if (fed === undefined || slot === undefined) continue
    const isOlder = fed === ABSENT || toEpoch(fed) < first
    if (isOlder && (await isWhole(own.store, join, first))) joins.push({ ...join, slot, fed })
  }
  return { first, since: Math.max(first, after), slots, joins }
}

// Up to when the other recorder applied everything that it received.
async function timeReached(tape: StoreReader, venue: VenueId): Promise<number> {
  const { lastReceived } = await tape.totals(venue)
  return Math.max(lastReceived, (await tape.fact(reachedFact(venue))) ?? 0)
}

// True where everything that followed the row is in the records from `first` on.
async function isWhole(own: StoreReader, join: Join, first: number): Promise<boolean> {
  const { instrument, sequence } = join
  const ref = { venue: instrument.venue, key: instrument.key }
  const page = { ...ref, order: 'asc', after: sequence, limit: 1, numbers: true } as const
  const next = (await own.books(page)).runs[0]
  if (next !== undefined && next.columns.journal[next.from]! < first) return false
  // A gap may begin before the row that ended it.
  const gaps = await own.gaps(ref)
  return gaps.every(
    ({ journal, endJournal = Infinity }) => journal >= first || endJournal <= join.journal,
  )
}

/** The notes in front of the copied records, where the first of these gets a number. */
export function toTakeoverNotes(
  { first, since, slots, joins }: TakeoverPlan,
  number: number,
): Note[] {
  const shift = number - first
  const books = joins.map(({ instrument, mark, journal, slot, fed }): JoinedBook => {
    const { received, source, venueSeq, channel } = mark
    return {
      key: instrument.key,
      slot,
      sid: fed === ABSENT ? 0 : toSubscription(fed),
      ...(channel === ABSENT ? { answer: true } : {}),
      received,
      ...(source === ABSENT ? {} : { source }),
      ...(venueSeq === ABSENT ? {} : { seq: venueSeq }),
      journal: Math.max(journal, first - 1) + shift,
    }
  })
  const url = 'open before the takeover'
  return [
    ...slots.map((slot) => ({ note: 'connected', slot, url }) as const),
    { note: 'took_over', slots, since: since + shift, books },
  ]
}

/** Reads our own records in order; a damaged one ends the takeover. */
export function* readOwn(
  { journalDir: dir, venue }: Pick<OwnCapture, 'journalDir' | 'venue'>,
  from: number,
  to: number,
): Generator<OwnRecord> {
  let expected = from
  for (const block of readJournal({ dir, venue, from, to })) {
    if (block.kind === 'damage' || block.first !== expected) {
      throw new PriorbookError('corrupt_journal', `record ${expected} of ${dir} cannot be read`)
    }
    expected += block.count
    for (let index = 0; index < block.count; index++) {
      yield {
        received: block.received[index]!,
        kind: block.kinds[index]!,
        slot: block.slots[index]!,
        bytes: block.bytes[index]!,
      }
    }
  }
  if (expected <= to) {
    throw new PriorbookError('corrupt_journal', `${dir} ends before record ${to}`)
  }
}

// The first record that was received at a time or later, and the time of the newest one before it. An answer is
// not taken without its request, which stands in front of it, nor the note of our own start.
async function findRecord(
  dir: string,
  venue: VenueId,
  time: number,
  yielder: Yielder,
): Promise<{ readonly first: number; readonly received: number }> {
  const files = listSegments(dir, venue)
  const isBefore = (number: number): boolean =>
    (readRecord({ dir, venue }, number)?.received ?? Infinity) < time
  const file = files.findLast(({ first }) => isBefore(first)) ?? files[0]
  let number = file?.first ?? 1
  let received = 0
  for (const block of readJournal({ dir, venue, from: number })) {
    await yielder.yieldIfDue()
    if (block.kind === 'damage') continue
    for (let index = 0; index < block.count; index++) {
      number = block.first + index
      const isAnswer = block.kinds[index] === 'message' && block.slots[index] === 0
      if (number > 1 && block.received[index]! >= time && !isAnswer)
        return { first: number, received }
      received = block.received[index]!
    }
  }
  return { first: number + 1, received }
}
