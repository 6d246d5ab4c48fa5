import {
  Bool,
  type Data,
  type DataType,
  Decimal,
  Field,
  Float64,
  Int64,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  TimestampMicrosecond,
  Utf8,
  util,
} from 'apache-arrow'
import { DECIMAL, type JsonSchema, NAME, Problem, TIME } from '@priorbook/sdk/wire'

/**
 * A page of rows as an Arrow IPC stream. Its columns are the members that the schema of a row has, also where no row of the
 * page has a value, so that all pages of a walk fit together. Decimals are decimal128(38, 18) and times microseconds of UTC;
 * objects are structs, lists are lists, and what has no type of its own is JSON text. Rows are those of `FILE_STYLE`.
 */
export function toArrowPage(rows: readonly object[], schema: JsonSchema): Uint8Array {
  const { children: fields } = structOf(schema)
  const columns = fields.map(({ name, type }) =>
    toData(
      type,
      rows.map((row) => (row as Values)[name]),
    ),
  )
  const type = new Struct(fields)
  const data = makeData({ type, length: rows.length, nullCount: 0, children: columns })
  const arrow = new Schema(fields)
  return tableToIPC(new Table(arrow, [new RecordBatch(arrow, data)]), 'stream')
}

type Values = Readonly<Record<string, unknown>>

// Digits of all decimals, and those after the point: as many as any feed sends.
const DIGITS = 38
const SCALE = 18
const BEYOND = 10n ** BigInt(DIGITS)

const structs = new WeakMap<JsonSchema, Struct>()

/** The columns of a row: the members of its schema, or of all schemas that it may have. */
function structOf(schema: JsonSchema): Struct {
  let struct = structs.get(schema)
  if (struct === undefined) {
    const options = optionsOf(schema)
    const names = new Set(options.flatMap((one) => Object.keys(propertiesOf(one))))
    struct = new Struct(
      [...names].map((name) => {
        const members = options.map((one) => propertiesOf(one)[name])
        return new Field(name, typeOf(members.filter((one) => one !== undefined)), true)
      }),
    )
    structs.set(schema, struct)
  }
  return struct
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
}

/** The type of values that one of several schemas describes; text where their types differ. */
function typeOf(schemas: readonly JsonSchema[]): DataType {
  const types = schemas.flatMap(optionsOf).map(plainType)
  const [first = new Utf8()] = types
  return types.every((type) => util.compareTypes(first, type)) ? first : new Utf8()
}

/** What a schema allows beside null, each as a schema of one type. */
function optionsOf(schema: JsonSchema): readonly JsonSchema[] {
  if (schema[NAME] === DECIMAL[NAME] || schema[NAME] === TIME[NAME]) return [schema]
  const { type, anyOf, allOf } = schema as {
    readonly type?: unknown
    readonly anyOf?: readonly JsonSchema[]
    readonly allOf?: readonly JsonSchema[]
  }
  const nested = anyOf ?? allOf
  if (nested !== undefined) return nested.flatMap(optionsOf)
  if (Array.isArray(type)) return type.flatMap((one) => optionsOf({ ...schema, type: one }))
  return type === 'null' ? [] : [schema]
}

function plainType(schema: JsonSchema): DataType {
  if (schema[NAME] === DECIMAL[NAME]) return new Decimal(SCALE, DIGITS, 128)
  if (schema[NAME] === TIME[NAME]) return new TimestampMicrosecond('UTC')
  switch (schema['type']) {
    case 'integer':
      return new Int64()
    case 'number':
      return new Float64()
    case 'boolean':
      return new Bool()
    case 'array':
      return new List(new Field('item', typeOf([schema['items'] as JsonSchema]), true))
    case 'object':
      return schema['properties'] === undefined ? new Utf8() : structOf(schema)
    default:
      return new Utf8()
  }
}

function toData(type: DataType, values: readonly unknown[]): Data {
  const { length } = values
  const nulls = nullsOf(values)
  if (type instanceof Struct) {
    const children = type.children.map((field) =>
      toData(
        field.type as DataType,
        values.map((value) => (value as Values | null | undefined)?.[field.name]),
      ),
    )
    return makeData({ type, length, children, ...nulls })
  }
  if (type instanceof List) {
    const lists = values.map((value) => (value ?? []) as readonly unknown[])
    const valueOffsets = offsetsOf(lists)
    const child = toData(type.valueType as DataType, lists.flat())
    return makeData({ type, length, valueOffsets, child, ...nulls })
  }
  if (type instanceof Utf8) {
    const texts = values.map(toText)
    const valueOffsets = offsetsOf(texts)
    return makeData({ type, length, valueOffsets, data: Buffer.concat(texts), ...nulls })
  }
  if (type instanceof Decimal) {
    return makeData({ type, length, data: toDecimals(values), ...nulls })
  }
  if (type instanceof Bool) {
    const data = bitsOf(values.map((value) => value === true))
    return makeData({ type, length, data, ...nulls })
  }
  if (type instanceof Float64) {
    const data = Float64Array.from(values, (value) => Number(value ?? 0))
    return makeData({ type, length, data, ...nulls })
  }
  const data = BigInt64Array.from(values, (value) => BigInt((value ?? 0) as number))
  return type instanceof Int64
    ? makeData({ type, length, data, ...nulls })
    : makeData({ type: type as TimestampMicrosecond, length, data, ...nulls })
}

function toText(value: unknown): Buffer {
  if (value === null || value === undefined) return Buffer.alloc(0)
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
}

function toDecimals(values: readonly unknown[]): Uint32Array<ArrayBuffer> {
  const words = new BigUint64Array(values.length * 2)
  for (const [index, value] of values.entries()) {
    if (value === null || value === undefined) continue
    const units = unitsOf(value as string | number)
    words[2 * index] = BigInt.asUintN(64, units)
    words[2 * index + 1] = BigInt.asUintN(64, units >> 64n)
  }
  return new Uint32Array(words.buffer)
}

/** A plain decimal as a whole number of 10^−18. */
function unitsOf(value: string | number): bigint {
  const text = String(value)
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  const rest = fraction.slice(SCALE)
  const units =
    whole === undefined || /[1-9]/.test(rest)
      ? BEYOND
      : BigInt(`${whole}${fraction.slice(0, SCALE).padEnd(SCALE, '0')}`)
  if (units < BEYOND) return sign === '-' ? -units : units
  throw new Problem('not_acceptable', `${text} does not fit into decimal(${DIGITS}, ${SCALE})`, {
    hint: 'Ask for JSON, NDJSON or CSV, which have every digit.',
  })
}

function offsetsOf(parts: readonly { readonly length: number }[]): Int32Array<ArrayBuffer> {
  const offsets = new Int32Array(parts.length + 1)
  for (const [index, { length }] of parts.entries()) offsets[index + 1] = offsets[index]! + length
  return offsets
}

function nullsOf(values: readonly unknown[]): { nullCount: number; nullBitmap?: Uint8Array } {
  const present = values.map((value) => value !== null && value !== undefined)
  const nullCount = present.filter((isPresent) => !isPresent).length
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap: bitsOf(present) }
}

function bitsOf(flags: readonly boolean[]): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array((flags.length + 7) >> 3)
  for (const [index, flag] of flags.entries()) if (flag) bits[index >> 3]! |= 1 << (index & 7)
  return bits
}
