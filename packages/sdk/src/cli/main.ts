import { createClient, type PriorbookClient } from '../client/index.ts'
import { parseCommandArgs, textOf } from './args.ts'
import type { Command, OptionValues } from './command.ts'
import { COMMANDS } from './commands/index.ts'
import { CliError, EXIT_CODES } from './exit-codes.ts'
import { explainError } from './explain-error.ts'
import { commandHelp, mainHelp } from './help.ts'
import { createProcessIo, type CliIo } from './io.ts'

const DEFAULT_URL = 'http://127.0.0.1:8780'

/** Runs the program; gives its exit status. */
export async function main(argv: readonly string[], io?: CliIo): Promise<number> {
  const isPlain = argv.includes('--no-color')
  const env = isPlain ? { ...process.env, NO_COLOR: '1' } : process.env
  const out = io ?? createProcessIo(env)
  const [name, ...rest] = argv
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    const wanted = COMMANDS.find((command) => command.name === rest[0])
    await out.write(wanted === undefined ? mainHelp(COMMANDS) : commandHelp(wanted))
    return EXIT_CODES[name === undefined ? 'usage' : 'ok'].status
  }
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) {
    out.note(`priorbook: there is no command ${name}`)
    out.note(`${nearest(name)}priorbook --help lists them.`)
    return EXIT_CODES.usage.status
  }
  return runCommand(command, rest, out)
}

async function runCommand(command: Command, argv: readonly string[], io: CliIo): Promise<number> {
  const stop = new AbortController()
  const interrupt = (): void => stop.abort(new CliError('interrupted', 'interrupted'))
  // A reader that stops early, such as `head`, is not a failure.
  const onPipe = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'EPIPE') process.exit(EXIT_CODES.ok.status)
    throw error
  }
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)
  process.stdout.on('error', onPipe)
  let url = DEFAULT_URL
  let isJson = argv.includes('--json')
  try {
    const { values, positionals } = parseCommandArgs(command, argv)
    if (values['help'] === true) {
      await io.write(commandHelp(command))
      return EXIT_CODES.ok.status
    }
    isJson = values['json'] === true
    url = textOf(values, 'url') ?? io.env['PRIORBOOK_URL'] ?? DEFAULT_URL
    let client: PriorbookClient | undefined
    await command.run({
      io,
      args: positionals,
      options: values,
      isJson,
      signal: stop.signal,
      client: () => (client ??= connect(url, values, io)),
    })
    // Aborted streams end without an error.
    return EXIT_CODES[stop.signal.aborted ? 'interrupted' : 'ok'].status
  } catch (error) {
    if (stop.signal.aborted) return EXIT_CODES.interrupted.status
    return report(error, io, url, isJson)
  } finally {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
    process.stdout.off('error', onPipe)
  }
}

function connect(url: string, options: OptionValues, io: CliIo): PriorbookClient {
  const key = textOf(options, 'key') ?? io.env['PRIORBOOK_KEY']
  const isQuiet = options['quiet'] === true
  return createClient({
    url,
    demo: options['demo'] === true,
    // A person is waiting, so retries are short.
    retries: 3,
    ...(key === undefined || key === '' ? {} : { key: key.trim() }),
    onRetry({ error, delayMs }) {
      if (isQuiet) return
      io.note(io.paint('dim', `${error.message}; again in ${(delayMs / 1000).toFixed(1)} s`))
    },
  })
}

function report(error: unknown, io: CliIo, url: string, isJson: boolean): number {
  const { exit, message, hint, code, requestId } = explainError(error, url)
  const { status } = EXIT_CODES[exit]
  if (isJson) {
    const facts = { error: exit, status, code, message, hint, request_id: requestId }
    io.note(JSON.stringify(facts))
    return status
  }
  const named = code === undefined ? '' : ` (${code})`
  io.note(`${io.paint('red', 'priorbook:')} ${message}${named}`)
  if (hint !== undefined) io.note(hint)
  if (requestId !== undefined && exit !== 'usage') io.note(`request ${requestId}`)
  return status
}

/** The command with the name closest to a misspelt one. */
function nearest(name: string): string {
  const near = COMMANDS.find(
    (command) => command.name.startsWith(name.slice(0, 3)) || name.startsWith(command.name),
  )
  return near === undefined ? '' : `Did you mean ${near.name}? `
}
