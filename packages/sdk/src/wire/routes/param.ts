import { parseMicros, PriorbookError, toMicros, type Micros } from '../../domain/index.ts'
import { DAY, FLAG, named, wordOf, type JsonSchema } from '../json-schema.ts'
import { Problem } from '../problems.ts'

/** An instant: ISO 8601, milliseconds (13 digits), microseconds (16 digits), or a `Date`. */
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

/** One of a list of words; `name` is that of their component in OpenAPI. */
export function wordParam<const Words extends readonly string[]>(
  words: Words,
  name?: string,
): Param<Words[number]> & { readonly words: Words } {
  return {
    words,
    schema: name === undefined ? wordOf(words) : named(name, wordOf(words)),
    example: words[0]!,
    parse(text, name) {
      const word = words.find((one) => one === text)
      if (word === undefined) throw refuse(name, text, `one of ${words.join(', ')}`, words)
      return word
    },
  }
}

/** One of a list of upper-case words, which may also be written in lower case. */
export function anyCaseParam<const Words extends readonly string[]>(
  words: Words,
  name: string,
): Param<Words[number], Words[number] | Lowercase<Words[number]>> {
  return {
    // Code generators refuse an enum whose members differ by case alone.
    schema: named(name, wordOf(words)),
    example: words[0]!,
    parse(text, name) {
      const word = words.find((one) => one === text || one.toLowerCase() === text)
      if (word === undefined) throw refuse(name, text, `one of ${words.join(', ')}`, words)
      return word
    },
  }
}

/** `true` or `false`, and nothing else. */
export function flagParam(): Param<boolean> {
  return {
    schema: FLAG,
    example: 'true',
    parse(text, name) {
      if (text !== 'true' && text !== 'false') {
        throw refuse(name, text, 'true or false', ['true', 'false'])
      }
      return text === 'true'
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
      if (text.length === 0 || text.length > maxLength) {
        throw refuse(name, text, `text of 1 to ${maxLength} characters`)
      }
      return text
    },
  }
}

const MILLIS = /^\d{13}$/
const MICROS = /^\d{16}$/

/** A time: ISO 8601 with Z or offset, or 13 digits (ms) or 16 digits (µs) since 1970. */
export function timeParam(): Param<Micros, TimeInput> {
  return {
    schema: {
      type: 'string',
      maxLength: 40,
      pattern:
        '^(\\d{13}|\\d{16}|\\d{4}-\\d{2}-\\d{2}[Tt ]\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,12})?([Zz]|[ +-]\\d{2}:\\d{2}))$',
    },
    example: '2026-08-11T01:15:15Z',
    parse(text, name) {
      try {
        if (MILLIS.test(text)) return toMicros(Number(text) * 1000)
        if (MICROS.test(text)) return toMicros(Number(text))
        // An unescaped plus sign arrives as a space.
        return parseMicros(text.replace(/ (?=\d\d:\d\d$)/, '+'))
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
        const hint = /^\d{10}$/.test(text)
          ? 'Seconds are not accepted: give milliseconds (13 digits).'
          : 'Such as 2026-08-11T01:15:15Z, or 1786410915000.'
        throw new Problem('invalid_parameter', `${name} is not a time: ${show(text)}`, {
          param: name,
          hint,
        })
      }
    },
  }
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
      const given = text.split(',')
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
