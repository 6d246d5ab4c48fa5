import { copyFileSync, cpSync, existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { printBytes, printCount as count, UsageError } from '@priorbook/sdk/command-line'
import { PriorbookError, VENUE_IDS, type ErrorCode, type VenueId } from '@priorbook/sdk/domain'
import { awayPath, listSegments } from '@priorbook/sdk/journal/format'
import { ALERTS_FILE } from '../alerts/alert-store.ts'
import { CONTROL_FILE, copyDatabase, countKeys } from '../api/auth/control.ts'
import { PLANS_FILE } from '../api/auth/plans.ts'
import { copyProofs, countProofs } from '../proofs/copy-proofs.ts'
import { readJournalEnds } from '../derive/journal-end.ts'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'
import { makeFolder } from '../lib/make-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { defineCommand, print } from './command.ts'
import { tellUpgrade } from './tell-upgrade.ts'

/** `priorbook-server backup FOLDER` */
export const backupCommand = defineCommand({
  name: 'backup',
  args: 'FOLDER',
  mostArgs: 1,
  about:
    'Copies tape, journal, keys, usage, plans, alerts, secrets and signed roots with their key into a new folder; other processes may go on reading and writing.',
  options: {},
  examples: ['priorbook-server backup --data data backups/2026-08-11'],
  async run(context) {
    const { data, args } = context
    const target = toDataFolder(emptyFolder(args[0], 'the folder to write the backup to'))
    const store = openEmbeddedStore({
      file: data.tape,
      readOnly: true,
      mayBeFixed: true,
      onUpgrade: tellUpgrade(),
    })
    try {
      makeFolder(target.path)
      await store.backup(target.tape)
    } finally {
      await store.close()
    }
    // The journal is copied after the tape, so that it holds every record the tape was derived from.
    copyBeside(data, target)
    const holds = await describe(target)
    const bytes = statSync(target.tape).size
    await print(context, { folder: target.path, bytes, ...holds }, [
      `backup in ${target.path}, tape ${printBytes(bytes)}: ${toText(holds)}`,
    ])
  },
})

// Problems of other storage, which a backup refers to.
const ELSEWHERE: ReadonlySet<string> = new Set<ErrorCode>([
  'objects_unavailable',
  'objects_refused',
  'object_missing',
  'object_damaged',
])

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
    const backup = openEmbeddedStore({
      file: source.tape,
      readOnly: true,
      mayBeFixed: true,
      onUpgrade: tellUpgrade(),
    })
    try {
      const found = (await backup.verify()).problems
      const isElsewhere = ({ code }: { code: string }): boolean => ELSEWHERE.has(code)
      for (const { where, detail } of found.filter(isElsewhere)) {
        context.io.note(`warning: ${where}: ${detail}`)
      }
      // What other storage lacks is not in the backup, and the rest is worth restoring.
      const problems = found.filter((problem) => !isElsewhere(problem))
      if (problems.length > 0) {
        const { where, detail } = problems[0]!
        throw new PriorbookError(
          'corrupt_database',
          `the backup has ${problems.length} problems, the first at ${where}: ${detail}`,
        )
      }
      makeFolder(data.path)
      await backup.backup(data.tape)
    } finally {
      await backup.close()
    }
    copyBeside(source, data)
    const holds = await describe(data)
    await print(context, { folder: data.path, ...holds }, [
      `restored into ${data.path}: ${toText(holds)}`,
    ])
  },
})

// Everything beside the tape: the journal, the control database with keys, usage and the secrets that
// cursors are signed with, the signed roots and their key, and the operator's plans.
function copyBeside(from: DataFolder, to: DataFolder): void {
  for (const venue of VENUE_IDS) copyJournal(from, to, venue)
  for (const name of [CONTROL_FILE, ALERTS_FILE]) copyDatabase(name, from.path, to.path)
  copyProofs(from.path, to.path)
  const plans = join(from.path, PLANS_FILE)
  if (existsSync(plans)) cpSync(plans, join(to.path, PLANS_FILE))
}

// Newest file first: retention of a running recorder removes the oldest, so where one is gone by now, all
// before it are too, and the copy has no hole.
function copyJournal(from: DataFolder, to: DataFolder, venue: VenueId): void {
  const files = listSegments(from.journal, venue)
  if (files.length > 0) makeFolder(join(to.journal, venue), 0o700)
  const copy = (path: string): boolean => {
    try {
      copyFileSync(path, join(to.journal, venue, basename(path)))
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return false
    }
  }
  // A file that was moved to other storage by now has left a note.
  for (const { path } of files.toReversed()) if (!copy(path) && !copy(awayPath(path))) return
}

/** What a data folder holds. */
type Holds = {
  readonly instruments: number
  readonly journal_records: number
  readonly keys: number
  readonly has_plans: boolean
  readonly roots: number
  readonly has_proof_key: boolean
}

async function describe(data: DataFolder): Promise<Holds> {
  const store = openEmbeddedStore({
    file: data.tape,
    readOnly: true,
    mayBeFixed: true,
    onUpgrade: tellUpgrade(),
  })
  try {
    const { roots, hasKey } = countProofs(data.path)
    const ends = await readJournalEnds(store, data)
    const totals = await Promise.all(VENUE_IDS.map((venue) => store.totals(venue)))
    return {
      instruments: totals.reduce((sum, { instruments }) => sum + instruments, 0),
      journal_records: ends.reduce((sum, { last }) => sum + last, 0),
      keys: countKeys(data.path),
      has_plans: existsSync(join(data.path, PLANS_FILE)),
      roots,
      has_proof_key: hasKey,
    }
  } finally {
    await store.close()
  }
}

function toText({
  instruments,
  journal_records: records,
  keys,
  has_plans: hasPlans,
  roots,
}: Holds): string {
  const plans = hasPlans ? 'own plans' : 'no plans of its own'
  return `${count(instruments)} instruments, ${count(records)} journal records, ${count(keys)} keys, ${plans}, ${count(roots)} signed roots`
}

function emptyFolder(path: string | undefined, what: string): string {
  if (path === undefined) throw new UsageError(`name ${what}`)
  if (existsSync(path) && readdirSync(path).length > 0) {
    throw new UsageError(`${path} is not empty: ${what} must be new`)
  }
  return path
}
