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
  /** Returns the exit code: 0 all is well, 1 something needs a look. */
  run(args: readonly string[]): Promise<number>
}

/** Options and positional arguments of a call. */
export type Arguments = {
  readonly data: DataFolder
  readonly json: boolean
  readonly flags: ReadonlySet<string>
  readonly texts: ReadonlyMap<string, string>
  readonly rest: readonly string[]
}

/** Reads a command's arguments; `--data` and `--json` are common to all. */
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

/** Prints a result: JSON when asked for, else lines for people. */
export function print(json: boolean, value: unknown, lines: readonly string[]): void {
  if (json) console.log(JSON.stringify(value))
  else for (const line of lines) console.log(line)
}

/** Thousands apart, for people. */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** Bytes for people. */
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
