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
import type { VenueId } from '@priorbook/sdk/domain'
import { parseAway, printAway, type AwayFile } from '@priorbook/sdk/journal/format'
import { syncFolder, toDiskError, writeFully } from './disk.ts'

/** A file in other storage that retention removed here, and when, in microseconds. */
export type UnwantedFile = AwayFile & { readonly unwanted: number }

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

/** The files in other storage that retention removed here, with the paths of their notes. */
export function listUnwanted(
  dir: string,
  venue: VenueId,
): readonly { readonly path: string; readonly file: UnwantedFile }[] {
  const folder = join(dir, venue)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => UNWANTED.test(name))
    .map((name) => join(folder, name))
    .map((path) => ({ path, file: parseAway(readFileSync(path, 'utf8')) as UnwantedFile }))
    .filter(({ file }) => file !== undefined)
}
