import type { DataFolder } from '../lib/data-folder.ts'
import { mergeRecorders, type MergeReport } from './merge-recorders.ts'
import { compareStores } from './rebuild.ts'
import { read } from './scripted.testing.ts'

/** Merges data folders of a test. */
export async function merge(target: DataFolder, ...folders: DataFolder[]): Promise<MergeReport> {
  return mergeRecorders({ target: target.path, folders: folders.map(({ path }) => path) })
}

/** What two tapes have different, down to the hashes of chunks. */
export async function mergeDifferences(
  one: DataFolder,
  other: DataFolder,
): Promise<readonly unknown[]> {
  return read(one, (a) => read(other, async (b) => (await compareStores(a, b)).differences))
}
