import {
  type Data,
  type DataType,
  Decimal,
  Field,
  Int32,
  Int64,
  List,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
} from 'apache-arrow'
import {
  type BatchColumn,
  type ColumnSpec,
  type ColumnType,
  type NumberColumn,
  TextColumn,
  UniqueColumn,
  type Words,
} from './columns.ts'
import type { ColumnSink } from './fill.ts'

/**
 * An Arrow IPC stream with one record batch per batch of rows. Decimals are decimal128, the one width that
 * every reader of Arrow supports; times are microseconds of UTC.
 */
export function createArrowSink(
  specs: readonly ColumnSpec[],
  metadata: ReadonlyMap<string, string>,
): ColumnSink {
  const schema = new Schema(specs.map(toField), new Map(metadata))
  const writer = new CollectingWriter()
  return {
    begin() {
      writer.start(schema)
      return writer.drain()
    },
    *write(batch) {
      const maker = new DataMaker()
      const children = batch.columns.map((column) => maker.of(column))
      const type = new Struct(schema.fields)
      const data = makeData({ type, length: batch.rows, nullCount: 0, children })
      writer.write(new RecordBatch(schema, data))
      yield* writer.drain()
    },
    end() {
      writer.finish()
      return writer.drain()
    },
  }
}

/** Collects the bytes of the library's writer instead of queueing them without bound. */
class CollectingWriter extends RecordBatchStreamWriter {
  private made: Uint8Array[] = []

  start(schema: Schema): void {
    this.reset(undefined, schema)
  }

  /** Removes and returns the bytes that were written since the last call. */
  drain(): Uint8Array[] {
    const { made } = this
    this.made = []
    // The library keeps these for the footer of a file; a stream has no footer.
    this._recordBatchBlocks.length = 0
    return made
  }

  protected override _write(chunk: ArrayBufferView): this {
    if (chunk.byteLength > 0) {
      this.made.push(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    }
    return this
  }
}

function toField(spec: ColumnSpec): Field {
  const type = toType(spec.type)
  const whole = spec.isList ? new List(new Field('item', type, false)) : type
  return new Field(spec.name, whole, spec.isNullable)
}

function toType(type: ColumnType): DataType {
  switch (type.kind) {
    case 'text':
      return new Utf8()
    case 'time':
      return new TimestampMicrosecond('UTC')
    case 'int32':
      return new Int32()
    case 'int64':
      return new Int64()
    case 'decimal':
      return new Decimal(type.scale, type.precision, 128)
  }
}

/** Makes Arrow data of columns; columns that share their values share the data. */
class DataMaker {
  private readonly made = new Map<Words, Data>()

  of(column: BatchColumn): Data {
    if (column instanceof TextColumn) return toTextData(column)
    if (column instanceof UniqueColumn) return toUniqueData(column)
    return column.spec.isList ? this.listOf(column) : toNumberData(column)
  }

  private listOf({ spec, shape, values }: NumberColumn): Data {
    const { rows, ends, present } = shape
    const valueOffsets = new Int32Array(rows + 1)
    valueOffsets.set(ends.subarray(0, rows), 1)
    let child = this.made.get(values)
    if (child === undefined) {
      child = valuesData(spec.type, values.words, values.count, NO_NULLS, values.isWide)
      this.made.set(values, child)
    }
    const type = new List(new Field('item', toType(spec.type), false))
    const nulls = nullsOf(rows, (row) => present[row] === 1)
    return makeData({ type, length: rows, valueOffsets, child, ...nulls })
  }
}

function toTextData({ codes, texts, count, spec }: TextColumn): Data {
  const valueOffsets = new Int32Array(count + 1)
  let length = 0
  for (let row = 0; row < count; row++) {
    if (codes[row]! >= 0) length += texts[codes[row]!]!.length
    valueOffsets[row + 1] = length
  }
  const data = new Uint8Array(length)
  for (let row = 0; row < count; row++) {
    if (codes[row]! >= 0) data.set(texts[codes[row]!]!, valueOffsets[row])
  }
  const nulls = spec.isNullable ? nullsOf(count, (row) => codes[row]! >= 0) : NO_NULLS
  return makeData({ type: new Utf8(), length: count, valueOffsets, data, ...nulls })
}

function toUniqueData({ bytes, ends, count }: UniqueColumn): Data {
  const valueOffsets = new Int32Array(count + 1)
  valueOffsets.set(ends.subarray(0, count), 1)
  const data = bytes.slice(0, valueOffsets[count])
  return makeData({ type: new Utf8(), length: count, valueOffsets, data, ...NO_NULLS })
}

/** One value per row; where there are nulls, values are moved to the indexes of their rows. */
function toNumberData({ spec, shape, values }: NumberColumn): Data {
  const { rows, ends, present } = shape
  const { words, isWide } = values
  if (values.count === rows) return valuesData(spec.type, words, rows, NO_NULLS, isWide)
  const width = isWide ? 2 : 1
  const spread = new Int32Array(rows * width)
  for (let row = 0; row < rows; row++) {
    if (present[row] === 0) continue
    const at = (ends[row]! - 1) * width
    for (let word = 0; word < width; word++) spread[row * width + word] = words[at + word]!
  }
  const nulls = nullsOf(rows, (row) => present[row] === 1)
  return valuesData(spec.type, spread, rows, nulls, isWide)
}

type Nulls = { readonly nullCount: number; readonly nullBitmap?: Uint8Array }

const NO_NULLS: Nulls = { nullCount: 0 }

function valuesData(
  type: ColumnType,
  words: Int32Array<ArrayBuffer>,
  length: number,
  nulls: Nulls,
  isWide: boolean,
): Data {
  switch (type.kind) {
    case 'decimal': {
      const data = toDecimals(words, length, isWide)
      return makeData({ type: toType(type) as Decimal, length, data, ...nulls })
    }
    case 'int32':
      return makeData({ type: new Int32(), length, data: words.slice(0, length), ...nulls })
    case 'int64':
    case 'time': {
      const data = new BigInt64Array(words.slice(0, 2 * length).buffer)
      return type.kind === 'time'
        ? makeData({ type: new TimestampMicrosecond('UTC'), length, data, ...nulls })
        : makeData({ type: new Int64(), length, data, ...nulls })
    }
    case 'text':
      throw new Error('texts have no numbers')
  }
}

/** Widens numbers of 32 or 64 bits to 128 bits. */
function toDecimals(words: Int32Array, length: number, isWide: boolean): Uint32Array<ArrayBuffer> {
  const data = new Int32Array(length * 4)
  for (let index = 0; index < length; index++) {
    const low = isWide ? words[2 * index]! : words[index]!
    const high = isWide ? words[2 * index + 1]! : low >> 31
    data[4 * index] = low
    data[4 * index + 1] = high
    if (high >= 0) continue
    data[4 * index + 2] = -1
    data[4 * index + 3] = -1
  }
  return new Uint32Array(data.buffer)
}

function nullsOf(rows: number, isPresent: (row: number) => boolean): Nulls {
  const nullBitmap = new Uint8Array((rows + 7) >> 3)
  let nullCount = 0
  for (let row = 0; row < rows; row++) {
    if (isPresent(row)) nullBitmap[row >> 3]! |= 1 << (row & 7)
    else nullCount++
  }
  return nullCount === 0 ? NO_NULLS : { nullCount, nullBitmap }
}
