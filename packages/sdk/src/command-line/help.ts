import type { Command, Program } from './command.ts'
import type { Option, OptionTable } from './option.ts'

/** The help of a program. */
export async function programHelp<Extra>(program: Program<Extra>): Promise<string> {
  const { name, about, notes, common } = program
  const commands = await Promise.all(Object.values(program.commands).map((load) => load()))
  const list = commands.map((command): [string, string] => [usageOf(command), command.about])
  return `${name}: ${about}

Usage: ${name} COMMAND [ARGUMENTS] [OPTIONS]

Commands:
${columns(list)}

Options of every command:
${optionLines(common)}

${notes}
${name} COMMAND --help shows the options and examples of a command, ${name} --version the version.
`
}

/** The help of one command. */
export function commandHelp<Extra>(program: Program<Extra>, command: Command<Extra>): string {
  const { about, more, options, examples } = command
  const own = Object.keys(options).length === 0 ? '' : `\nOptions:\n${optionLines(options)}\n`
  return `${about}

Usage: ${program.name} ${usageOf(command)} [OPTIONS]
${more === undefined ? '' : `\n${more}\n`}${own}
Options of every command:
${optionLines(program.common)}

Examples:
${examples.map((line) => `  ${line}`).join('\n')}
`
}

/** A command with its arguments. */
export function usageOf({ name, args }: Pick<Command, 'name' | 'args'>): string {
  return args === '' ? name : `${name} ${args}`
}

/** One line per option: how it is written and what it means. */
export function optionLines(options: OptionTable): string {
  return columns(
    Object.entries(options).map(([name, option]): [string, string] => [
      flagOf(name, option),
      option.words === undefined ? option.about : `${option.about} (${option.words.join(', ')})`,
    ]),
  )
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}

function flagOf(name: string, { short, type, value }: Option): string {
  const long = `--${name}${type === 'boolean' ? '' : ` ${value ?? 'VALUE'}`}`
  return short === undefined ? `    ${long}` : `-${short}, ${long}`
}
