import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, unlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { PriorbookError, VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import {
  awayPath,
  FILE_HEADER_BYTES,
  openSegment,
  parseAway,
  printAway,
  segmentStats,
  walkBlocks,
  type AwayFile,
  type SegmentName,
} from '@priorbook/sdk/journal/format'
import type { ObjectStore } from '../objects/object-store.ts'
import { putChecked } from '../objects/put-checked.ts'
import { listUnwanted, writeAwayNote } from './away-notes.ts'
import { syncFolder, toDiskError } from './disk.ts'
import type { SegmentSizes } from './retention.ts'

/** Which files of a venue's journal to move, and where to. */
export type AwayOrder = {
  readonly dir: string
  readonly venue: VenueId
  readonly objects: ObjectStore
  readonly sizes: SegmentSizes
  /** The number of the tape that the journal belongs to. */
  readonly owner: number
  /** Only files all of whose records were received before go. */
  readonly before: number
  /** The last record that the tape needs no more, whatever is damaged; files with later ones stay. */
  readonly packed: number
  readonly now: number
  /** How long an object stays that retention does not want any more, in microseconds. */
  readonly keepUnused: number
  readonly restMs?: number
  readonly signal?: AbortSignal
}

/** What was moved. */
export type AwayReport = {
  files: number
  bytes: number
  /** Objects that were removed from the storage, because retention removed their files. */
  removed: number
}

/** Files of a journal that will be moved are at most this large: one is in memory while it goes. */
export const AWAY_FILE_BYTES = 32 * 1024 * 1024

// A block every so many bytes is marked, so that a record is found with few requests.
const MARK_BYTES = 262_144
const HASH_BYTES = 4 * 1024 * 1024
// Headers that are read at once: 5 ms.
const STEP_BLOCKS = 1000
const NOTE_ENDING = '.away'

/**
 * Moves finished files of a journal to other storage, oldest first. A file is written there and read back;
 * then a note of where it is takes its place. A kill at any moment loses nothing: at worst an object stays
 * that nothing refers to, or a file beside its note, which then goes with the next pass.
 */
export async function moveAway(order: AwayOrder): Promise<AwayReport> {
  const report: AwayReport = { files: 0, bytes: 0, removed: 0 }
  const { dir, venue, before, packed, sizes } = order
  const segments = sizes.list(dir, venue)
  for (const [index, segment] of segments.slice(0, -1).entries()) {
    if (segment.isAway) continue
    // A file without a readable block stays: nobody can say how old it is.
    if (segment.newest === undefined) continue
    if (segment.newest >= before || segments[index + 1]!.first - 1 > packed) break
    report.bytes += await moveFile(order, segment)
    report.files++
  }
  report.removed = await removeUnwanted(order)
  return report
}

async function moveFile(order: AwayOrder, name: SegmentName): Promise<number> {
  const { objects, venue, owner } = order
  const bytes = await readFile(name.path)
  const digest = await hashOf(bytes, order)
  const hash = digest.toString('hex')
  const object = `${prefixOf(venue)}${basename(name.path, '.pbj')}-${hash.slice(0, 24)}.pbj`
  const { file: _, ...stats } = segmentStats(name)!
  const file: AwayFile = {
    address: objects.address,
    name: object,
    size: bytes.length,
    hash,
    owner,
    header: bytes.subarray(0, FILE_HEADER_BYTES).toString('base64'),
    marks: await markBlocks(name, order),
    stats,
  }
  await putChecked(objects, object, bytes, digest, {
    // Nothing refers to an object of these bytes that could not be read back.
    isNeeded: () => Promise.resolve(false),
    rest: () => rest(order),
  })
  // So that the files can be found without this folder.
  await objects.put(`${object}${NOTE_ENDING}`, Buffer.from(printAway(file)))
  writeAwayNote(awayPath(name.path), file)
  try {
    unlinkSync(name.path)
    syncFolder(dirname(name.path))
  } catch (error) {
    throw toDiskError(error, name.path)
  }
  return bytes.length
}

async function hashOf(bytes: Uint8Array, order: AwayOrder): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += HASH_BYTES) {
    hash.update(bytes.subarray(at, at + HASH_BYTES))
    await rest(order)
  }
  return hash.digest()
}

async function markBlocks(name: SegmentName, order: AwayOrder): Promise<AwayFile['marks']> {
  const segment = openSegment(name)!
  const marks: [offset: number, first: number][] = []
  try {
    let blocks = 0
    for (const piece of walkBlocks(segment, name.first, () => false)) {
      if (++blocks % STEP_BLOCKS === 0) await rest(order)
      if (piece.kind === 'bad') continue
      const { offset, header } = piece
      if (offset - (marks.at(-1)?.[0] ?? -Infinity) >= MARK_BYTES)
        marks.push([offset, header.first])
    }
  } finally {
    segment.close()
  }
  return marks
}

async function removeUnwanted(order: AwayOrder): Promise<number> {
  const { dir, venue, objects, owner, now, keepUnused } = order
  let removed = 0
  for (const { path, file } of listUnwanted(dir, venue)) {
    // Another folder, of which this one is a copy, may need what that one moved.
    const isOwn = file.owner === owner && file.address === objects.address
    if (!isOwn || now - file.unwanted < keepUnused) continue
    await objects.remove(`${file.name}${NOTE_ENDING}`)
    await objects.remove(file.name)
    unlinkSync(path)
    removed++
    await rest(order)
  }
  return removed
}

/**
 * Makes the files of journals in a storage readable from a folder that does not know of them: of a machine that is
 * gone, or of another recorder of the same tape. Returns how many were found.
 */
export async function findAway(dir: string, objects: ObjectStore): Promise<number> {
  let found = 0
  for (const venue of VENUE_IDS) {
    const prefix = prefixOf(venue)
    for await (const { name, size } of objects.list(prefix)) {
      const first = name.slice(prefix.length, prefix.length + 16)
      if (!name.endsWith(NOTE_ENDING) || !/^\d{16}$/.test(first)) continue
      const path = join(dir, venue, first)
      if (['.pbj', '.away', '.unwanted'].some((ending) => existsSync(path + ending))) continue
      const text = Buffer.from(await objects.read(name, 0, size)).toString('utf8')
      const file = parseAway(text)
      if (file === undefined) {
        throw new PriorbookError('object_damaged', `${name} in ${objects.address} is damaged`)
      }
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeAwayNote(`${path}.away`, { ...file, address: objects.address })
      found++
    }
  }
  return found
}

/** The names of the files of a venue begin so. */
function prefixOf(venue: VenueId): string {
  return `journal/v1/${venue}/`
}

async function rest({ restMs = 0, signal }: AwayOrder): Promise<void> {
  await pause(restMs)
  if (signal?.aborted === true) throw new PriorbookError('store_closed', 'it was stopped')
}
