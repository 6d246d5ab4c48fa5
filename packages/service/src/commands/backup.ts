import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { PriorbookError } from '@priorbook/sdk/domain'
import { toDataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { parseArguments, print, size, type Command } from './command.ts'

/** `priorbook-server backup FOLDER` */
export const backupCommand: Command = {
  name: 'backup',
  usage: 'backup [--data DIR] FOLDER',
  about: 'Copies tape and journal into a new folder while others read and write.',
  examples: ['priorbook-server backup --data data backups/2026-08-11'],
  async run(args) {
    const { data, json, rest } = parseArguments(args)
    const target = toDataFolder(emptyFolder(rest, 'the folder to write the backup to'))
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
    print(json, { folder: target.path, bytes }, [`backup in ${target.path}, tape ${size(bytes)}`])
    return 0
  },
}

/** `priorbook-server restore FOLDER` */
export const restoreCommand: Command = {
  name: 'restore',
  usage: 'restore [--data DIR] FOLDER',
  about: 'Verifies a backup and copies it into a new data folder.',
  examples: ['priorbook-server restore --data data backups/2026-08-11'],
  async run(args) {
    const { data, json, rest } = parseArguments(args)
    const [from] = rest
    if (from === undefined) throw new PriorbookError('invalid_argument', 'name the backup folder')
    const source = toDataFolder(from)
    emptyFolder([data.path], 'the data folder')
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
    print(json, { folder: data.path }, [`restored into ${data.path}`])
    return 0
  },
}

function emptyFolder(paths: readonly string[], what: string): string {
  const [path] = paths
  if (path === undefined) throw new PriorbookError('invalid_argument', `name ${what}`)
  if (existsSync(path) && readdirSync(path).length > 0) {
    throw new PriorbookError('invalid_argument', `${path} is not empty: ${what} must be new`)
  }
  return path
}
