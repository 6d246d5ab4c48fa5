import { parseArgs } from 'node:util'
import { isVenueId, parseMicros, printMicros, VENUE_IDS, type VenueId } from '../domain/index.ts'
import type { Command, Option, OptionValues } from './command.ts'
import { COMMON_OPTIONS } from './command.ts'
import { CliError } from './exit-codes.ts'

/** Parses the arguments of a command; an error names the wrong option and its allowed values. */
export function parseCommandArgs(
  command: Command,
  argv: readonly string[],
): { readonly values: OptionValues; readonly positionals: readonly string[] } {
  const options = { ...COMMON_OPTIONS, ...command.options }
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: Object.fromEntries(
        Object.entries(options).map(([name, { type, short }]) => [
          name,
          { type, ...(short === undefined ? {} : { short }) },
        ]),
      ),
      allowPositionals: true,
    })
    for (const [name, value] of Object.entries(values)) checkWord(name, value, options[name]!)
    return { values, positionals }
  } catch (error) {
    if (error instanceof CliError) throw error
    // The first sentence says what is wrong; the rest is advice about `--`.
    const message = error instanceof Error ? error.message.split('. ')[0]! : String(error)
    throw new CliError('usage', message, `priorbook ${command.name} --help shows the options.`)
  }
}

function checkWord(name: string, value: unknown, { words }: Option): void {
  if (words === undefined || words.includes(String(value))) return
  throw new CliError('usage', `--${name} is ${String(value)}`, `It is one of ${words.join(', ')}.`)
}

/** Drops undefined values: absent parameters are left out of requests. */
export function present<Values extends object>(
  values: Values,
): { [Name in keyof Values]: Exclude<Values[Name], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Name in keyof Values]: Exclude<Values[Name], undefined> }
}

/** Reads an option as text. */
export function textOf(options: OptionValues, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** Reads an option as a whole number. */
export function countOf(options: OptionValues, name: string, most: number): number | undefined {
  const text = textOf(options, name)
  if (text === undefined) return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > most) {
    throw new CliError('usage', `--${name} is ${text}`, `It is a whole number from 1 to ${most}.`)
  }
  return value
}

/**
 * Reads a time: as the interface takes it, a UTC day (`2026-08-11`), or a span back from now
 * (`-15m`, `-2h`, `-7d`).
 */
export function timeOf(options: OptionValues, name: string, now = Date.now()): string | undefined {
  const text = textOf(options, name)
  if (text === undefined) return undefined
  const back = /^-?(\d{1,6})([smhd])$/.exec(text)
  if (back !== null) return new Date(now - Number(back[1]) * SPANS[back[2]!]!).toISOString()
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return check(`${text}T00:00:00Z`)
  if (/^\d{13}$|^\d{16}$/.test(text)) return text
  return check(text)

  function check(iso: string): string {
    try {
      return printMicros(parseMicros(iso))
    } catch {
      throw new CliError(
        'usage',
        `--${name} is not a time: ${text}`,
        'Such as 2026-08-11T01:15:00Z, 2026-08-11, or 15m (fifteen minutes ago).',
      )
    }
  }
}

const SPANS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A market on the command line: `venueb:KXBTC15M-26AUG111515-15`. */
export type MarketName = { readonly venue: VenueId; readonly market_id: string }

/** Reads the name of a market. */
export function parseMarket(text: string | undefined): MarketName {
  const at = text?.search(/[:/]/) ?? -1
  const venue = text?.slice(0, at)
  const id = text?.slice(at + 1) ?? ''
  if (at > 0 && isVenueId(venue) && id !== '') return { venue, market_id: id }
  throw new CliError(
    'usage',
    text === undefined ? 'a market is missing' : `${text} is not the name of a market`,
    `It is VENUE:ID with one of ${VENUE_IDS.join(', ')}, such as venueb:KXBTC15M-26AUG111515-15; priorbook markets lists them.`,
  )
}

/** Refuses arguments that a command does not take. */
export function takeAtMost(args: readonly string[], most: number, name: string): void {
  if (args.length <= most) return
  const hint = `priorbook ${name} --help shows what it takes.`
  throw new CliError('usage', `unexpected argument: ${args[most]}`, hint)
}
