import { join } from 'node:path'

/** What a data folder holds: the tape and the journal it was derived from. */
export type DataFolder = { readonly path: string; readonly tape: string; readonly journal: string }

/** Names the parts of a data folder. */
export function toDataFolder(path: string): DataFolder {
  return { path, tape: join(path, 'tape.db'), journal: join(path, 'journal') }
}
