import { constants, zstdCompressSync } from 'node:zlib'
import type { ColumnMetaData, Encoding, SchemaElement } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { deltaBinaryPack } from 'hyparquet-writer/src/delta.js'
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js'
import {
  NumberColumn,
  TextColumn,
  type BatchColumn,
  type ColumnSpec,
  type ColumnType,
} from './column-batch.ts'

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

  /** Packs the rows of a batch into a page. */
  addPage(column: BatchColumn): void {
    if (column instanceof TextColumn) this.addTexts(column)
    else if (column.spec.isList) this.addLists(column)
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

  private addTexts(column: TextColumn): void {
    const { codes, texts, count, spec } = column
    const present: number[] = []
    const levels = new Uint8Array(count)
    for (let row = 0; row < count; row++) {
      if (codes[row]! < 0) continue
      levels[row] = 1
      present.push(codes[row]!)
    }
    const definition = spec.isNullable ? levels : undefined
    const page = new ByteWriter()
    if (column.isUnique) {
      for (const code of present) {
        page.appendUint32(texts[code]!.length)
        page.appendBytes(texts[code]!)
      }
      this.add('PLAIN', page.getBytes(), count, count, definition)
      return
    }
    const own = texts.map((text) => this.codeOf(text))
    const indexes = present.map((code) => own[code]!)
    const width = 32 - Math.clz32(indexes.reduce((most, index) => Math.max(most, index), 0))
    page.appendUint8(width)
    writeRleBitPackedHybrid(page, indexes, width)
    this.add('RLE_DICTIONARY', page.getBytes(), count, count, definition)
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

  private addNumbers(column: NumberColumn): void {
    const { rows, present, spec, isWide, words, count } = column
    const definition = spec.isNullable ? present.subarray(0, rows) : undefined
    if (!isWide) {
      this.add('PLAIN', column.bytes, rows, rows, definition)
      return
    }
    const page = new ByteWriter()
    deltaBinaryPack(page, new BigInt64Array(words.buffer, 0, count))
    this.add('DELTA_BINARY_PACKED', page.getBytes(), rows, rows, definition)
  }

  /** Lists: a null one has definition level 0, an empty one 1, a value 2. */
  private addLists(column: NumberColumn): void {
    const { rows, ends, present } = column
    const definition = new Uint8Array(column.count + rows)
    const repetition = new Uint8Array(column.count + rows)
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
    const levels = definition.subarray(0, at)
    this.add('PLAIN', column.bytes, at, rows, levels, repetition.subarray(0, at))
  }

  private add(
    encoding: Encoding,
    data: Uint8Array,
    values: number,
    rows: number,
    definition: Uint8Array | undefined,
    repetition?: Uint8Array,
  ): void {
    const levels = new ByteWriter()
    const most = this.spec.isList ? 2 : 1
    const repeated = repetition === undefined ? 0 : writeRleBitPackedHybrid(levels, repetition, 1)
    const defined = definition === undefined ? 0 : writeRleBitPackedHybrid(levels, definition, most)
    let nulls = 0
    if (definition !== undefined) for (const level of definition) if (level < most) nulls++
    const packed = zstdCompressSync(data, ZSTD)
    const out = new ByteWriter(levels.offset + packed.length + 64)
    writePageHeader(out, {
      type: 'DATA_PAGE_V2',
      uncompressed_page_size: levels.offset + data.length,
      compressed_page_size: levels.offset + packed.length,
      data_page_header_v2: {
        num_values: values,
        num_nulls: nulls,
        num_rows: rows,
        encoding,
        definition_levels_byte_length: defined,
        repetition_levels_byte_length: repeated,
        is_compressed: true,
      },
    })
    const header = out.offset
    out.appendBytes(levels.getBytes())
    out.appendBytes(packed)
    const page = out.getBytes()
    this.pages.push(page)
    this.waiting += page.length
    this.unpacked += header + levels.offset + data.length
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
        type: precision > 9 ? 'INT64' : 'INT32',
        converted_type: 'DECIMAL',
        precision,
        scale,
        logical_type: { type: 'DECIMAL', precision, scale },
      }
    }
  }
}
