import { existsSync, renameSync, rmSync } from 'node:fs'
import { PriorbookError } from '@priorbook/sdk/domain'
import { journalStats } from '@priorbook/sdk/journal'
import type { DataFolder } from '../lib/data-folder.ts'
import { lockTape, openEmbeddedStore } from '../store/embedded/open.ts'
import { deriveAll, journaledVenues } from './rebuild.ts'

/** What replaced a tape. */
export type Replacement = {
  readonly records: number
  /** Where the old tape is now; absent where there was none. */
  readonly movedTo?: string
}

// SQLite's log and shared memory belong to the database beside them.
const PARTS = ['', '-wal', '-shm']

/**
 * Derives a new tape from the journal and puts it in the place of one that cannot be opened any more. The
 * old one stays beside it. Refuses a journal without its beginning: the tape may hold more than that.
 */
export async function replaceTape(
  data: DataFolder,
  nowMs: number,
  onProgress: (done: number, total: number) => void,
): Promise<Replacement> {
  const lock = takeLock(data.tape)
  try {
    return await replaceLocked(data, nowMs, onProgress)
  } finally {
    lock.close()
  }
}

// A recorder that started meanwhile would write into the file that is moved away.
function takeLock(tape: string): { close(): void } {
  try {
    return lockTape(tape)
  } catch (cause) {
    const isTaken = cause instanceof PriorbookError && cause.code === 'store_locked'
    if (!isTaken) throw cause
    const detail = 'stop the process that writes to this folder first'
    throw new PriorbookError('store_locked', detail, { cause })
  }
}

async function replaceLocked(
  data: DataFolder,
  nowMs: number,
  onProgress: (done: number, total: number) => void,
): Promise<Replacement> {
  const venues = journaledVenues(data)
  if (venues.length === 0) {
    throw new PriorbookError('invalid_argument', `there is no journal in ${data.path}`)
  }
  for (const venue of venues) {
    const { first = 1 } = journalStats(data.journal, venue)
    if (first === 1) continue
    throw new PriorbookError(
      'invalid_argument',
      `the journal of ${venue} begins at record ${first}: rows before it exist in the tape alone`,
    )
  }
  const fresh = `${data.tape}.fresh`
  for (const part of PARTS) rmSync(fresh + part, { force: true })
  const store = openEmbeddedStore({ file: fresh })
  let records: number
  try {
    records = (await deriveAll(store, { data, onProgress })).records
  } finally {
    await store.close()
  }
  rmSync(`${fresh}.lock`, { force: true })
  const stamp = new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')
  const movedTo = `${data.tape}.damaged-${stamp}`
  const isThere = existsSync(data.tape)
  // The log first: left behind by a crash between the renames, it would be applied to the new tape.
  for (const part of PARTS.toReversed()) {
    if (existsSync(data.tape + part)) renameSync(data.tape + part, movedTo + part)
  }
  renameSync(fresh, data.tape)
  return { records, ...(isThere ? { movedTo } : {}) }
}
