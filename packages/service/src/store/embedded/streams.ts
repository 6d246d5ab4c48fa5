import { ORIGINS, PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import { CHUNK_KINDS, NO_HASH, type ChunkKind } from '@priorbook/sdk/tape'
import type { InstrumentRef } from '../store.ts'
import type { Column, Database } from './database.ts'
import type { Maker } from './log.ts'
import { checkColumns, insertRow } from './row-sum.ts'

/** Names one sequence of rows. */
export type StreamName = {
  readonly venue: VenueId
  readonly market: string
  readonly key: string
  readonly kind: ChunkKind
  readonly metric: string
}

/** One sequence of rows as the database knows it. */
export type Stream = StreamName & {
  readonly id: number
  /** Counts rebuilds of the stream that came out different; the newest is served unless `knownAt` selects another. */
  readonly generation: number
  readonly knownFrom: number
  readonly knownTo: number | null
  readonly maker: Maker
  /** The first ordinal not yet in a chunk, and the level changes of all rows before it. */
  next: number
  changes: number
  /** The hash of the newest sealed chunk. */
  head: Uint8Array
  /** The last ordinal that retention removed (0: none) and the hash of the chunk it was in. */
  removed: number
  anchor: Uint8Array
  version: number
}

const COLUMNS = [
  'id',
  'venue',
  'market',
  'key',
  'kind',
  'metric',
  'generation',
  'known_from',
  'known_to',
  'origin',
  'recorder',
  'normalizer',
  'next',
  'changes',
  'head',
  'removed',
  'anchor',
  'version',
]
const SELECT = `SELECT ${COLUMNS.join(', ')}, sum FROM stream`

/** Finds a stream in the generation that was known at a time, or the newest. */
export function findStream(
  database: Database,
  name: Omit<StreamName, 'market'>,
  knownAt?: number,
): Stream | undefined {
  const rows = database.columns(
    `${SELECT} WHERE venue = ? AND key = ? AND kind = ? AND metric = ? ORDER BY generation`,
    name.venue,
    name.key,
    CHUNK_KINDS.indexOf(name.kind),
    name.metric,
  )
  const streams = rows.map(toStream)
  // An index entry that points at the wrong row must not hand out another instrument's rows.
  const own = streams.filter((stream) => stream.venue === name.venue && stream.key === name.key)
  if (knownAt === undefined) return own.findLast((stream) => stream.knownTo === null)
  return own.findLast(
    (stream) =>
      stream.knownFrom <= knownAt && (stream.knownTo === null || knownAt < stream.knownTo),
  )
}

/** Reads a stream again by its number. */
export function readStream(database: Database, id: number): Stream {
  const stream = findStreamById(database, id)
  if (stream === undefined) throw new PriorbookError('corrupt_row', `stream ${id} is missing`)
  return stream
}

/** Reads a stream by its number; absent where retention removed it. */
export function findStreamById(database: Database, id: number): Stream | undefined {
  const [row] = database.columns(`${SELECT} WHERE id = ?`, id)
  return row === undefined ? undefined : toStream(row)
}

/** All streams of a kind in their newest generation, by venue and key. */
export function listStreams(database: Database, kind?: ChunkKind, venue?: VenueId): Stream[] {
  const rows = database.columns(
    `${SELECT} WHERE known_to IS NULL AND (? IS NULL OR venue = ?) ORDER BY venue, key, kind, metric`,
    venue ?? null,
    venue ?? null,
  )
  const streams = rows.map(toStream)
  return kind === undefined ? streams : streams.filter((stream) => stream.kind === kind)
}

/** The streams of one key in their newest generation, found by the index. */
export function listStreamsOf(database: Database, ref: InstrumentRef): Stream[] {
  const rows = database.columns(
    `${SELECT} WHERE venue = ? AND key = ? AND known_to IS NULL ORDER BY kind, metric`,
    ref.venue,
    ref.key,
  )
  // An index entry that points at the wrong row must not hand out another instrument's rows.
  return rows.map(toStream).filter(({ venue, key }) => venue === ref.venue && key === ref.key)
}

/** The streams of one market in their newest generation, by key. */
export function listStreamsOfMarket(
  database: Database,
  { venue, market }: Pick<StreamName, 'venue' | 'market'>,
  kind?: ChunkKind,
): Stream[] {
  const rows = database.columns(
    `${SELECT} INDEXED BY stream_by_market
     WHERE venue = ? AND market = ? AND known_to IS NULL ORDER BY key, kind, metric`,
    venue,
    market,
  )
  return rows
    .map(toStream)
    .filter((stream) => stream.market === market && (kind === undefined || stream.kind === kind))
}

/** Adds a stream; the caller is in a write transaction. */
export function createStream(
  database: Database,
  name: StreamName,
  maker: Maker,
  facts: { generation: number; knownFrom: number; next: number },
): Stream {
  const last = database.get('SELECT coalesce(max(id), 0) AS id FROM stream')!['id'] as number
  const stream: Stream = {
    ...name,
    id: last + 1,
    generation: facts.generation,
    knownFrom: facts.knownFrom,
    knownTo: null,
    maker,
    next: facts.next,
    changes: 0,
    head: NO_HASH,
    removed: facts.next - 1,
    anchor: NO_HASH,
    version: 0,
  }
  saveStream(database, stream)
  return stream
}

/** Writes a stream's row with its checksum; the caller is in a write transaction. */
export function saveStream(database: Database, stream: Stream): void {
  const values: Column[] = [
    stream.id,
    stream.venue,
    stream.market,
    stream.key,
    CHUNK_KINDS.indexOf(stream.kind),
    stream.metric,
    stream.generation,
    stream.knownFrom,
    stream.knownTo,
    ORIGINS.indexOf(stream.maker.origin),
    stream.maker.recorder,
    stream.maker.normalizer,
    stream.next,
    stream.changes,
    stream.head,
    stream.removed,
    stream.anchor,
    stream.version,
  ]
  insertRow(database, 'INSERT OR REPLACE INTO stream', COLUMNS, values)
}

// The columns of `SELECT`.
function toStream(row: readonly Column[]): Stream {
  checkColumns('stream', row)
  const [id, venue, market, key, kind, metric, generation, knownFrom, knownTo] = row
  const [origin, recorder, normalizer, next, changes, head, removed, anchor, version] = row.slice(9)
  return {
    id: id as number,
    venue: venue as VenueId,
    market: market as string,
    key: key as string,
    kind: CHUNK_KINDS[kind as number]!,
    metric: metric as string,
    generation: generation as number,
    knownFrom: knownFrom as number,
    knownTo: knownTo as number | null,
    maker: makerOf(origin as number, recorder as string, normalizer as number),
    next: next as number,
    changes: changes as number,
    head: sharedHash(head as Uint8Array),
    removed: removed as number,
    anchor: sharedHash(anchor as Uint8Array),
    version: version as number,
  }
}

// Thousands of streams stay in memory. Most have the same maker and no hash, so they share these: an array of bytes
// of its own takes three objects and a piece of memory outside of the heap, and the collector visits them all.
let lastMaker: Maker | undefined

function makerOf(number: number, recorder: string, normalizer: number): Maker {
  const origin = ORIGINS[number]!
  const isSame =
    lastMaker?.origin === origin &&
    lastMaker.recorder === recorder &&
    lastMaker.normalizer === normalizer
  if (!isSame) lastMaker = { origin, recorder, normalizer }
  return lastMaker!
}

function sharedHash(hash: Uint8Array): Uint8Array {
  return hash.length === NO_HASH.length && hash.every(isZero) ? NO_HASH : hash
}

function isZero(byte: number): boolean {
  return byte === 0
}
