/** A JSON Schema as plain data: what OpenAPI, AsyncAPI and any validator read. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Text. */
export const TEXT: JsonSchema = { type: 'string' }

/** Text or null. */
export const TEXT_OR_NULL: JsonSchema = { type: ['string', 'null'] }

/** A whole number from 0. */
export const COUNT: JsonSchema = { type: 'integer', minimum: 0 }

/** A flag. */
export const FLAG: JsonSchema = { type: 'boolean' }

/** Any number. */
export const NUMBER: JsonSchema = { type: 'number' }

/** A decimal: an exact number, or text with `number_format=string`. */
export const DECIMAL: JsonSchema = { type: ['number', 'string'] }

/** A decimal or null. */
export const DECIMAL_OR_NULL: JsonSchema = { type: ['number', 'string', 'null'] }

/** A time: ISO 8601 with six decimals and Z, or whole microseconds with `time_format=epoch_us`. */
export const TIME: JsonSchema = { type: ['string', 'integer'] }

/** A time or null. */
export const TIME_OR_NULL: JsonSchema = { type: ['string', 'integer', 'null'] }

/** An object with exactly these members; those named in `optional` may be left out. */
export function objectOf(
  properties: Readonly<Record<string, JsonSchema>>,
  more: { readonly optional?: readonly string[]; readonly description?: string } = {},
): JsonSchema {
  const { optional = [], description } = more
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  }
}

/** A list of one thing. */
export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

/** One of several words. */
export function wordOf(words: readonly string[]): JsonSchema {
  return { type: 'string', enum: words }
}

/** One of several words, or null. */
export function wordOrNull(words: readonly string[]): JsonSchema {
  return { enum: [...words, null] }
}

/** What a schema allows, or null. */
export function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'null' }] }
}

/** The same schema with a sentence. */
export function described(schema: JsonSchema, description: string): JsonSchema {
  return { ...schema, description }
}
