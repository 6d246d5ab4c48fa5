/** The type of a column. Decimals are exact: whole numbers of 10^−scale, of 32 bits up to 9 digits. */
export type ColumnType =
  | {
      readonly kind: 'text'
      /** Almost every row has its own: no list of different ones is kept. */
      readonly isUnique?: boolean
    }
  | { readonly kind: 'time' }
  | { readonly kind: 'int32' }
  | { readonly kind: 'int64' }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }

/** One column of a file; lists hold values that are never null. */
export type ColumnSpec = {
  readonly name: string
  readonly type: ColumnType
  readonly isNullable: boolean
  readonly isList: boolean
}

/** Digits that 32 bits hold. */
export const SHORT_DIGITS = 9

const encoder = new TextEncoder()

/** Some rows of a file as columns, filled row by row, written out, and used again. */
export class ColumnBatch {
  rows = 0
  readonly columns: readonly BatchColumn[]

  constructor(specs: readonly ColumnSpec[]) {
    this.columns = specs.map((spec) =>
      spec.type.kind === 'text' ? new TextColumn(spec) : new NumberColumn(spec),
    )
  }

  /** Forgets the rows, keeps the room. */
  clear(): void {
    this.rows = 0
    for (const column of this.columns) column.clear()
  }

  /** The values of the column that has most of them. */
  get values(): number {
    return Math.max(...this.columns.map((column) => column.count))
  }
}

/** A column of either kind. */
export type BatchColumn = TextColumn | NumberColumn

/** Texts by their number in a list of different ones, −1 for null. */
export class TextColumn {
  readonly spec: ColumnSpec
  /** Rows, nulls included. */
  count = 0
  codes = new Int32Array(1024)
  readonly texts: Uint8Array[] = []
  readonly isUnique: boolean
  private readonly known = new Map<string, number>()

  constructor(spec: ColumnSpec) {
    this.spec = spec
    this.isUnique = spec.type.kind === 'text' && spec.type.isUnique === true
  }

  /** The number of a text; it holds until `clear`. */
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

  /** Appends a text that nobody will look for. */
  pushUnique(text: string): void {
    this.pushCode(this.texts.length)
    this.texts.push(encoder.encode(text))
  }

  pushCode(code: number): void {
    if (this.count === this.codes.length) this.codes = growInts(this.codes)
    this.codes[this.count++] = code
  }

  clear(): void {
    this.count = 0
    this.texts.length = 0
    this.known.clear()
  }
}

/** Whole numbers of 32 or 64 bits, single or in lists. */
export class NumberColumn {
  readonly spec: ColumnSpec
  readonly isWide: boolean
  /** Rows, nulls included. */
  rows = 0
  /** Values, nulls left out. */
  count = 0
  /** Of 64 bits two words a value, the low one first. */
  words = new Int32Array(2048)
  /** Where the list of each row ends, or after a row how many values there are; null rows repeat. */
  ends = new Int32Array(1024)
  /** 1 for a row that is not null. */
  present = new Uint8Array(1024)

  constructor(spec: ColumnSpec) {
    this.spec = spec
    const { type } = spec
    this.isWide =
      type.kind === 'time' ||
      type.kind === 'int64' ||
      (type.kind === 'decimal' && type.precision > SHORT_DIGITS)
  }

  /** Appends a value to the row that is open. */
  add(value: number): void {
    const { count } = this
    if (!this.isWide) {
      if (count === this.words.length) this.words = growInts(this.words)
      this.words[count] = value
    } else {
      if (2 * count === this.words.length) this.words = growInts(this.words)
      const high = Math.floor(value / 4_294_967_296)
      this.words[2 * count] = value - high * 4_294_967_296
      this.words[2 * count + 1] = high
    }
    this.count = count + 1
  }

  /** Ends a row that has its values. */
  endRow(): void {
    this.end(1)
  }

  /** Appends a row of one value. */
  push(value: number): void {
    this.add(value)
    this.end(1)
  }

  /** Appends a row without a value. */
  pushNull(): void {
    this.end(0)
  }

  /** The values as bytes, as they stand in memory: little-endian. */
  get bytes(): Uint8Array {
    return new Uint8Array(this.words.buffer, 0, this.count * (this.isWide ? 8 : 4))
  }

  clear(): void {
    this.rows = 0
    this.count = 0
  }

  private end(present: number): void {
    const row = this.rows
    if (row === this.ends.length) {
      this.ends = growInts(this.ends)
      const grown = new Uint8Array(this.present.length * 2)
      grown.set(this.present)
      this.present = grown
    }
    this.ends[row] = this.count
    this.present[row] = present
    this.rows = row + 1
  }
}

function growInts(column: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(column.length * 2)
  grown.set(column)
  return grown
}
