import {
  applyRows,
  BookColumns,
  BookDecoder,
  BookEncoder,
  decodeSamples,
  decodeTrades,
  encodeSamples,
  encodeTrades,
  Ladder,
  loadBase,
  NO_HASH,
  SampleColumns,
  TradeColumns,
  type Chunk,
  type TapePlatform,
} from '@priorbook/sdk/tape'

/** Packs rows [from, to) of a chunk anew as a part, with the number of level changes before them. */
export function cutPiece(
  chunk: Chunk,
  from: number,
  to: number,
  changesBefore: number | undefined,
  platform: TapePlatform,
): Uint8Array {
  const { header } = chunk
  const { venue, market, key, origin, recorder, normalizer } = header
  const identity = {
    venue,
    market,
    key,
    origin,
    recorder,
    normalizer,
    first: header.first + from,
    previousHash: NO_HASH,
  }
  switch (header.kind) {
    case 'book': {
      const columns = new BookColumns(header.priceDecimals, header.count, header.changes)
      new BookDecoder().decode(chunk, platform, columns, { numbers: true })
      const ladder = new Ladder(columns.priceDecimals)
      loadBase(ladder, columns)
      applyRows(ladder, columns, 0, from)
      const keys = ladder.keys()
      const base = { key: keys, size: keys.map((level) => ladder.size[level]!) }
      const before = changesBefore ?? header.changesBefore + columns.changeStart(from)
      const named = { ...identity, changesBefore: before }
      return new BookEncoder().encode(columns, from, to, base, named, platform).bytes
    }
    case 'trade': {
      const columns = new TradeColumns()
      decodeTrades(chunk, platform, columns)
      return encodeTrades(columns, from, to, identity, platform).bytes
    }
    case 'sample': {
      const columns = new SampleColumns()
      decodeSamples(chunk, platform, columns)
      const named = { ...identity, metric: header.metric }
      return encodeSamples(columns, from, to, named, platform).bytes
    }
  }
}
