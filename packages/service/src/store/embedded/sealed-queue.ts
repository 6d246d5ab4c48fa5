import {
  chunkHash,
  isPack,
  openChunk,
  Pack,
  type ChunkHeader,
  type TapePlatform,
} from '@priorbook/sdk/tape'
import { isDamage } from './bodies.ts'
import { coldHashOf } from './cold/cold-places.ts'
import type { Database, Row } from './database.ts'
import { readStream } from './streams.ts'

/** A sealed chunk, read back from the disk. */
export type SealedChunk = Pick<
  ChunkHeader,
  | 'venue'
  | 'market'
  | 'key'
  | 'kind'
  | 'metric'
  | 'first'
  | 'count'
  | 'firstReceived'
  | 'lastReceived'
> & {
  /** The hash that the next chunk of the stream repeats, in hexadecimal. */
  readonly hash: string
}

/** Some chunks of the queue; those that are gone or damaged meanwhile are left out. */
export type SealedStep = {
  /** The last entry of the queue that was read. */
  readonly through: number
  readonly chunks: readonly SealedChunk[]
}

// Chunks per step: 5 ms, for which an append waits.
const STEP = 24

/** Adds a chunk to the queue; the caller is in a write transaction. */
export function noteSealed(database: Database, stream: number, first: number): void {
  database.run('INSERT INTO sealed (stream, first) VALUES (?, ?)', stream, first)
}

/** Reads the next chunks of the queue; absent when it is empty. */
export function readSealed(database: Database, platform: TapePlatform): SealedStep | undefined {
  const rows = database.all(
    `SELECT s.id AS id, s.stream AS stream, s.first AS first, c.count AS count,
       c.first_received AS first_received, c.last_received AS last_received, b.bytes AS bytes,
       c.body AS body FROM sealed s
     LEFT JOIN chunk c ON c.stream = s.stream AND c.first = s.first AND c.form >= 2
     LEFT JOIN body b ON b.id = c.body ORDER BY s.id LIMIT ${STEP}`,
  )
  const last = rows.at(-1)
  if (last === undefined) return undefined
  return {
    through: last['id'] as number,
    chunks: rows.flatMap((row) => readChunk(row, platform) ?? readCold(database, row) ?? []),
  }
}

/** Removes what was read from the queue. */
export function forgetSealed(database: Database, { through }: SealedStep): void {
  database.write(() => database.run('DELETE FROM sealed WHERE id <= ?', through))
}

function readChunk(row: Row, platform: TapePlatform): SealedChunk | undefined {
  const { bytes } = row
  if (!(bytes instanceof Uint8Array)) return undefined
  try {
    const first = row['first'] as number
    const chunk = isPack(bytes)
      ? new Pack(bytes, platform).chunk(first)
      : openChunk(bytes, platform)
    if (chunk?.header.first !== first) return undefined
    const { venue, market, key, kind, metric, count } = chunk.header
    const { firstReceived, lastReceived } = chunk.header
    const hash = Buffer.from(chunkHash(chunk, platform)).toString('hex')
    return { venue, market, key, kind, metric, first, count, firstReceived, lastReceived, hash }
  } catch (error) {
    if (!isDamage(error)) throw error
    return undefined
  }
}

// A chunk that left the database is described by its rows there.
function readCold(database: Database, row: Row): SealedChunk | undefined {
  if (row['bytes'] !== null || row['body'] === null) return undefined
  const first = row['first'] as number
  try {
    const noted = coldHashOf(database, { body: row['body'] as number, first })
    if (noted === undefined) return undefined
    const { venue, market, key, kind, metric } = readStream(database, row['stream'] as number)
    const count = row['count'] as number
    const firstReceived = row['first_received'] as number
    const lastReceived = row['last_received'] as number
    const hash = Buffer.from(noted).toString('hex')
    return { venue, market, key, kind, metric, first, count, firstReceived, lastReceived, hash }
  } catch (error) {
    if (!isDamage(error)) throw error
    return undefined
  }
}
