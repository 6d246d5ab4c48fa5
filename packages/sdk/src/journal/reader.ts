import { PriorbookError, type VenueId } from '../domain/index.ts'
import {
  BLOCK_HEADER_BYTES,
  FILE_HEADER_BYTES,
  type BlockHeader,
  type DamageReason,
  type JournalBlock,
  type JournalDamage,
  type JournalRecord,
} from './record.ts'
import type { ReadAway } from './away.ts'
import { parsePayload } from './payload.ts'
import {
  listSegments,
  openSegment,
  walkBlocks,
  type BadPiece,
  type GoodPiece,
  type Segment,
} from './segments.ts'

/** The journal of a venue. */
export type JournalPlace = {
  readonly dir: string
  readonly venue: VenueId
  /** Reads what is in other storage; without it such a file is an error. */
  readonly away?: ReadAway
}

/** A journal and the first and last record number to read from it. */
export type JournalRange = JournalPlace & {
  readonly from?: number
  readonly to?: number
}

/**
 * Reads a journal in order, block by block; blocks at the ends of the range are cut to it. Every
 * number between the first and the last one given is in a block or in a damage report.
 */
export function* readJournal(
  range: JournalRange,
): Generator<JournalBlock | JournalDamage, void, void> {
  const { from = 1, to = Number.MAX_SAFE_INTEGER } = range
  for (const item of readInOrder(range, from, to)) {
    if (item.kind === 'damage') {
      if (item.firstMissing > to) return
      const last = item.lastMissing ?? Number.MAX_SAFE_INTEGER
      if (Math.max(last, item.firstMissing) >= from) yield item
    } else {
      if (item.first > to) return
      yield cut(item, from, to)
    }
  }
}

/** One record by number, for audit; undefined when it is not, or no longer, in the journal. */
export function readRecord(journal: JournalPlace, number: number): JournalRecord | undefined {
  return readRecords(journal, number, number).get(number)
}

/** Records that were read in one pass. */
export type FoundRecords = {
  /** A record; undefined when it is not, or no longer, in the journal. Throws where it is damaged. */
  get(number: number): JournalRecord | undefined
  readonly damages: readonly JournalDamage[]
}

/** A few records from one number to another: a block that has several of them is read once. */
export function readRecords(journal: JournalPlace, from: number, to: number): FoundRecords {
  const records = new Map<number, JournalRecord>()
  const damages: JournalDamage[] = []
  for (const item of readJournal({ ...journal, from, to })) {
    // Between two files nothing is damaged: another recorder may have had these numbers.
    if (item.kind === 'damage') {
      if (item.reason !== 'missing_records') damages.push(item)
      continue
    }
    const { first, count, origin, recorder, received, kinds, slots, bytes } = item
    for (let at = 0; at < count; at++) {
      records.set(first + at, {
        number: first + at,
        received: received[at]!,
        kind: kinds[at]!,
        slot: slots[at]!,
        bytes: bytes[at]!,
        origin,
        recorder,
      })
    }
  }
  return {
    damages,
    get(number) {
      const damage = damages.find(
        ({ firstMissing, lastMissing = number }) => firstMissing <= number && number <= lastMissing,
      )
      const record = records.get(number)
      if (record !== undefined || damage === undefined) return record
      throw new PriorbookError(
        'corrupt_journal',
        `record ${number} is in a damaged part of ${damage.file} at byte ${damage.offset}`,
      )
    },
  }
}

function* readInOrder(
  range: JournalRange,
  from: number,
  to: number,
): Generator<JournalBlock | JournalDamage, void, void> {
  const all = listSegments(range.dir, range.venue)
  const start = all.findLastIndex(({ first }) => first <= from)
  const segments = all.slice(Math.max(0, start))
  let expected = segments[0]?.first ?? 1
  // Bad bytes are held back until the next good block shows which record numbers they held.
  let bad: { readonly path: string; readonly piece: BadPiece } | undefined

  function* reach(number: number, path: string, offset: number): Generator<JournalDamage> {
    const next = Math.max(number, expected)
    if (bad !== undefined) {
      yield toDamage(bad.path, bad.piece, expected, next - 1, 'bad_block')
    } else if (next > expected) {
      yield toDamage(path, { offset, length: 0 }, expected, next - 1, 'missing_records')
    }
    bad = undefined
    expected = next
  }

  // Files of two recorders may overlap where one was not the writer any more: the later file counts.
  function* readSegment(segment: Segment, end: number): Generator<JournalBlock | JournalDamage> {
    const { path } = segment.name
    if (segment.last !== undefined && segment.last < from) {
      return void (expected = Math.max(expected, segment.last + 1))
    }
    if (segment.size < FILE_HEADER_BYTES) {
      bad = { path, piece: { kind: 'bad', offset: 0, length: segment.size, last: undefined } }
    } else if (segment.header === undefined) {
      const place = { offset: 0, length: FILE_HEADER_BYTES }
      yield toDamage(path, place, expected, expected - 1, 'bad_file_header')
    }
    const isWanted = (header: BlockHeader) => header.first + header.count > from
    const mark = segment.blockBefore(from)
    if (bad === undefined) expected = Math.max(expected, mark?.first ?? 0)
    for (const piece of walkBlocks(segment, expected, isWanted, mark?.offset)) {
      if (piece.kind === 'bad') {
        bad = { path, piece }
        continue
      }
      const { header } = piece
      const last = Math.min(end, header.first + header.count - 1)
      if (header.count > 0 && last < header.first) return
      yield* reach(header.first, path, piece.offset)
      if (header.first > to) return
      expected = last + 1
      if (header.count > 0 && last >= from) yield readBlock(path, piece, from, Math.min(to, last))
      if (expected > to) return
    }
  }

  for (const [index, name] of segments.entries()) {
    yield* reach(name.first, name.path, 0)
    if (expected > to) return
    const segment = openSegment(name, range.away)
    try {
      const end = (segments[index + 1]?.first ?? Infinity) - 1
      if (segment !== undefined) yield* readSegment(segment, end)
    } finally {
      segment?.close()
    }
    if (expected > to) return
  }
  if (bad !== undefined) {
    yield toDamage(bad.path, bad.piece, expected, bad.piece.last, 'torn_tail')
  }
}

/** Reads a block from one record up to another. */
function readBlock(
  path: string,
  piece: GoodPiece,
  from: number,
  to: number,
): JournalBlock | JournalDamage {
  const { offset, header } = piece
  try {
    return cut(parsePayload(header, piece.stored(), from, to), from, to)
  } catch {
    // The checksum matches but the content is invalid: a bug of a writer. Reading continues.
    const place = { offset, length: BLOCK_HEADER_BYTES + header.storedBytes }
    return toDamage(path, place, header.first, header.first + header.count - 1, 'bad_block')
  }
}

/** A closing mark: all records before `next` were committed. */
export type ClosingMark = { readonly kind: 'mark'; readonly next: number }

/** All blocks of one file with its closing marks, as they are stored. */
export function* readSegmentBlocks(
  segment: Segment,
): Generator<JournalBlock | JournalDamage | ClosingMark, void, void> {
  const { path, first } = segment.name
  for (const piece of walkBlocks(segment, first, () => true)) {
    if (piece.kind === 'bad') {
      yield toDamage(path, piece, first, piece.last, 'bad_block')
      continue
    }
    const { header } = piece
    if (header.count === 0) yield { kind: 'mark', next: header.first }
    else yield readBlock(path, piece, header.first, header.first + header.count - 1)
  }
}

function toDamage(
  file: string,
  place: { readonly offset: number; readonly length: number },
  firstMissing: number,
  lastMissing: number | undefined,
  reason: DamageReason,
): JournalDamage {
  const { offset, length } = place
  return { kind: 'damage', file, offset, length, firstMissing, lastMissing, reason }
}

function cut(block: JournalBlock, from: number, to: number): JournalBlock {
  const start = Math.max(0, from - block.first)
  const end = Math.min(block.count, to - block.first + 1)
  if (start === 0 && end === block.count) return block
  return {
    ...block,
    first: block.first + start,
    count: end - start,
    received: block.received.slice(start, end),
    kinds: block.kinds.slice(start, end),
    slots: block.slots.slice(start, end),
    bytes: block.bytes.slice(start, end),
  }
}
