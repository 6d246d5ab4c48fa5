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

/** Decimals of samples: venues have at most 4, reference prices 8. */
export const SAMPLE_DECIMALS = 8

/** The column of a sample chunk after the heads. */
export const SAMPLE_COLUMNS = { values: HEAD_COLUMN_COUNT } as const

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
  return encodeChunk(header, [...heads.columns, values.copy()], platform)
}

const heads = new HeadDecoder()

/** Appends the rows of a sample chunk to `into`, which must be empty. */
export function decodeSamples(chunk: Chunk, platform: TapePlatform, into: SampleColumns): void {
  const { header } = chunk
  expectKind(chunk, 'sample', HEAD_COLUMN_COUNT + 1)
  heads.decode(chunk, platform, into, { numbers: true })
  const values = new ByteReader(columnOf(chunk, SAMPLE_COLUMNS.values, platform))
  let value = 0
  for (let row = 0; row < header.count; row++) {
    value += values.signed()
    if (!Number.isSafeInteger(value)) throw corrupt('a value is longer than 53 bits')
    into.value.push(value)
  }
  values.finish()
}
