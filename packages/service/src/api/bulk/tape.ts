import { PriorbookError, REFERENCE_MARKET, type Gap } from '@priorbook/sdk/domain'
import {
  decodeChunk,
  encodePart,
  openChunk,
  rowsBetween,
  SampleColumns,
  TradeColumns,
  type BookRun,
  type ChunkHeader,
  type ChunkKind,
  type Maker,
  type StreamRows,
  type TapePlatform,
} from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { toGapJson, toMarketJson } from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import type { MarketState, StoreReader } from '../../store/store.ts'
import { gapsOfReferences, type ReferenceSeries } from '../markets/references.ts'
import type { ApiContext } from '../route.ts'
import { describeScope, keysOf, type BulkScope } from './scope.ts'
import { Pieces, type FileObserver } from './stream.ts'
import { KINDS, Tally, type StreamFacts } from './tally.ts'
import { ContainerWriter } from './tape-container.ts'
import { removedSince } from '../../rows/index.ts'
import { gapsOf, venueGapsOf, walkMarkets } from './bulk-walk.ts'

/**
 * A download as stored chunks in a container (docs/formats/export.md). Chunks that overlap the range are
 * sent whole, so that their chained hashes hold; a reader drops the rows outside the range.
 */
export async function* streamTape(
  context: ApiContext,
  scope: BulkScope,
  signal: AbortSignal,
  observer: FileObserver = {},
  { tally, pieces: all }: BegunTape = openTape(context, scope),
): AsyncGenerator<Uint8Array> {
  const container = new ContainerWriter()
  const pieces = new Pieces()
  function* send(frames: readonly Uint8Array[]): Generator<Uint8Array> {
    for (const frame of frames) yield* pieces.add(frame)
  }
  // Unsealed rows do not carry their origin, so the header of the file does.
  const { notice } = context
  const named =
    notice === undefined ? {} : { notice: { code: notice.code, message: notice.message } }
  yield* send(container.begin({ ...describeScope(scope), records: 'all', ...named }))
  for await (const piece of all) {
    if (piece.kind === 'market') {
      tally.add(piece)
      for (const known of await recordsOf(context, scope, piece.market)) {
        yield* send(container.json('market', toMarketJson(known)))
      }
    } else if (piece.kind === 'gap') {
      tally.add(piece)
      observer.onGap?.(piece.gap)
      yield* send(container.json('gap', toGapJson(piece.gap)))
    } else yield* send(container.frame(piece.kind, piece.bytes))
    await yieldToEventLoop()
    if (signal.aborted) return
  }
  const receipt = tally.finish(tally.rows === 0 ? await observer.explain?.() : [])
  yield* send(container.end(receipt))
  yield* pieces.rest()
  observer.onReceipt?.(receipt)
}

/** The contents of a tape file before they are written, and what counts them. */
export type BegunTape = { readonly tally: Tally; readonly pieces: AsyncGenerator<NamedPiece> }

/** Begins to read what a tape file contains. */
export function openTape(context: ApiContext, scope: BulkScope): BegunTape {
  const tally = new Tally(scope)
  return { tally, pieces: exportAll(context, scope, tally) }
}

// Max revisions per read of the store.
const REVISIONS = 200

/**
 * The record of a market that was known at the start of the range, and every one since, oldest first. A
 * reader that knew only the newest would know of a moved close time from the first row on.
 */
async function recordsOf(
  { store }: ApiContext,
  { start, knownAt = Infinity }: BulkScope,
  market: MarketState,
): Promise<readonly MarketState[]> {
  const { venue, marketId } = market.record
  let records: MarketState[] = []
  for (let after = 0; ;) {
    const slice = await store.revisions(venue, marketId, { after, limit: REVISIONS })
    for (const state of slice) {
      if (state.knownAt > knownAt) continue
      if (state.knownAt <= start) records = []
      records.push(state)
    }
    if (slice.length < REVISIONS) break
    after = slice.at(-1)!.revision
  }
  return records.length === 0 ? [market] : records
}

// A market is named before its first piece, and only where it has one.
async function* exportAll(
  context: ApiContext,
  scope: BulkScope,
  tally: Tally,
): AsyncGenerator<NamedPiece> {
  if (scope.start >= scope.end) return
  if (scope.references !== undefined) {
    yield* exportReferences(context, scope, scope.references, tally)
    return
  }
  const venueGaps = await venueGapsOf(context, scope)
  for await (const market of walkMarkets(context, scope)) {
    let isNamed = false
    for await (const piece of exportMarket(context, scope, market, venueGaps, tally)) {
      if (!isNamed) yield { kind: 'market', market }
      isNamed = true
      yield piece
    }
  }
}

async function* exportReferences(
  context: ApiContext,
  scope: BulkScope,
  references: readonly ReferenceSeries[],
  tally: Tally,
): AsyncGenerator<TapePiece> {
  const gaps = await gapsOfReferences(context, references, scope)
  for (const gap of gaps) yield { kind: 'gap', gap }
  for (const { key } of references) {
    const place = { market: REFERENCE_MARKET, key }
    const stream = new TapeStream(context.store, scope, platform, place)
    yield* stream.pieces(gaps)
    if (stream.facts !== undefined) tally.addStream(key, stream.facts)
  }
}

async function* exportMarket(
  context: ApiContext,
  scope: BulkScope,
  market: MarketState,
  venueGaps: readonly Gap[],
  tally: Tally,
): AsyncGenerator<TapePiece> {
  const { record } = market
  const gaps = await gapsOf(context, scope, market, venueGaps)
  for (const gap of gaps) yield { kind: 'gap', gap }
  for (const key of await keysOf(context, record, scope)) {
    const place = { market: record.marketId, key }
    const stream = new TapeStream(context.store, scope, platform, place)
    yield* stream.pieces(gaps)
    if (stream.facts !== undefined) tally.addStream(key, stream.facts)
  }
}

const platform = createNodePlatform()

/** A chunk or a damaged span of one stream of a download. */
export type TapePiece =
  | { readonly kind: 'chunk' | 'part'; readonly bytes: Uint8Array }
  | { readonly kind: 'gap'; readonly gap: Gap }

type NamedPiece = TapePiece | { readonly kind: 'market'; readonly market: MarketState }

const TAIL_ROWS = 1024
// The maker of parts whose rows are not sealed and follow no chunk.
const UNSEALED: Maker = { origin: 'live', recorder: 'unsealed', normalizer: 0 }

/** Reads one stream chunk by chunk. */
export class TapeStream {
  /** The rows of the stream in the range; absent until they are read, or where there are none. */
  facts: StreamFacts | undefined
  private readonly store: StoreReader
  private readonly scope: BulkScope
  private readonly platform: TapePlatform
  private readonly kind: ChunkKind
  private readonly name: { readonly market: string; readonly key: string }
  private next = 1
  /** No row before this time is missing, unless a gap says so. */
  private reached = 0
  private changes = 0
  private maker: Maker | undefined

  constructor(
    store: StoreReader,
    scope: BulkScope,
    platform: TapePlatform,
    name: { readonly market: string; readonly key: string },
  ) {
    this.store = store
    this.scope = scope
    this.platform = platform
    this.name = name
    this.kind = KINDS[scope.dataset]
  }

  /**
   * Every stored chunk that overlaps the range, then the unsealed rows. What retention removes meanwhile is a
   * gap, beside those that are given.
   */
  async *pieces(gaps: readonly Gap[] = []): AsyncGenerator<TapePiece> {
    const { store, scope, kind } = this
    const { venue, end } = scope
    const { key } = this.name
    this.reached = Math.max(
      scope.start,
      ...gaps.map((gap) => (gap.reason === 'retention' && gap.key === key ? (gap.end ?? 0) : 0)),
    )
    const metric = scope.metric ?? ''
    const query = { venue, key, kind, metric, start: scope.start, end }
    for await (const { bytes, ...stored } of store.chunksOfRange(query)) {
      if (bytes === undefined) {
        if (stored.first > this.next) yield* this.missing(Math.min(stored.firstReceived, end))
        if (stored.firstReceived >= end) return
        this.next = stored.first + stored.count
        this.reached = Math.max(this.reached, stored.lastReceived + 1)
        continue
      }
      const opened = this.open(bytes)
      if (opened === undefined) continue
      const { header } = opened
      if (header.first > this.next) yield* this.missing(Math.min(header.firstReceived, end))
      if (header.firstReceived >= end) return
      this.next = header.first + header.count
      this.reached = Math.max(this.reached, header.lastReceived + 1)
      this.changes = header.changesBefore + header.changes
      this.maker = header
      if (header.lastReceived < scope.start) continue
      yield this.toPiece(bytes, opened, stored.sealed)
    }
    yield* this.tail()
    yield* this.removed()
  }

  private open(bytes: Uint8Array): ReturnType<typeof openChunk> | undefined {
    try {
      return openChunk(bytes, this.platform)
    } catch (error) {
      // The next chunk, or the tail, reports the missing rows as damage.
      if (error instanceof PriorbookError) return undefined
      throw error
    }
  }

  private toPiece(
    bytes: Uint8Array,
    chunk: ReturnType<typeof openChunk>,
    isSealed: boolean,
  ): TapePiece {
    const { header } = chunk
    const { start, end, windowStart, venue } = this.scope
    const isWhole = header.firstReceived >= start && header.lastReceived < end
    if (isWhole) {
      this.count(header.first, header.count, header.firstReceived, header.lastReceived)
      return { kind: isSealed ? 'chunk' : 'part', bytes }
    }
    const rows = decodeChunk(chunk, this.platform)
    const { received } = rows.columns
    const { from, to } = rowsBetween(rows.columns, start, end)
    if (to > from) this.count(header.first + from, to - from, received[from]!, received[to - 1]!)
    if (header.firstReceived >= windowStart) return { kind: isSealed ? 'chunk' : 'part', bytes }
    // Rows before the plan's window are cut off.
    const cut = rowsBetween(rows.columns, windowStart, Infinity).from
    const name = { ...this.name, ...makerOf(header), venue, first: header.first + cut }
    const part = encodePart(rows, cut, header.count, name, header.changesBefore, this.platform)
    return { kind: 'part', bytes: part }
  }

  private count(first: number, rows: number, firstReceived: number, lastReceived: number): void {
    const last = first + rows - 1
    this.facts =
      this.facts === undefined
        ? { first, last, rows, firstReceived, lastReceived }
        : { ...this.facts, last, rows: this.facts.rows + rows, lastReceived }
  }

  // Rows before a chunk that were not sent are damaged, or removed since the gaps were read.
  private async *missing(next: number): AsyncGenerator<TapePiece> {
    const { corrupt } = this.next > 1 ? await this.read(1) : { corrupt: [] }
    for (const gap of corrupt) yield { kind: 'gap', gap }
    if (corrupt.length === 0) yield* this.removed(next)
  }

  private async *removed(next?: number): AsyncGenerator<TapePiece> {
    const { venue, start, end } = this.scope
    const query = { venue, key: this.name.key, reason: 'retention', start, end } as const
    for (const gap of removedSince(await this.store.gaps(query), this.reached, next)) {
      yield { kind: 'gap', gap }
    }
  }

  private async *tail(): AsyncGenerator<TapePiece> {
    const { venue } = this.scope
    for (let hasMore = true; hasMore;) {
      const page = await this.read(TAIL_ROWS)
      for (const gap of page.corrupt) yield { kind: 'gap', gap }
      for (const { rows, first, from, to } of page.stretches) {
        const { received } = rows.columns
        if (first + from > this.next && page.corrupt.length === 0)
          yield* this.removed(received[from])
        this.reached = Math.max(this.reached, received[to - 1]! + 1)
        const name = { ...this.name, ...(this.maker ?? UNSEALED), venue, first: first + from }
        const { origin, recorder, normalizer } = name
        const bytes = encodePart(
          rows,
          from,
          to,
          { ...this.name, venue, first: first + from, origin, recorder, normalizer },
          this.next > 1 ? this.changes : 0,
          this.platform,
        )
        this.count(first + from, to - from, received[from]!, received[to - 1]!)
        this.next = first + to
        yield { kind: 'part', bytes }
      }
      hasMore = page.hasMore
    }
  }

  /** Reads the rows after those that were sent. */
  private async read(limit: number): Promise<TailPage> {
    const { store, scope } = this
    const { venue, start, end } = scope
    const { key } = this.name
    const after = this.next > 1 ? { after: this.next - 1 } : {}
    const query = { venue, key, order: 'asc', start, end, limit, ...after } as const
    if (this.kind === 'book') {
      const { runs, corrupt, hasMore } = await store.books({ ...query, numbers: true })
      return { stretches: runs.map(toStretch), corrupt, hasMore }
    }
    if (this.kind === 'trade') {
      const { rows: columns, ordinals, corrupt, hasMore } = await store.trades(query)
      return { stretches: cutRuns(ordinals, { kind: 'trade', columns }), corrupt, hasMore }
    }
    const metric = scope.metric!
    const page = await store.samples({ ...query, metric })
    const rows = { kind: 'sample', columns: page.rows, metric } as const
    const { ordinals, corrupt, hasMore } = page
    return { stretches: cutRuns(ordinals, rows), corrupt, hasMore }
  }
}

type Stretch = {
  readonly rows: StreamRows
  /** The number of row 0. */
  readonly first: number
  readonly from: number
  readonly to: number
}

type TailPage = {
  readonly stretches: readonly Stretch[]
  readonly corrupt: readonly Gap[]
  readonly hasMore: boolean
}

function toStretch({ columns, firstSequence, from, to }: BookRun): Stretch {
  return { rows: { kind: 'book', columns }, first: firstSequence, from, to }
}

/** Splits rows where their numbers have a hole: a chunk has none. */
function cutRuns(
  ordinals: readonly number[],
  rows: StreamRows & { readonly columns: TradeColumns | SampleColumns },
): Stretch[] {
  const cuts: Stretch[] = []
  let from = 0
  for (let row = 1; row <= ordinals.length; row++) {
    if (row < ordinals.length && ordinals[row] === ordinals[row - 1]! + 1) continue
    cuts.push({ rows, first: ordinals[from]! - from, from, to: row })
    from = row
  }
  return cuts
}

function makerOf({ origin, recorder, normalizer }: ChunkHeader): Maker {
  return { origin, recorder, normalizer }
}
