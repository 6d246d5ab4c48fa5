import { createReadStream } from 'node:fs'
import {
  fieldsOf,
  fromMarketJson,
  parseExactJson,
  timeOf,
  type ChunkLeaf,
} from '../../wire/index.ts'
import { PriorbookError, type MarketRecord } from '../../domain/index.ts'
import { FrameReader, type ReplayPlatform } from '../../replay/index.ts'
import { chunkHash, openChunk } from '../../tape/index.ts'

/** A chunk of a tape file: what it is, and where its bytes are. */
export type IndexedChunk = ChunkLeaf & {
  /** False for a part, which is not a link of the chain and never in a tree. */
  readonly isSealed: boolean
  readonly offset: number
  readonly length: number
}

/** What a tape file holds. */
export type TapeIndex = {
  /** Rows received in [start, end) count; the others only complete their chunks. */
  readonly start: number
  readonly end: number
  readonly chunks: readonly IndexedChunk[]
  /** The newest record of each market, by venue and id. */
  readonly markets: ReadonlyMap<string, MarketRecord>
}

/** Reads a tape file once: checks its frames, its hash and every chunk's, and notes where chunks are. */
export async function indexTape(
  path: string,
  platform: ReplayPlatform,
  signal: AbortSignal,
): Promise<TapeIndex> {
  const frames = new FrameReader(path, platform)
  const chunks: IndexedChunk[] = []
  const markets = new Map<string, MarketRecord>()
  let span = { start: 0, end: Infinity }
  for await (const block of createReadStream(path, { highWaterMark: 1 << 20, signal })) {
    for (const { kind, offset, payload } of frames.feed(block as Buffer)) {
      if (kind === 'H') span = spanOf(parse(payload))
      else if (kind === 'M') {
        const { record } = fromMarketJson(parse(payload))
        markets.set(`${record.venue}:${record.marketId}`, record)
      } else if (kind === 'C' || kind === 'P') {
        const chunk = openChunk(payload, platform)
        const { venue, market, key, metric, first, count } = chunk.header
        const { firstReceived, lastReceived, kind: rows } = chunk.header
        const hash = Buffer.from(chunkHash(chunk, platform)).toString('hex')
        const name = { venue, market, key, kind: rows, metric, first, count }
        const times = { firstReceived, lastReceived }
        const place = { isSealed: kind === 'C', offset, length: payload.length }
        chunks.push({ ...name, ...times, hash, ...place })
      }
    }
  }
  frames.finish()
  return { ...span, chunks, markets }
}

function parse(payload: Uint8Array): ReturnType<typeof fieldsOf> {
  let value: unknown
  try {
    value = parseExactJson(new TextDecoder().decode(payload))
  } catch (cause) {
    throw new PriorbookError('corrupt_chunk', 'a frame is not JSON', { cause })
  }
  return fieldsOf(value, 'a frame')
}

function spanOf(header: ReturnType<typeof fieldsOf>): { start: number; end: number } {
  const range = fieldsOf(header['range'], 'the range')
  return { start: timeOf(range['start_time']) ?? 0, end: timeOf(range['end_time']) ?? Infinity }
}

/** The name of a stream in row ids: what stands between the venue and the sequence. */
export function seriesOf({ key, kind, metric }: ChunkLeaf): string {
  if (kind === 'book') return key
  return `${key}/${kind === 'sample' ? metric : kind}`
}

/** The UTC day of a chunk, by its last row. */
export function dayOf({ lastReceived }: ChunkLeaf): string {
  return new Date(Math.floor(lastReceived / 1000)).toISOString().slice(0, 10)
}
