import type { ChunkIdentity } from './book-codec.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import {
  columnOf,
  corrupt,
  encodeChunk,
  expectKind,
  type Chunk,
  type EncodedChunk,
} from './chunk.ts'
import type { SampleColumns } from './columns.ts'
import { encodeHeads, HEAD_COLUMN_COUNT, HeadDecoder } from './head-codec.ts'
import type { TapePlatform } from './platform.ts'
import { SAMPLE_DECIMALS } from './sample-value.ts'

/** The columns of a sample chunk after the heads. */
export const SAMPLE_COLUMNS = {
  values: HEAD_COLUMN_COUNT,
  /** Only where a value has more than 8 decimals; chunks of earlier versions do not have the column. */
  fines: HEAD_COLUMN_COUNT + 1,
} as const

/** Encodes rows [from, to) of one metric's samples. */
export function encodeSamples(
  rows: SampleColumns,
  from: number,
  to: number,
  identity: ChunkIdentity & { readonly metric: string },
  platform: TapePlatform,
): EncodedChunk {
  const values = new ByteWriter((to - from) * 2)
  let previous = 0
  for (let row = from; row < to; row++) {
    values.signed(rows.value[row]! - previous)
    previous = rows.value[row]!
  }
  const heads = encodeHeads(rows, from, to)
  const header = {
    ...identity,
    ...heads.facts,
    kind: 'sample' as const,
    changesBefore: 0,
    changes: 0,
    priceDecimals: 0,
    sizeDecimals: SAMPLE_DECIMALS,
  }
  const fines = encodeFines(rows, from, to)
  const columns = [...heads.columns, values.copy(), ...(fines === undefined ? [] : [fines])]
  return encodeChunk(header, columns, platform)
}

function encodeFines({ fine }: SampleColumns, from: number, to: number): Uint8Array | undefined {
  let isFine = false
  const out = new ByteWriter((to - from) * 5)
  for (let row = from; row < to; row++) {
    out.signed(fine[row]!)
    isFine ||= fine[row] !== 0
  }
  return isFine ? out.copy() : undefined
}

const heads = new HeadDecoder()

/** Appends the rows of a sample chunk to `into`, which must be empty. */
export function decodeSamples(chunk: Chunk, platform: TapePlatform, into: SampleColumns): void {
  const { header } = chunk
  const hasFines = chunk.sections.length === HEAD_COLUMN_COUNT + 2
  expectKind(chunk, 'sample', HEAD_COLUMN_COUNT + (hasFines ? 2 : 1))
  heads.decode(chunk, platform, into, { numbers: true })
  const values = new ByteReader(columnOf(chunk, SAMPLE_COLUMNS.values, platform))
  let value = 0
  for (let row = 0; row < header.count; row++) {
    value += values.signed()
    if (!Number.isSafeInteger(value)) throw corrupt('a value is longer than 53 bits')
    into.value.push(value)
  }
  values.finish()
  if (hasFines) readFines(columnOf(chunk, SAMPLE_COLUMNS.fines, platform), into)
  else for (let row = 0; row < header.count; row++) into.fine.push(0)
}

function readFines(bytes: Uint8Array, into: SampleColumns): void {
  const fines = new ByteReader(bytes)
  for (const value of into.value) {
    const fine = fines.signed()
    if (Math.abs(fine) >= FINE_LIMIT || fine * value < 0) throw corrupt('a value is not a decimal')
    into.fine.push(fine)
  }
  fines.finish()
}

const FINE_LIMIT = 1e10
