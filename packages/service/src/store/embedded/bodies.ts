import { PriorbookError } from '@priorbook/sdk/domain'
import {
  BookColumns,
  BookDecoder,
  chunkHash,
  decodeSamples,
  decodeTrades,
  HeadDecoder,
  openChunk,
  Pack,
  SampleColumns,
  TradeColumns,
  unpackChunk,
  type Chunk,
  type TapePlatform,
} from '@priorbook/sdk/tape'
import { BoundedMap } from '../../lib/bounded-map.ts'
import { ByteBoundedMap } from '../../lib/byte-bounded-map.ts'
import { coldHashOf, findCold } from './cold/cold-places.ts'
import { isLost } from '../../objects/object-store.ts'
import { ColdMiss, type ColdSource } from './cold/cold-source.ts'
import type { Database } from './database.ts'
import { countChunksOf, type ChunkPlace } from './directory.ts'
import type { Stream } from './streams.ts'

// Max bytes of decoded chunks in memory: about 500,000 observations. Pages of a walk share a chunk, and
// clients return to the same few markets; decoding is a fifth of a page's cost.
const CACHE_BYTES = 33_554_432

// The share of the cache that opened packs may have beside it. One of 16,384 rows has about 300 KB unpacked.
const PACK_SHARE = 0.25

// Max chain hashes in memory: 200 bytes each. Computing one unpacks the whole chunk.
const MAX_CHAIN_HASHES = 16_384

/** Reads a body stored outside the database; absent for one stored inside, or no longer available. */
export type ReadBody = (body: number) => Uint8Array | undefined

/** Where bodies are stored and how many are cached. */
export type BodyOptions = {
  /** Reads chunks whose bytes are not in the database; for read-only stores. */
  readonly readBody?: ReadBody | undefined
  /** Max bytes of decoded chunks in memory. */
  readonly cacheBytes?: number | undefined
  /** Reads chunks that left the database. */
  readonly cold?: ColdSource | undefined
  /** True where the process may wait for those; a recorder may not, and needs none. */
  readonly mayWait?: boolean | undefined
}

/** Bytes that were fetched for one piece of work; undefined where the storage lost them. */
export type Fetched = Map<number, Uint8Array | undefined>

/** Fetches and decodes chunks. Every chunk's header must match the directory entry that led to it. */
export class Bodies {
  private readonly database: Database
  private readonly platform: TapePlatform
  private readonly decoder = new BookDecoder()
  private readonly headDecoder = new HeadDecoder()
  private readonly books: ByteBoundedMap<string, BookColumns>
  private readonly chainHashes = new BoundedMap<string, string>(MAX_CHAIN_HASHES)
  private readonly hashes = new WeakMap<BookColumns, string>()
  private readonly packs: ByteBoundedMap<string, Pack>
  private readonly read: ReadBody | undefined
  readonly cold: ColdSource | undefined
  private readonly mayWait: boolean
  /** Set while work runs that is run again once the bytes that it lacks were fetched. */
  fetched: Fetched | undefined

  constructor(database: Database, platform: TapePlatform, options: BodyOptions = {}) {
    this.database = database
    this.platform = platform
    this.read = options.readBody
    const cacheBytes = options.cacheBytes ?? CACHE_BYTES
    this.books = new ByteBoundedMap(cacheBytes)
    this.packs = new ByteBoundedMap(cacheBytes * PACK_SHARE)
    this.cold = options.cold
    this.mayWait = options.mayWait ?? false
  }

  /** The checked chunk at a place; `corrupt_chunk` where it is damaged or not what it should be. */
  open(stream: Stream, place: ChunkPlace): Chunk {
    const chunk = this.find(stream, place)
    if (chunk === undefined) {
      throw new PriorbookError('corrupt_chunk', `chunk ${nameOf(stream, place)} is missing`)
    }
    const { header } = chunk
    const fits =
      header.venue === stream.venue &&
      header.key === stream.key &&
      header.kind === stream.kind &&
      header.metric === stream.metric &&
      header.first === place.first &&
      header.count === place.count &&
      header.firstReceived === place.firstReceived &&
      header.lastReceived === place.lastReceived &&
      header.changesBefore === place.changesBefore
    if (!fits) {
      throw new PriorbookError('corrupt_chunk', `chunk ${nameOf(stream, place)} belongs elsewhere`)
    }
    return chunk
  }

  private find(stream: Stream, place: ChunkPlace): Chunk | undefined {
    if (place.form === 'packed') return this.pack(stream, place)?.chunk(place.first)
    const bytes = this.stored(place)
    return bytes === undefined ? undefined : openChunk(bytes, this.platform)
  }

  // The version of the stream is that of its directory, so a number that was given again is not mistaken.
  private pack(stream: Stream, place: ChunkPlace): Pack | undefined {
    const name = `${place.body}/${stream.id}/${stream.version}`
    const known = this.packs.get(name)
    if (known !== undefined) return known
    const bytes = this.stored(place)
    if (bytes === undefined) return undefined
    const pack = new Pack(bytes, this.platform)
    this.packs.set(name, pack)
    return pack
  }

  /** How many bytes of opened packs are in memory, were all their columns unpacked. */
  get packBytes(): number {
    return this.packs.byteLength
  }

  /** Reads packs again from the disk, for work that looks for damage. */
  forgetPacks(): void {
    this.packs.clear()
  }

  /** The bytes of the chunk at a place, as it was sealed; undefined where they are missing or damaged. */
  bytes(stream: Stream, place: ChunkPlace): Uint8Array | undefined {
    if (place.form !== 'packed') return this.stored(place)
    const chunk = this.packedChunk(stream, place)
    return chunk && this.bytesOf(chunk)
  }

  /** The chunk at a place in a pack; undefined where it is damaged or not in one. */
  packedChunk(stream: Stream, place: ChunkPlace): Chunk | undefined {
    if (place.form !== 'packed') return undefined
    try {
      return this.open(stream, place)
    } catch (error) {
      if (!isDamage(error)) throw error
      return undefined
    }
  }

  /** The bytes of a packed chunk as it was sealed. */
  bytesOf(chunk: Chunk): Uint8Array {
    return unpackChunk(chunk, this.platform)
  }

  /** The bytes at a place as they are stored: of a chunk, or of the pack that contains it. */
  stored(place: ChunkPlace): Uint8Array | undefined {
    const elsewhere = this.read?.(place.body)
    if (elsewhere !== undefined) return elsewhere
    const row = this.database.get('SELECT bytes FROM body WHERE id = ?', place.body)
    // One flipped bit makes SQLite return text instead of bytes.
    if (row !== undefined) return row['bytes'] instanceof Uint8Array ? row['bytes'] : undefined
    return this.coldBytes(place.body)
  }

  /** How many bytes are stored at a place: of a pack the share of each chunk. */
  size({ body, form }: ChunkPlace): number {
    const sql = `SELECT coalesce((SELECT length(bytes) FROM body WHERE id = ?),
      (SELECT length FROM cold WHERE body = ?), 0) AS bytes`
    const bytes = this.database.get(sql, body, body)!['bytes'] as number
    if (form !== 'packed') return bytes
    return Math.floor(bytes / Math.max(1, countChunksOf(this.database, body)))
  }

  private coldBytes(body: number): Uint8Array | undefined {
    const place = findCold(this.database, body)
    if (place === undefined) return undefined
    if (this.cold === undefined) {
      const detail = `rows of this tape are in ${place.address}, which is not open here`
      throw new PriorbookError('objects_refused', detail)
    }
    if (this.fetched?.has(body) === true) return this.fetched.get(body)
    const kept = this.cold.peek(place)
    if (kept !== undefined) return kept
    if (this.fetched !== undefined) throw new ColdMiss(place)
    if (!this.mayWait) {
      throw new PriorbookError('objects_unavailable', `a writer needs rows of ${place.address}`)
    }
    return orLost(() => this.cold!.fetchNow(place))
  }

  /** The observations at a place; shared, so callers must not modify them. */
  book(stream: Stream, place: ChunkPlace, numbers: boolean): BookColumns {
    const cached = this.books.get(cacheName(stream, place, numbers))
    return cached ?? this.decodeBook(stream, place, numbers, this.open(stream, place))
  }

  /** The times, flags and numbers of the observations at a place; not kept, because a start reads those of each book once. */
  heads(stream: Stream, place: ChunkPlace): BookColumns {
    const cached = this.books.get(cacheName(stream, place, true))
    if (cached !== undefined) return cached
    const chunk = this.open(stream, place)
    const columns = new BookColumns(chunk.header.priceDecimals, chunk.header.count, 0)
    this.headDecoder.decode(chunk, this.platform, columns, { numbers: true })
    return columns
  }

  /** The same with a hash of the stored chunk. Packing and a start of the recorder need none, of any stream. */
  hashedBook(
    stream: Stream,
    place: ChunkPlace,
    numbers: boolean,
  ): { readonly columns: BookColumns; readonly hash: string } {
    const cached = this.books.get(cacheName(stream, place, numbers))
    const known = cached === undefined ? undefined : this.hashes.get(cached)
    if (cached !== undefined && known !== undefined) return { columns: cached, hash: known }
    const chunk = this.open(stream, place)
    const columns = cached ?? this.decodeBook(stream, place, numbers, chunk)
    const hash = this.hashes.get(columns) ?? hashStored(chunk, this.platform)
    this.hashes.set(columns, hash)
    return { columns, hash }
  }

  private decodeBook(
    stream: Stream,
    place: ChunkPlace,
    numbers: boolean,
    chunk: Chunk,
  ): BookColumns {
    const columns = BookColumns.forChunk(chunk.header)
    this.decoder.decode(chunk, this.platform, columns, { numbers })
    // A process that only reads serves pages next, which name their chunks.
    if (this.database.readOnly) this.hashes.set(columns, hashStored(chunk, this.platform))
    this.books.set(cacheName(stream, place, numbers), columns)
    return columns
  }

  /** The SHA-256 of a sealed chunk's content, to which the next chunk of its stream is chained. */
  chainHash(stream: Stream, place: ChunkPlace): string {
    const name = cacheName(stream, place, false)
    const known = this.chainHashes.get(name)
    if (known !== undefined) return known
    const hash =
      coldHashOf(this.database, place) ??
      (place.form === 'packed' ? this.pack(stream, place)?.hashOf(place.first) : undefined) ??
      chunkHash(this.open(stream, place), this.platform)
    const text = Buffer.from(hash).toString('hex')
    this.chainHashes.set(name, text)
    return text
  }

  /** The same, from all bytes of the chunk as they are now; `corrupt_chunk` where they are damaged. */
  contentHash(stream: Stream, place: ChunkPlace): string {
    return Buffer.from(chunkHash(this.open(stream, place), this.platform)).toString('hex')
  }

  /** The cached observations at a place, else decoded into the caller's columns. */
  bookOr(into: BookColumns, stream: Stream, place: ChunkPlace): BookColumns {
    const cached = this.books.get(cacheName(stream, place, true))
    if (cached !== undefined) return cached
    this.bookInto(into, stream, place)
    return into
  }

  /** Decodes the observations at a place into the caller's columns. */
  bookInto(into: BookColumns, stream: Stream, place: ChunkPlace): void {
    this.decoder.decode(this.open(stream, place), this.platform, into, { numbers: true })
  }

  /** The trades at a place. */
  trades(stream: Stream, place: ChunkPlace): TradeColumns {
    const columns = new TradeColumns()
    decodeTrades(this.open(stream, place), this.platform, columns)
    return columns
  }

  /** The samples at a place. */
  samples(stream: Stream, place: ChunkPlace): SampleColumns {
    const columns = new SampleColumns()
    decodeSamples(this.open(stream, place), this.platform, columns)
    return columns
  }
}

// A storage that lost the bytes gives none; one that does not answer is an error.
function orLost(fetch: () => Uint8Array): Uint8Array | undefined {
  try {
    return fetch()
  } catch (error) {
    if (!isLost(error)) throw error
    return undefined
  }
}

// Half of a SHA-256 of all that decoding reads.
function hashStored({ headerBytes, sections, identity }: Chunk, platform: TapePlatform): string {
  const read = identity === undefined ? sections.map(({ stored }) => stored) : [identity]
  const hash = platform.sha256([headerBytes, ...read])
  return Buffer.from(hash.subarray(0, 16)).toString('base64url')
}

// A body is immutable, but the number of a removed part can be reused.
function cacheName(stream: Stream, place: ChunkPlace, numbers: boolean): string {
  return `${place.body}/${place.first}/${place.count}/${stream.version}/${numbers}`
}

/** True for the errors that mean damage on disk, which a reader reports as a gap. */
export function isDamage(error: unknown): error is PriorbookError {
  return (
    error instanceof PriorbookError &&
    (error.code === 'corrupt_chunk' ||
      error.code === 'corrupt_row' ||
      error.code === 'corrupt_database' ||
      error.code === 'unsupported_format')
  )
}

/** The name of a chunk in error messages. */
export function nameOf(stream: Stream, place: { first: number; count: number }): string {
  const metric = stream.metric === '' ? '' : `/${stream.metric}`
  return `${stream.venue}:${stream.key}/${stream.kind}${metric} rows ${place.first}–${place.first + place.count - 1}`
}
