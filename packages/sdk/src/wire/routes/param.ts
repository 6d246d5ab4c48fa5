import { parseMicros, PriorbookError, toMicros, type Micros } from '../../domain/index.ts'
import { DAY, FLAG, named, wordOf, type JsonSchema } from '../json-schema.ts'
import { Problem } from '../problems.ts'

/**
 * An instant: ISO 8601 (UTC where it names no zone), a day, seconds (10 digits), milliseconds (13 digits),
 * microseconds (16 digits), or a `Date`.
 */
export type TimeInput = string | number | Date

/**
 * One query or path parameter: how it is written and how its text is read. `Value` is what the server
 * reads from it, `Input` what a client may give. Its description is in the docs of its route.
 */
export type Param<Value = unknown, Input = Value> = {
  readonly schema: JsonSchema<Input>
  readonly example?: string
  readonly isRequired?: boolean
  /** Reads the text; throws `Problem` with the name of the parameter. */
  parse(text: string, name: string): Value
}

/** Parameters by name. */
export type ParamTable = Readonly<Record<string, Param>>

/** What the server reads from a table of parameters: absent ones are undefined. */
export type ParamValues<Table extends ParamTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Param<infer Value, infer _>
    ? Table[Name] extends { readonly isRequired: true }
      ? Value
      : Value | undefined
    : never
}

type InputOf<P> = P extends Param<infer _, infer Input> ? Input : never

/** What a client may give for a table of parameters. */
export type ParamInputs<Table extends ParamTable> = {
  readonly [
    Name in keyof Table as Table[Name] extends { readonly isRequired: true } ? Name : never
  ]: InputOf<Table[Name]>
} & {
  readonly [
    Name in keyof Table as Table[Name] extends { readonly isRequired: true } ? never : Name
  ]?: InputOf<Table[Name]>
}

/** One of a list of words, in upper or lower case; `name` is that of their component in OpenAPI. */
export function wordParam<const Words extends readonly string[]>(
  words: Words,
  name?: string,
): Param<Words[number]> & { readonly words: Words } {
  return {
    words,
    schema: name === undefined ? wordOf(words) : named(name, wordOf(words)),
    example: words[0]!,
    parse(text, name) {
      const word = findWord(words, text)
      if (word === undefined) throw refuse(name, text, `one of ${words.join(', ')}`, words)
      return word
    },
  }
}

/** One of a list of upper-case words; clients may also give them in lower case. */
export function anyCaseParam<const Words extends readonly string[]>(
  words: Words,
  name: string,
): Param<Words[number], Words[number] | Lowercase<Words[number]>> {
  return {
    // Code generators refuse an enum whose members differ by case alone.
    schema: named(name, wordOf(words)),
    example: words[0]!,
    parse(text, name) {
      const word = findWord(words, text)
      if (word === undefined) throw refuse(name, text, `one of ${words.join(', ')}`, words)
      return word
    },
  }
}

// The case of letters does not count, except where an upper-case M would mean months elsewhere.
function findWord<Word extends string>(words: readonly Word[], text: string): Word | undefined {
  const lower = text.toLowerCase()
  return words.find(
    (word) => word === text || (word.toLowerCase() === lower && !/^\d+M$/.test(text)),
  )
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** `true` or `false` in any case, or `1` or `0`. */
export function flagParam(): Param<boolean> {
  return {
    schema: FLAG,
    example: 'true',
    parse(text, name) {
      const flag = FLAGS.get(text.toLowerCase())
      if (flag === undefined) throw refuse(name, text, 'true or false', ['true', 'false'])
      return flag
    },
  }
}

/** A whole number between two bounds; outside them is an error, never clamped. */
export function integerParam(min: number, max: number): Param<number> {
  return {
    schema: { type: 'integer', minimum: min, maximum: max },
    example: String(Math.min(max, Math.max(min, 100))),
    parse(text, name) {
      const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN
      if (!(value >= min && value <= max)) {
        throw refuse(name, text, `a whole number from ${min} to ${max}`)
      }
      return value
    },
  }
}

/** Free text of bounded length; `pattern` documents its form and is checked by the handler. */
export function textParam(maxLength: number, example?: string, pattern?: string): Param<string> {
  return {
    schema: { type: 'string', minLength: 1, maxLength, ...(pattern !== undefined && { pattern }) },
    ...(example === undefined ? {} : { example }),
    parse(text, name) {
      if (text.length === 0 || isLonger(text, maxLength)) {
        throw refuse(name, text, `text of 1 to ${maxLength} characters`)
      }
      return text
    },
  }
}

// As a schema counts: a character outside the first plane is one, not two.
function isLonger(text: string, max: number): boolean {
  return text.length > max && Array.from(text).length > max
}

// Max characters of a time: more decimals than any clock has.
const MAX_TIME = 40
const SECONDS = /^(\d{10})(?:\.(\d{1,6})\d*)?$/
const MILLIS = /^\d{13}$/
const MICROS = /^\d{16}$/
const NANOS = /^\d{19}$/
// Digits below a microsecond that are not zero, of a time that can be read.
const BELOW_MICROS = /\.\d{6}\d*?[1-9]/
// The year of the last microsecond that a double holds exactly.
const LAST_YEAR = 2255
const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,12})?)?([Zz]|[ +-]\d{2}:\d{2})?)?$/

/**
 * A time: ISO 8601, in UTC where it names no zone; a day, which is its start in UTC; or 10 digits (s), 13
 * digits (ms) or 16 digits (µs) since 1970.
 */
export function timeParam(): Param<Micros, TimeInput> {
  return timeParamOf(parseTime)
}

/**
 * A time that begins or ends a range of rows. Digits below a microsecond round it up: a row of a whole
 * microsecond lies at or after such a bound exactly if it does so after the next whole one.
 */
export function boundParam(): Param<Micros, TimeInput> {
  return timeParamOf((text) => {
    const time = parseTime(text)
    return BELOW_MICROS.test(text) ? toMicros(time + 1) : time
  })
}

function timeParamOf(read: (text: string) => Micros): Param<Micros, TimeInput> {
  return {
    schema: {
      type: 'string',
      maxLength: MAX_TIME,
      pattern:
        '^(\\d{10}(\\.\\d+)?|\\d{13}|\\d{16}|\\d{4}-\\d{2}-\\d{2}([Tt ]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,12})?)?([Zz]|[ +-]\\d{2}:\\d{2})?)?)$',
    },
    example: '2026-08-11T01:15:15Z',
    parse(text, name) {
      try {
        if (text.length > MAX_TIME) throw new PriorbookError('invalid_time', 'it is too long')
        return read(text)
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
        throw refuseTime(text, name)
      }
    },
  }
}

function refuseTime(text: string, name: string): Problem {
  if (isOutside(text)) {
    const message = `${name} lies before 1970 or after 2255-06-05: ${show(text)}`
    return new Problem('invalid_parameter', message, { param: name })
  }
  const hint = NANOS.test(text)
    ? 'Nanoseconds are not read: leave out the last three digits.'
    : 'Such as 2026-08-11T01:15:15Z, 2026-08-11, or 1786410915000.'
  return new Problem('invalid_parameter', `${name} is not a time: ${show(text)}`, {
    param: name,
    hint,
  })
}

// Of a time that cannot be read: whether its form is right, and microseconds of it are not exact or negative.
function isOutside(text: string): boolean {
  if (MILLIS.test(text) || MICROS.test(text)) return true
  const [, day] = ISO.exec(text) ?? []
  if (day === undefined || Number.isNaN(Date.parse(`${day}T00:00:00Z`))) return false
  const year = Number(day.slice(0, 4))
  return year < 1970 || year >= LAST_YEAR
}

function parseTime(text: string): Micros {
  if (MILLIS.test(text)) return toMicros(Number(text) * 1000)
  if (MICROS.test(text)) return toMicros(Number(text))
  const [, seconds, fraction = ''] = SECONDS.exec(text) ?? []
  if (seconds !== undefined) {
    return toMicros(Number(seconds) * 1_000_000 + Number(fraction.padEnd(6, '0')))
  }
  const [, day, minutes = '00:00', rest = ':00', zone = 'Z'] = ISO.exec(text) ?? []
  if (day === undefined) return parseMicros(text)
  // An unescaped plus sign arrives as a space.
  return parseMicros(`${day}T${minutes}${rest}${zone.replace(' ', '+')}`)
}

/** A UTC day, read as the time of its start. */
export function dayParam(): Param<Micros, string> {
  return {
    schema: DAY,
    example: '2026-08-11',
    parse(text, name) {
      try {
        if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return parseMicros(`${text}T00:00:00Z`)
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
      }
      throw new Problem('invalid_parameter', `${name} is not a day: ${show(text)}`, {
        param: name,
        hint: 'Such as 2026-08-11; days are those of UTC.',
      })
    },
  }
}

/** Several of a list of words, joined by commas. */
export function wordsParam<const Words extends readonly string[]>(
  words: Words,
  example: string,
): Param<readonly Words[number][]> {
  const word = `(${words.join('|')})`
  return {
    schema: { type: 'string', maxLength: 60, pattern: `^${word}(,${word})*$` },
    example,
    parse(text, name) {
      const given = text.toLowerCase().split(',')
      const known = words.filter((one) => given.includes(one))
      if (known.length !== given.length) {
        throw new Problem('invalid_parameter', `${name} is ${show(text)}`, {
          param: name,
          allowed: words,
          hint: 'Each word at most once, joined by commas.',
        })
      }
      return known
    },
  }
}

/** Makes a parameter required. */
export function required<P extends Param>(param: P): P & { readonly isRequired: true } {
  return { ...param, isRequired: true }
}

function refuse(
  name: string,
  text: string,
  expected: string,
  allowed?: readonly string[],
): Problem {
  const more = allowed === undefined ? {} : { allowed }
  return new Problem('invalid_parameter', `${name} is ${show(text)}, not ${expected}`, {
    param: name,
    ...more,
  })
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 60))
}
