import { chmodSync, copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { CONTROL_FILE, openControl } from './control.ts'
import { readRevision } from './keys.ts'

/** The copy of the control file that a damaged or deleted one is restored from. */
const COPY_FILE = 'control.copy.db'
const SAVE_MS = 2000
const ENDS = ['', '-wal', '-shm']

/**
 * Puts the last good copy in the place of a control file that is damaged or gone, and moves a damaged one aside.
 * Without a copy the service starts without keys.
 */
export function healControl(folder: string, nowMs: number, onTrouble: (why: string) => void): void {
  const file = join(folder, CONTROL_FILE)
  const copy = join(folder, COPY_FILE)
  if (isSound(file)) return
  const isThere = existsSync(file)
  const aside = `${file}.damaged-${nowMs}`
  for (const end of ENDS) if (existsSync(file + end)) renameSync(file + end, aside + end)
  const what = isThere ? `${file} is damaged and was moved to ${aside}` : `${file} is gone`
  if (isSound(copy)) {
    copyFileSync(copy, file)
    chmodSync(file, 0o600)
    onTrouble(`${what}; keys and secrets come from ${copy}`)
  } else if (isThere) onTrouble(`${what}; there is no copy, so all keys are gone`)
}

/** Keeps the copy up to date while the service runs; `stop` ends it. */
export function keepControlCopy(
  folder: string,
  onTrouble: (why: string) => void,
): { stop(): void } {
  const file = join(folder, CONTROL_FILE)
  let saved: string | undefined
  const save = (): void => {
    try {
      if (!existsSync(file)) return
      const database = openControl(file)
      try {
        const mark = `${statSync(file).ino} ${readRevision(database)}`
        if (mark === saved) return
        const draft = join(folder, `${COPY_FILE}.new`)
        rmSync(draft, { force: true })
        database.prepare('VACUUM INTO ?').run(draft)
        chmodSync(draft, 0o600)
        renameSync(draft, join(folder, COPY_FILE))
        saved = mark
      } finally {
        database.close()
      }
    } catch (error) {
      onTrouble(error instanceof Error ? error.message : String(error))
    }
  }
  save()
  const timer = setInterval(save, SAVE_MS).unref()
  return { stop: () => clearInterval(timer) }
}

// A file that another process holds, or that a newer version wrote, is not damaged.
function isSound(file: string): boolean {
  if (!existsSync(file)) return false
  try {
    const database = new DatabaseSync(file)
    try {
      database.exec('PRAGMA busy_timeout = 5000')
      const found = database.prepare('PRAGMA quick_check').get()?.['quick_check']
      return found === 'ok'
    } finally {
      database.close()
    }
  } catch (error) {
    const { errcode = 0 } = error as { readonly errcode?: number }
    return !DAMAGE.has(errcode & 0xff)
  }
}

// SQLITE_CORRUPT and SQLITE_NOTADB.
const DAMAGE: ReadonlySet<number> = new Set([11, 26])
