import { PriorbookError, type ErrorCode, type VenueId } from '@priorbook/sdk/domain'
import { hashObject } from '../objects/hash-object.ts'
import { openObjects } from '../objects/open-objects.ts'
import { listNotes } from './away-notes.ts'

/** What is wrong with a file of a journal in other storage. */
export type AwayProblem = {
  readonly code: ErrorCode
  readonly where: string
  readonly detail: string
}

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
      const read = await hashObject(store, name, size)
      if (read.toString('hex') === hash) continue
      const detail = `${name} in ${address} has other bytes than were written`
      yield { code: 'object_damaged', where: path, detail }
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      yield { code: error.code, where: path, detail: error.message }
    }
  }
}
