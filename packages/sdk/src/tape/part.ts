import { BookDecoder, BookEncoder } from './book-codec.ts'
import { NO_HASH, type Chunk, type ChunkHeader } from './chunk.ts'
import type { ChunkIdentity } from './book-codec.ts'
import { BookColumns, SampleColumns, TradeColumns } from './columns.ts'
import { Ladder } from './ladder.ts'
import type { TapePlatform } from './platform.ts'
import { applyRows, loadBase } from './run.ts'
import { decodeSamples, encodeSamples } from './sample-codec.ts'
import { decodeTrades, encodeTrades } from './trade-codec.ts'

/** The origin of rows, which a chunk contains and its rows do not. */
export type Maker = Pick<ChunkHeader, 'origin' | 'recorder' | 'normalizer'>

/** Rows of one stream as columns. */
export type StreamRows =
  | { readonly kind: 'book'; readonly columns: BookColumns }
  | { readonly kind: 'trade'; readonly columns: TradeColumns }
  | { readonly kind: 'sample'; readonly columns: SampleColumns; readonly metric: string }

/** Decodes a chunk. */
export function decodeChunk(chunk: Chunk, platform: TapePlatform): StreamRows {
  const { kind, metric } = chunk.header
  switch (kind) {
    case 'book': {
      const columns = BookColumns.forChunk(chunk.header)
      new BookDecoder().decode(chunk, platform, columns, { numbers: true })
      return { kind, columns }
    }
    case 'trade': {
      const columns = new TradeColumns()
      decodeTrades(chunk, platform, columns)
      return { kind, columns }
    }
    case 'sample': {
      const columns = new SampleColumns()
      decodeSamples(chunk, platform, columns)
      return { kind, columns, metric }
    }
  }
}

/** Encodes rows [from, to) as a part: a single chunk, outside the hash chain of its stream. */
export function encodePart(
  rows: StreamRows,
  from: number,
  to: number,
  name: Pick<ChunkHeader, 'venue' | 'market' | 'key' | 'first'> & Maker,
  changesBefore: number,
  platform: TapePlatform,
): Uint8Array {
  const identity: ChunkIdentity = { ...name, previousHash: NO_HASH }
  switch (rows.kind) {
    case 'book': {
      const { columns } = rows
      const ladder = new Ladder(columns.priceDecimals)
      loadBase(ladder, columns)
      applyRows(ladder, columns, 0, from)
      const key = ladder.keys()
      const base = { key, size: key.map((level) => ladder.sizeAt(level)) }
      const before = changesBefore + columns.changeStart(from)
      const encoder = new BookEncoder()
      return encoder.encode(
        columns,
        from,
        to,
        base,
        { ...identity, changesBefore: before },
        platform,
      ).bytes
    }
    case 'trade':
      return encodeTrades(rows.columns, from, to, identity, platform).bytes
    case 'sample':
      return encodeSamples(rows.columns, from, to, { ...identity, metric: rows.metric }, platform)
        .bytes
  }
}

/** The rows received in [start, end); times never decrease within a stream. */
export function rowsBetween(
  columns: { readonly count: number; readonly received: Float64Array },
  start: number,
  end: number,
): { readonly from: number; readonly to: number } {
  let from = 0
  while (from < columns.count && columns.received[from]! < start) from++
  let to = columns.count
  while (to > from && columns.received[to - 1]! >= end) to--
  return { from, to }
}
