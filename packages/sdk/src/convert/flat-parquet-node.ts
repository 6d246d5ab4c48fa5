import { zstdCompressSync } from 'node:zlib'
import {
  encodeThrift,
  ENCODING,
  PHYSICAL,
  REPETITION,
  writeHybrid,
  ZSTD_CODEC,
  type ThriftStruct,
} from '../parquet/index.ts'
import { ByteWriter } from '../tape/index.ts'

/** The type of a column without lists: unsigned integers, 16 bytes, text, bytes, or text that is always null. */
type FlatType = 'uint8' | 'uint64' | 'bytes16' | 'text' | 'binary' | 'null'

/** The columns of a file by name, in their order. */
export type FlatColumns = Readonly<Record<string, FlatType>>

/** A value of a column. */
export type FlatValue = number | bigint | Uint8Array | string | null

const MAGIC = Buffer.from('PAR1')
const DATA_PAGE_V2 = 3

// Physical type (1), length (2) and converted type (6) of a column.
const ELEMENTS: Readonly<Record<FlatType, ThriftStruct>> = {
  uint8: { 1: PHYSICAL.int32, 6: 11 },
  uint64: { 1: PHYSICAL.int64, 6: 14 },
  bytes16: { 1: PHYSICAL.fixed, 2: 16 },
  text: { 1: PHYSICAL.byteArray, 6: 0 },
  binary: { 1: PHYSICAL.byteArray },
  null: { 1: PHYSICAL.byteArray, 6: 0 },
}

/** A Parquet file of flat columns: rows are added, and each group of them becomes bytes at once. */
export class FlatParquet {
  private readonly columns: readonly FlatColumn[]
  private readonly metadata: Readonly<Record<string, string>>
  private readonly groups: ThriftStruct[] = []
  private offset = 0
  private total = 0
  /** Rows that are not in a group yet. */
  waiting = 0

  constructor(columns: FlatColumns, metadata: Readonly<Record<string, string>>) {
    this.columns = Object.entries(columns).map(([name, type]) => new FlatColumn(name, type))
    this.metadata = metadata
  }

  get rows(): number {
    return this.total + this.waiting
  }

  add(values: readonly FlatValue[]): void {
    for (const [index, column] of this.columns.entries()) column.add(values[index]!)
    this.waiting++
  }

  /** The bytes of the waiting rows. */
  group(): Uint8Array {
    const begin = this.offset === 0 ? [MAGIC] : []
    this.offset += begin.length * MAGIC.length
    if (this.waiting === 0) return Buffer.concat(begin)
    const start = this.offset
    const pieces: Uint8Array[] = [...begin]
    const chunks: ThriftStruct[] = []
    let unpacked = 0
    for (const column of this.columns) {
      const page = column.page(this.waiting)
      chunks.push({ 2: BigInt(this.offset), 3: page.metadata(this.offset) })
      pieces.push(page.bytes)
      this.offset += page.bytes.length
      unpacked += page.unpacked
    }
    const length = BigInt(this.offset - start)
    const rows = BigInt(this.waiting)
    this.groups.push({ 1: chunks, 2: BigInt(unpacked), 3: rows, 5: BigInt(start), 6: length })
    this.total += this.waiting
    this.waiting = 0
    return Buffer.concat(pieces)
  }

  /** The bytes after the last group. */
  end(): Uint8Array {
    const footer = encodeThrift({
      1: 2,
      2: [{ 4: 'schema', 5: this.columns.length }, ...this.columns.map(({ element }) => element)],
      3: BigInt(this.total),
      4: this.groups,
      5: Object.entries(this.metadata).map(([key, value]) => ({ 1: key, 2: value })),
      6: 'priorbook',
    })
    const length = Buffer.alloc(4)
    length.writeUInt32LE(footer.length)
    return Buffer.concat([footer, length, MAGIC])
  }
}

type PackedPage = {
  readonly bytes: Uint8Array
  readonly unpacked: number
  metadata(offset: number): ThriftStruct
}

/** One column, whose values wait as the bytes of a page. */
class FlatColumn {
  readonly element: ThriftStruct
  private readonly name: string
  private readonly type: FlatType
  private readonly values = new ByteWriter()

  constructor(name: string, type: FlatType) {
    this.name = name
    this.type = type
    const repetition = type === 'null' ? REPETITION.optional : REPETITION.required
    this.element = { ...ELEMENTS[type], 3: repetition, 4: name }
  }

  add(value: FlatValue): void {
    switch (this.type) {
      case 'uint8':
        this.values.uint32(value as number)
        break
      case 'uint64': {
        const bits = BigInt(value as number | bigint)
        this.values.uint32(Number(bits & 0xffff_ffffn))
        this.values.uint32(Number(bits >> 32n))
        break
      }
      case 'bytes16':
        this.values.raw(value as Uint8Array)
        break
      case 'text':
      case 'binary': {
        const bytes = typeof value === 'string' ? Buffer.from(value) : (value as Uint8Array)
        this.values.uint32(bytes.length)
        this.values.raw(bytes)
        break
      }
      case 'null':
        break
    }
  }

  page(rows: number): PackedPage {
    const data = this.values.copy()
    this.values.clear()
    const packed = zstdCompressSync(data)
    const levels = new ByteWriter()
    if (this.type === 'null') writeHybrid(levels, new Uint8Array(rows), 1)
    const nulls = this.type === 'null' ? rows : 0
    const header = encodeThrift({
      1: DATA_PAGE_V2,
      2: levels.length + data.length,
      3: levels.length + packed.length,
      8: { 1: rows, 2: nulls, 3: rows, 4: ENCODING.plain, 5: levels.length, 6: 0 },
    })
    const bytes = Buffer.concat([header, levels.copy(), packed])
    const unpacked = header.length + levels.length + data.length
    return {
      bytes,
      unpacked,
      metadata: (offset) => ({
        1: this.element[1],
        2: [ENCODING.plain, ENCODING.rle],
        3: [this.name],
        4: ZSTD_CODEC,
        5: BigInt(rows),
        6: BigInt(unpacked),
        7: BigInt(bytes.length),
        9: BigInt(offset),
      }),
    }
  }
}
