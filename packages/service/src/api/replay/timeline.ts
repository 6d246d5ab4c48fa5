import {
  gapId,
  instrumentName,
  REFERENCE_METRIC,
  VENUES,
  type Gap,
  type VenueId,
} from '@priorbook/sdk/domain'
import {
  applyRows,
  BookColumns,
  Ladder,
  loadBase,
  type BookRun,
  type SampleColumns,
  type TradeColumns,
} from '@priorbook/sdk/tape'
import { Yielder } from '../../lib/yielder.ts'
import {
  BookLane,
  Merge,
  removedSince,
  RowLane,
  VENUE_KEY,
  type LaneOptions,
  type RowPart,
} from '../../rows/index.ts'
import type { MarketState, StoreReader } from '../../store/store.ts'
import { GapEdgeLane, MarketLane, RANK, readGapsOf, type ReplayRange } from './lanes.ts'
import type { ReplayRequest } from './request.ts'
import { compareText, type ReferenceStream, type ReplayScope, type ReplayStream } from './scope.ts'

/** What comes next in a replay: consecutive books of one instrument, or one other item. */
export type TimelineItem =
  | { readonly kind: 'book'; readonly stream: ReplayStream; readonly run: BookRun }
  | {
      readonly kind: 'trade'
      readonly stream: ReplayStream
      readonly trade: RowPart<TradeColumns>
    }
  | {
      readonly kind: 'reference'
      readonly stream: ReferenceStream
      readonly price: RowPart<SampleColumns>
    }
  | { readonly kind: 'market'; readonly at: number; readonly state: MarketState }
  | { readonly kind: 'gap'; readonly at: number; readonly gap: Gap }

/** Max decoded rows that a replay holds, whatever the number of its instruments and its range. */
export const ROW_BUDGET = 65_536

const BOOK_ROWS = ROW_BUDGET * 0.75
const TRADE_ROWS = ROW_BUDGET - BOOK_ROWS
// Max rows per read: two chunks of books; trades are a hundredth of the rows.
const MAX_BOOK_PAGE = 2048
const MAX_TRADE_PAGE = 256
// Max lanes that may keep the store's own decoded chunks; the store caches as many itself.
const MAX_SHARED_LANES = 16
// Max rows of columns that are kept without a copy. Each step folds the columns up to its rows, which
// for a long tail would cost more than copying each page once.
const MAX_SHARED_ROWS = 2048
// Max instruments per step: each needs a ladder of the renderer.
const MAX_STREAMS = 16
// Max records, trades and gaps per step: they are rendered one by one.
const MAX_OTHERS = 64

type AnyLane = BookLane | RowLane<TradeColumns> | PriceLane | MarketLane | GapEdgeLane

/** The prices of one series; a class of its own, to be told from trades. */
class PriceLane extends RowLane<SampleColumns> {}

type ReadGaps = ReturnType<typeof readGapsOf>

/** All items of a replay from a time on: a merge of lanes in the order of `ReplayEvent`. */
export class Timeline {
  private readonly store: StoreReader
  private readonly scope: ReplayScope
  private readonly range: ReplayRange
  private readonly merge = new Merge<AnyLane>()
  private readonly yielder = new Yielder()
  private readonly rowLanes: (BookLane | RowLane<TradeColumns> | PriceLane)[] = []
  private readonly seenDamage = new Set<string>()
  /** Until when the lanes of gaps tell that rows of an instrument were removed. */
  private readonly removed = new Map<string, number>()
  /** Damaged spans that the last load found. */
  private newDamage: Gap[] = []

  constructor(
    store: StoreReader,
    scope: ReplayScope,
    datasets: ReplayRequest['datasets'],
    budget: RowBudget,
    start: number,
  ) {
    this.store = store
    this.scope = scope
    this.range = { start, end: scope.end }
    if (start >= scope.end) return
    for (const stream of scope.streams) {
      if (datasets.has('books') && hasRowsIn(stream, this.range)) {
        this.addBooks(store, stream, budget)
      }
      if (datasets.has('trades')) this.addTrades(store, stream, budget)
    }
    for (const stream of scope.references) this.addPrices(store, stream, budget)
    if (datasets.has('markets')) {
      for (const [index, market] of scope.markets.entries()) {
        this.merge.add(new MarketLane(store, market, index, this.range))
      }
    }
    for (const [index, { venue, key }] of gapKeysOf(scope, datasets).entries()) {
      const read = this.noteRemoved(readGapsOf(store, venue, key, this.range))
      const isSent = (gap: Gap): boolean => this.seenDamage.has(gapId(gap))
      this.merge.add(new GapEdgeLane(index, this.range, read, isSent))
    }
  }

  /** The next items, with at most `maxRows` books; empty at the end. */
  async next(maxRows: number): Promise<readonly TimelineItem[]> {
    const { merge } = this
    const items: TimelineItem[] = []
    const streams = new Set<ReplayStream>()
    let rows = 0
    let others = 0
    while (rows < maxRows && others < MAX_OTHERS) {
      const lane = await merge.next(() => this.afterLoad())
      if (lane === undefined) break
      if (lane instanceof BookLane) {
        const stream = this.scope.streams[lane.number]!
        if (streams.size === MAX_STREAMS && !streams.has(stream)) break
        streams.add(stream)
        const run = lane.shiftBefore(merge.second, maxRows - rows)
        rows += run.to - run.from
        items.push({ kind: 'book', stream, run })
      } else {
        others++
        items.push(this.shiftOther(lane))
      }
      merge.settle()
    }
    return items
  }

  /** Releases the rows that the lanes hold. */
  close(): void {
    for (const lane of this.rowLanes) if (!lane.isDone) lane.close()
  }

  private addBooks(store: StoreReader, stream: ReplayStream, budget: RowBudget): void {
    const { venue, key } = stream.instrument
    const isShared = ({ columns }: BookRun): boolean =>
      budget.isShared && columns.count <= MAX_SHARED_ROWS
    this.addRows(
      new BookLane(
        store,
        { venue, key, order: 'asc', ...this.range, last: stream.last, pageRows: budget.bookPage },
        {
          ...this.laneOptions(stream, budget),
          rank: RANK.book,
          notBefore: Math.max(this.range.start, stream.firstReceived),
          keep: (run) => (isShared(run) ? run : copyRows(run)),
        },
      ),
    )
  }

  private addTrades(store: StoreReader, stream: ReplayStream, budget: RowBudget): void {
    const { venue, key } = stream.instrument
    const { lastTrade: last } = stream
    this.addRows(
      new RowLane(
        (query) => store.trades(query),
        { venue, key, order: 'asc', ...this.range, last, pageRows: budget.tradePage },
        {
          ...this.laneOptions(stream, budget),
          rank: RANK.trade,
          notBefore: this.range.start,
        },
      ),
    )
  }

  private addPrices(store: StoreReader, stream: ReferenceStream, budget: RowBudget): void {
    const { venue, key } = stream.instrument
    this.addRows(
      new PriceLane(
        (query) => store.samples({ ...query, metric: REFERENCE_METRIC }),
        { venue, key, order: 'asc', ...this.range, last: stream.last, pageRows: budget.tradePage },
        {
          ...this.laneOptions(stream, budget),
          rank: RANK.reference,
          notBefore: this.range.start,
        },
      ),
    )
  }

  private laneOptions(
    { index, instrument }: ReplayStream | ReferenceStream,
    budget: RowBudget,
  ): LaneOptions {
    const { venue, key } = instrument
    return {
      index,
      lane: index,
      findRemoved: async ({ last, next }) => {
        const gaps = await this.store.gaps({ venue, key, reason: 'retention', ...this.range })
        const told = this.removed.get(instrumentName(instrument)) ?? 0
        const from = last?.received ?? Math.max(this.range.start, told)
        return removedSince(gaps, from, next)
      },
      onDamage: (gaps: readonly Gap[]) => void this.newDamage.push(...gaps),
      onHeld: (rows: number) => budget.hold(rows),
    }
  }

  private addRows(lane: BookLane | RowLane<TradeColumns> | PriceLane): void {
    this.rowLanes.push(lane)
    this.merge.add(lane)
  }

  private async afterLoad(): Promise<void> {
    if (this.newDamage.length > 0) {
      const found = this.newDamage.filter((gap) => !this.seenDamage.has(gapId(gap)))
      this.newDamage = []
      const gaps: Gap[] = []
      // The lanes of gaps send what the store lists; they were read before rows were removed.
      for (const gap of found) {
        if (gap.reason === 'retention' || !(await this.isListed(gap))) gaps.push(gap)
      }
      for (const gap of gaps) this.seenDamage.add(gapId(gap))
      this.merge.add(new GapEdgeLane(Number.MAX_SAFE_INTEGER, this.range, gaps))
    }
    await this.yielder.yieldIfDue()
  }

  private noteRemoved(read: ReadGaps): ReadGaps {
    return async (after) => {
      const gaps = await read(after)
      for (const { reason, venue, key, end = Infinity } of gaps) {
        if (reason === 'retention') this.removed.set(`${venue}:${key}`, end)
      }
      return gaps
    }
  }

  private async isListed(gap: Gap): Promise<boolean> {
    const { venue, key, reason, start } = gap
    const listed = await this.store.gaps({ venue, key, reason, start: start - 1, end: start + 1 })
    return listed.some((one) => gapId(one) === gapId(gap))
  }

  private shiftOther(lane: Exclude<AnyLane, BookLane>): TimelineItem {
    if (lane instanceof PriceLane) {
      return { kind: 'reference', stream: this.scope.references[lane.number]!, price: lane.shift() }
    }
    if (lane instanceof RowLane) {
      return { kind: 'trade', stream: this.scope.streams[lane.number]!, trade: lane.shift() }
    }
    if (lane instanceof GapEdgeLane) return { kind: 'gap', ...lane.shift() }
    const { at } = lane
    return { kind: 'market', at, state: lane.shift() }
  }
}

/** How many rows the lanes of a replay read at a time, so that all of them stay within the budget. */
export class RowBudget {
  readonly bookPage: number
  readonly tradePage: number
  /** Whether rows may stay in the store's own columns, which contain more rows than the page. */
  readonly isShared: boolean
  /** Rows that are loaded and not sent, now and at most. */
  held = 0
  peak = 0

  constructor({ streams, references }: ReplayScope) {
    const lanes = Math.max(1, mostAtOnce(streams))
    this.bookPage = Math.min(MAX_BOOK_PAGE, Math.floor(BOOK_ROWS / lanes))
    const others = Math.max(1, streams.length + references.length)
    this.tradePage = Math.min(MAX_TRADE_PAGE, Math.floor(TRADE_ROWS / others))
    this.isShared = lanes <= MAX_SHARED_LANES
  }

  /** Counts rows that were loaded, or with a negative number released. */
  hold(rows: number): void {
    this.held += rows
    this.peak = Math.max(this.peak, this.held)
  }
}

/** Max instruments with rows both before and after one moment; short-lived markets follow each other. */
function mostAtOnce(streams: readonly ReplayStream[]): number {
  const edges: { readonly at: number; readonly step: 1 | -1 }[] = []
  for (const { firstReceived, lastReceived } of streams) {
    edges.push({ at: firstReceived, step: 1 }, { at: lastReceived, step: -1 })
  }
  // An instrument that starts where another ends overlaps it.
  edges.sort((a, b) => a.at - b.at || b.step - a.step)
  let open = 0
  let most = 0
  for (const { step } of edges) {
    open += step
    most = Math.max(most, open)
  }
  return most
}

function hasRowsIn({ firstReceived, lastReceived }: ReplayStream, range: ReplayRange): boolean {
  return firstReceived < range.end && lastReceived >= range.start
}

const ladders: Ladder[] = []

/** The rows of a run in columns of their own: the store's columns keep a whole chunk in memory. */
function copyRows({ columns, firstSequence, from, to }: BookRun): BookRun {
  const { priceDecimals } = columns
  const changes = columns.changeEnd[to - 1]! - columns.changeStart(from)
  const copy = new BookColumns(priceDecimals, to - from, changes)
  const ladder = (ladders[priceDecimals] ??= new Ladder(priceDecimals))
  loadBase(ladder, columns)
  applyRows(ladder, columns, 0, from)
  copy.baseKey = ladder.keys()
  copy.baseSize = copy.baseKey.map((key) => ladder.sizeAt(key))
  copy.pushRows(columns, from, to)
  return { columns: copy, firstSequence: firstSequence + from, from: 0, to: to - from }
}

/** The keys of all gaps: by venue its instruments, then its markets, then the venue itself. */
function gapKeysOf(
  { streams, references, markets }: ReplayScope,
  datasets: ReplayRequest['datasets'],
): readonly { readonly venue: VenueId; readonly key: string }[] {
  const keys = new Map<string, { readonly venue: VenueId; readonly key: string }>()
  const add = (venue: VenueId, key: string): void => {
    const name = `${venue}:${key}`
    if (!keys.has(name)) keys.set(name, { venue, key })
  }
  for (const { instrument } of streams) add(instrument.venue, instrument.key)
  for (const { venue, marketId } of markets) add(venue, marketId)
  for (const { instrument } of references) add(instrument.venue, instrument.key)
  for (const { venue } of markets) add(venue, VENUE_KEY)
  for (const { instrument } of references) add(instrument.venue, VENUE_KEY)
  for (const { venue } of markets) {
    const { tradesKey } = VENUES[venue]
    if (tradesKey !== undefined && datasets.has('trades')) add(venue, tradesKey)
  }
  // The sort is stable.
  return [...keys.values()].sort((a, b) => compareText(a.venue, b.venue))
}
