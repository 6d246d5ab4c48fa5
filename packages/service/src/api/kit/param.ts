import { parseMicros, PriorbookError, toMicros, type Micros } from '@priorbook/sdk/domain'
import { FLAG, Problem, wordOf, type JsonSchema } from '@priorbook/sdk/wire'

/** One query or path parameter: how it is written, what it means, how its text is read. */
export type Param<T> = {
  /** What OpenAPI shows. */
  readonly schema: JsonSchema
  readonly description: string
  readonly example?: string
  readonly isRequired?: boolean
  /** Reads the text; throws `Problem` with the name of the parameter. */
  parse(text: string, name: string): T
}

/** The values of a table of parameters: absent ones are undefined. */
export type ParamValues<P extends Readonly<Record<string, Param<unknown>>>> = {
  readonly [Name in keyof P]: P[Name] extends Param<infer T>
    ? P[Name] extends { readonly isRequired: true }
      ? T
      : T | undefined
    : never
}

/** One of a list of words. */
export function wordParam<const Words extends readonly string[]>(
  words: Words,
  description: string,
): Param<Words[number]> {
  return {
    schema: wordOf(words),
    description,
    example: words[0]!,
    parse(text, name) {
      const word = words.find((one) => one === text)
      if (word === undefined) throw wrong(name, text, `one of ${words.join(', ')}`, words)
      return word
    },
  }
}

/** `true` or `false`, and nothing else. */
export function flagParam(description: string): Param<boolean> {
  return {
    schema: FLAG,
    description,
    example: 'true',
    parse(text, name) {
      if (text !== 'true' && text !== 'false') {
        throw wrong(name, text, 'true or false', ['true', 'false'])
      }
      return text === 'true'
    },
  }
}

/** A whole number between two bounds; outside them is an error, never clamped. */
export function integerParam(min: number, max: number, description: string): Param<number> {
  return {
    schema: { type: 'integer', minimum: min, maximum: max },
    description,
    example: String(Math.min(max, Math.max(min, 100))),
    parse(text, name) {
      const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN
      if (!(value >= min && value <= max)) {
        throw wrong(name, text, `a whole number from ${min} to ${max}`)
      }
      return value
    },
  }
}

/** Free text of bounded length. */
export function textParam(maxLength: number, description: string, example?: string): Param<string> {
  return {
    schema: { type: 'string', minLength: 1, maxLength },
    description,
    ...(example === undefined ? {} : { example }),
    parse(text, name) {
      if (text.length === 0 || text.length > maxLength) {
        throw wrong(name, text, `text of 1 to ${maxLength} characters`)
      }
      return text
    },
  }
}

const MILLIS = /^\d{13}$/
const MICROS = /^\d{16}$/

/** A time: ISO 8601 with Z or offset, or 13 digits (ms) or 16 digits (µs) since 1970. */
export function timeParam(description: string): Param<Micros> {
  return {
    schema: { type: 'string', maxLength: 40 },
    description: `${description} ISO 8601 with Z or offset, or 13 digits (ms) or 16 digits (µs).`,
    example: '2026-08-11T01:15:15Z',
    parse(text, name) {
      try {
        if (MILLIS.test(text)) return toMicros(Number(text) * 1000)
        if (MICROS.test(text)) return toMicros(Number(text))
        // A plus sign in a query is a space to whoever wrote it unescaped.
        return parseMicros(text.replace(/ (?=\d\d:\d\d$)/, '+'))
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
        const hint = /^\d{10}$/.test(text)
          ? 'Seconds are not taken: give milliseconds (13 digits).'
          : 'Such as 2026-08-11T01:15:15Z, or 1786410915000.'
        throw new Problem('invalid_parameter', `${name} is no time: ${show(text)}`, {
          param: name,
          hint,
        })
      }
    },
  }
}

/** Makes a parameter required. */
export function required<T>(param: Param<T>): Param<T> & { readonly isRequired: true } {
  return { ...param, isRequired: true }
}

function wrong(name: string, text: string, expected: string, allowed?: readonly string[]): Problem {
  const more = allowed === undefined ? {} : { allowed }
  return new Problem('invalid_parameter', `${name} is ${show(text)}, not ${expected}`, {
    param: name,
    ...more,
  })
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 60))
}
