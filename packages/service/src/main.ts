import { PriorbookError } from '@priorbook/sdk/domain'
import type { Command } from './commands/command.ts'

// Each command brings only what it needs: reading every file of the server takes most of a second.
const LOADERS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  keys: async () => (await import('./commands/keys.ts')).keysCommand,
  demo: async () => (await import('./commands/demo.ts')).demoCommand,
  import: async () => (await import('./commands/import.ts')).importCommand,
  backfill: async () => (await import('./commands/backfill.ts')).backfillCommand,
  verify: async () => (await import('./commands/verify.ts')).verifyCommand,
  seal: async () => (await import('./commands/seal.ts')).sealCommand,
  rebuild: async () => (await import('./commands/rebuild.ts')).rebuildCommand,
  backup: async () => (await import('./commands/backup.ts')).backupCommand,
  restore: async () => (await import('./commands/backup.ts')).restoreCommand,
  merge: async () => (await import('./commands/merge.ts')).mergeCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
}

/** The commands of `priorbook-server`, in the order of the help. */
export function loadCommands(): Promise<readonly Command[]> {
  return Promise.all(Object.values(LOADERS).map((load) => load()))
}

/** Runs `priorbook-server` and returns its exit code: 0 well, 1 something needs a look, 2 wrong call. */
export async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    console.log(await help())
    return 0
  }
  const command = Object.hasOwn(LOADERS, name) ? await LOADERS[name]!() : undefined
  if (command === undefined) {
    const all = await help()
    console.error(`priorbook-server: there is no command ${JSON.stringify(name)}\n\n${all}`)
    return 2
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    console.log(helpOf(command))
    return 0
  }
  try {
    return await command.run(rest)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    console.error(`priorbook-server ${name}: ${error.code}: ${error.message}`)
    if (error.code === 'invalid_argument') console.error(`\n${helpOf(command)}`)
    return error.code === 'invalid_argument' ? 2 : 1
  }
}

async function help(): Promise<string> {
  const commands = await loadCommands()
  const lines = commands.map(({ usage, about }) => `  ${usage}\n      ${about}`)
  return [
    'priorbook-server: records, keeps and proves order books of prediction markets',
    '',
    ...lines,
    '',
    'Every command takes --data DIR (default: data, or PRIORBOOK_DATA) and --json.',
  ].join('\n')
}

function helpOf({ usage, about, examples }: Command): string {
  return [
    `usage: priorbook-server ${usage}`,
    '',
    about,
    '',
    'examples:',
    ...examples.map((example) => `  ${example}`),
  ].join('\n')
}
