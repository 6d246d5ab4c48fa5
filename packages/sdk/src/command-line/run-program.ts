import type { Command, Explained, Program } from './command.ts'
import { commandHelp, programHelp } from './help.ts'
import type { CommandIo } from './io.ts'
import { nearestWord } from './nearest-word.ts'
import {
  flagOption,
  parseOptions,
  UsageError,
  type OptionTable,
  type OptionValues,
} from './option.ts'

const USAGE_STATUS = 2
const INTERRUPTED_STATUS = 130
const HELP = { help: flagOption('Show this.', 'h') }

/** Runs the command that the arguments name; gives the exit status, 130 after `signal` aborted it. */
export async function runProgram<Extra, Common extends OptionTable>(
  program: Program<Extra, Common>,
  argv: readonly string[],
  io: CommandIo,
  signal?: AbortSignal,
): Promise<number> {
  const [name, ...rest] = argv
  const { commands } = program
  const find = (wanted = ''): (() => Promise<Command<Extra>>) | undefined =>
    Object.hasOwn(commands, wanted) ? commands[wanted] : undefined
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    const command = await find(rest[0])?.()
    await io.write(
      command === undefined
        ? await programHelp(withHelp(program))
        : commandHelp(withHelp(program), command),
    )
    return name === undefined ? USAGE_STATUS : 0
  }
  if (name === '--version' || name === '-V' || name === 'version') {
    await io.write(`${program.name} ${program.version} (Node ${process.versions.node})\n`)
    return 0
  }
  const command = await find(name)?.()
  if (command === undefined) {
    const later = name.startsWith('-') ? rest.find((word) => find(word) !== undefined) : undefined
    refuseName(program, name, later, io)
    return USAGE_STATUS
  }
  try {
    const status = await invoke(program, command, rest, io)
    // Aborted streams end without an error.
    return signal?.aborted === true ? INTERRUPTED_STATUS : status
  } catch (error) {
    if (signal?.aborted === true) return INTERRUPTED_STATUS
    const explained = program.explain(error)
    if (explained === undefined) throw error
    report(program.name, explained, io, rest.includes('--json'))
    return explained.status
  }
}

/** Says why `name` is not a command; `later` is one that stands behind it. */
function refuseName<Extra>(
  { name: program, commands }: Program<Extra>,
  name: string,
  later: string | undefined,
  io: CommandIo,
): void {
  if (later !== undefined) {
    // Without its value: that may be a key.
    const [option] = name.split('=')
    io.note(`${program}: ${option} stands before the command`)
    io.note(`Options follow it: ${program} ${later} ${option}`)
    return
  }
  const near = nearestWord(name, Object.keys(commands))
  io.note(`${program}: there is no command ${name}`)
  io.note(`${near === undefined ? '' : `Did you mean ${near}? `}${program} --help lists them.`)
}

/** Runs one command; throws what it throws. */
export async function invoke<Extra, Common extends OptionTable>(
  program: Program<Extra, Common>,
  command: Command<Extra>,
  argv: readonly string[],
  io: CommandIo,
): Promise<number> {
  const { common } = withHelp(program)
  const hint = `${program.name} ${command.name} --help shows what it takes.`
  const { values, positionals } = parseOptions({ ...common, ...command.options }, argv, hint)
  if (values['help'] === true) {
    await io.write(commandHelp(withHelp(program), command))
    return 0
  }
  const extra = positionals[command.mostArgs ?? Infinity]
  if (extra !== undefined) throw new UsageError(`unexpected argument: ${extra}`, hint)
  const context = program.contextOf(values as OptionValues<Common>, io)
  return (await command.run({ io, args: positionals, options: values, ...context })) ?? 0
}

function withHelp<Extra>(program: Program<Extra>): Program<Extra> {
  return { ...program, common: { ...program.common, ...HELP } }
}

function report(name: string, explained: Explained, io: CommandIo, isJson: boolean): void {
  const { exit, status, message, hint, code, requestId } = explained
  if (isJson) {
    io.note(JSON.stringify({ error: exit, status, code, message, hint, request_id: requestId }))
    return
  }
  const named = code === undefined ? '' : ` (${code})`
  io.note(`${io.paint('red', `${name}:`)} ${message}${named}`)
  if (hint !== undefined) io.note(hint)
  if (requestId !== undefined && status !== USAGE_STATUS) io.note(`request ${requestId}`)
}
