import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import { syncFolder } from '../journal/disk.ts'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { openWriterLock } from '../store/embedded/writer-lock.ts'

/** The named number of a merged tape: of how many recorders it is. Only such a folder is replaced. */
export const MERGED_FACT = 'merged_recorders'

const OWN_NAMES = /^(tape\.db(-wal|-shm|\.lock(-journal)?)?|journal)$/

/**
 * Lets `work` fill a folder beside the target and puts it in the target's place when it is whole. A
 * kill leaves the old target or, between the two renamings, the old one beside it, which the next
 * merge takes back.
 */
export async function replaceFolder<T>(
  target: string,
  work: (data: DataFolder) => Promise<T>,
): Promise<T> {
  const path = resolve(target)
  const fresh = `${path}.merging`
  const old = `${path}.before`
  if (existsSync(old) && !existsSync(path)) renameSync(old, path)
  rmSync(old, { recursive: true, force: true })
  await refuseForeign(toDataFolder(path))
  removeUnfinished(toDataFolder(fresh))
  mkdirSync(fresh, { recursive: true })
  try {
    const result = await work(toDataFolder(fresh))
    if (existsSync(path)) renameSync(path, old)
    renameSync(fresh, path)
    syncFolder(dirname(path))
    rmSync(old, { recursive: true, force: true })
    return result
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

// What a recorder wrote, or anybody else, is never replaced.
async function refuseForeign(data: DataFolder): Promise<void> {
  if (!existsSync(data.path)) return
  const names = readdirSync(data.path)
  if (names.length === 0) return
  if (names.every((name) => OWN_NAMES.test(name)) && existsSync(data.tape)) {
    const store = openEmbeddedStore({ file: data.tape })
    try {
      if ((await store.fact(MERGED_FACT)) !== undefined) return
    } finally {
      await store.close()
    }
  }
  throw new PriorbookError(
    'invalid_argument',
    `${data.path} is not empty and no merged tape: name a new folder`,
  )
}

// A merge that was killed left it; one that still runs holds its lock.
function removeUnfinished(data: DataFolder): void {
  if (existsSync(join(data.path, 'tape.db.lock'))) openWriterLock(`${data.tape}.lock`).close()
  rmSync(data.path, { recursive: true, force: true })
}
