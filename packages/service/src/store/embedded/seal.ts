import { FLAGS } from '@priorbook/sdk/domain'
import {
  applyRows,
  BookColumns,
  BookEncoder,
  encodeSamples,
  encodeTrades,
  Ladder,
  loadBase,
  NO_HASH,
  SampleColumns,
  TradeColumns,
  type ChunkIdentity,
  type EncodedChunk,
  type TapePlatform,
} from '@priorbook/sdk/tape'
import type { Bodies } from './bodies.ts'
import { insertBody } from './cold/cold-places.ts'
import type { Database } from './database.ts'
import { removePlace, writePlace, type ChunkPlace } from './directory.ts'
import type { Maker } from './log.ts'
import { noteSealed } from './sealed-queue.ts'
import { saveStream, type Stream } from './streams.ts'
import { pushSamples, pushTrades, sameMaker, type TailRows } from './tail.ts'

/** Rows of a full chunk. Boundaries depend on the data alone, so a rebuild repeats them. */
export const CHUNK_ROWS = 1024

/** How rows are packed: sealed chunks tightly, parts by the pass's own choice. */
export type Packing = {
  readonly sealed: TapePlatform
  readonly part: TapePlatform
  readonly partForm: 'loose' | 'tight'
}

/** One stretch of rows that becomes a chunk (`full`) or stays a part. */
type Cut = { readonly from: number; readonly to: number; readonly full: boolean }

/**
 * Packs the tail of one stream, together with its part if it has one, into chunks and at most one
 * new part. The caller is in a write transaction and forgets the tail after the commit.
 */
export class Sealer {
  private readonly database: Database
  private readonly bodies: Bodies
  private readonly encoder = new BookEncoder()
  private readonly ladder = new Ladder()

  constructor(database: Database, bodies: Bodies) {
    this.database = database
    this.bodies = bodies
  }

  /** Returns how many chunks were sealed, and updates the stream's row. */
  pack(
    stream: Stream,
    part: ChunkPlace | undefined,
    tail: TailRows | undefined,
    version: number,
    packing: Packing,
  ): number {
    const gathered = this.gather(stream, part, tail)
    if (part !== undefined) removePlace(this.database, part)
    const first = part?.first ?? tail?.first ?? stream.next
    const total = gathered.rows.count
    let sealed = 0
    stream.changes = part?.changesBefore ?? stream.changes
    for (const cut of this.cuts(gathered)) {
      const maker = gathered.makers.findLast((entry) => entry.row <= cut.from)!.maker
      const identity: ChunkIdentity = {
        venue: stream.venue,
        market: stream.market,
        key: stream.key,
        ...maker,
        first: first + cut.from,
        previousHash: cut.full ? stream.head : NO_HASH,
      }
      const platform = cut.full ? packing.sealed : packing.part
      const changesBefore = stream.changes
      const encoded = this.encode(stream, gathered, cut, identity, platform)
      const body = insertBody(this.database, encoded.bytes)
      writePlace(this.database, {
        stream: stream.id,
        first: first + cut.from,
        count: cut.to - cut.from,
        firstReceived: gathered.rows.received[cut.from]!,
        lastReceived: gathered.rows.received[cut.to - 1]!,
        changesBefore,
        form: cut.full ? 'sealed' : packing.partForm,
        body,
      })
      if (cut.full) {
        stream.head = encoded.hash
        noteSealed(this.database, stream.id, first + cut.from)
        sealed++
      }
    }
    stream.next = first + total
    stream.version = version
    saveStream(this.database, stream)
    return sealed
  }

  private gather(stream: Stream, part: ChunkPlace | undefined, tail: TailRows | undefined): Rows {
    const makers: { row: number; maker: Maker }[] = []
    if (part !== undefined) {
      const { origin, recorder, normalizer } = this.bodies.open(stream, part).header
      makers.push({ row: 0, maker: { origin, recorder, normalizer } })
    }
    const shift = part?.count ?? 0
    for (const { row, maker } of tail?.makers ?? []) {
      const last = makers.at(-1)
      if (last === undefined || !sameMaker(last.maker, maker)) {
        makers.push({ row: row + shift, maker })
      }
    }
    const count = tail?.columns.count ?? 0
    switch (stream.kind) {
      case 'book': {
        const own = tail?.kind === 'book' ? tail.columns : undefined
        if (part === undefined) return { kind: 'book', rows: own ?? new BookColumns(), makers }
        const decoded = this.bodies.book(stream, part, true)
        const changes = decoded.changeCount + (own?.changeCount ?? 0)
        const rows = new BookColumns(decoded.priceDecimals, shift + count, changes)
        rows.baseKey = [...decoded.baseKey]
        rows.baseSize = [...decoded.baseSize]
        rows.pushRows(decoded, 0, decoded.count)
        if (own !== undefined) appendBooks(rows, own)
        return { kind: 'book', rows, makers }
      }
      case 'trade': {
        const rows = new TradeColumns(shift + count)
        if (part !== undefined) pushTrades(rows, this.bodies.trades(stream, part), 0, part.count)
        if (tail?.kind === 'trade') pushTrades(rows, tail.columns, 0, count)
        return { kind: 'trade', rows, makers }
      }
      case 'sample': {
        const rows = new SampleColumns(shift + count)
        if (part !== undefined) pushSamples(rows, this.bodies.samples(stream, part), 0, part.count)
        if (tail?.kind === 'sample') pushSamples(rows, tail.columns, 0, count)
        return { kind: 'sample', rows, makers }
      }
    }
  }

  // A chunk ends when it is full, before a gap, a reset or another maker's rows, and after the close
  // (a full book without levels). The remaining rows form a part.
  private cuts(gathered: Rows): Cut[] {
    const cuts: Cut[] = []
    const { rows } = gathered
    const starts = new Set(gathered.makers.map((entry) => entry.row))
    let from = 0
    const cut = (to: number, full: boolean): void => {
      if (to > from) cuts.push({ from, to, full })
      from = to
    }
    if (gathered.kind === 'book') loadBase(this.ladder, gathered.rows)
    let folded = 0
    for (let row = 0; row < rows.count; row++) {
      const flags = rows.flags[row]!
      if (starts.has(row) || (flags & (FLAGS.restart | FLAGS.after_gap)) !== 0) cut(row, true)
      let closes = false
      if (gathered.kind === 'book' && (flags & FLAGS.full_book) !== 0) {
        applyRows(this.ladder, gathered.rows, folded, row + 1)
        folded = row + 1
        closes = this.ladder.bidLevels === 0 && this.ladder.askLevels === 0
      }
      if (closes || row + 1 - from === CHUNK_ROWS) cut(row + 1, true)
    }
    cut(rows.count, false)
    return cuts
  }

  private encode(
    stream: Stream,
    gathered: Rows,
    cut: Cut,
    identity: ChunkIdentity,
    platform: TapePlatform,
  ): EncodedChunk {
    switch (gathered.kind) {
      case 'book': {
        const { rows } = gathered
        if (cut.from === 0) loadBase(this.ladder, rows)
        // A book that restarts does not depend on earlier rows: its keyframe is empty.
        if ((rows.flags[cut.from]! & FLAGS.restart) !== 0) this.ladder.clear()
        const key = this.ladder.keys()
        const base = { key, size: key.map((at) => this.ladder.sizeAt(at)) }
        const changesBefore = stream.changes
        const { from, to } = cut
        const more = { ...identity, changesBefore }
        const encoded = this.encoder.encode(rows, from, to, base, more, platform)
        applyRows(this.ladder, rows, from, to)
        stream.changes += rows.changeEnd[to - 1]! - rows.changeStart(from)
        return encoded
      }
      case 'trade':
        return encodeTrades(gathered.rows, cut.from, cut.to, identity, platform)
      case 'sample': {
        const named = { ...identity, metric: stream.metric }
        return encodeSamples(gathered.rows, cut.from, cut.to, named, platform)
      }
    }
  }
}

type Rows = { readonly makers: readonly { readonly row: number; readonly maker: Maker }[] } & (
  | { readonly kind: 'book'; readonly rows: BookColumns }
  | { readonly kind: 'trade'; readonly rows: TradeColumns }
  | { readonly kind: 'sample'; readonly rows: SampleColumns }
)

function appendBooks(rows: BookColumns, more: BookColumns): void {
  if (more.priceDecimals > rows.priceDecimals) rows.rescale(more.priceDecimals)
  if (more.priceDecimals === rows.priceDecimals) {
    rows.pushRows(more, 0, more.count)
    return
  }
  const finer = new BookColumns(more.priceDecimals)
  finer.pushRows(more, 0, more.count)
  finer.rescale(rows.priceDecimals)
  rows.pushRows(finer, 0, finer.count)
}
