import { statSync } from 'node:fs'
import {
  createProcessIo,
  endWithOutput,
  packageVersion,
  runProgram,
  type Command,
  type CommandIo,
  type Program,
} from '@priorbook/sdk/command-line'
import { PriorbookError } from '@priorbook/sdk/domain'
import { COMMON_OPTIONS, type ServerExtra } from './commands/command.ts'
import { explainSystem } from './commands/system-failure.ts'
import { toDataFolder } from './lib/data-folder.ts'

/** The program `priorbook-server`. */
export const SERVER_PROGRAM: Program<ServerExtra, typeof COMMON_OPTIONS> = {
  name: 'priorbook-server',
  version: packageVersion(import.meta.url),
  about: 'records, keeps and proves order books of prediction markets',
  common: COMMON_OPTIONS,
  notes: `Exit status:
  0  Done.
  1  The command failed, or found problems and printed them.
  2  A command, option or argument is wrong.
  141  The reader of the output, such as head, stopped first; the work was cut.
`,
  // Each command imports only what it needs: reading every file of the server takes most of a second.
  commands: {
    serve: async () => (await import('./commands/serve.ts')).serveCommand,
    select: async () => (await import('./commands/select.ts')).selectCommand,
    keys: async () => (await import('./commands/keys.ts')).keysCommand,
    demo: async () => (await import('./commands/demo.ts')).demoCommand,
    import: async () => (await import('./commands/import.ts')).importCommand,
    backfill: async () => (await import('./commands/backfill.ts')).backfillCommand,
    verify: async () => (await import('./commands/verify.ts')).verifyCommand,
    seal: async () => (await import('./commands/seal.ts')).sealCommand,
    rebuild: async () => (await import('./commands/rebuild.ts')).rebuildCommand,
    prove: async () => (await import('./commands/prove.ts')).proveCommand,
    retention: async () => (await import('./commands/retention.ts')).retentionCommand,
    tape: async () => (await import('./commands/tape.ts')).tapeCommand,
    journal: async () => (await import('./commands/journal.ts')).journalCommand,
    tier: async () => (await import('./commands/tier.ts')).tierCommand,
    cold: async () => (await import('./commands/cold.ts')).coldCommand,
    lake: async () => (await import('./commands/lake.ts')).lakeCommand,
    copy: async () => (await import('./commands/copy.ts')).copyCommand,
    backup: async () => (await import('./commands/backup.ts')).backupCommand,
    restore: async () => (await import('./commands/backup.ts')).restoreCommand,
    merge: async () => (await import('./commands/merge.ts')).mergeCommand,
    doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  contextOf({ data, json }, { env }) {
    const path = data ?? env['PRIORBOOK_DATA'] ?? 'data'
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false) {
      throw new PriorbookError('invalid_argument', `${path} is not a folder`)
    }
    return { data: toDataFolder(path), isDataGiven: data !== undefined, isJson: json }
  },
  explain(error) {
    if (!(error instanceof PriorbookError)) return explainSystem(error)
    const { code, message } = error
    const { hint } = error as { readonly hint?: string }
    const exit = code === 'invalid_argument' ? 'usage' : 'failed'
    return { exit, status: exit === 'usage' ? 2 : 1, message, code, hint }
  },
}

/** The commands of `priorbook-server`, in the order of the help. */
export function loadCommands(): Promise<readonly Command<ServerExtra>[]> {
  return Promise.all(Object.values(SERVER_PROGRAM.commands).map((load) => load()))
}

/** Runs `priorbook-server` and returns its exit status. */
export async function main(
  args: readonly string[],
  io: CommandIo = createProcessIo(),
): Promise<number> {
  // `serve` goes on without a reader of its output.
  const unwatch = args[0] === 'serve' ? undefined : endWithOutput(SERVER_PROGRAM.name)
  try {
    return await runProgram(SERVER_PROGRAM, args, io)
  } finally {
    unwatch?.()
  }
}
