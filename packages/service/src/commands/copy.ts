import {
  printCount as count,
  ProgressBar,
  textOption,
  UsageError,
} from '@priorbook/sdk/command-line'
import { copyFromDatabase, copyToDatabase } from '../cluster/copy-tape.ts'
import { isDatabase } from '../cluster/address.ts'
import { toDataFolder } from '../lib/data-folder.ts'
import { makeFolder } from '../lib/make-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'

/** `priorbook-server copy --from PLACE --to PLACE` */
export const copyCommand = defineCommand({
  name: 'copy',
  args: '--from PLACE --to PLACE',
  mostArgs: 0,
  about:
    'Copies a tape from a data folder into a database that several machines share, or back. A copy that was stopped goes on where it was.',
  options: {
    from: textOption('PLACE', 'The data folder or the database (postgres://…) to copy.'),
    to: textOption('PLACE', 'The empty database (postgres://…) or the new data folder to copy to.'),
  },
  examples: [
    'priorbook-server copy --from data --to postgres://priorbook@db/tape',
    'priorbook-server copy --from postgres://priorbook@db/tape --to data2',
  ],
  async run(context) {
    const { from, to } = context.options
    if (from === undefined || to === undefined) throw new UsageError('name --from and --to')
    if (isDatabase(from) === isDatabase(to)) {
      throw new UsageError('one of --from and --to is a data folder, the other postgres://…')
    }
    const isUp = isDatabase(to)
    const folder = toDataFolder(isUp ? from : to)
    const bar = new ProgressBar(context.io, 'copy')
    try {
      if (!isUp) makeFolder(folder.path)
      const commit = isUp
        ? (await copyToDatabase(to, folder.tape, (done) => bar.update(done, 0, 'parts'))).commit
        : await copyFromDatabase(from, folder.tape)
      bar.end()
      const { chunks, problems } = await verify(folder.tape)
      await print(context, { folder: folder.path, commit, chunks, problems }, [
        `${folder.path} and the database are the same tape at commit ${count(commit)}: ${count(chunks)} chunks, ${count(problems)} problems`,
      ])
      return problems === 0 ? 0 : 1
    } finally {
      bar.end()
    }
  },
})

async function verify(file: string): Promise<{ chunks: number; problems: number }> {
  const store = openEmbeddedStore({ file, readOnly: true })
  try {
    const { chunks, problems } = await store.verify()
    return { chunks, problems: problems.length }
  } finally {
    await store.close()
  }
}
