import {
  FLAGS,
  PriorbookError,
  VENUE_IDS,
  type Gap,
  type Instrument,
  type Provenance,
  type Trade,
} from '@priorbook/sdk/domain'
import {
  ABSENT,
  parseSampleValue,
  TAKERS,
  type ChunkKind,
  type RowHead,
  withoutCompression,
  type TapePlatform,
} from '@priorbook/sdk/tape'
import type { AppendBatch, MarketRef, Progress, SealReport } from '../store.ts'
import { isDamage } from './bodies.ts'
import { Carry, type CarryLimits } from './carry.ts'
import { appendRevision } from './catalog.ts'
import type { Database } from './database.ts'
import { isSealed, type ChunkPlace } from './directory.ts'
import { rollBackGaps, saveGap } from './gaps.ts'
import { readKnownGaps } from './known-gaps.ts'
import { LogWriter, type Maker } from './log.ts'
import { removeMarkets } from './old-markets.ts'
import { CHECKED_FLAGS, ParityTally } from './parity.ts'
import { saveQuarantine } from './quarantine.ts'
import { makeKept } from './recount.ts'
import type { RemovalOrder, RemovalStep } from './retention.ts'
import { RowTally } from './row-tally.ts'
import { Sealer, type Packing } from './seal.ts'
import { changeState, readState, STATE, writeState } from './state.ts'
import { createStream, listStreams, type Stream } from './streams.ts'
import type { TailRows } from './tail.ts'
import type { View } from './view.ts'

/** When the log is packed. Bounds every process's memory and the time to open after a kill. */
export type SealLimits = {
  /** Rows in the log that start a pass; more where there are many streams, up to `MOST_TIMES` as many. */
  readonly rows: number
  /** Rows packed between two commits of a pass, so that no append waits long. */
  readonly step: number
  /** Which streams are left in the log. */
  readonly carried: CarryLimits
}

/** Streams without rows in the log that a writer keeps in memory, with the directories of their chunks. */
export const WRITER_STREAMS = 16_384

// A stream that is left in the log for ten minutes costs less than a part that is written again with every pass. Should the
// log be damaged, its rows are read from the journal again.
const DEFAULT_CARRIED: CarryLimits = { rows: 32, micros: 600_000_000, total: 196_608, body: 4096 }
/** The limits of a pass that packs every stream. */
export const NOTHING_CARRIED: CarryLimits = { rows: 0, micros: 0, total: 0, body: 1 }
const DEFAULT_LIMITS: SealLimits = { rows: 196_608, step: 8192, carried: DEFAULT_CARRIED }
// A venue of tens of thousands of books gives each only a few rows in the time of the default, so a pass waits for
// this many on average.
const ROWS_PER_STREAM = 24
const MOST_TIMES = 5
// After a start, or when a socket is back, many books wait for their first row. A commit that ends this many gaps is a
// sign of it: packing then waits, so that the books open sooner.
const OPENED_AT_ONCE = 16
// Packing waits until the log has at most this many times the rows of the default.
const WAITING_TIMES = 8
// What it takes to write the part of a stream again, in rows: beside its own rows, those of the part. Rows of books
// are only copied; the texts of trades are read and written again. A row takes 1 µs, the rest of a stream 100 to 400.
const ROWS_TO_BEGIN = 128
const COPIED_AS_ONE = 8
// Max rows of a commit that one step follows. Commits of an import have more, and larger steps keep up with them.
const ROWS_PER_STEP = 2048
// No append waits for an explicit seal, so it uses fewer, larger transactions.
const SEAL_STEP = 65_536

/** The one writer of a database: appends batches as log bodies and packs the log into chunks. */
export class Writer {
  private readonly view: View
  private readonly database: Database
  private readonly sealer: Sealer
  private readonly log = new LogWriter()
  private readonly packing: Packing
  private readonly limits: SealLimits
  private readonly tally: RowTally
  private readonly parity: ParityTally
  private readonly applied = new Map<string, number>()
  // Observations of one instrument share its object, which saves building and looking up a name per row.
  private bookStreams = new WeakMap<Instrument, Stream>()
  private pass: Pass | undefined
  /** Rows that the last pass left in the log. */
  private carried = 0
  /** When the first row of the newest commit was received; after opening, the newest row in the log. */
  private now = 0
  // The version of the tape up to which no change of a stream has rows in the log.
  private clean = 0
  // Journal records up to which a stream is packed, where that is beyond the applied position.
  private readonly floors = new Map<number, number>()
  /** The damage that opening cut off the log; undefined when there was none. */
  repaired: string | undefined

  constructor(
    view: View,
    platform: TapePlatform,
    limits: Partial<SealLimits> = {},
    progress?: Progress,
  ) {
    this.view = view
    this.database = view.database
    this.sealer = new Sealer(view.database, view.bodies)
    this.packing = { sealed: platform, part: withoutCompression(platform), partForm: 'loose' }
    this.limits = { ...DEFAULT_LIMITS, ...limits }
    this.tally = new RowTally(view)
    this.parity = new ParityTally(view)
    this.now = newestOf(view.tail.streams.values())
    this.repairLog()
    this.readFloors()
    makeKept(view, progress)
  }

  appliedPosition(venue: string): number {
    let position = this.applied.get(venue)
    if (position === undefined) {
      position = readState(this.database, STATE.applied(venue))
      this.applied.set(venue, position)
    }
    return position
  }

  /** Makes batches durable in one transaction, then publishes their rows to this process's readers. */
  commit(batches: readonly AppendBatch[]): void {
    const group: Group = { id: this.view.logEnd, batches: [], ends: new Map(), created: [] }
    const positions = new Map<string, number>()
    try {
      this.database.write(() => {
        this.tally.begin()
        this.parity.begin()
        for (const batch of batches) {
          const applied = positions.get(batch.venue) ?? this.appliedPosition(batch.venue)
          if (batch.position <= applied) continue
          group.id++
          this.write(group, batch, applied)
          positions.set(batch.venue, batch.position)
          writeState(this.database, STATE.applied(batch.venue), batch.position)
        }
      })
    } catch (error) {
      for (const stream of group.created) this.view.forgetStream(stream)
      this.bookStreams = new WeakMap()
      throw error
    }
    for (const [venue, position] of positions) this.applied.set(venue, position)
    const { tail } = this.view
    const before = tail.rows
    for (const written of group.batches) this.show(written)
    this.now = batches.at(-1)?.observations?.[0]?.received ?? this.now
    const appended = tail.rows - before
    this.view.advance(group.id)
    try {
      this.tally.moveCommitted()
      if (!this.opensMany(batches)) this.packSome(appended)
    } catch (error) {
      // The batches are durable anyway; packing is retried after the next commit.
      if (!isOutOfSpace(error)) throw error
    }
  }

  /** Packs everything that is in the log, and loose parts tightly. */
  sealAll(): SealReport {
    const tight: Packing = { ...this.packing, part: this.packing.sealed, partForm: 'tight' }
    const pass = this.beginPass(NOTHING_CARRIED)
    const loose = this.database.all('SELECT DISTINCT stream FROM chunk WHERE form = 0')
    const ids = new Set(pass.streams)
    for (const row of loose) ids.add(row['stream'] as number)
    let chunks = 0
    let rows = 0
    const waiting = [...ids]
    while (waiting.length > 0) {
      const packed = this.packGroup(waiting, SEAL_STEP, tight)
      chunks += packed.chunks
      rows += packed.rows
    }
    this.endPass(pass)
    this.pass = undefined
    this.clean = readState(this.database, STATE.version)
    this.database.get('PRAGMA wal_checkpoint(TRUNCATE)')
    return { chunks, rows }
  }

  /** Begins to pack the log, in steps after the next commits, if it holds rows from before a time. */
  packBefore(time: number): void {
    if (this.pass !== undefined) return
    const { passed, streams } = this.view.tail
    const isOld = ({ columns }: TailRows): boolean =>
      columns.count > 0 && columns.received[0]! < time
    if (passed > 0 || streams.values().some(isOld)) this.pass = this.beginPass(NOTHING_CARRIED)
  }

  /** Removes some markets that ended long ago; see `old-markets.ts`. */
  removeMarkets(order: RemovalOrder): RemovalStep {
    const step = removeMarkets(this.view, order, this.clean)
    // An instrument may come back; its stream does not.
    if (step.rows > 0) this.bookStreams = new WeakMap()
    return step
  }

  private write(group: Group, batch: AppendBatch, applied: number): void {
    const { origin, recorder, normalizer } = batch
    const maker: Maker = { origin, recorder, normalizer }
    const { log } = this
    const claims: number[] = []
    const told = { markets: [] as MarketRef[], gaps: [] as Gap[] }
    const natives = batch.trades?.map(nativeOf) ?? []
    group.batches.push({ batch, maker, claims, natives, told })
    log.begin({ id: group.id, venue: batch.venue, position: batch.position, maker })
    // Assigns stream and ordinal to a row and returns the stream, or `KNOWN` for a row stored before.
    let ordinal = KNOWN
    const claim = (row: Arrival, kind: ChunkKind, metric = ''): number => {
      if (row.journal > applied) {
        const stream = this.streamOf(group, row.instrument, kind, metric, maker, row.received)
        if (row.journal > (this.floors.get(stream.id) ?? 0)) {
          ordinal = this.claim(group, stream, row.received)
          claims.push(stream.id, ordinal)
          return stream.id
        }
      }
      claims.push(KNOWN, KNOWN)
      return KNOWN
    }
    for (const gap of batch.gaps ?? []) this.tally.gap(this.view.stream(gap, 'book'))
    for (const row of batch.observations ?? []) {
      const id = claim(row, 'book')
      if (id === KNOWN) continue
      log.book(id, ordinal, row, row.priceDecimals, row.keys, row.sizes)
      if ((row.flags & CHECKED_FLAGS) !== 0) this.parity.row(row)
    }
    for (const [index, row] of (batch.trades ?? []).entries()) {
      const id = claim(row, 'trade')
      if (id === KNOWN) continue
      const { tradeId, price, size } = row
      log.trade(id, ordinal, headOf(row), tradeId, price, size, takerOf(row), natives[index])
    }
    for (const row of batch.samples ?? []) {
      const id = claim(row, 'sample', row.metric)
      if (id === KNOWN) continue
      log.sample(id, ordinal, headOf(row), parseSampleValue(row.value))
    }
    for (const revision of batch.revisions ?? []) {
      if (revision.journal <= applied) continue
      const { venue, marketId } = revision.record
      const append = (): boolean => appendRevision(this.database, revision)
      if (!this.tally.revise(venue, marketId, append)) continue
      log.market(marketId)
      told.markets.push({ venue, marketId })
    }
    readKnownGaps(this.database, batch.venue, batch.gaps ?? [])
    for (const gap of batch.gaps ?? []) {
      if ((gap.endJournal ?? gap.journal) <= applied) continue
      saveGap(this.database, gap, this.tally.bookOf(gap, this.view.stream(gap, 'book')))
      log.gap(gap)
      told.gaps.push(gap)
    }
    this.database.run('INSERT INTO log (id, bytes) VALUES (?, ?)', group.id, log.finish())
    for (const [name, value] of Object.entries(batch.facts ?? {})) {
      changeState(this.database, STATE.fact(name), value)
    }
    for (const message of batch.quarantine ?? []) {
      if (message.journal <= applied) continue
      saveQuarantine(this.database, message)
      this.parity.refused(message)
    }
    for (const note of batch.parity ?? []) if (note.journal > applied) this.parity.note(note)
    this.parity.finish()
    this.tally.finish()
  }

  // Publishes committed rows to readers, in the order of their places.
  private show({ batch, maker, claims, natives, told }: Written): void {
    const { tail } = this.view
    let at = 0
    tail.isKnown = false
    for (const market of told.markets) tail.market(market)
    for (const gap of told.gaps) tail.gap(gap)
    for (const row of batch.observations ?? []) {
      const id = claims[at++]!
      const ordinal = claims[at++]!
      if (id === KNOWN) continue
      const { priceDecimals, keys, sizes } = row
      tail.book(id, ordinal, maker, row, priceDecimals, keys, sizes, keys.length)
    }
    for (const [index, row] of (batch.trades ?? []).entries()) {
      const id = claims[at++]!
      const ordinal = claims[at++]!
      if (id === KNOWN) continue
      const { tradeId, price, size } = row
      const said = natives[index]
      tail.trade(id, ordinal, maker, headOf(row), tradeId, price, size, takerOf(row), said)
    }
    for (const row of batch.samples ?? []) {
      const id = claims[at++]!
      const ordinal = claims[at++]!
      if (id === KNOWN) continue
      tail.sample(id, ordinal, maker, headOf(row), parseSampleValue(row.value))
    }
  }

  // Assigns the next ordinal of the stream; rejects a row whose received time goes backwards.
  private claim(group: Group, stream: Stream, received: number): number {
    let end = group.ends.get(stream.id)
    if (end === undefined) {
      end = { ordinal: this.view.lastOrdinal(stream), received: this.view.lastReceived(stream) }
      group.ends.set(stream.id, end)
      // Also a stream whose rows were all in a part of the log that was damaged.
      if (end.ordinal === 0) this.tally.create(stream, received)
    }
    if (received < end.received) {
      throw new PriorbookError(
        'invalid_time',
        `${stream.venue}:${stream.key} has a row received at ${end.received}; ${received} is before it`,
      )
    }
    if (stream.kind === 'book') this.tally.row(stream, end.received, received)
    end.received = received
    return ++end.ordinal
  }

  private streamOf(
    group: Group,
    instrument: Instrument,
    kind: ChunkKind,
    metric: string,
    maker: Maker,
    received: number,
  ): Stream {
    const known = kind === 'book' ? this.bookStreams.get(instrument) : undefined
    // One that the view has evicted would not learn what is packed since.
    if (known !== undefined && this.view.keeps(known)) return known
    const found = this.view.stream(instrument, kind, metric)
    if (found !== undefined) {
      if (kind === 'book') this.bookStreams.set(instrument, found)
      return found
    }
    const { venue, market, key } = instrument
    const facts = { generation: 1, knownFrom: received, next: 1 }
    const name = { venue, market, key, kind, metric }
    const stream = createStream(this.database, name, maker, facts)
    this.view.remember(stream)
    group.created.push(stream)
    return stream
  }

  private opensMany(batches: readonly AppendBatch[]): boolean {
    if (this.view.tail.rows >= this.limits.rows * WAITING_TIMES) return false
    let opened = 0
    for (const { gaps } of batches) {
      for (const { end } of gaps ?? []) if (end !== undefined) opened++
    }
    return opened >= OPENED_AT_ONCE
  }

  // One bounded packing step after each commit spreads the cost over the appends.
  private packSome(appended: number): void {
    const { tail } = this.view
    const { rows: least } = this.limits
    const due = Math.max(least, Math.min(least * MOST_TIMES, tail.streams.size * ROWS_PER_STREAM))
    if (this.pass === undefined && tail.rows - this.carried + tail.passed < due) return
    this.pass ??= this.beginPass(this.limits.carried)
    const { pass } = this
    // A pass that is behind takes larger steps, so that the log stays bounded.
    const waiting = tail.rows - pass.carry.rows
    const step = this.limits.step * Math.max(1, waiting / due, appended / ROWS_PER_STEP)
    if (pass.streams.length > 0) this.packGroup(pass.streams, step, this.packing)
    else pass.carry.write(step)
    if (pass.streams.length > 0 || pass.carry.isWaiting) return
    if (!pass.carry.fits) {
      this.pass = this.beginPass(NOTHING_CARRIED)
      return
    }
    try {
      this.endPass(pass)
      this.pass = undefined
    } catch (error) {
      // There may be space to remove the log, but not to write rows back: then all of them are packed.
      const isFull = error instanceof PriorbookError && error.code === 'disk_full'
      if (isFull && pass.carry.count > 0) this.pass = this.beginPass(NOTHING_CARRIED)
      throw error
    }
  }

  private beginPass(limits: CarryLimits): Pass {
    const through = this.view.logEnd
    const positions = new Map(VENUE_IDS.map((venue) => [venue, this.appliedPosition(venue)]))
    const batches = through - readState(this.database, STATE.sealedThrough)
    const carry = new Carry(this.view, limits, { through, batches, positions, now: this.now })
    const version = readState(this.database, STATE.version)
    return { version, through, streams: carry.others, carry }
  }

  private endPass({ version, through, carry }: Pass): void {
    const sealed = readState(this.database, STATE.sealedThrough)
    if (through <= sealed) {
      this.clean = version
      return
    }
    this.database.write(() => {
      this.database.run('DELETE FROM log WHERE id <= ?', through)
      carry.store(this.database)
      writeState(this.database, STATE.sealedThrough, through - carry.count)
      writeState(this.database, STATE.carriedThrough, through)
      for (const venue of VENUE_IDS) {
        writeState(this.database, STATE.packed(venue), carry.packedOf(venue))
      }
    })
    this.clean = version
    this.carried = carry.rows
    this.view.truncated(through - carry.count, through)
  }

  // Packs streams from the end of a list until the step's row limit, in one transaction.
  private packGroup(ids: number[], enough: number, packing: Packing): SealReport {
    const version = readState(this.database, STATE.version) + 1
    const before: { stream: Stream; row: Stream }[] = []
    let chunks = 0
    let rows = 0
    let work = 0
    try {
      this.database.write(() => {
        while (work < enough) {
          const id = ids.at(-1)
          if (id === undefined) break
          const stream = this.view.streamById(id)
          ids.pop()
          before.push({ stream, row: { ...stream } })
          const part = this.partOf(stream)
          const own = this.view.tailOf(stream)?.columns.count ?? 0
          rows += own
          const again = (part?.count ?? 0) / (stream.kind === 'book' ? COPIED_AS_ONE : 1)
          work += ROWS_TO_BEGIN + own + again
          chunks += this.pack(stream, part, version, packing)
        }
        writeState(this.database, STATE.version, version)
      })
    } catch (error) {
      for (const { stream, row } of before) {
        Object.assign(stream, row)
        ids.push(stream.id)
      }
      throw error
    }
    for (const { stream } of before) this.view.packed(version, stream)
    return { chunks, rows }
  }

  private pack(
    stream: Stream,
    part: ChunkPlace | undefined,
    version: number,
    packing: Packing,
  ): number {
    if (part?.form === 'tight' && this.view.tailOf(stream) === undefined) return 0
    try {
      if (stream.kind === 'book' && part === undefined) this.view.bookTail(stream)
      if (part !== undefined) this.view.bodies.open(stream, part)
      return this.sealer.pack(stream, part, this.view.tailOf(stream), version, packing)
    } catch (error) {
      if (!isDamage(error)) throw error
      return this.packAfterDamage(stream, version, packing)
    }
  }

  // The last chunk of a stream, unless it is final.
  private partOf(stream: Stream): ChunkPlace | undefined {
    const last = this.view.directory(stream).places.at(-1)
    return last === undefined || 'lost' in last || isSealed(last) ? undefined : last
  }

  // The rows before the tail are damaged, so changes that build on them cannot be applied to a book.
  // They stay a hole, reported as `corrupt`, up to the next restart row; a rebuild heals it.
  private packAfterDamage(stream: Stream, version: number, packing: Packing): number {
    const tail = this.view.tailOf(stream)
    if (tail !== undefined) {
      let row = 0
      const starts = (at: number): boolean =>
        stream.kind !== 'book' || (tail.columns.flags[at]! & FLAGS.restart) !== 0
      while (row < tail.columns.count && !starts(row)) row++
      this.view.tail.dropBefore(stream.id, tail.first + row)
      stream.next = tail.first + row
    }
    const rest = this.view.tail.streams.get(stream.id)
    return this.sealer.pack(stream, undefined, rest, version, packing)
  }

  // A damaged log batch ends the log. Batches before it are packed. It and the batches after it are
  // derived again from the journal, because the applied positions go back to the last good batch.
  private repairLog(): void {
    const { damagedLog } = this.view
    if (damagedLog === undefined) return
    const newest = this.database.get('SELECT max(id) AS id FROM log')!['id'] as number | null
    const last = Math.max(
      newest ?? 0,
      damagedLog.id,
      readState(this.database, STATE.carriedThrough),
    )
    this.database.write(() => {
      this.database.run('DELETE FROM log WHERE id >= ?', damagedLog.id)
      // Rows that are cut off are counted when the journal yields them again.
      writeState(this.database, STATE.counted, 0)
      writeState(this.database, STATE.recounting, 0)
      for (const venue of VENUE_IDS) {
        const good = this.view.positions.get(venue) ?? readState(this.database, STATE.packed(venue))
        const applied = readState(this.database, STATE.applied(venue))
        if (applied > good) {
          writeState(this.database, STATE.applied(venue), good)
          writeState(this.database, STATE.mended(venue), applied)
        }
      }
    })
    this.view.damagedLog = undefined
    this.sealAll()
    // Numbers of lost batches are not reused: readers would skip the new ones as known.
    this.database.write(() => {
      writeState(this.database, STATE.sealedThrough, last)
      writeState(this.database, STATE.carriedThrough, last)
    })
    this.view.truncated(last, last)
    this.view.advance(last)
    this.repaired = damagedLog.error.message
  }

  // A pass may have packed rows of batches that were cut off with the log. When the journal yields
  // them again, they are stored already and must be skipped.
  private readFloors(): void {
    for (const venue of VENUE_IDS) {
      if (readState(this.database, STATE.mended(venue)) <= this.appliedPosition(venue)) continue
      for (const { id } of listStreams(this.database, undefined, venue)) {
        const stream = this.view.streamById(id)
        // After a kill within a repair, rows that a pass had left in the log may be beyond the position, too.
        const rows = this.view.tailOf(stream)?.columns
        if (rows !== undefined) {
          this.floors.set(id, rows.journal[rows.count - 1]!)
          continue
        }
        const place = this.view.directory(stream).places.at(-1)
        if (place === undefined || 'lost' in place) continue
        try {
          this.floors.set(id, this.view.bodies.open(stream, place).header.lastJournal)
        } catch (error) {
          if (!isDamage(error)) throw error
        }
      }
      // Gaps of batches that were cut off must not be visible while the journal is applied again.
      this.database.write(() => rollBackGaps(this.database, venue, (gap) => this.knownUntil(gap)))
    }
  }

  private knownUntil(gap: Gap): number {
    const stream = this.view.stream(gap, 'book')
    const floor = stream === undefined ? 0 : (this.floors.get(stream.id) ?? 0)
    return Math.max(this.appliedPosition(gap.venue), gap.scope === 'instrument' ? floor : 0)
  }
}

/** One round of packing: everything that was in the log when it began. */
type Pass = {
  readonly version: number
  readonly through: number
  readonly streams: number[]
  readonly carry: Carry
}

type Arrival = {
  readonly instrument: Instrument
  readonly received: number
  readonly journal: number
}

/** A batch in the log, stream and ordinal of each of its rows in turn, and what else it changed. */
type Written = {
  readonly batch: AppendBatch
  readonly maker: Maker
  readonly claims: readonly number[]
  /** What the messages of its trades said, as JSON. */
  readonly natives: readonly (string | undefined)[]
  readonly told: { readonly markets: readonly MarketRef[]; readonly gaps: readonly Gap[] }
}

// The place of a row that was stored before.
const KNOWN = -1

/** The intermediate state of one commit. */
type Group = {
  id: number
  readonly batches: Written[]
  readonly ends: Map<number, { ordinal: number; received: number }>
  readonly created: Stream[]
}

/** True when a write failed because of the disk, not the batch. */
export function isOutOfSpace(error: unknown): boolean {
  if (!(error instanceof PriorbookError)) return false
  return error.code === 'disk_full' || error.code === 'store_unavailable'
}

function newestOf(tails: Iterable<TailRows>): number {
  let newest = 0
  for (const { columns } of tails)
    newest = Math.max(newest, columns.received[columns.count - 1] ?? 0)
  return newest
}

function takerOf({ taker }: Trade): number {
  return TAKERS.indexOf(taker)
}

function nativeOf({ native }: Trade): string | undefined {
  return native === undefined ? undefined : JSON.stringify(native)
}

function headOf(row: Provenance): RowHead {
  return {
    received: row.received,
    source: row.source ?? ABSENT,
    venueSeq: row.venueSeq ?? ABSENT,
    channel: row.channel ?? ABSENT,
    journal: row.journal,
    flags: row.flags ?? 0,
  }
}
