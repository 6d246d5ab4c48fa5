import { createHash } from 'node:crypto'
import { PriorbookError, type ErrorCode, type VenueId } from '@priorbook/sdk/domain'
import { openObjects } from '../objects/open-objects.ts'
import { listNotes } from './away-notes.ts'

/** What is wrong with a file of a journal in other storage. */
export type AwayProblem = {
  readonly code: ErrorCode
  readonly where: string
  readonly detail: string
}

const READ_BYTES = 8 * 1024 * 1024

/** Reads every file of a venue's journal that is in other storage, without the cache, and compares its hash. */
export async function* checkAway(dir: string, venue: VenueId): AsyncGenerator<AwayProblem> {
  for (const { path, file } of listNotes(dir, venue)) {
    if (file === undefined) {
      yield { code: 'corrupt_journal', where: path, detail: 'the note is damaged' }
      continue
    }
    const { address, name, size, hash } = file
    try {
      const store = openObjects(address, process.env, false)
      const read = createHash('sha256')
      for (let at = 0; at < size; at += READ_BYTES) {
        read.update(await store.read(name, at, Math.min(READ_BYTES, size - at)))
      }
      if (read.digest('hex') === hash) continue
      const detail = `${name} in ${address} has other bytes than were written`
      yield { code: 'object_damaged', where: path, detail }
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      yield { code: error.code, where: path, detail: error.message }
    }
  }
}
