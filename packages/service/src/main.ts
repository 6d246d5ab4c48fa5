import { PriorbookError } from '@priorbook/sdk/domain'
import { backfillCommand } from './commands/backfill.ts'
import { backupCommand, restoreCommand } from './commands/backup.ts'
import type { Command } from './commands/command.ts'
import { demoCommand } from './commands/demo.ts'
import { doctorCommand } from './commands/doctor.ts'
import { importCommand } from './commands/import.ts'
import { keysCommand } from './commands/keys.ts'
import { mergeCommand } from './commands/merge.ts'
import { rebuildCommand } from './commands/rebuild.ts'
import { sealCommand } from './commands/seal.ts'
import { serveCommand } from './commands/serve.ts'
import { verifyCommand } from './commands/verify.ts'

/** The commands of `priorbook-server`, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  serveCommand,
  keysCommand,
  demoCommand,
  importCommand,
  backfillCommand,
  verifyCommand,
  sealCommand,
  rebuildCommand,
  backupCommand,
  restoreCommand,
  mergeCommand,
  doctorCommand,
]

/** Runs `priorbook-server` and returns its exit code: 0 well, 1 something needs a look, 2 wrong call. */
export async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    console.log(help())
    return 0
  }
  const command = COMMANDS.find((candidate) => candidate.name === name)
  if (command === undefined) {
    console.error(`priorbook-server: there is no command ${JSON.stringify(name)}\n\n${help()}`)
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

function help(): string {
  const lines = COMMANDS.map(({ usage, about }) => `  ${usage}\n      ${about}`)
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
