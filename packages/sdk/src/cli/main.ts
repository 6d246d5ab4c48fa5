import { createClient, type PriorbookClient } from '../client/index.ts'
import {
  createProcessIo,
  endWithOutput,
  packageVersion,
  runProgram,
  type CommandIo,
  type OptionValues,
  type Program,
} from '../command-line/index.ts'
import { COMMON_OPTIONS, type CliExtra, type ServiceAddress } from './command.ts'
import { COMMANDS } from './commands/index.ts'
import { CliError, EXIT_CODES, explainError } from './errors.ts'

const DEFAULT_URL = 'http://127.0.0.1:8780'

/** Runs the program; gives its exit status. */
export async function main(argv: readonly string[], io?: CommandIo): Promise<number> {
  const isPlain = argv.includes('--no-color')
  const env = isPlain ? { ...process.env, NO_COLOR: '1' } : process.env
  const stop = new AbortController()
  const interrupt = (): void => stop.abort(new CliError('interrupted', 'interrupted'))
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)
  const unwatch = endWithOutput('priorbook')
  try {
    const program = createProgram(stop.signal)
    return await runProgram(program, argv, io ?? createProcessIo(env), stop.signal)
  } finally {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
    unwatch()
  }
}

/** The program `priorbook`; `signal` ends its commands. */
export function createProgram(signal: AbortSignal): Program<CliExtra, typeof COMMON_OPTIONS> {
  let url = DEFAULT_URL
  return {
    name: 'priorbook',
    version: packageVersion(import.meta.url),
    about: 'recorded order books of prediction markets, in the terminal',
    common: COMMON_OPTIONS,
    notes: NOTES,
    commands: Object.fromEntries(COMMANDS.map((command) => [command.name, async () => command])),
    contextOf(common, io) {
      const service = addressOf(common, io)
      let client: PriorbookClient | undefined
      url = service.url
      return {
        isJson: common.json,
        isQuiet: common.quiet,
        signal,
        service,
        client: () => (client ??= connect(service, common.quiet, io)),
      }
    },
    explain: (error) => explainError(error, url),
  }
}

function addressOf(
  { url, key: given, demo }: OptionValues<typeof COMMON_OPTIONS>,
  { env }: CommandIo,
): ServiceAddress {
  const key = (given ?? env['PRIORBOOK_KEY'] ?? '').trim()
  return {
    url: url ?? env['PRIORBOOK_URL'] ?? DEFAULT_URL,
    demo,
    ...(key === '' ? {} : { key }),
  }
}

function connect(service: ServiceAddress, isQuiet: boolean, io: CommandIo): PriorbookClient {
  return createClient({
    ...service,
    // A person is waiting, so retries are short.
    retries: 3,
    onRetry({ error, delayMs }) {
      if (isQuiet) return
      io.note(io.paint('dim', `${error.message}; again in ${(delayMs / 1000).toFixed(1)} s`))
    },
  })
}

const EXITS = Object.values(EXIT_CODES).map(
  ({ status, about }) => `  ${String(status).padStart(3)}  ${about}`,
)

const NOTES = `Exit status:
${EXITS.join('\n')}

MARKET is VENUE:ID, such as venueb:KXBTC15M-26AUG111515-15; priorbook markets lists them.
TIME is 2026-08-11T15:00:00Z, 2026-08-11 15:00 (UTC), a UTC day, seconds since 1970, or a span back from now, such as 15m.`
