import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { printBytes, UsageError } from '@priorbook/sdk/command-line'
import { PriorbookError } from '@priorbook/sdk/domain'
import { toDataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'

/** `priorbook-server backup FOLDER` */
export const backupCommand = defineCommand({
  name: 'backup',
  args: 'FOLDER',
  mostArgs: 1,
  about:
    'Copies tape and journal into a new folder; other processes may go on reading and writing.',
  options: {},
  examples: ['priorbook-server backup --data data backups/2026-08-11'],
  async run(context) {
    const { data, args } = context
    const target = toDataFolder(emptyFolder(args[0], 'the folder to write the backup to'))
    const store = openEmbeddedStore({ file: data.tape, readOnly: true })
    try {
      mkdirSync(target.path, { recursive: true })
      await store.backup(target.tape)
    } finally {
      await store.close()
    }
    // The journal is copied after the tape, so that it holds every record the tape was derived from.
    if (existsSync(data.journal)) cpSync(data.journal, target.journal, { recursive: true })
    const bytes = statSync(target.tape).size
    await print(context, { folder: target.path, bytes }, [
      `backup in ${target.path}, tape ${printBytes(bytes)}`,
    ])
  },
})

/** `priorbook-server restore FOLDER` */
export const restoreCommand = defineCommand({
  name: 'restore',
  args: 'FOLDER',
  mostArgs: 1,
  about: 'Verifies a backup and copies it into a new data folder.',
  options: {},
  examples: ['priorbook-server restore --data data backups/2026-08-11'],
  async run(context) {
    const { data, args } = context
    const [from] = args
    if (from === undefined) throw new UsageError('name the backup folder')
    const source = toDataFolder(from)
    emptyFolder(data.path, 'the data folder')
    const backup = openEmbeddedStore({ file: source.tape, readOnly: true })
    try {
      const { problems } = await backup.verify()
      if (problems.length > 0) {
        const { where, detail } = problems[0]!
        throw new PriorbookError(
          'corrupt_database',
          `the backup has ${problems.length} problems, the first at ${where}: ${detail}`,
        )
      }
      mkdirSync(data.path, { recursive: true })
      await backup.backup(data.tape)
    } finally {
      await backup.close()
    }
    if (existsSync(source.journal)) cpSync(source.journal, data.journal, { recursive: true })
    await print(context, { folder: data.path }, [`restored into ${data.path}`])
  },
})

function emptyFolder(path: string | undefined, what: string): string {
  if (path === undefined) throw new UsageError(`name ${what}`)
  if (existsSync(path) && readdirSync(path).length > 0) {
    throw new UsageError(`${path} is not empty: ${what} must be new`)
  }
  return path
}
