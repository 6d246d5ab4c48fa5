import { constants, zstdCompressSync } from 'node:zlib'
import { ByteWriter } from '@priorbook/sdk/tape'
import {
  type BatchColumn,
  type ColumnBatch,
  type ColumnSpec,
  type ColumnType,
  type NumberColumn,
  type RowShape,
  SHORT_DIGITS,
  TextColumn,
  UniqueColumn,
  type Words,
} from './columns.ts'
import type { ColumnSink } from './fill.ts'
import {
  encodeThrift,
  ENCODING,
  PHYSICAL,
  REPETITION,
  writeDeltas,
  writeHybrid,
  ZSTD_CODEC,
  type EncodingNumber,
  type ThriftStruct,
} from '@priorbook/sdk/parquet'

// Max rows per row group, and max bytes of its compressed pages in memory.
const GROUP_ROWS = 131_072
const GROUP_BYTES = 16_777_216

/**
 * A Parquet file compressed by zstd. Every batch of rows becomes one page per column at once; only compressed
 * pages are kept until their row group is written, so memory does not grow with the file.
 */
export function createParquetSink(
  specs: readonly ColumnSpec[],
  metadata: ReadonlyMap<string, string>,
): ColumnSink {
  const columns = specs.map((spec) => new ParquetColumn(spec))
  const groups: ThriftStruct[] = []
  let offset = 0
  let rows = 0
  let total = 0
  const sent = (bytes: Uint8Array): Uint8Array => {
    offset += bytes.length
    return bytes
  }

  function* endGroup(): Generator<Uint8Array> {
    if (rows === 0) return
    const start = offset
    const chunks: ThriftStruct[] = []
    let unpacked = 0
    for (const column of columns) {
      const packed = column.drainChunk(offset)
      chunks.push({ 2: BigInt(offset), 3: packed.metadata })
      unpacked += packed.unpacked
      for (const bytes of packed.pages) yield sent(bytes)
    }
    groups.push({
      1: chunks,
      2: BigInt(unpacked),
      3: BigInt(rows),
      5: BigInt(start),
      6: BigInt(offset - start),
    })
    total += rows
    rows = 0
  }
  return {
    *begin() {
      yield sent(MAGIC)
    },
    *write(batch: ColumnBatch) {
      const made = new SharedPages()
      for (const [index, column] of columns.entries()) {
        column.addPage(batch.columns[index]!, made)
        if (index % COLUMNS_A_STEP === 0) yield sent(EMPTY)
      }
      rows += batch.rows
      const waiting = columns.reduce((sum, column) => sum + column.waiting, 0)
      if (rows >= GROUP_ROWS || waiting >= GROUP_BYTES) yield* endGroup()
    },
    *end(receipt: object) {
      yield* endGroup()
      const keys = [...metadata, ['priorbook.receipt', JSON.stringify(receipt)] as const]
      const footer = encodeThrift({
        1: FORMAT_VERSION,
        2: [{ 4: 'rows', 5: specs.length }, ...columns.flatMap(({ elements }) => elements)],
        3: BigInt(total),
        4: groups,
        5: keys.map(([key, value]) => ({ 1: key, 2: value })),
        6: 'priorbook',
      })
      const length = Buffer.allocUnsafe(4)
      length.writeUInt32LE(footer.length)
      yield sent(footer)
      yield sent(length)
      yield sent(MAGIC)
    },
  }
}

const MAGIC = Buffer.from('PAR1')
const FORMAT_VERSION = 2
const EMPTY = new Uint8Array(0)
// Columns whose pages are compressed per step.
const COLUMNS_A_STEP = 4

// Level 3 compresses ladders to a few bytes per level; higher ones take several times as long for little.
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }

/** One column of a Parquet file; holds its compressed pages until the row group is written. */
class ParquetColumn {
  readonly elements: readonly ThriftStruct[]
  private readonly spec: ColumnSpec
  private pages: Uint8Array[] = []
  private unpacked = 0
  private values = 0
  private encodings = new Set<EncodingNumber>()
  private dictionary = new Map<string, number>()
  private texts: Uint8Array[] = []
  /** Bytes of compressed pages that are not written yet. */
  waiting = 0

  constructor(spec: ColumnSpec) {
    this.spec = spec
    this.elements = toElements(spec)
  }

  /** Compresses the rows of a batch into a page; `made` holds pages that columns of the batch share. */
  addPage(column: BatchColumn, made: SharedPages): void {
    if (column instanceof TextColumn) this.addTexts(column)
    else if (column instanceof UniqueColumn) this.addUnique(column)
    else if (column.spec.isList) this.addLists(column, made)
    else this.addNumbers(column)
  }

  /** Removes and returns the pages of a row group that begins at an offset of the file. */
  drainChunk(offset: number): Chunk {
    const { pages, spec, elements } = this
    let { unpacked } = this
    let start = offset
    let dictionaryOffset: bigint | undefined
    if (this.texts.length > 0) {
      const page = this.dictionaryPage()
      pages.unshift(page.bytes)
      unpacked += page.unpacked
      dictionaryOffset = BigInt(offset)
      start += page.bytes.length
      this.encodings.add(ENCODING.plain)
    }
    const metadata: ThriftStruct = {
      1: elements.at(-1)![1],
      2: [...this.encodings, ENCODING.rle],
      3: spec.isList ? [spec.name, 'list', 'element'] : [spec.name],
      4: ZSTD_CODEC,
      5: BigInt(this.values),
      6: BigInt(unpacked),
      7: BigInt(pages.reduce((sum, page) => sum + page.length, 0)),
      9: BigInt(start),
      11: dictionaryOffset,
    }
    this.pages = []
    this.unpacked = 0
    this.values = 0
    this.waiting = 0
    this.encodings = new Set()
    this.dictionary = new Map()
    this.texts = []
    return { metadata, unpacked, pages }
  }

  private addTexts({ codes, texts, count, spec }: TextColumn): void {
    const own = texts.map((text) => this.codeOf(text))
    const indexes: number[] = []
    const levels = new Uint8Array(count)
    let most = 0
    for (let row = 0; row < count; row++) {
      if (codes[row]! < 0) continue
      levels[row] = 1
      const index = own[codes[row]!]!
      indexes.push(index)
      most = Math.max(most, index)
    }
    const definition = spec.isNullable ? packLevels(levels, undefined, 1) : NO_LEVELS
    // DuckDB refuses a dictionary page in a column without a dictionary, so a page of nulls is plain.
    if (indexes.length === 0)
      return this.add(packPage(ENCODING.plain, NO_BYTES, count, count, definition))
    const page = new ByteWriter()
    const width = 32 - Math.clz32(most)
    page.byte(width)
    writeHybrid(page, indexes, width)
    return this.add(packPage(ENCODING.dictionary, page.view(), count, count, definition))
  }

  private addUnique({ bytes, ends, count }: UniqueColumn): void {
    const length = count === 0 ? 0 : ends[count - 1]!
    const page = Buffer.allocUnsafe(length + 4 * count)
    let from = 0
    for (let row = 0, at = 0; row < count; row++) {
      const end = ends[row]!
      page.writeUInt32LE(end - from, at)
      page.set(bytes.subarray(from, end), at + 4)
      at += 4 + end - from
      from = end
    }
    this.add(packPage(ENCODING.plain, page, count, count, NO_LEVELS))
  }

  private codeOf(text: Uint8Array): number {
    const name = Buffer.from(text).toString('latin1')
    let code = this.dictionary.get(name)
    if (code === undefined) {
      code = this.texts.length
      this.dictionary.set(name, code)
      this.texts.push(text)
    }
    return code
  }

  private addNumbers({ shape, values, spec }: NumberColumn): void {
    const { rows, present } = shape
    const levels = spec.isNullable ? packLevels(present.subarray(0, rows), undefined, 1) : NO_LEVELS
    if (!values.isWide) return this.add(packPage(ENCODING.plain, values.bytes, rows, rows, levels))
    const page = new ByteWriter()
    writeDeltas(page, new BigInt64Array(values.words.buffer, 0, values.count))
    return this.add(packPage(ENCODING.delta, page.view(), rows, rows, levels))
  }

  private addLists({ shape, values }: NumberColumn, made: SharedPages): void {
    let page = made.pages.get(values)
    if (page === undefined || page.shape !== shape) {
      let levels = made.levels.get(shape)
      if (levels === undefined) {
        levels = listLevels(shape, values.count)
        made.levels.set(shape, levels)
      }
      page = { shape, ...packPage(ENCODING.plain, values.bytes, levels.values, shape.rows, levels) }
      made.pages.set(values, page)
    }
    this.add(page)
  }

  private add({ bytes, unpacked, values, encoding }: Page): void {
    this.pages.push(bytes)
    this.waiting += bytes.length
    this.unpacked += unpacked
    this.values += values
    this.encodings.add(encoding)
  }

  private dictionaryPage(): { bytes: Uint8Array; unpacked: number } {
    const data = Buffer.concat(
      this.texts.flatMap((text) => {
        const length = Buffer.allocUnsafe(4)
        length.writeUInt32LE(text.length)
        return [length, text]
      }),
    )
    const packed = zstdCompressSync(data, ZSTD)
    const header = encodeThrift({
      1: DICTIONARY_PAGE,
      2: data.length,
      3: packed.length,
      7: { 1: this.texts.length, 2: ENCODING.plain },
    })
    return { bytes: Buffer.concat([header, packed]), unpacked: header.length + data.length }
  }
}

/** The pages of a column in a row group, with their metadata. */
type Chunk = {
  readonly metadata: ThriftStruct
  readonly unpacked: number
  readonly pages: readonly Uint8Array[]
}

const DICTIONARY_PAGE = 2
const DATA_PAGE_V2 = 3

/** Pages and levels that columns of one batch share. */
class SharedPages {
  readonly levels = new Map<RowShape, Levels & { readonly values: number }>()
  readonly pages = new Map<Words, Page & { readonly shape: RowShape }>()
}

/** A packed page with its header. */
type Page = {
  readonly bytes: Uint8Array
  readonly unpacked: number
  readonly values: number
  readonly encoding: EncodingNumber
}

/** Encoded levels, repetition levels first. */
type Levels = {
  readonly bytes: Uint8Array
  readonly repeated: number
  readonly defined: number
  readonly nulls: number
}

const NO_BYTES = new Uint8Array(0)
const NO_LEVELS: Levels = { bytes: NO_BYTES, repeated: 0, defined: 0, nulls: 0 }

/** `most` is the definition level of a present value, and also the bits per level. */
function packLevels(
  definition: Uint8Array,
  repetition: Uint8Array | undefined,
  most: 1 | 2,
): Levels {
  const out = new ByteWriter()
  const repeated = repetition === undefined ? 0 : writeHybrid(out, repetition, 1)
  const defined = writeHybrid(out, definition, most)
  let nulls = 0
  for (let at = 0; at < definition.length; at++) if (definition[at]! < most) nulls++
  return { bytes: out.copy(), repeated, defined, nulls }
}

/** Lists: a null one has definition level 0, an empty one 1, a value 2. */
function listLevels(shape: RowShape, count: number): Levels & { readonly values: number } {
  const { rows, ends, present } = shape
  const definition = new Uint8Array(count + rows)
  const repetition = new Uint8Array(count + rows)
  let at = 0
  let from = 0
  for (let row = 0; row < rows; row++) {
    const end = ends[row]!
    if (end === from) definition[at++] = present[row]!
    else {
      const next = at + end - from
      definition.fill(2, at, next)
      repetition.fill(1, at + 1, next)
      at = next
    }
    from = end
  }
  return { ...packLevels(definition.subarray(0, at), repetition.subarray(0, at), 2), values: at }
}

function packPage(
  encoding: EncodingNumber,
  data: Uint8Array,
  values: number,
  rows: number,
  levels: Levels,
): Page {
  const packed = zstdCompressSync(data, ZSTD)
  const header = encodeThrift({
    1: DATA_PAGE_V2,
    2: levels.bytes.length + data.length,
    3: levels.bytes.length + packed.length,
    8: { 1: values, 2: levels.nulls, 3: rows, 4: encoding, 5: levels.defined, 6: levels.repeated },
  })
  const unpacked = header.length + levels.bytes.length + data.length
  return { bytes: Buffer.concat([header, levels.bytes, packed]), unpacked, values, encoding }
}

/** The elements of a column in the schema of the file. */
function toElements({ name, isNullable, isList, type }: ColumnSpec): ThriftStruct[] {
  const repetition = isNullable ? REPETITION.optional : REPETITION.required
  if (!isList) return [{ 3: repetition, 4: name, ...toPhysical(type) }]
  return [
    { 3: REPETITION.optional, 4: name, 5: 1, 6: CONVERTED.list, 10: { 3: {} } },
    { 3: REPETITION.repeated, 4: 'list', 5: 1 },
    { 3: REPETITION.required, 4: 'element', ...toPhysical(type) },
  ]
}

const CONVERTED = { text: 0, list: 3, decimal: 5, micros: 10 } as const

// Physical type (1), converted type (6) with scale (7) and precision (8), logical type (10).
function toPhysical(type: ColumnType): ThriftStruct {
  switch (type.kind) {
    case 'text':
      return { 1: PHYSICAL.byteArray, 6: CONVERTED.text, 10: { 1: {} } }
    case 'time':
      return { 1: PHYSICAL.int64, 6: CONVERTED.micros, 10: { 8: { 1: true, 2: { 2: {} } } } }
    case 'int32':
      return { 1: PHYSICAL.int32 }
    case 'int64':
      return { 1: PHYSICAL.int64 }
    case 'decimal': {
      const { precision, scale } = type
      return {
        1: precision > SHORT_DIGITS ? PHYSICAL.int64 : PHYSICAL.int32,
        6: CONVERTED.decimal,
        7: scale,
        8: precision,
        10: { 5: { 1: scale, 2: precision } },
      }
    }
  }
}
