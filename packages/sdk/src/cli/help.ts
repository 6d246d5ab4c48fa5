import { COMMON_OPTIONS, type Command, type Option } from './command.ts'
import { EXIT_CODES } from './exit-codes.ts'

/** The help of the program. */
export function mainHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name, args }) => name.length + args.length + 1))
  const list = commands.map(
    ({ name, args, about }) => `  ${`${name} ${args}`.padEnd(width)}  ${about}`,
  )
  const codes = Object.values(EXIT_CODES).map(
    ({ status, about }) => `  ${String(status).padStart(3)}  ${about}`,
  )
  return `priorbook: recorded order books of prediction markets, in the terminal

Usage: priorbook COMMAND [ARGUMENTS] [OPTIONS]

Commands:
${list.join('\n')}

Options of every command:
${optionLines(COMMON_OPTIONS)}

Exit status:
${codes.join('\n')}

MARKET is VENUE:ID, such as venueb:KXBTC15M-26AUG111515-15; priorbook markets lists them.
TIME is 2026-08-11T15:00:00Z, a UTC day, or a span back from now, such as 15m or 2h.
priorbook COMMAND --help shows the options and examples of a command.
`
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const { name, args, about, more, options, examples } = command
  const own = Object.keys(options).length === 0 ? '' : `\nOptions:\n${optionLines(options)}\n`
  return `${about}

Usage: priorbook ${name}${args === '' ? '' : ` ${args}`} [OPTIONS]
${more === undefined ? '' : `\n${more}\n`}${own}
Options of every command:
${optionLines(COMMON_OPTIONS)}

Examples:
${examples.map((line) => `  ${line}`).join('\n')}
`
}

function optionLines(options: Readonly<Record<string, Option>>): string {
  const rows = Object.entries(options).map(([name, option]): [string, string] => [
    flagOf(name, option),
    option.words === undefined ? option.about : `${option.about} (${option.words.join(', ')})`,
  ])
  const width = Math.max(...rows.map(([flag]) => flag.length))
  return rows.map(([flag, about]) => `  ${flag.padEnd(width)}  ${about}`).join('\n')
}

function flagOf(name: string, { short, type, value }: Option): string {
  const long = `--${name}${type === 'boolean' ? '' : ` ${value ?? 'VALUE'}`}`
  return short === undefined ? `    ${long}` : `-${short}, ${long}`
}
