import { createHash } from 'node:crypto'
import { existsSync, statSync, unlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import {
  awayPath,
  countSegment,
  FILE_HEADER_BYTES,
  listSegments,
  openSegment,
  parseAway,
  printAway,
  type AwayFile,
  type SegmentName,
} from '@priorbook/sdk/journal/format'
import { restBetween } from '../lib/wait.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { putChecked } from '../objects/put-checked.ts'
import { listUnwanted, writeAwayNote, type UnwantedFile } from './away-notes.ts'
import { syncFolder, toDiskError } from './disk.ts'
import { newestIndex } from './retention.ts'

/** Which files of a venue's journal to move, and where to. */
export type AwayOrder = {
  readonly dir: string
  readonly venue: VenueId
  readonly objects: ObjectStore
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

/** What was moved, and what stopped some of it. */
export type AwayReport = {
  files: number
  bytes: number
  /** Objects that were removed from the storage, because retention removed their files. */
  removed: number
  readonly failures: unknown[]
}

/** Files of a journal that will be moved are at most this large: one is in memory while it goes. */
export const AWAY_FILE_BYTES = 32 * 1024 * 1024

/** The ending of the name of a note beside its object. */
export const NOTE_ENDING = '.away'

// The bytes between two marks of a note. A reader begins at the mark before its record, with few requests.
const MARK_BYTES = 262_144
const HASH_BYTES = 4 * 1024 * 1024
// Headers that are read at once: 5 ms.
const STEP_BLOCKS = 1000

/**
 * Moves finished files of a journal to other storage, oldest first. A file is written there and read back;
 * then a note of where it is takes its place. A kill at any moment loses nothing: at worst an object stays
 * that nothing refers to, or a file beside its note, which then goes with the next pass. A file that cannot be
 * moved does not keep the others here.
 */
export async function moveAway(order: AwayOrder): Promise<AwayReport> {
  const report: AwayReport = { files: 0, bytes: 0, removed: 0, failures: [] }
  const { dir, venue, packed } = order
  const names = listSegments(dir, venue)
  for (const [index, name] of names.slice(0, newestIndex(names)).entries()) {
    if (name.isAway) continue
    if (names[index + 1]!.first - 1 > packed || !isOld(name, order)) break
    try {
      const bytes = await moveFile(order, name)
      if (bytes === undefined) continue
      report.bytes += bytes
      report.files++
    } catch (error) {
      if (isHopeless(error)) throw error
      report.failures.push(error)
    }
  }
  report.removed = await removeUnwanted(order)
  return report
}

// A storage that is away, or refuses, does so for all files.
function isHopeless(error: unknown): boolean {
  const codes = ['objects_unavailable', 'objects_refused', 'store_closed', 'invalid_config']
  return error instanceof PriorbookError && codes.includes(error.code)
}

// When the file was last written to. The times of its records are read only of files that pass.
function isOld({ path }: SegmentName, { before }: AwayOrder): boolean {
  const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  return written === undefined || written * 1000 < before
}

/** Moves a file; returns its size, and undefined where it stays or was removed meanwhile. */
async function moveFile(order: AwayOrder, name: SegmentName): Promise<number | undefined> {
  const { objects, venue, owner } = order
  const survey = await surveyFile(name, order)
  const newest = survey?.stats.maxReceived
  // Without a readable block the age of the file is not known, so it stays.
  if (survey === undefined || newest === undefined || newest >= order.before) return undefined
  const bytes = await readFile(name.path).catch(orGone)
  // A file that was packed since the survey has other places: the next pass moves it.
  if (bytes === undefined || bytes.length !== survey.stats.bytes) return undefined
  const digest = await hashOf(bytes, order)
  const hash = digest.toString('hex')
  const object = `${prefixOf(venue)}${basename(name.path, '.pbj')}-${hash.slice(0, 24)}.pbj`
  const file: AwayFile = {
    address: objects.address,
    name: object,
    size: bytes.length,
    hash,
    owner,
    header: bytes.subarray(0, FILE_HEADER_BYTES).toString('base64'),
    ...survey,
  }
  await putChecked(objects, object, bytes, digest, {
    // Nothing refers to an object of these bytes that could not be read back.
    isNeeded: () => Promise.resolve(false),
    rest: () => rest(order),
  })
  const first = await putNote(objects, file)
  // From here on nothing is awaited, so that retention finds the file or the note.
  if (!existsSync(name.path)) {
    if (first.owner === owner) await removeObject(objects, file)
    return undefined
  }
  writeAwayNote(awayPath(name.path), first)
  try {
    unlinkSync(name.path)
    syncFolder(dirname(name.path))
  } catch (error) {
    throw toDiskError(error, name.path)
  }
  return bytes.length
}

// A note beside the object, so that it is found without this folder. A copy of this folder may have moved the
// same file before: then that one owns it.
async function putNote(objects: ObjectStore, file: AwayFile): Promise<AwayFile> {
  const name = `${file.name}${NOTE_ENDING}`
  const note = Buffer.from(printAway(file))
  if (await objects.put(name, note)) return file
  const size = (await objects.size(name)) ?? 0
  const known = parseAway(Buffer.from(await objects.read(name, 0, size)).toString('utf8'))
  if (known !== undefined) return { ...file, owner: known.owner }
  await objects.remove(name)
  await objects.put(name, note)
  return file
}

/** Reads counts and marks of a file, in steps; undefined where it is gone. */
async function surveyFile(
  name: SegmentName,
  order: AwayOrder,
): Promise<Pick<AwayFile, 'stats' | 'marks'> | undefined> {
  const segment = openSegment(name)
  if (segment === undefined || segment.name.isAway) return undefined
  const marks: [offset: number, first: number][] = []
  try {
    const counting = countSegment(segment)
    for (let step = counting.next(), blocks = 1; ; step = counting.next(), blocks++) {
      if (step.done === true) return { marks, stats: step.value }
      if (blocks % STEP_BLOCKS === 0) await rest(order)
      if (step.value.kind === 'bad') continue
      const { offset, header } = step.value
      const last = marks.at(-1)?.[0] ?? -Infinity
      if (offset - last >= MARK_BYTES) marks.push([offset, header.first])
    }
  } finally {
    segment.close()
  }
}

async function hashOf(bytes: Uint8Array, order: AwayOrder): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += HASH_BYTES) {
    hash.update(bytes.subarray(at, at + HASH_BYTES))
    await rest(order)
  }
  return hash.digest()
}

// Notes in the storage go at once, so that no other folder finds them; objects after a while.
async function removeUnwanted(order: AwayOrder): Promise<number> {
  const { dir, venue, objects, owner, now, keepUnused } = order
  let removed = 0
  for (const { path, file } of listUnwanted(dir, venue)) {
    // Another folder, of which this one is a copy, may need what that one moved.
    if (file?.owner !== owner || file.address !== objects.address) continue
    // A kill came before its note was removed, and then retention was changed.
    const isWanted = ['.away', '.pbj'].some((ending) =>
      existsSync(path.replace('.unwanted', ending)),
    )
    if (isWanted) {
      unlinkSync(path)
    } else if (now - file.unwanted >= keepUnused) {
      await removeObject(objects, file)
      unlinkSync(path)
      removed++
    } else if (file.isNoteGone !== true) {
      await objects.remove(`${file.name}${NOTE_ENDING}`)
      writeAwayNote(path, { ...file, isNoteGone: true } as UnwantedFile)
    }
    await rest(order)
  }
  return removed
}

async function removeObject(objects: ObjectStore, { name }: AwayFile): Promise<void> {
  await objects.remove(`${name}${NOTE_ENDING}`)
  await objects.remove(name)
}

function orGone(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

/** The names of the files of a venue begin so. */
export function prefixOf(venue: VenueId): string {
  return `journal/v1/${venue}/`
}

function rest({ restMs = 0, signal }: AwayOrder): Promise<void> {
  return restBetween(restMs, signal)
}
