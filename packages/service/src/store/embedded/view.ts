import { PriorbookError, VENUE_IDS } from '@priorbook/sdk/domain'
import { applyRows, Ladder, loadBase, type ChunkKind, type TapePlatform } from '@priorbook/sdk/tape'
import type { InstrumentRef } from '../store.ts'
import { Bodies, isDamage, nameOf, type BodyOptions } from './bodies.ts'
import type { Database, Row } from './database.ts'
import { readDirectory, type Directory, type LostPlace } from './directory.ts'
import { readLog } from './log.ts'
import { checkStates, readState, STATE } from './state.ts'
import { findStream, findStreamById, readStream, type Stream, type StreamName } from './streams.ts'
import { Tail, type LogListener, type TailRows } from './tail.ts'

// Max streams without rows in the log whose row and directory stay in memory; the oldest are evicted first.
const REMEMBERED = 8000
// Batches of the log that are in memory at a time; one has up to 4,096 messages of a venue.
const LOG_BATCHES = 64

/** What a view keeps in memory. */
export type ViewOptions = BodyOptions & {
  /** Max streams without rows in the log that stay in memory. */
  readonly streams?: number | undefined
}

/**
 * One process's view of the database: streams, their chunk directories and the decoded log. It
 * follows other processes' commits. Use it inside `Database.read`, so that chunks and tail belong
 * to the same moment.
 */
export class View {
  readonly database: Database
  readonly bodies: Bodies
  readonly tail = new Tail()
  /** The first damaged log batch; batches after it are not served. */
  damagedLog: { readonly id: number; readonly error: PriorbookError } | undefined
  /** Called when reading met a damaged chunk of a stream. */
  onDamage: ((stream: Stream) => void) | undefined
  private readonly names = new Map<string, number>()
  private readonly streams = new Map<number, Stream>()
  private readonly directories = new Map<number, Directory>()
  /** The version of the tape at which a stream's row was last read. */
  private readonly compared = new Map<number, number>()
  /** The last journal position in the log, by venue. */
  readonly positions = new Map<string, number>()
  private sealedThrough = 0
  private carriedThrough = 0
  /** How often streams were replaced by rebuilt ones. */
  private adoptions = 0
  private lastLog = 0
  private version = -1
  private seen = -1
  /** The version of the file that this turn of the event loop has seen. */
  private looked: number | undefined
  private readonly remembered: number

  constructor(database: Database, platform: TapePlatform, options?: ViewOptions) {
    this.database = database
    this.remembered = options?.streams ?? REMEMBERED
    this.bodies = new Bodies(database, platform, options)
  }

  /** Reads what other processes committed since the last call. */
  refresh(): void {
    const dataVersion = this.database.dataVersion()
    if (dataVersion === this.seen) return
    this.database.refuseNewer()
    const first = this.seen === -1
    this.reload(first)
    this.seen = dataVersion
  }

  /** Called for everything that is read from the log. */
  get listeners(): Set<LogListener> {
    return this.tail.listeners
  }

  /** True when another process has committed since the last `refresh`. */
  isBehind(): boolean {
    return this.database.dataVersion() !== this.seen
  }

  /** Changes with every commit; commits of other processes are seen by `refresh`. */
  get stamp(): string {
    return this.stampOf(this.seen)
  }

  /** The stamp after the next `refresh`; checks the file once per turn of the event loop. */
  stampNow(): string {
    if (this.looked === undefined) {
      this.looked = this.database.dataVersion()
      setImmediate(() => (this.looked = undefined))
    }
    return this.stampOf(this.looked)
  }

  /** True when this turn of the event loop has checked the file and found no new commit. */
  get isCurrent(): boolean {
    return this.looked !== undefined && this.looked === this.seen
  }

  private stampOf(dataVersion: number): string {
    return `${dataVersion}/${this.lastLog}/${this.version}`
  }

  /** The newest log batch that was read. */
  get logEnd(): number {
    return this.lastLog
  }

  /** Records a batch that this process wrote itself. */
  advance(log: number): void {
    this.lastLog = log
  }

  /** Records a packing step of this process. */
  packed(version: number, stream: Stream): void {
    this.repacked(version, stream)
    this.tail.forget(stream.id)
  }

  /** Records that this process changed the chunks of a stream, but not its tail. */
  repacked(version: number, stream: Stream): void {
    this.version = version
    this.directories.delete(stream.id)
  }

  /** Records that this process removed a stream with all its rows. */
  dropped(version: number, stream: Stream): void {
    this.version = version
    this.forgetStream(stream)
  }

  /** Records that this process removed log batches, and wrote those after them again. */
  truncated(sealedThrough: number, carriedThrough: number): void {
    this.sealedThrough = sealedThrough
    this.carriedThrough = carriedThrough
    this.tail.passed = 0
  }

  /** The stream of a kind, in the generation known at a time; absent if nothing was ever recorded. */
  stream(
    ref: InstrumentRef,
    kind: ChunkKind,
    metric: string = '',
    knownAt?: number,
  ): Stream | undefined {
    const name = { venue: ref.venue, key: ref.key, kind, metric }
    if (knownAt !== undefined) {
      const found = findStream(this.database, name, knownAt)
      return found === undefined ? undefined : this.streamById(found.id)
    }
    const text = nameText(name)
    const id = this.names.get(text)
    const known = id === undefined ? undefined : this.knownStream(id)
    if (known !== undefined) return known
    const found = findStream(this.database, name)
    if (found !== undefined) this.remember(found)
    return found
  }

  /** A stream by its number, in its current state. */
  streamById(id: number): Stream {
    const known = this.knownStream(id)
    if (known !== undefined) return known
    const stream = readStream(this.database, id)
    this.remember(stream)
    this.compared.set(id, this.version)
    return stream
  }

  // A stream in its current state, if it is cached and was not removed since.
  private knownStream(id: number): Stream | undefined {
    const known = this.streams.get(id)
    if (known === undefined) return undefined
    if (this.database.readOnly && this.compared.get(id) !== this.version) {
      // Another process may have packed this stream since; its row tells.
      const fresh = findStreamById(this.database, id)
      if (fresh === undefined) {
        this.forgetStream(known)
        return undefined
      }
      if (fresh.version !== known.version) this.directories.delete(id)
      Object.assign(known, fresh)
      this.compared.set(id, this.version)
    }
    return known
  }

  /** Caches a stream. */
  remember(stream: Stream): void {
    if (stream.knownTo === null) this.names.set(nameText(stream), stream.id)
    this.streams.set(stream.id, stream)
    const most = this.remembered + this.tail.streams.size
    if (this.streams.size <= most) return
    for (const [id, old] of this.streams) {
      if (this.tail.streams.has(id)) {
        // It has rows in the log and stays. At the end of the list the next call does not pass over it again.
        this.streams.delete(id)
        this.streams.set(id, old)
        continue
      }
      this.forgetStream(old)
      if (this.streams.size <= most) return
    }
  }

  /** True while this object is the one that the view keeps of the stream and brings up to date. */
  keeps(stream: Stream): boolean {
    return this.streams.get(stream.id) === stream
  }

  /** Evicts a stream, so that it is read again. */
  forgetStream(stream: Stream): void {
    this.names.delete(nameText(stream))
    this.streams.delete(stream.id)
    this.directories.delete(stream.id)
    this.compared.delete(stream.id)
  }

  directory(stream: Stream): Directory {
    let directory = this.directories.get(stream.id)
    if (directory === undefined || directory.version !== stream.version) {
      directory = readDirectory(this.database, stream)
      this.directories.set(stream.id, directory)
    }
    return directory
  }

  /** The rows of a stream that are not in a chunk yet. */
  tailOf(stream: Stream): TailRows | undefined {
    this.tail.dropBefore(stream.id, stream.next)
    return this.tail.streams.get(stream.id)
  }

  /**
   * The tail of a book stream with the book before it; damage in the last chunk surfaces here. `numbers` is true
   * where the rows of that chunk are read next, with their numbers: then it is decoded once.
   */
  bookTail(stream: Stream, numbers = false): (TailRows & { kind: 'book' }) | undefined {
    const tail = this.tailOf(stream)
    if (tail?.kind !== 'book') return undefined
    if (!tail.based) this.tail.setBase(tail, this.endOf(stream, numbers))
    return tail
  }

  /** The last ordinal of a stream, in chunks or tail. */
  lastOrdinal(stream: Stream): number {
    const tail = this.tailOf(stream)
    return tail === undefined ? stream.next - 1 : tail.first + tail.columns.count - 1
  }

  /** The received time of the last row of a stream, 0 where there is none. */
  lastReceived(stream: Stream): number {
    const tail = this.tailOf(stream)
    if (tail !== undefined) return tail.columns.received[tail.columns.count - 1]!
    const place = this.directory(stream).places.at(-1)
    if (place === undefined) return 0
    return 'lost' in place ? place.firstReceived : place.lastReceived
  }

  /** The place of rows that a damaged log may have held; their number is unknown. */
  lostTail(stream: Stream): LostPlace | undefined {
    if (this.damagedLog === undefined) return undefined
    const first = this.lastOrdinal(stream) + 1
    const firstReceived = this.lastReceived(stream)
    return { lost: true, first, count: 0, firstReceived, lastReceived: Number.MAX_SAFE_INTEGER }
  }

  /** The book after the last chunk of a stream. */
  endOf(stream: Stream, numbers = false): Ladder {
    const place = this.directory(stream).places.at(-1)
    if (place === undefined) return new Ladder()
    if ('lost' in place) {
      throw new PriorbookError('corrupt_chunk', `${nameOf(stream, place)} are missing`)
    }
    const columns = this.bodies.book(stream, place, numbers)
    const ladder = new Ladder(columns.priceDecimals)
    loadBase(ladder, columns)
    applyRows(ladder, columns, 0, columns.count)
    return ladder
  }

  private reload(first: boolean): void {
    if (first) {
      checkStates(this.database)
      this.database.ensureWhole('stream')
    }
    const sealedThrough = readState(this.database, STATE.sealedThrough)
    const carriedThrough = Math.max(sealedThrough, readState(this.database, STATE.carriedThrough))
    this.version = readState(this.database, STATE.version)
    const told = this.lastLog
    this.followAdoptions()
    if (sealedThrough !== this.sealedThrough || carriedThrough !== this.carriedThrough) {
      this.sealedThrough = sealedThrough
      this.carriedThrough = carriedThrough
      // Where nothing that was read is left in the log, a repair may have removed rows that are in no chunk.
      if (carriedThrough < told && this.damagedLog === undefined) this.dropPacked()
      else {
        if (carriedThrough > told) this.missed('behind')
        this.tail.clear()
        this.lastLog = sealedThrough
        this.damagedLog = undefined
      }
    }
    if (this.damagedLog !== undefined) return
    this.readLogFrom(told)
    if (this.damagedLog !== undefined) return
    if (first || this.database.readOnly) this.checkLogEnd()
  }

  // Reads the batches after the newest that was read, some at a time: the log of a wide tape has 100 MB and more.
  // Listeners know those up to `told`.
  private readLogFrom(told: number): void {
    const { tail } = this
    const isWhole = tail.streams.size === 0
    if (isWhole) tail.nextOf = (stream) => this.nextOf(stream)
    try {
      let rows: Row[]
      do {
        rows = this.database.all(
          'SELECT id, bytes FROM log WHERE id > ? ORDER BY id LIMIT ?',
          this.lastLog,
          LOG_BATCHES,
        )
        for (const row of rows) if (!this.readBatch(row, told)) return
      } while (rows.length === LOG_BATCHES)
    } finally {
      tail.nextOf = undefined
      if (isWhole) tail.forgetEmpty()
    }
  }

  // False where the batch is damaged.
  private readBatch(row: Row, told: number): boolean {
    const id = row['id'] as number
    try {
      if (id !== this.lastLog + 1) {
        throw new PriorbookError('corrupt_row', `log batch ${this.lastLog + 1} is missing`)
      }
      const bytes = row['bytes']
      if (!(bytes instanceof Uint8Array)) {
        throw new PriorbookError('corrupt_row', `log batch ${id} is text`)
      }
      this.tail.isKnown = id <= told
      const header = readLog(id, bytes, this.tail)
      this.positions.set(header.venue, header.position)
    } catch (error) {
      if (!isDamage(error)) throw error
      this.damagedLog = { id: this.lastLog + 1, error }
      return false
    }
    this.lastLog = id
    return true
  }

  // Rows of a stream that cannot be read all stay.
  private nextOf(stream: number): number {
    try {
      return this.streamById(stream).next
    } catch (error) {
      if (!isDamage(error)) throw error
      return 0
    }
  }

  // The log was truncated after all of it was read: its rows that are in chunks now are dropped, which bounds
  // this process's memory. To read the rest again would take seconds where a pass was long.
  private dropPacked(): void {
    const ids = [...this.tail.streams.keys()]
    const sql = 'SELECT id, next FROM stream WHERE id IN (SELECT value FROM json_each(?))'
    const nexts = new Map(
      this.database
        .all(sql, JSON.stringify(ids))
        .map(({ id, next }) => [id as number, next as number]),
    )
    for (const id of ids) {
      const next = nexts.get(id)
      if (next === undefined) this.tail.forget(id)
      else this.tail.dropBefore(id, next)
    }
  }

  /** Drops cached names after streams were replaced, by this process or another. */
  followAdoptions(): void {
    const adoptions = readState(this.database, STATE.adoptions)
    if (adoptions === this.adoptions) return
    // A stream number belongs to one generation; the newest generation is found by name.
    this.names.clear()
    this.adoptions = adoptions
    this.missed('rebuilt')
  }

  private missed(why: 'behind' | 'rebuilt'): void {
    for (const listener of this.listeners) listener.missed(why)
  }

  // Batches missing from the end of the log are detected by the applied positions.
  private checkLogEnd(): void {
    for (const venue of VENUE_IDS) {
      const packed = readState(this.database, STATE.packed(venue))
      const known = Math.max(packed, this.positions.get(venue) ?? 0)
      if (readState(this.database, STATE.applied(venue)) <= known) continue
      const error = new PriorbookError('corrupt_row', `log batches of ${venue} are missing`)
      this.damagedLog = { id: this.lastLog + 1, error }
    }
  }
}

function nameText(name: Omit<StreamName, 'market'>): string {
  return `${name.venue}/${name.key}/${name.kind}/${name.metric}`
}
