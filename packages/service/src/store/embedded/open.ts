import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { PriorbookError, type ErrorCode } from '@priorbook/sdk/domain'
import type { TapePlatform } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import type { AppendBatch, Store, StoredChunk } from '../store.ts'
import { adoptStreams } from './adopt.ts'
import type { BodyOptions } from './bodies.ts'
import { BookReader } from './books.ts'
import { listMarkets, listRevisions, readMarket } from './catalog.ts'
import { factsOf, listFacts, readCoverage } from './coverage.ts'
import { ASKED, Database } from './database.ts'
import { placeOfOrdinal } from './directory.ts'
import { LogFollower } from './follow.ts'
import { listGaps } from './gaps.ts'
import { listQuarantine } from './quarantine.ts'
import { removeOlder } from './retention.ts'
import { readSamples, readTrades } from './rows.ts'
import { findState, readState, STATE } from './state.ts'
import { listStreamsOf, listUnbroken } from './streams.ts'
import { Verifier } from './verify.ts'
import { View } from './view.ts'
import { openWriterLock } from './writer-lock.ts'
import { isOutOfSpace, Writer, type SealLimits } from './writer.ts'

/** How to open the embedded store. */
export type EmbeddedOptions = {
  /** The database file, `tape.db` in a data folder. */
  readonly file: string
  readonly readOnly?: boolean
  readonly platform?: TapePlatform
  readonly limits?: Partial<SealLimits>
} & BodyOptions

/** The embedded store, with what only an engine in one file can do. */
export type EmbeddedStore = Store & {
  /** What opening had to mend. */
  readonly repaired: string | undefined
  /** Takes over what came out different in a rebuilt tape; see `adopt.ts`. */
  adopt(rebuiltFile: string, knownFrom: number): Promise<string[]>
}

/** Opens (and creates, unless read-only) the store in one SQLite file. */
export function openEmbeddedStore(options: EmbeddedOptions): EmbeddedStore {
  const { file, readOnly = false, platform = createNodePlatform() } = options
  if (readOnly && !existsSync(file)) {
    throw new PriorbookError(
      'store_unavailable',
      `${file} does not exist: nothing was recorded here`,
    )
  }
  let lock: { close(): void } | undefined
  if (!readOnly) {
    makeFolder(dirname(file))
    for (const own of [file, `${file}.lock`]) ensureWritable(own)
    lock = openWriterLock(`${file}.lock`)
  }
  try {
    const database = new Database(file, readOnly)
    const view = new View(database, platform, options)
    database.read(() => view.refresh())
    const writer = readOnly ? undefined : new Writer(view, platform, options.limits)
    return createStore(database, view, writer, platform, () => lock?.close())
  } catch (error) {
    lock?.close()
    throw error
  }
}

/** The code that opening a tape for writing would fail with now; undefined when it would succeed. */
export function probeWriter(file: string): ErrorCode | undefined {
  try {
    openWriterLock(`${file}.lock`).close()
    return undefined
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    return error.code
  }
}

function createStore(
  database: Database,
  view: View,
  writer: Writer | undefined,
  platform: TapePlatform,
  unlock: () => void,
): EmbeddedStore {
  const books = new BookReader(view)
  let closed = false

  // Everything a caller reads comes from one moment of the database.
  const read = async <T>(work: () => T): Promise<T> => {
    if (closed) throw new PriorbookError('store_closed', '')
    // Most pages come from decoded chunks alone: then the locks of a transaction would cost the most.
    if (view.isCurrent) {
      const result = database.withoutAsking(work)
      if (result !== ASKED) return result as T
    }
    return database.read(() => {
      view.refresh()
      return work()
    })
  }
  const write = async <T>(work: (writer: Writer) => T): Promise<T> => {
    if (closed) throw new PriorbookError('store_closed', '')
    if (writer === undefined) {
      throw new PriorbookError('store_read_only', `${database.file} was opened for reading only`)
    }
    return work(writer)
  }

  // Appends that are asked for together are committed together, with one sync.
  type Waiting = { batch: AppendBatch; resolve: () => void; reject: (reason: unknown) => void }
  let waiting: Waiting[] = []
  const flush = (): void => {
    const group = waiting
    waiting = []
    if (group.length === 0) return
    try {
      writer!.commit(group.map(({ batch }) => batch))
      for (const { resolve } of group) resolve()
    } catch (error) {
      // One bad batch must not take its neighbours along. But without space none is tried any more: a
      // smaller one that still fits would move the position past those that did not.
      if (group.length === 1 || isOutOfSpace(error)) for (const { reject } of group) reject(error)
      else for (const one of group) commitAlone(one)
    }
  }
  const commitAlone = ({ batch, resolve, reject }: Waiting): void => {
    try {
      writer!.commit([batch])
      resolve()
    } catch (error) {
      reject(error)
    }
  }

  return {
    get repaired() {
      return writer?.repaired
    },
    adopt: (rebuiltFile, knownFrom) =>
      write((own) => {
        own.sealAll()
        return adoptStreams(view, rebuiltFile, platform, knownFrom)
      }),
    async append(batch) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      await write(() => {
        waiting.push({ batch, resolve, reject })
        if (waiting.length === 1) queueMicrotask(flush)
      })
      await promise
    },
    seal: () => write((own) => own.sealAll()),
    stamp: async () => {
      if (closed) throw new PriorbookError('store_closed', '')
      return view.stampNow()
    },
    follow: async () => {
      // What is there now is nobody's news.
      await read(() => undefined)
      return new LogFollower(view, read)
    },
    appliedPosition: (venue) =>
      writer === undefined
        ? read(() => readState(database, STATE.applied(venue)))
        : write((own) => own.appliedPosition(venue)),

    fact: (name) => read(() => findState(database, STATE.fact(name))),

    instrument: (ref) =>
      read(() => {
        const stream = view.stream(ref, 'book')
        return stream === undefined ? undefined : factsOf(view, stream)
      }),
    instruments: (venue) => read(() => listFacts(view, venue)),
    unbroken: (venue) => read(() => listUnbroken(database, venue)),
    latest: (ref) => read(() => books.latest(ref)),
    books: (query) => read(() => books.page(query)),
    asOf: (query) => read(() => books.asOf(query)),
    sampleBooks: (query) => read(() => books.sample(query)),
    trades: (query) => read(() => readTrades(view, query)),
    samples: (query) => read(() => readSamples(view, query)),
    async *chunks(ref) {
      const streams = await read(() => listStreamsOf(database, ref))
      for (const { id } of streams) {
        // Each step looks anew: between two of them a part can be packed again, under any body number.
        for (let next = 1; ;) {
          const chunk = await read(() => chunkFrom(view, id, next))
          if (chunk === undefined) break
          yield chunk
          if (!chunk.sealed) break
          next = chunk.first + chunk.count
        }
      }
    },

    market: (venue, marketId, knownAt) =>
      read(() => readMarket(database, venue, marketId, knownAt)),
    revisions: (venue, id, page) => read(() => listRevisions(database, venue, id, page)),
    markets: (query) => read(() => listMarkets(database, query)),
    gaps: (query) => read(() => listGaps(database, query)),
    coverage: (ref) => read(() => readCoverage(view, ref)),
    quarantine: (page) => read(() => listQuarantine(database, page)),

    verify: (progress) => read(() => new Verifier(view, platform).run(progress)),
    retain: (before) => write(() => removeOlder(view, platform, before)),
    // VACUUM INTO reads one moment while others write; the file is whole or not there.
    backup: async (file) => {
      await read(() => undefined)
      database.run('VACUUM INTO ?', file)
    },
    async close() {
      if (closed) return
      flush()
      closed = true
      database.close()
      unlock()
    },
  }
}

// The first readable chunk that starts at an ordinal or after it.
function chunkFrom(view: View, id: number, ordinal: number): StoredChunk | undefined {
  const stream = view.streamById(id)
  const { places } = view.directory(stream)
  for (let index = Math.max(0, placeOfOrdinal(places, ordinal)); index < places.length; index++) {
    const place = places[index]!
    if ('lost' in place || place.first < ordinal) continue
    const bytes = view.bodies.bytes(place)
    if (bytes === undefined) continue
    const { kind, metric } = stream
    const { first, count } = place
    return { kind, metric, first, count, sealed: place.form === 'sealed', bytes }
  }
  return undefined
}

// SQLite opens a file that it may not write for reading, without a word.
function ensureWritable(file: string): void {
  if (!existsSync(file)) return
  try {
    accessSync(file, constants.W_OK)
  } catch (cause) {
    throw new PriorbookError('store_read_only', `${file} cannot be written`, { cause })
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (cause) {
    throw new PriorbookError('store_read_only', `${folder} cannot be created`, { cause })
  }
}
