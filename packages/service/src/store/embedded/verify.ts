import {
  checkBook,
  instrumentName,
  type ErrorCode,
  type VenueId,
  type Violation,
} from '@priorbook/sdk/domain'
import {
  applyRow,
  CHUNK_KINDS,
  chunkHash,
  Ladder,
  loadBase,
  type BookColumns,
  type ChunkKind,
  type TapePlatform,
} from '@priorbook/sdk/tape'
import type { Problem, Progress, VerifyReport } from '../store.ts'
import { isDamage, nameOf, type Bodies } from './bodies.ts'
import { listRevisions } from './catalog.ts'
import { lastColdHash } from './cold/cold-places.ts'
import { isSealed, type ChunkPlace } from './directory.ts'
import { gapsFrom } from './gaps.ts'
import { keptDiffers } from './kept-differs.ts'
import { ListCheck } from './list-check.ts'
import { checkKept, firstReceived } from './recount.ts'
import { listQuarantine } from './quarantine.ts'
import { checkStates, readState, STATE } from './state.ts'
import { readStream, type Stream } from './streams.ts'
import type { View } from './view.ts'

const SLICE = 1000
const KEPT = 'kept lists and sums'

/** Checks everything: the file, every row's checksum, every chunk, chain, order and book. */
export class Verifier {
  private readonly view: View
  private readonly platform: TapePlatform
  private readonly problems: Problem[] = []
  private readonly counts = { chunks: 0, book: 0, trade: 0, sample: 0 }
  /** What the streams of each venue give, in place of what is kept. */
  private readonly sums = new Map<
    VenueId,
    { observations: number; readonly first: Map<ChunkKind, number> }
  >()

  constructor(view: View, platform: TapePlatform) {
    this.view = view
    this.platform = platform
  }

  run(progress?: Progress): VerifyReport {
    this.attempt('database file', () => this.checkFile())
    this.attempt('state', () => checkStates(this.view.database))
    this.attempt('log', () => {
      const { damagedLog } = this.view
      if (damagedLog !== undefined)
        this.report(damagedLog.error.code, 'log', damagedLog.error.message)
    })
    this.view.bodies.forgetPacks()
    this.checkStreams(progress)
    this.attempt('gaps', () => this.checkGaps())
    this.attempt(KEPT, () => checkKept(this.view.database))
    this.attempt('quarantine', () => this.checkQuarantine())
    this.attempt('markets', () => this.checkMarkets(progress))
    if (this.problems.length === 0) this.attempt(KEPT, () => this.checkSums())
    const { chunks, book, trade, sample } = this.counts
    const { problems } = this
    return { chunks, observations: book, trades: trade, samples: sample, problems }
  }

  // SQLite's own structure: pages, keys and indexes, which no checksum of ours covers.
  private checkFile(): void {
    for (const row of this.view.database.all('PRAGMA integrity_check(20)')) {
      const text = String(row['integrity_check'])
      if (text !== 'ok') this.report('corrupt_database', 'database file', text)
    }
  }

  private checkStream(stream: Stream): void {
    let previous = stream.anchor
    const { places } = this.view.directory(stream)
    const judge = new RowJudge(stream, (code, where, detail) => this.report(code, where, detail))
    for (const place of places) {
      const where = nameOf(stream, place)
      if ('lost' in place) {
        this.report('corrupt_chunk', where, 'the directory entry is damaged or missing')
        continue
      }
      this.counts.chunks++
      const sealed = isSealed(place)
      this.attempt(where, () => {
        const cold = lastColdHash(this.view.database, place.body)
        if (cold !== undefined) {
          // `cold/check.ts` reads it.
          previous = cold
          this.counts[stream.kind] += place.count
          return
        }
        const chunk = this.view.bodies.open(stream, place)
        if (sealed && !equal(chunk.header.previousHash, previous)) {
          this.report('corrupt_chunk', where, 'it does not chain to the chunk before it')
        }
        previous = chunkHash(chunk, this.platform)
        judge.chunk(this.view.bodies, place)
        this.counts[stream.kind] += place.count
      })
    }
    const last = places.at(-1)
    const chained = last === undefined || 'lost' in last || isSealed(last)
    if (chained && !equal(previous, stream.head) && stream.next > stream.removed + 1) {
      this.report('corrupt_chunk', instrumentName(stream), 'its newest chunk is not its head')
    }
    this.checkTail(stream, judge)
  }

  private checkTail(stream: Stream, judge: RowJudge): void {
    const tail = this.view.tailOf(stream)
    if (tail === undefined) return
    if (tail.first !== stream.next) {
      this.report('corrupt_row', instrumentName(stream), `rows before ${tail.first} are missing`)
    }
    this.counts[stream.kind] += tail.columns.count
    if (tail.kind === 'book') judge.books(this.view.bookTail(stream)!.columns, tail.first)
    else judge.times(tail.columns, tail.first)
  }

  // Everything is read in slices, because a tape can have millions of markets.
  private checkStreams(progress?: Progress): void {
    const { database } = this.view
    this.eachId('stream', progress, (id) => {
      this.attempt(`stream ${id}`, () => {
        const stream = readStream(database, id)
        if (stream.knownTo !== null) return
        const own = this.view.streamById(id)
        const before = this.counts.book
        this.checkStream(own)
        this.countStream(own, before)
      })
    })
  }

  private checkGaps(): void {
    const { database } = this.view
    for (let last = 0; ;) {
      const rows = gapsFrom(database, last, SLICE)
      for (const { id, gap } of rows) {
        if (gap === undefined) this.report('corrupt_row', `gap ${id}`, 'it fails its checksum')
      }
      if (rows.length < SLICE) return
      last = rows.at(-1)!.id
    }
  }

  private checkQuarantine(): void {
    for (let after = 0; ;) {
      const rows = listQuarantine(this.view.database, { after, limit: SLICE })
      if (rows.length < SLICE) return
      after = rows.at(-1)!.id
    }
  }

  private checkMarkets(progress?: Progress): void {
    const { database } = this.view
    const lists = new ListCheck(database)
    this.eachId('market', progress, (id) => {
      const row = database.get('SELECT venue, market, sort_time FROM market WHERE id = ?', id)!
      const venue = row['venue'] as VenueId
      const market = row['market'] as string
      this.attempt(`market ${venue}:${market}`, () => {
        const all = listRevisions(database, venue, market, { limit: Number.MAX_SAFE_INTEGER })
        lists.market(id, all.at(-1)?.record, row['sort_time'] as number)
      })
    })
    // What damaged rows give is not known.
    if (this.problems.length === 0) this.attempt(KEPT, () => lists.end())
  }

  // The sums of days, and where each kind of row begins, as lists of coverage have them.
  private checkSums(): void {
    const { database } = this.view
    // They are made again by the next opening for writing.
    if (readState(database, STATE.counted) !== 1) return
    for (const [venue, { observations, first }] of this.sums) {
      const day = database.get('SELECT sum(observations) AS n FROM day WHERE venue = ?', venue)!
      if ((day['n'] ?? 0) !== observations) {
        const said = `the days of ${venue} count ${String(day['n'] ?? 0)} observations`
        throw keptDiffers(`${said}, but ${observations} are stored`)
      }
      for (const [kind, time] of first) {
        const sql = 'SELECT min(first) AS first FROM extent WHERE venue = ? AND kind = ?'
        const said = database.get(sql, venue, CHUNK_KINDS.indexOf(kind))!['first']
        if (said === null || Number(said) > time) {
          throw keptDiffers(`the first ${kind} of ${venue} is older than the lists say`)
        }
      }
    }
  }

  private countStream(stream: Stream, before: number): void {
    const first = firstReceived(this.view, stream)
    if (first === undefined) return
    const sum = this.sums.get(stream.venue) ?? { observations: 0, first: new Map() }
    this.sums.set(stream.venue, sum)
    if (stream.kind === 'book') sum.observations += this.counts.book - before
    sum.first.set(stream.kind, Math.min(sum.first.get(stream.kind) ?? Infinity, first))
  }

  private eachId(
    table: 'stream' | 'market',
    progress: Progress | undefined,
    look: (id: number) => void,
  ): void {
    const { database } = this.view
    const total = database.get(`SELECT count(*) AS count FROM ${table}`)!['count'] as number
    const sql = `SELECT id FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`
    let done = 0
    for (let last = 0; ;) {
      const rows = database.all(sql, last, SLICE)
      for (const { id } of rows) {
        progress?.(done++, total, `${table}s`)
        look(id as number)
      }
      if (rows.length < SLICE) return
      last = rows.at(-1)!['id'] as number
    }
  }

  private attempt(where: string, look: () => void): void {
    try {
      look()
    } catch (error) {
      if (!isDamage(error)) throw error
      this.report(error.code, where, error.message)
    }
  }

  private report(code: ErrorCode | Violation, where: string, detail: string): void {
    this.problems.push({ code, where, detail })
  }
}

/** Applies the six row checks and checks the order of received times, row by row. */
export class RowJudge {
  private readonly stream: Stream
  private readonly report: (code: ErrorCode | Violation, where: string, detail: string) => void
  private readonly ladder = new Ladder()
  private received = 0

  constructor(stream: Stream, report: RowJudge['report']) {
    this.stream = stream
    this.report = report
  }

  /** The rows of a chunk. */
  chunk(bodies: Bodies, place: ChunkPlace): void {
    const { stream } = this
    if (stream.kind === 'book') this.books(bodies.book(stream, place, true), place.first)
    else if (stream.kind === 'trade') this.times(bodies.trades(stream, place), place.first)
    else this.times(bodies.samples(stream, place), place.first)
  }

  books(columns: BookColumns, first: number): void {
    loadBase(this.ladder, columns)
    for (let row = 0; row < columns.count; row++) {
      applyRow(this.ladder, columns, row)
      const bids = this.ladder.bids()
      const asks = this.ladder.asks()
      const violation = checkBook({
        id: this.stream.key,
        received: columns.received[row]!,
        one: this.ladder.one,
        bidPrice: bids.price,
        bidSize: bids.size,
        askPrice: asks.price,
        askSize: asks.size,
      })
      if (violation !== undefined) this.report(violation, this.rowName(first + row), 'a row check')
    }
    this.times(columns, first)
  }

  times(columns: { count: number; received: Float64Array }, first: number): void {
    for (let row = 0; row < columns.count; row++) {
      if (columns.received[row]! < this.received) {
        this.report('corrupt_chunk', this.rowName(first + row), 'received before the row before it')
      }
      this.received = columns.received[row]!
    }
  }

  private rowName(ordinal: number): string {
    return `${instrumentName(this.stream)}:${ordinal}`
  }
}

/** True where two hashes are the same. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}
