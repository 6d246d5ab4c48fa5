import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { DataFolder } from '../lib/data-folder.ts'
import { indexFolder, openFilesStore, type FolderReport } from '../store/files/open.ts'
import type { Store } from '../store/store.ts'

const PREFIX = 'files:'
const INDEX = 'files-index.db'

/** A folder of downloaded files that is served instead of a tape. */
export type HostedFolder = {
  readonly folder: string
  /** Its index, in the data folder. */
  readonly index: string
  readonly report: FolderReport
  readonly store: Store
}

/** The folder that `--store files:DIR` names; absent where the tape of the data folder is served. */
export function folderOf(store: string): string | undefined {
  if (store === '') return undefined
  if (!store.startsWith(PREFIX) || store === PREFIX) {
    throw new PriorbookError(
      'invalid_config',
      `store must be files:DIR or postgres://…, not ${store.replace(/\/\/.*/, '//…')}`,
    )
  }
  return resolve(store.slice(PREFIX.length))
}

/** Indexes the files of a folder and opens them; reports the name of every refused file. */
export async function openHosted(
  folder: string,
  data: DataFolder,
  onRefused: (fields: object, message: string) => void,
): Promise<HostedFolder> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new PriorbookError('store_unavailable', `${folder} is not a folder`)
  }
  const index = join(data.path, INDEX)
  const report = await indexFolder(folder, index)
  for (const refused of report.refused) onRefused(refused, 'a file is not served')
  return { folder, index, report, store: openFilesStore({ folder, index }) }
}

/** One line about the served files. */
export function hostedLine({ files, refused }: FolderReport): string {
  const names = refused.map(({ file, code }) => `${file} (${code})`).join(', ')
  return `serves ${files} files${refused.length === 0 ? '' : `; refused ${names}`}`
}
