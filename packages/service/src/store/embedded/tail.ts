import { PriorbookError } from '@priorbook/sdk/domain'
import {
  BookColumns,
  SampleColumns,
  TradeColumns,
  type ChunkKind,
  type Ladder,
  type RowHead,
  type SampleValue,
} from '@priorbook/sdk/tape'
import type { Changes, MarketRef } from '../store.ts'
import type { GapPlace } from './gaps.ts'
import type { Maker, RowSink } from './log.ts'

/** The unpacked rows of one stream, in memory; row 0 has ordinal `first`. */
export type TailRows = {
  first: number
  /** Rows before this ordinal are in a chunk; they are passed over while there is no row here. */
  readonly next?: number | undefined
  /** Who made the rows, from which row on. */
  readonly makers: { readonly row: number; readonly maker: Maker }[]
} & (
  | { readonly kind: 'book'; columns: BookColumns; based: boolean }
  | { readonly kind: 'trade'; columns: TradeColumns }
  | { readonly kind: 'sample'; columns: SampleColumns }
)

/** Called for every row, gap and revision that a process reads from the log. */
export interface LogListener {
  row(kind: ChunkKind, stream: number): void
  gap(place: GapPlace): void
  market(market: MarketRef): void
  /** Something was committed that the log no longer holds. */
  missed(why: NonNullable<Changes['missed']>): void
}

/** Everything in the log, decoded once and kept by stream: the newest rows are read from memory. */
export class Tail implements RowSink {
  readonly streams = new Map<number, TailRows>()
  readonly listeners = new Set<LogListener>()
  /** True while batches are read again that listeners have already received. */
  isKnown = false
  /**
   * While all of the log is read: the first ordinal of a stream that is in no chunk. Rows before it, which are
   * two thirds of the log while a pass of packing is under way, are not kept.
   */
  nextOf: ((stream: number) => number) | undefined
  rows = 0
  /** Rows that were passed over because they are in chunks: the log has them until a pass of packing ends. */
  passed = 0

  book(
    stream: number,
    ordinal: number,
    maker: Maker,
    head: RowHead,
    priceDecimals: number,
    keys: readonly number[],
    sizes: readonly number[],
    count: number,
  ): void {
    const tail = this.at(stream, ordinal, maker, 'book')
    if (tail?.kind !== 'book') return
    const { columns } = tail
    if (priceDecimals > columns.priceDecimals) this.refine(tail, priceDecimals)
    if (priceDecimals < tail.columns.priceDecimals) {
      const factor = 10 ** (tail.columns.priceDecimals - priceDecimals)
      const scaled = keys.slice(0, count).map((key) => toFiner(key, factor))
      tail.columns.push(head, scaled, sizes, count)
    } else tail.columns.push(head, keys, sizes, count)
  }

  trade(
    stream: number,
    ordinal: number,
    maker: Maker,
    head: RowHead,
    tradeId: string,
    price: number,
    size: number,
    taker: number,
    native: string | undefined,
  ): void {
    const tail = this.at(stream, ordinal, maker, 'trade')
    if (tail?.kind === 'trade') tail.columns.push(head, tradeId, price, size, taker, native)
  }

  sample(
    stream: number,
    ordinal: number,
    maker: Maker,
    head: RowHead,
    { value, fine }: SampleValue,
  ): void {
    const tail = this.at(stream, ordinal, maker, 'sample')
    if (tail?.kind === 'sample') tail.columns.push(head, value, fine)
  }

  gap(place: GapPlace): void {
    if (!this.isKnown) for (const listener of this.listeners) listener.gap(place)
  }

  market(market: MarketRef): void {
    if (!this.isKnown) for (const listener of this.listeners) listener.market(market)
  }

  /** Drops the rows of a stream, which are in a chunk now. Columns held by readers stay unchanged. */
  forget(stream: number): void {
    this.rows -= this.streams.get(stream)?.columns.count ?? 0
    this.streams.delete(stream)
  }

  clear(): void {
    this.streams.clear()
    this.rows = 0
    this.passed = 0
  }

  private at(stream: number, ordinal: number, maker: Maker, kind: ChunkKind): TailRows | undefined {
    let tail = this.streams.get(stream)
    if (tail === undefined) {
      tail = createTail(kind, ordinal, this.nextOf?.(stream))
      this.streams.set(stream, tail)
    }
    const expected = tail.first + tail.columns.count
    // Rows that are already present (a log batch read twice) are ignored.
    if (ordinal < expected) return undefined
    if (ordinal > expected) {
      throw new PriorbookError('corrupt_row', `log rows ${expected}–${ordinal - 1} are missing`)
    }
    if (this.listeners.size > 0 && !this.isKnown) {
      for (const listener of this.listeners) listener.row(kind, stream)
    }
    if (tail.next !== undefined && ordinal < tail.next) {
      tail.first = ordinal + 1
      this.passed++
      return undefined
    }
    const last = tail.makers.at(-1)
    if (last === undefined || !sameMaker(last.maker, maker)) {
      tail.makers.push({ row: tail.columns.count, maker })
    }
    this.rows++
    return tail
  }

  /** Drops the streams of which the log has only rows that are in chunks. */
  forgetEmpty(): void {
    for (const [id, { columns }] of this.streams) if (columns.count === 0) this.streams.delete(id)
  }

  /**
   * Sets the book before row 0, which the log does not contain; both are converted to the finer tick.
   * Done once, when the rows are first read or packed.
   */
  setBase(tail: TailRows & { kind: 'book' }, ladder: Ladder): void {
    if (ladder.decimals > tail.columns.priceDecimals) this.refine(tail, ladder.decimals)
    // Only the keys are scaled: a finer ladder has a slot for every price.
    const factor = 10 ** (tail.columns.priceDecimals - ladder.decimals)
    const keys = ladder.keys()
    tail.columns.baseKey = keys.map((key) => toFiner(key, factor))
    tail.columns.baseSize = keys.map((key) => ladder.sizeAt(key))
    tail.based = true
  }

  /** Drops rows that are in a chunk by now. */
  dropBefore(stream: number, next: number): void {
    const tail = this.streams.get(stream)
    if (tail === undefined || tail.first >= next) return
    const drop = next - tail.first
    if (drop >= tail.columns.count) {
      this.forget(stream)
      return
    }
    this.rows -= drop
    const makers = tail.makers.map(({ row, maker }) => ({ row: Math.max(0, row - drop), maker }))
    const rest = createTail(tail.kind, next)
    rest.makers.push(...makers.filter((entry, index) => makers[index + 1]?.row !== entry.row))
    if (tail.kind === 'book' && rest.kind === 'book') {
      rest.columns.priceDecimals = tail.columns.priceDecimals
      rest.columns.pushRows(tail.columns, drop, tail.columns.count)
    } else if (tail.kind === 'trade' && rest.kind === 'trade') {
      pushTrades(rest.columns, tail.columns, drop, tail.columns.count)
    } else if (tail.kind === 'sample' && rest.kind === 'sample') {
      pushSamples(rest.columns, tail.columns, drop, tail.columns.count)
    }
    this.streams.set(stream, rest)
  }

  // Finer ticks change all keys. The rows move to new columns, because a reader may hold the old ones.
  private refine(tail: TailRows & { kind: 'book' }, priceDecimals: number): void {
    const finer = new BookColumns(tail.columns.priceDecimals)
    finer.baseKey = [...tail.columns.baseKey]
    finer.baseSize = [...tail.columns.baseSize]
    finer.pushRows(tail.columns, 0, tail.columns.count)
    finer.rescale(priceDecimals)
    tail.columns = finer
  }
}

function toFiner(key: number, factor: number): number {
  return (key >>> 1) * factor * 2 + (key & 1)
}

/** Appends rows [from, to) of other trades. */
export function pushTrades(
  into: TradeColumns,
  other: TradeColumns,
  from: number,
  to: number,
): void {
  for (let row = from; row < to; row++) {
    into.pushHeadOf(other, row)
    into.tradeId.push(other.tradeId[row]!)
    into.price.push(other.price[row]!)
    into.size.push(other.size[row]!)
    into.taker.push(other.taker[row]!)
    into.native.push(other.native[row])
  }
}

/** Appends rows [from, to) of other samples. */
export function pushSamples(
  into: SampleColumns,
  other: SampleColumns,
  from: number,
  to: number,
): void {
  for (let row = from; row < to; row++) {
    into.pushHeadOf(other, row)
    into.value.push(other.value[row]!)
    into.fine.push(other.fine[row]!)
  }
}

/** True when two batches have the same maker. */
export function sameMaker(a: Maker, b: Maker): boolean {
  return a.origin === b.origin && a.recorder === b.recorder && a.normalizer === b.normalizer
}

// Room for the rows of most streams: of tens of thousands, few have more between two passes of packing.
const FIRST_ROWS = 4
const FIRST_CHANGES = 16

function createTail(kind: ChunkKind, first: number, next?: number): TailRows {
  switch (kind) {
    case 'book': {
      const columns = new BookColumns(2, FIRST_ROWS, FIRST_CHANGES)
      return { kind, first, next, makers: [], columns, based: false }
    }
    case 'trade':
      return { kind, first, next, makers: [], columns: new TradeColumns(FIRST_ROWS) }
    case 'sample':
      return { kind, first, next, makers: [], columns: new SampleColumns(FIRST_ROWS) }
  }
}
