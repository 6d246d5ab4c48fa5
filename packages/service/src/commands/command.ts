import { parseArgs, type ParseArgsConfig } from 'node:util'
import { PriorbookError } from '@priorbook/sdk/domain'
import { toDataFolder, type DataFolder } from '../lib/data-folder.ts'

/** One command of `priorbook-server`. */
export type Command = {
  readonly name: string
  /** Arguments and options as the help shows them. */
  readonly usage: string
  /** One sentence. */
  readonly about: string
  readonly examples: readonly string[]
  /** Returns the exit code: 0 for success, 1 where something needs attention. */
  run(args: readonly string[]): Promise<number>
}

/** The parsed options and positional arguments of a command. */
export type Arguments = {
  readonly data: DataFolder
  readonly json: boolean
  readonly flags: ReadonlySet<string>
  readonly texts: ReadonlyMap<string, string>
  readonly rest: readonly string[]
}

/** Parses a command's arguments; every command has `--data` and `--json`. */
export function parseArguments(
  args: readonly string[],
  more: { readonly flags?: readonly string[]; readonly texts?: readonly string[] } = {},
): Arguments {
  const options: NonNullable<ParseArgsConfig['options']> = {
    data: { type: 'string', default: process.env['PRIORBOOK_DATA'] ?? 'data' },
    json: { type: 'boolean', default: false },
  }
  for (const flag of more.flags ?? []) options[flag] = { type: 'boolean', default: false }
  for (const text of more.texts ?? []) options[text] = { type: 'string' }
  let parsed
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (cause) {
    throw new PriorbookError('invalid_argument', (cause as Error).message, { cause })
  }
  const { values, positionals } = parsed
  const texts = new Map<string, string>()
  for (const text of more.texts ?? []) {
    const value = values[text]
    if (typeof value === 'string') texts.set(text, value)
  }
  return {
    data: toDataFolder(String(values['data'])),
    json: values['json'] === true,
    flags: new Set((more.flags ?? []).filter((flag) => values[flag] === true)),
    texts,
    rest: positionals,
  }
}

/** Prints a result as JSON if requested, else as lines of text. */
export function print(json: boolean, value: unknown, lines: readonly string[]): void {
  if (json) console.log(JSON.stringify(value))
  else for (const line of lines) console.log(line)
}

/** A count with separated thousands, as printed. */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** A number of bytes with a unit, as printed. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value.toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`
}
