import { constants, zstdCompressSync } from 'node:zlib'
import type {
  ColumnChunk,
  ColumnMetaData,
  Encoding,
  FileMetaData,
  RowGroup,
  SchemaElement,
} from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { deltaBinaryPack } from 'hyparquet-writer/src/delta.js'
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'
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
import type { FileReceipt } from './tally.ts'

// A row group for so many rows, or when its packed pages take so much memory.
const GROUP_ROWS = 131_072
const GROUP_BYTES = 16_777_216

/**
 * A Parquet file, packed by zstd. Every batch of rows becomes a page of each column at once; only
 * packed pages wait until their row group is written, so memory does not grow with the file. Schema
 * and footer are written by hyparquet-writer, whose own way of writing needs a whole row group as
 * JavaScript values.
 */
export function createParquetSink(
  specs: readonly ColumnSpec[],
  metadata: ReadonlyMap<string, string>,
): ColumnSink {
  const columns = specs.map((spec) => new ParquetColumn(spec))
  const groups: RowGroup[] = []
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
    const chunks: ColumnChunk[] = []
    let unpacked = 0
    for (const column of columns) {
      const packed = column.takeChunk(offset)
      chunks.push({ file_offset: BigInt(offset), meta_data: packed.metadata as ColumnMetaData })
      unpacked += Number(packed.metadata.total_uncompressed_size)
      for (const bytes of packed.pages) yield sent(bytes)
    }
    groups.push({
      columns: chunks,
      total_byte_size: BigInt(unpacked),
      total_compressed_size: BigInt(offset - start),
      file_offset: BigInt(start),
      num_rows: BigInt(rows),
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
    *end(receipt: FileReceipt) {
      yield* endGroup()
      const keys = [...metadata, ['priorbook.receipt', JSON.stringify(receipt)] as const]
      const footer = {
        version: 2,
        schema: [
          { name: 'rows', num_children: specs.length },
          ...columns.flatMap(({ elements }) => elements),
        ],
        num_rows: BigInt(total),
        row_groups: groups,
        key_value_metadata: keys.map(([key, value]) => ({ key, value })),
        created_by: 'priorbook',
      }
      const out = new ByteWriter()
      // The length of the metadata is the writer's own business.
      writeMetadata(out, footer as unknown as FileMetaData)
      yield sent(out.getBytes())
      yield sent(MAGIC)
    },
  }
}

const MAGIC = Buffer.from('PAR1')
const EMPTY = new Uint8Array(0)
// Pages of so many columns are made between two turns of the event loop.
const COLUMNS_A_STEP = 4

// Level 3 packs ladders to a few bytes a level; higher ones take several times as long for little.
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }

/** One column of a Parquet file: its packed pages until the row group is written. */
export class ParquetColumn {
  readonly elements: readonly SchemaElement[]
  private readonly spec: ColumnSpec
  private pages: Uint8Array[] = []
  private unpacked = 0
  private values = 0
  private encodings = new Set<Encoding>()
  private dictionary = new Map<string, number>()
  private texts: Uint8Array[] = []
  /** The bytes of packed pages that wait. */
  waiting = 0

  constructor(spec: ColumnSpec) {
    this.spec = spec
    this.elements = toElements(spec)
  }

  /** Packs the rows of a batch into a page; `made` holds what columns of the batch share. */
  addPage(column: BatchColumn, made: SharedPages): void {
    if (column instanceof TextColumn) this.addTexts(column)
    else if (column instanceof UniqueColumn) this.addUnique(column)
    else if (column.spec.isList) this.addLists(column, made)
    else this.addNumbers(column)
  }

  /** Hands over the pages of a row group that begins at an offset of the file. */
  takeChunk(offset: number): { metadata: Partial<ColumnMetaData>; pages: readonly Uint8Array[] } {
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
      this.encodings.add('PLAIN')
    }
    const metadata: Partial<ColumnMetaData> = {
      type: elements.at(-1)!.type!,
      encodings: [...this.encodings, 'RLE'],
      path_in_schema: spec.isList ? [spec.name, 'list', 'element'] : [spec.name],
      codec: 'ZSTD',
      num_values: BigInt(this.values),
      total_uncompressed_size: BigInt(unpacked),
      total_compressed_size: BigInt(pages.reduce((sum, page) => sum + page.length, 0)),
      data_page_offset: BigInt(start),
      ...(dictionaryOffset === undefined ? {} : { dictionary_page_offset: dictionaryOffset }),
    }
    this.pages = []
    this.unpacked = 0
    this.values = 0
    this.waiting = 0
    this.encodings = new Set()
    this.dictionary = new Map()
    this.texts = []
    return { metadata, pages }
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
    // DuckDB refuses a page by dictionary in a column that has none: a page of nulls is plain.
    if (indexes.length === 0) return this.add(packPage('PLAIN', NO_BYTES, count, count, definition))
    const page = new ByteWriter()
    const width = 32 - Math.clz32(most)
    page.appendUint8(width)
    writeRleBitPackedHybrid(page, indexes, width)
    return this.add(packPage('RLE_DICTIONARY', page.getBytes(), count, count, definition))
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
    this.add(packPage('PLAIN', page, count, count, NO_LEVELS))
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
    if (!values.isWide) return this.add(packPage('PLAIN', values.bytes, rows, rows, levels))
    const page = new ByteWriter()
    deltaBinaryPack(page, new BigInt64Array(values.words.buffer, 0, values.count))
    return this.add(packPage('DELTA_BINARY_PACKED', page.getBytes(), rows, rows, levels))
  }

  private addLists({ shape, values }: NumberColumn, made: SharedPages): void {
    let page = made.pages.get(values)
    if (page === undefined || page.shape !== shape) {
      let levels = made.levels.get(shape)
      if (levels === undefined) {
        levels = listLevels(shape, values.count)
        made.levels.set(shape, levels)
      }
      page = { shape, ...packPage('PLAIN', values.bytes, levels.values, shape.rows, levels) }
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
    const data = new ByteWriter()
    for (const text of this.texts) {
      data.appendUint32(text.length)
      data.appendBytes(text)
    }
    const packed = zstdCompressSync(data.getBytes(), ZSTD)
    const out = new ByteWriter(packed.length + 64)
    writePageHeader(out, {
      type: 'DICTIONARY_PAGE',
      uncompressed_page_size: data.offset,
      compressed_page_size: packed.length,
      dictionary_page_header: { num_values: this.texts.length, encoding: 'PLAIN' },
    })
    const unpacked = out.offset + data.offset
    out.appendBytes(packed)
    return { bytes: out.getBytes(), unpacked }
  }
}

/** What the columns of one batch have in common, made once. */
export class SharedPages {
  readonly levels = new Map<RowShape, Levels & { readonly values: number }>()
  readonly pages = new Map<Words, Page & { readonly shape: RowShape }>()
}

/** A packed page with its header. */
type Page = {
  readonly bytes: Uint8Array
  readonly unpacked: number
  readonly values: number
  readonly encoding: Encoding
}

/** Packed levels: those of repetition first. */
type Levels = {
  readonly bytes: Uint8Array
  readonly repeated: number
  readonly defined: number
  readonly nulls: number
}

const NO_BYTES = new Uint8Array(0)
const NO_LEVELS: Levels = { bytes: NO_BYTES, repeated: 0, defined: 0, nulls: 0 }

/** `most` is the level of a value that is there, and also the bits of a level. */
function packLevels(
  definition: Uint8Array,
  repetition: Uint8Array | undefined,
  most: 1 | 2,
): Levels {
  const out = new ByteWriter()
  const repeated = repetition === undefined ? 0 : writeRleBitPackedHybrid(out, repetition, 1)
  const defined = writeRleBitPackedHybrid(out, definition, most)
  let nulls = 0
  for (let at = 0; at < definition.length; at++) if (definition[at]! < most) nulls++
  return { bytes: out.getBytes(), repeated, defined, nulls }
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
  encoding: Encoding,
  data: Uint8Array,
  values: number,
  rows: number,
  levels: Levels,
): Page {
  const packed = zstdCompressSync(data, ZSTD)
  const out = new ByteWriter(levels.bytes.length + packed.length + 64)
  writePageHeader(out, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: levels.bytes.length + data.length,
    compressed_page_size: levels.bytes.length + packed.length,
    data_page_header_v2: {
      num_values: values,
      num_nulls: levels.nulls,
      num_rows: rows,
      encoding,
      definition_levels_byte_length: levels.defined,
      repetition_levels_byte_length: levels.repeated,
      is_compressed: true,
    },
  })
  const unpacked = out.offset + levels.bytes.length + data.length
  out.appendBytes(levels.bytes)
  out.appendBytes(packed)
  return { bytes: out.getBytes(), unpacked, values, encoding }
}

function toElements(spec: ColumnSpec): SchemaElement[] {
  const { name, isNullable, isList, type } = spec
  const repetition = isNullable ? 'OPTIONAL' : 'REQUIRED'
  if (!isList) return [{ name, repetition_type: repetition, ...toPhysical(type) }]
  return [
    {
      name,
      repetition_type: 'OPTIONAL',
      num_children: 1,
      converted_type: 'LIST',
      logical_type: { type: 'LIST' },
    },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'REQUIRED', ...toPhysical(type) },
  ]
}

function toPhysical(type: ColumnType): Partial<SchemaElement> {
  switch (type.kind) {
    case 'text':
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } }
    case 'time':
      return {
        type: 'INT64',
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      }
    case 'int32':
      return { type: 'INT32' }
    case 'int64':
      return { type: 'INT64' }
    case 'decimal': {
      const { precision, scale } = type
      return {
        type: precision > SHORT_DIGITS ? 'INT64' : 'INT32',
        converted_type: 'DECIMAL',
        precision,
        scale,
        logical_type: { type: 'DECIMAL', precision, scale },
      }
    }
  }
}
