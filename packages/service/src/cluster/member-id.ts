import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../lib/make-folder.ts'

const ID_FILE = 'member-id'

/** The name of a data folder among those that share a tape; it survives a new name of the machine. */
export function readMemberId(folder: string): string {
  const file = join(folder, ID_FILE)
  if (!existsSync(file)) {
    makeFolder(folder)
    writeFileSync(file, `${randomBytes(6).toString('hex')}\n`)
  }
  return readFileSync(file, 'utf8').trim()
}
