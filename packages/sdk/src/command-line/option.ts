import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { parseMicros, printMicros, PriorbookError } from '../domain/index.ts'
import { nearestWord } from './nearest-word.ts'

/** A wrong call: an unknown option, a missing argument, a value that is not allowed. */
export class UsageError extends PriorbookError {
  readonly exit = 'usage'
  /** What would be right. */
  readonly hint: string | undefined

  constructor(message: string, hint?: string, options?: ErrorOptions) {
    super('invalid_argument', message, options)
    this.name = 'UsageError'
    this.hint = hint
  }
}

/** An option of a command: how it is written, what it means and how its value is read. */
export type Option<Value = unknown> = {
  readonly type: 'string' | 'boolean'
  /** True where the option may be repeated. */
  readonly multiple?: boolean
  readonly short?: string
  /** The placeholder of the value in the help, such as `TIME`. */
  readonly value?: string
  /** Its allowed values, for help and completion. */
  readonly words?: readonly string[]
  readonly about: string
  /** Reads what `parseArgs` found, undefined where the option is absent; throws `UsageError`. */
  read(given: unknown, name: string): Value
}

/** Options by name. */
export type OptionTable = Readonly<Record<string, Option>>

/** The values of options by name. */
export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer Value> ? Value : never
}

type More = { readonly value?: string; readonly short?: string }

/** An option without a value. */
export function flagOption(about: string, short?: string): Option<boolean> {
  return {
    type: 'boolean',
    about,
    ...(short !== undefined && { short }),
    read: (given) => given === true,
  }
}

/** An option whose text `parse` turns into a value. */
export function parsedOption<Value>(
  about: string,
  more: More & { readonly words?: readonly string[] },
  parse: (text: string, name: string) => Value,
): Option<Value | undefined> {
  return {
    type: 'string',
    about,
    ...more,
    read: (given, name) => (typeof given === 'string' ? parse(given, name) : undefined),
  }
}

/** Any text; `value` is its placeholder. */
export function textOption(
  value: string,
  about: string,
  short?: string,
): Option<string | undefined> {
  return parsedOption(about, { value, ...(short !== undefined && { short }) }, (given) => given)
}

/** Any texts: the option may be repeated. */
export function textsOption(value: string, about: string): Option<readonly string[]> {
  const read = (given: unknown): readonly string[] => (given ?? []) as readonly string[]
  return { type: 'string', multiple: true, value, about, read }
}

/** One of a list of words. */
export function wordOption<const Word extends string>(
  words: readonly Word[],
  about: string,
  more: More = {},
): Option<Word | undefined> {
  return parsedOption(about, { ...more, words }, (given, name) => {
    const known = words.find((one) => one === given)
    if (known !== undefined) return known
    throw new UsageError(`--${name} is ${given}`, `It is one of ${words.join(', ')}.`)
  })
}

/** A whole number from 1 to `most`. */
export function wholeOption(
  most: number,
  about: string,
  more: More = {},
): Option<number | undefined> {
  return parsedOption(about, { value: 'N', ...more }, (given, name) => {
    const value = /^\d{1,9}$/.test(given) ? Number(given) : 0
    if (value >= 1 && value <= most) return value
    throw new UsageError(`--${name} is ${given}`, `It is a whole number from 1 to ${most}.`)
  })
}

/** A number from 0. */
export function amountOption(about: string): Option<number | undefined> {
  return parsedOption(about, { value: 'N' }, parseAmount)
}

/** Reads a number from 0. */
export function parseAmount(given: string, name: string): number {
  const value = Number(given)
  if (given.trim() !== '' && value >= 0) return value
  throw new UsageError(`--${name} ${given} is not a number`)
}

const SPANS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Reads a span such as `30s`, `15m`, `24h` or `7d` as milliseconds; undefined where it is not one. */
export function parseSpan(given: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(given) ?? []
  return unit === undefined ? undefined : Number(count) * SPANS[unit]!
}

/**
 * A time, as the interface takes it: ISO 8601, 13 or 16 digits; also as tables print it (`2026-08-11 15:00:00`, in
 * UTC), a UTC day (`2026-08-11`), seconds since 1970 (10 digits), or a span back from now (`15m`, `-2h`, `7d`).
 */
export function timeOption(about: string, now = Date.now): Option<string | undefined> {
  return parsedOption(about, { value: 'TIME' }, (given, name) => {
    const back = parseSpan(given.replace(/^-/, ''))
    if (back !== undefined) return new Date(now() - back).toISOString()
    if (/^\d{13}$|^\d{16}$/.test(given)) return given
    if (SECONDS.test(given)) return `${given}000`
    try {
      return printMicros(parseMicros(toInstant(given)))
    } catch {
      const hint =
        'Such as 2026-08-11T01:15:00Z, 2026-08-11 01:15 (UTC), 2026-08-11, 1786410900, or 15m (fifteen minutes ago).'
      throw new UsageError(`--${name} is not a time: ${given}`, hint)
    }
  })
}

const SECONDS = /^\d{10}$/
// As tables print times, with or without seconds; and ISO 8601 without seconds.
const PRINTED = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(?: ?(?:UTC|Z))?$/
const WITHOUT_SECONDS = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2})([Zz]|[+-]\d{2}:\d{2})$/

/**
 * The instant that a text names, as ISO 8601: the begin of a UTC day such as `2026-08-11`, a time as tables print it,
 * seconds since 1970; any other text as it is.
 */
export function toInstant(given: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(given)) return `${given}T00:00:00Z`
  if (SECONDS.test(given)) return new Date(Number(given) * 1000).toISOString()
  const [, day, minute, seconds = ':00'] = PRINTED.exec(given) ?? []
  if (day !== undefined) return `${day}T${minute}${seconds}Z`
  return given.replace(WITHOUT_SECONDS, '$1T$2:00$3')
}

/** Reads the options of a call; an error names the wrong option and its allowed values. */
export function parseOptions<const Table extends OptionTable>(
  options: Table,
  argv: readonly string[],
  hint?: string,
): { readonly values: OptionValues<Table>; readonly positionals: readonly string[] } {
  const config: ParseArgsOptionsConfig = {}
  for (const [name, { type, short, multiple = false }] of Object.entries(options)) {
    config[name] = { type, multiple, ...(short !== undefined && { short }) }
  }
  try {
    const args = joinNegatives(options, argv)
    const given = parseArgs({ args, options: config, allowPositionals: true })
    const values = Object.entries(options).map(([name, option]) => [
      name,
      option.read(given.values[name], name),
    ])
    return {
      values: Object.fromEntries(values) as OptionValues<Table>,
      positionals: given.positionals,
    }
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof Error)) throw error
    const [, wrong] = /^Unknown option '(--[^']+)'/.exec(error.message) ?? []
    const near = wrong === undefined ? undefined : nearestWord(wrong, longNames(options))
    const advice = [near === undefined ? '' : `Did you mean ${near}?`, hint ?? '']
    const text = advice.filter((part) => part !== '').join(' ')
    // The first sentence says what is wrong; the rest is advice about `--`.
    const [message] = error.message.split('. ')
    throw new UsageError(message!, text === '' ? undefined : text, { cause: error })
  }
}

// A dash and a digit is a value (`--at -60s`, `--start -2h`): no option is named by a digit.
function joinNegatives(options: OptionTable, argv: readonly string[]): string[] {
  const args: string[] = []
  for (const [index, arg] of argv.entries()) {
    const option = argv[index - 1] ?? ''
    const isValue =
      /^-\d/.test(arg) &&
      option.startsWith('--') &&
      options[option.slice(2)]?.type === 'string' &&
      !argv.slice(0, index).includes('--')
    if (isValue) args.push(`${args.pop()!}=${arg}`)
    else args.push(arg)
  }
  return args
}

function longNames(options: OptionTable): string[] {
  return Object.keys(options).map((name) => `--${name}`)
}
