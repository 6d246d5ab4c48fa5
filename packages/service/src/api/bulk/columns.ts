import { VENUES } from '@priorbook/sdk/domain'
import { SAMPLE_DECIMALS } from '@priorbook/sdk/tape'
import { LADDER_COLUMNS } from '@priorbook/sdk/wire'
import type { BulkScope } from './scope.ts'

const TEXT: ColumnType = { kind: 'text' }
const UNIQUE: ColumnType = { kind: 'text', isUnique: true }
const TIME: ColumnType = { kind: 'time' }
const INT32: ColumnType = { kind: 'int32' }
const INT64: ColumnType = { kind: 'int64' }

/**
 * The columns of Arrow and Parquet files: the names and the order of CSV, without those of sampling.
 * Decimals have the scale of the venue, whatever the tick of a market; mid has one more than prices. 18 digits hold every size that can be stored (2^53 − 1 units).
 */
export function columnsOf(scope: BulkScope): readonly ColumnSpec[] {
  const { priceDecimals, sizeDecimals } = VENUES[scope.venue]
  const price = decimal(9, priceDecimals)
  const size = decimal(18, sizeDecimals)
  switch (scope.dataset) {
    case 'books':
      return bookColumns(scope, price, size)
    case 'trades':
      return [
        ...belongings(['condition_id', 'event_id', 'series_ticker', 'outcome', 'token_id']),
        column('trade_id', UNIQUE),
        column('price', price),
        column('size', size),
        nullable('taker_side', TEXT),
        nullable('source_time', TIME),
        column('received_time', TIME),
        column('sequence', INT64),
        column('flags', TEXT),
        nullable('native_taker_side', TEXT),
        nullable('native_sid', INT64),
        nullable('native_seq', INT64),
        nullable('native', TEXT),
      ]
    case 'samples':
      return [
        ...belongings(['event_id', 'condition_id', 'outcome', 'token_id']),
        nullable('source_time', TIME),
        column('received_time', TIME),
        column('sequence', INT64),
        column(scope.metric!, decimal(18, SAMPLE_DECIMALS)),
        column('flags', TEXT),
      ]
    case 'history':
      return [
        ...belongings(['event_id', 'condition_id', 'outcome', 'token_id']),
        column('metric', TEXT),
        // Text, because venues compute some of them and write up to 18 decimals.
        column('value', UNIQUE),
        column('source_time', TIME),
        column('received_time', TIME),
        column('sequence', INT64),
        column('flags', TEXT),
      ]
    case 'reference':
      // Text, because readers of decimals of 18 places and more are rare.
      return [
        column('id', UNIQUE),
        ...['venue', 'feed', 'asset', 'unit'].map((name) => column(name, TEXT)),
        nullable('source_time', TIME),
        column('received_time', TIME),
        column('sequence', INT64),
        column('price', UNIQUE),
        column('flags', TEXT),
      ]
  }
}

function bookColumns(scope: BulkScope, price: ColumnType, size: ColumnType): readonly ColumnSpec[] {
  const { priceDecimals } = VENUES[scope.venue]
  return [
    ...belongings(['condition_id', 'event_id', 'series_ticker', 'outcome', 'token_id']),
    nullable('source_time', TIME),
    column('received_time', TIME),
    column('sequence', INT64),
    nullable('best_bid', price),
    nullable('best_ask', price),
    nullable('mid', decimal(9, priceDecimals + 1)),
    nullable('spread', price),
    column('bid_levels', INT32),
    column('ask_levels', INT32),
    column('flags', TEXT),
    nullable('native_sid', INT64),
    nullable('native_connection', INT64),
    nullable('native_seq', INT64),
    ...(scope.ladders ? LADDER_COLUMNS : []).map((name) => ({
      name,
      type: name.endsWith('price') ? price : size,
      isNullable: true,
      isList: true,
    })),
  ]
}

/** The type of a column as the manifest names it. */
export function typeName({ type, isList }: ColumnSpec): string {
  const name =
    type.kind === 'decimal'
      ? `decimal(${type.precision}, ${type.scale})`
      : type.kind === 'time'
        ? 'timestamp[us, UTC]'
        : type.kind
  return isList ? `list<${name}>` : name
}

function belongings(names: readonly string[]): ColumnSpec[] {
  return [
    column('id', UNIQUE),
    column('venue', TEXT),
    column('market_id', TEXT),
    ...names.map((name) => nullable(name, TEXT)),
  ]
}

function column(name: string, type: ColumnType): ColumnSpec {
  return { name, type, isNullable: false, isList: false }
}

function nullable(name: string, type: ColumnType): ColumnSpec {
  return { name, type, isNullable: true, isList: false }
}

function decimal(precision: number, scale: number): ColumnType {
  return { kind: 'decimal', precision, scale }
}

/** The type of a column. Decimals are exact: whole numbers of 10^−scale, of 32 bits up to 9 digits. */
export type ColumnType =
  | {
      readonly kind: 'text'
      /** Almost every row has a text of its own, so no dictionary is kept. */
      readonly isUnique?: boolean
    }
  | { readonly kind: 'time' }
  | { readonly kind: 'int32' }
  | { readonly kind: 'int64' }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }

/** One column of a file. Values in lists and unique texts are never null. */
export type ColumnSpec = {
  readonly name: string
  readonly type: ColumnType
  readonly isNullable: boolean
  readonly isList: boolean
}

/** Digits that 32 bits hold. */
export const SHORT_DIGITS = 9

const TWO_32 = 4_294_967_296
const ZERO = 48
const encoder = new TextEncoder()

/** A column of any kind. */
export type BatchColumn = TextColumn | UniqueColumn | NumberColumn

/** A batch of rows as columns: filled row by row, written, cleared and filled again. */
export class ColumnBatch {
  rows = 0
  readonly columns: readonly BatchColumn[]

  constructor(specs: readonly ColumnSpec[]) {
    this.columns = specs.map((spec) => {
      if (spec.type.kind !== 'text') return new NumberColumn(spec)
      return spec.type.isUnique === true ? new UniqueColumn(spec) : new TextColumn(spec)
    })
  }

  /** Removes the rows and keeps the allocated memory. */
  clear(): void {
    this.rows = 0
    for (const column of this.columns) column.clear()
  }

  /** The number of values in the longest column. */
  get values(): number {
    return this.columns.reduce((most, { count }) => Math.max(most, count), 0)
  }
}

/** Texts as indexes into a dictionary, −1 for null. */
export class TextColumn {
  readonly spec: ColumnSpec
  /** Rows, nulls included. */
  count = 0
  codes = new Int32Array(1024)
  readonly texts: Uint8Array[] = []
  private readonly known = new Map<string, number>()

  constructor(spec: ColumnSpec) {
    this.spec = spec
  }

  /** The index of a text, valid until `clear`. */
  codeOf(text: string | undefined): number {
    if (text === undefined) return -1
    let code = this.known.get(text)
    if (code === undefined) {
      code = this.texts.length
      this.known.set(text, code)
      this.texts.push(encoder.encode(text))
    }
    return code
  }

  pushCode(code: number): void {
    if (this.count === this.codes.length) this.codes = grow(this.codes)
    this.codes[this.count++] = code
  }

  clear(): void {
    this.count = 0
    this.texts.length = 0
    this.known.clear()
  }
}

/** Texts without a dictionary, such as row ids. */
export class UniqueColumn {
  readonly spec: ColumnSpec
  count = 0
  bytes = new Uint8Array(65_536)
  ends = new Int32Array(1024)
  private length = 0

  constructor(spec: ColumnSpec) {
    this.spec = spec
  }

  push(text: string): void {
    this.append(encoder.encode(text))
    this.end()
  }

  /** Appends a text that ends with a whole number. */
  pushNumbered(prefix: Uint8Array, value: number): void {
    this.append(prefix)
    this.reserve(16)
    let digits = 1
    for (let power = 10; power <= value; power *= 10) digits++
    let rest = value
    for (let at = this.length + digits - 1; at >= this.length; at--) {
      const next = Math.floor(rest / 10)
      this.bytes[at] = ZERO + rest - next * 10
      rest = next
    }
    this.length += digits
    this.end()
  }

  clear(): void {
    this.count = 0
    this.length = 0
  }

  private append(text: Uint8Array): void {
    this.reserve(text.length)
    this.bytes.set(text, this.length)
    this.length += text.length
  }

  private reserve(length: number): void {
    if (this.length + length <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.length + length))
    grown.set(this.bytes)
    this.bytes = grown
  }

  private end(): void {
    if (this.count === this.ends.length) this.ends = grow(this.ends)
    this.ends[this.count++] = this.length
  }
}

/** Where the values of each row end, and which rows are null. Columns of equal shape share one. */
export class RowShape {
  rows = 0
  ends = new Int32Array(1024)
  /** 1 for a row that is not null. */
  present = new Uint8Array(1024)

  /** Ends a row; `count` is the number of values of all rows so far. */
  end(count: number, isPresent: boolean): void {
    const row = this.rows
    if (row === this.ends.length) {
      this.ends = grow(this.ends)
      const grown = new Uint8Array(this.present.length * 2)
      grown.set(this.present)
      this.present = grown
    }
    this.ends[row] = count
    this.present[row] = isPresent ? 1 : 0
    this.rows = row + 1
  }
}

/** Whole numbers of 32 or 64 bits. Columns of equal values share one. */
export class Words {
  readonly isWide: boolean
  count = 0
  /** Two words per value of 64 bits, the low one first. */
  words = new Int32Array(2048)

  constructor(isWide: boolean) {
    this.isWide = isWide
  }

  add(value: number): void {
    this.reserve(1)
    if (!this.isWide) this.words[this.count] = value
    else {
      // `|` keeps the lowest 32 bits of any whole number.
      this.words[2 * this.count] = value | 0
      this.words[2 * this.count + 1] = Math.floor(value / TWO_32)
    }
    this.count++
  }

  /** Adds a value of up to 64 bits to a column of 64 bits. */
  addBig(value: bigint): void {
    this.reserve(1)
    this.words[2 * this.count] = Number(BigInt.asIntN(32, value))
    this.words[2 * this.count + 1] = Number(value >> 32n)
    this.count++
  }

  /** Allocates memory for more values. */
  reserve(values: number): void {
    const needed = (this.count + values) * (this.isWide ? 2 : 1)
    while (needed > this.words.length) this.words = grow(this.words)
  }

  /** The values as little-endian bytes, as they are in memory. */
  get bytes(): Uint8Array {
    return new Uint8Array(this.words.buffer, 0, this.count * (this.isWide ? 8 : 4))
  }
}

/** Numbers, single or in lists. */
export class NumberColumn {
  readonly spec: ColumnSpec
  shape = new RowShape()
  values: Words

  constructor(spec: ColumnSpec) {
    this.spec = spec
    const { type } = spec
    this.values = new Words(
      type.kind === 'time' ||
        type.kind === 'int64' ||
        (type.kind === 'decimal' && type.precision > SHORT_DIGITS),
    )
  }

  /** Values, nulls left out. */
  get count(): number {
    return this.values.count
  }

  /** Appends a row of one value. */
  push(value: number): void {
    this.values.add(value)
    this.shape.end(this.values.count, true)
  }

  /** Appends a row of one value that a double may not hold. */
  pushBig(value: bigint): void {
    this.values.addBig(value)
    this.shape.end(this.values.count, true)
  }

  /** Appends a row without a value. */
  pushNull(): void {
    this.shape.end(this.values.count, false)
  }

  clear(): void {
    this.shape.rows = 0
    this.values.count = 0
  }
}

function grow(column: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(column.length * 2)
  grown.set(column)
  return grown
}
