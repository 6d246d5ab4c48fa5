import { parseMicros, PriorbookError, toMicros, type Micros } from '@priorbook/sdk/domain'
import { FLAG, Problem, wordOf } from '@priorbook/sdk/wire'
import type { Param } from './route.ts'

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

/** The intervals of sampling, in microseconds. */
export const INTERVALS = {
  '1s': 1_000_000,
  '5s': 5_000_000,
  '10s': 10_000_000,
  '30s': 30_000_000,
  '1m': 60_000_000,
  '5m': 300_000_000,
  '15m': 900_000_000,
  '1h': 3_600_000_000,
  '1d': 86_400_000_000,
} as const

/** The name of an interval. */
export type Interval = keyof typeof INTERVALS

/** The formats of rows. */
export const FORMATS = ['json', 'ndjson', 'csv'] as const

/** The default and the largest page. */
export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000

/** Parameters that every paged route takes. */
export const PAGE_PARAMS = {
  limit: integerParam(1, MAX_LIMIT, `Rows a page, ${DEFAULT_LIMIT} by default.`),
  cursor: textParam(4096, 'Where to go on: `pagination.next_cursor` of the page before.'),
  order: wordParam(['asc', 'desc'], 'Oldest first (the default) or newest first.'),
}

/** The time range of a route. */
export const RANGE_PARAMS = {
  start_time: timeParam('Only what was received at or after this time.'),
  end_time: timeParam('Only what was received before this time.'),
}

/** How values are written. */
export const STYLE_PARAMS = {
  number_format: wordParam(['number', 'string'], 'Decimals as JSON numbers (default) or as text.'),
  time_format: wordParam(['iso', 'epoch_us'], 'Times as ISO 8601 (default) or whole microseconds.'),
  format: wordParam(FORMATS, 'The format of the answer; `Accept` does the same.'),
}

/** What was known at a time. */
export const KNOWN_AT_PARAM = {
  known_at: timeParam('What was known at this time; later corrections are left out.'),
}

/** The choices of book routes. */
export const BOOK_PARAMS = {
  include_orderbook: flagParam('Whether rows carry ladders.'),
  depth: integerParam(1, 10_000, 'At most so many levels a side.'),
  interval: wordParam(
    Object.keys(INTERVALS) as Interval[],
    'The last observation of every interval instead of every observation.',
  ),
  clock: wordParam(
    ['received', 'source'],
    'Which clock the range means; rows stay in received order.',
  ),
}
