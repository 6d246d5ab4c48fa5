import { PriorbookError, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { readJournal, readRecord, type RecordKind } from '@priorbook/sdk/journal'
import { listSegments } from '@priorbook/sdk/journal/format'
import { ABSENT } from '@priorbook/sdk/tape'
import type { StoreReader } from '../store/store.ts'
import type { Applier } from './applier.ts'
import { toEpoch, toSubscription } from './channel.ts'
import { findJoin, type Join } from './find-join.ts'
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
  readonly applier: Pick<Applier, 'connections' | 'slotOf'>
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
  readonly joins: readonly (Join & { readonly slot: number })[]
}

/** How far before the last row of the other recorder our own records are taken: clocks and delays differ. */
const OVERLAP_MICROS = 10_000_000

/** Compares another recorder's tape, which has ended, with our own records. */
export async function planTakeover(tape: StoreReader, own: OwnCapture): Promise<TakeoverPlan> {
  const { venue, journalDir, applier } = own
  const { lastReceived } = await tape.totals(venue)
  const first = findRecord(journalDir, venue, lastReceived - OVERLAP_MICROS)
  const since = Math.max(first, findRecord(journalDir, venue, lastReceived + 1))
  const slots = [...applier.connections].flatMap(([slot, epoch]) => (epoch < first ? [slot] : []))
  const joins: (Join & { slot: number })[] = []
  for (const instrument of await tape.unbroken(venue)) {
    const join = await findJoin(tape, own.store, instrument, lastReceived)
    if (join === undefined) continue
    const { channel } = join.mark
    const slot = applier.slotOf(channel)
    const isOlder = channel === ABSENT || toEpoch(channel) < first
    if (slot === undefined || !isOlder) continue
    if (await isWhole(own.store, join, first)) joins.push({ ...join, slot })
  }
  return { first, since, slots, joins }
}

// True where everything that followed the row is in the records from `first` on.
async function isWhole(own: StoreReader, join: Join, first: number): Promise<boolean> {
  const { instrument, sequence } = join
  const ref = { venue: instrument.venue, key: instrument.key }
  const page = { ...ref, order: 'asc', after: sequence, limit: 1, numbers: true } as const
  const next = (await own.books(page)).runs[0]
  if (next !== undefined && next.columns.journal[next.from]! < first) return false
  const range = { from: sequence, to: Number.MAX_SAFE_INTEGER }
  return (await own.gaps({ ...ref, sequence: range })).every(({ journal }) => journal >= first)
}

/** The notes in front of the copied records, where the first of these gets a number. */
export function toTakeoverNotes(
  { first, since, slots, joins }: TakeoverPlan,
  number: number,
): Note[] {
  const shift = number - first
  const books = joins.map(({ instrument, mark, journal, slot }): JoinedBook => {
    const { received, source, venueSeq, channel } = mark
    return {
      key: instrument.key,
      slot,
      sid: channel === ABSENT ? 0 : toSubscription(channel),
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

// The first record that was received at a time or later. An answer is not taken without its request, which
// stands in front of it, nor the note of our own start.
function findRecord(dir: string, venue: VenueId, received: number): number {
  const files = listSegments(dir, venue)
  const isBefore = (number: number): boolean =>
    (readRecord({ dir, venue }, number)?.received ?? Infinity) < received
  const file = files.findLast(({ first }) => isBefore(first)) ?? files[0]
  let number = file?.first ?? 1
  for (const block of readJournal({ dir, venue, from: number })) {
    if (block.kind === 'damage') continue
    for (let index = 0; index < block.count; index++) {
      number = block.first + index
      const isAnswer = block.kinds[index] === 'message' && block.slots[index] === 0
      if (number > 1 && block.received[index]! >= received && !isAnswer) return number
    }
  }
  return number + 1
}
