import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { parseAway, printAway, type AwayFile } from '@priorbook/sdk/journal/format'
import { syncFolder, toDiskError, writeFully } from './disk.ts'

/** A file in other storage that retention removed here. */
export type UnwantedFile = AwayFile & {
  /** When, in microseconds. */
  readonly unwanted: number
  /** True where the note in the storage was removed. */
  readonly isNoteGone?: boolean
}

/** A note and what it says; undefined where it is damaged. */
export type AwayNote<File extends AwayFile = AwayFile> = {
  readonly path: string
  readonly file: File | undefined
}

const AWAY = /^\d{16}\.away$/
const UNWANTED = /^\d{16}\.unwanted$/

/** Writes the note on a file of a journal that is in other storage: all of it, durably, or nothing. */
export function writeAwayNote(path: string, file: AwayFile): void {
  const temporary = `${path}.temporary`
  try {
    const fd = openSync(temporary, 'w')
    try {
      writeFully(fd, Buffer.from(printAway(file)), 0)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, path)
    syncFolder(dirname(path))
  } catch (error) {
    throw toDiskError(error, path)
  }
}

/** Takes the file of a note off the journal. Its object goes later: a backup may refer to it. */
export function markUnwanted(path: string, now: number): void {
  const file = parseAway(readFileSync(path, 'utf8'))
  if (file !== undefined) {
    writeAwayNote(path.replace(/away$/, 'unwanted'), { ...file, unwanted: now } as UnwantedFile)
  }
  unlinkSync(path)
}

/** The notes of a venue's journal, by number. */
export function listNotes(dir: string, venue: VenueId): AwayNote[] {
  return readNotes(join(dir, venue), AWAY)
}

/** The notes on files that retention removed here. */
export function listUnwanted(dir: string, venue: VenueId): AwayNote<UnwantedFile>[] {
  return readNotes(join(dir, venue), UNWANTED) as AwayNote<UnwantedFile>[]
}

/** True where files of the journal are, or were, in the storage at an address. */
export function knowsAddress(dir: string, address: string): boolean {
  return VENUE_IDS.some((venue) =>
    [...listNotes(dir, venue), ...listUnwanted(dir, venue)].some(
      ({ file }) => file?.address === address,
    ),
  )
}

function readNotes(folder: string, ending: RegExp): AwayNote[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => ending.test(name))
    .toSorted()
    .map((name) => join(folder, name))
    .map((path) => ({ path, file: parseAway(readFileSync(path, 'utf8')) }))
}
