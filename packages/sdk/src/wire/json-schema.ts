import { VENUE_IDS, type VenueId } from '../domain/index.ts'
import type { DecimalJson, TimeJson } from './json-values.ts'

declare const TYPE: unique symbol

/** The key under which a schema carries its component name; symbols are invisible to JSON. */
export const NAME: unique symbol = Symbol('component name')

/**
 * A JSON Schema as plain data: what OpenAPI, AsyncAPI and any validator read. `T` is the TypeScript
 * type of the values it describes, so that row types derive from schemas.
 */
export type JsonSchema<T = unknown> = {
  readonly [keyword: string]: unknown
  readonly [NAME]?: string
  readonly [TYPE]?: T
}

/** The TypeScript type of what a schema describes. */
export type TypeOf<S> = S extends JsonSchema<infer T> ? T : never

type Properties = Readonly<Record<string, JsonSchema>>

type Flat<T> = { [Key in keyof T]: T[Key] }

type ObjectOf<P extends Properties, Optional extends string> = Flat<
  { readonly [Key in keyof P as Key extends Optional ? never : Key]: TypeOf<P[Key]> } & {
    readonly [Key in keyof P as Key extends Optional ? Key : never]?: TypeOf<P[Key]>
  }
>

/** Gives a schema a name: OpenAPI lists it once as a component and refers to it. */
export function named<T>(name: string, schema: JsonSchema<T>): JsonSchema<T> {
  return { ...schema, [NAME]: name }
}

/** Text. */
export const TEXT: JsonSchema<string> = { type: 'string' }

/** Text or null. */
export const TEXT_OR_NULL: JsonSchema<string | null> = { type: ['string', 'null'] }

/** A whole number from 0. */
export const COUNT: JsonSchema<number> = { type: 'integer', minimum: 0 }

/** A whole number from 1. */
export const ORDINAL: JsonSchema<number> = { type: 'integer', minimum: 1 }

/** A flag. */
export const FLAG: JsonSchema<boolean> = { type: 'boolean' }

/** True, false or not known. */
export const FLAG_OR_NULL = orNull(FLAG)

/** Any number. */
export const NUMBER: JsonSchema<number> = { type: 'number' }

/** A UTC day. */
export const DAY: JsonSchema<string> = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' }

/** A UTC day or null. */
export const DAY_OR_NULL: JsonSchema<string | null> = { ...DAY, type: ['string', 'null'] }

/** The id of a venue. */
export const VENUE: JsonSchema<VenueId> = named('VenueId', { type: 'string', enum: VENUE_IDS })

/** A decimal: an exact number, or text with `number_format=string`. */
export const DECIMAL: JsonSchema<DecimalJson> = named('Decimal', {
  type: ['number', 'string'],
  pattern: '^-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?$',
  description: 'An exact decimal: a number, or text with `number_format=string`.',
})

/** A time: ISO 8601 with six decimals and Z, or whole microseconds with `time_format=epoch_us`. */
export const TIME: JsonSchema<TimeJson> = named('Time', {
  type: ['string', 'integer'],
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$',
  minimum: 0,
  description:
    'ISO 8601 in UTC with six decimals, or whole microseconds since 1970 with `time_format=epoch_us`.',
})

/** A row id of any kind of row. */
export const ROW_ID: JsonSchema<string> = named('RowId', {
  type: 'string',
  pattern: `^(${VENUE_IDS.join('|')}):[A-Za-z0-9][A-Za-z0-9._/-]*:[1-9]\\d*$`,
  description: '`venue:instrument:sequence`: the same on every route, in every file and for ever.',
})

/** An object with exactly these members; those named in `optional` may be left out. */
export function objectOf<const P extends Properties, const Optional extends string = never>(
  properties: P,
  more: { readonly optional?: readonly Optional[]; readonly description?: string } = {},
): JsonSchema<ObjectOf<P, Optional>> {
  const { optional = [], description } = more
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties).filter((name) => !optional.some((one) => one === name)),
    additionalProperties: false,
  }
}

/** The names of an object's members, in the order of its schema. */
export function membersOf<T>(schema: JsonSchema<T>): readonly (keyof T & string)[] {
  return Object.keys(schema['properties'] as Properties) as (keyof T & string)[]
}

/** The schema of an object with more members, required and optional; the name is not kept. */
export function withMembers<T, const P extends Properties, const O extends Properties = {}>(
  schema: JsonSchema<T>,
  more: P,
  optional?: O,
): JsonSchema<T & ObjectOf<P, never> & Partial<ObjectOf<O, never>>> {
  const { [NAME]: _, properties, required, ...rest }: JsonSchema = schema
  const extended: Readonly<Record<string, unknown>> = {
    ...rest,
    properties: { ...(properties as Properties), ...more, ...optional },
    required: [...(required as readonly string[]), ...Object.keys(more)],
  }
  return extended
}

/** A list of one thing. */
export function listOf<T>(items: JsonSchema<T>): JsonSchema<readonly T[]> {
  return { type: 'array', items }
}

/** One of several words. */
export function wordOf<const Words extends readonly string[]>(
  words: Words,
): JsonSchema<Words[number]> {
  return { type: 'string', enum: words }
}

/** What an order does with an outcome. */
export const ORDER_SIDE = named('OrderSide', wordOf(['buy', 'sell']))

/** Exactly one word. */
export function onlyWord<const Word extends string>(word: Word): JsonSchema<Word> {
  return { const: word, type: 'string' }
}

/** What one of several schemas allows. */
export function anyOf<const All extends readonly JsonSchema[]>(
  ...schemas: All
): JsonSchema<TypeOf<All[number]>> {
  return { anyOf: schemas }
}

/** What a schema allows, or null. */
export function orNull<T>(schema: JsonSchema<T>): JsonSchema<T | null> {
  return { anyOf: [schema, { type: 'null' }] }
}

/** The same schema with a sentence. */
export function described<T>(schema: JsonSchema<T>, description: string): JsonSchema<T> {
  // A named component keeps its description; this use adds its own beside the `$ref`.
  return NAME in schema ? { allOf: [schema], description } : { ...schema, description }
}

/** A decimal or null. */
export const DECIMAL_OR_NULL: JsonSchema<DecimalJson | null> = orNull(DECIMAL)

/** A time or null. */
export const TIME_OR_NULL: JsonSchema<TimeJson | null> = orNull(TIME)
