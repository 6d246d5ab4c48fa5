import { Problem, type ParamTable } from '@priorbook/sdk/wire'
import type { Route } from '../route.ts'

/** The values of a request's parameters by name. */
export type Values = Readonly<Record<string, unknown>>

/** Reads the parameters of one route. */
export interface ParamReader {
  path(raw: Readonly<Record<string, string | undefined>>): Values
  /** Parses the text after the question mark, still percent-encoded. */
  query(text: string): Values
}

const NONE: Values = Object.freeze({})
// Max parameters per request: more than any route has.
const MAX_PARAMS = 100

/** Creates a reader that refuses unknown parameters. */
export function createParamReader(route: Pick<Route, 'path' | 'query'>): ParamReader {
  const names = Object.keys(route.query)
  const needed = names.filter((name) => route.query[name]!.isRequired === true)
  const inPath = Object.entries(route.path)
  return {
    path(raw) {
      if (inPath.length === 0) return NONE
      const values: Record<string, unknown> = {}
      for (const [name, param] of inPath) values[name] = param.parse(raw[name] ?? '', name)
      return values
    },
    query(text) {
      if (text === '' && needed.length === 0) return NONE
      const values = readQuery(text, route.query, names)
      for (const name of needed) {
        if (values[name] === undefined) throw absent(name, route.query)
      }
      return values
    },
  }
}

function readQuery(text: string, table: ParamTable, names: readonly string[]): Values {
  const values: Record<string, unknown> = {}
  if (text === '') return values
  const parts = text.split('&', MAX_PARAMS + 1)
  if (parts.length > MAX_PARAMS) {
    throw new Problem('invalid_parameter', `there are more than ${MAX_PARAMS} parameters`)
  }
  for (const part of parts) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decode(equals === -1 ? part : part.slice(0, equals), '')
    const param = Object.hasOwn(table, name) ? table[name] : undefined
    if (param === undefined) throw unknown(name, names)
    if (Object.hasOwn(values, name)) {
      throw new Problem('invalid_parameter', `${name} is given more than once`, { param: name })
    }
    values[name] = param.parse(decode(equals === -1 ? '' : part.slice(equals + 1), name), name)
  }
  return values
}

function decode(text: string, name: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new Problem('invalid_parameter', 'a percent sign is not followed by UTF-8 bytes', {
      ...(name === '' ? {} : { param: name }),
      hint: 'Write a percent sign itself as %25.',
    })
  }
}

function absent(name: string, table: ParamTable): Problem {
  const { schema, example } = table[name]!
  const { enum: allowed } = schema as { enum?: readonly string[] }
  return new Problem('invalid_parameter', `${name} is missing`, {
    param: name,
    ...(allowed === undefined ? {} : { allowed }),
    ...(example === undefined ? {} : { hint: `Such as ${name}=${example}.` }),
  })
}

function unknown(name: string, names: readonly string[]): Problem {
  const near = names.find((known) => isNear(known, name))
  return new Problem(
    'unknown_parameter',
    `there is no parameter ${JSON.stringify(name.slice(0, 60))}`,
    {
      param: name.slice(0, 60),
      allowed: names,
      ...(near === undefined ? {} : { hint: `Did you mean ${near}?` }),
    },
  )
}

// Equal apart from case and separators, or with at most two letters changed, added or left out.
function isNear(known: string, given: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const a = plain(known)
  const b = plain(given.slice(0, 60))
  if (a === b || (b.length >= 3 && a.startsWith(b))) return true
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]! <= (a.length > 4 ? 2 : 1)
}
