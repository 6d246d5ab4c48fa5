import { NAME, type JsonSchema } from '../wire/index.ts'

// Tools ask for decimals and times as text, so that their schemas need not allow numbers too.
const ALWAYS_TEXT: readonly (string | undefined)[] = ['Decimal', 'Time']

/**
 * A schema in the words that every client knows: one type each, because clients that translate schemas for a model drop
 * lists of types. Validators read it as they read the original.
 */
export function toPortable(schema: JsonSchema): JsonSchema {
  const { type, ...rest } = schema
  if (ALWAYS_TEXT.includes(schema[NAME])) {
    const { pattern, description } = schema
    return { type: 'string', pattern, description }
  }
  const inner = Object.fromEntries(
    Object.entries(rest).map(([keyword, value]) => [keyword, innerOf(keyword, value)]),
  )
  if (!Array.isArray(type)) return type === undefined ? inner : { type, ...inner }
  const { description, ...checks } = inner
  const branches = (type as readonly string[]).map((one) =>
    one === 'null' ? { type: one } : { type: one, ...checks },
  )
  return { anyOf: branches, ...(description === undefined ? {} : { description }) }
}

function innerOf(keyword: string, value: unknown): unknown {
  if (keyword === 'properties') {
    const members = Object.entries(value as Readonly<Record<string, JsonSchema>>)
    return Object.fromEntries(members.map(([name, one]) => [name, toPortable(one)]))
  }
  if (keyword === 'items') return toPortable(value as JsonSchema)
  if (keyword === 'anyOf' || keyword === 'allOf') {
    return (value as readonly JsonSchema[]).map(toPortable)
  }
  return value
}
