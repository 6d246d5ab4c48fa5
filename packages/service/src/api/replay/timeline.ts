import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { BookRun } from '@priorbook/sdk/tape'
import type { MarketState, Store } from '../../store/store.ts'
import { BookLane } from './book-lane.ts'
import { Yielder } from '../../lib/yielder.ts'
import { GapLane, gapsOfKey, type GapEdge } from './gap-lane.ts'
import { LaneHeap } from './lane.ts'
import { MarketLane } from './market-lane.ts'
import type { ReplayOrder } from './request.ts'
import type { RowBudget } from './row-budget.ts'
import { compareText, type ReplayScope, type ReplayStream } from './scope.ts'
import { TradeLane, type TradePlace } from './trade-lane.ts'

/** What comes next in a replay: some rows of one instrument, or one other thing. */
export type TimelineItem =
  | { readonly kind: 'book'; readonly stream: ReplayStream; readonly run: BookRun }
  | { readonly kind: 'trade'; readonly stream: ReplayStream; readonly trade: TradePlace }
  | { readonly kind: 'market'; readonly at: number; readonly state: MarketState }
  | { readonly kind: 'gap'; readonly at: number; readonly gap: Gap }

// Each instrument of a step needs a ladder of the renderer.
const MOST_STREAMS = 16
// Records and gaps are rendered one by one.
const MOST_OTHERS = 64

type AnyLane = BookLane | TradeLane | MarketLane | GapLane

/** Everything of a replay from a time on, merged in the order of `ReplayEvent`. */
export class Timeline {
  private readonly heap = new LaneHeap<AnyLane>()
  private readonly damage: GapLane
  private readonly yielder = new Yielder()
  private readonly opened: (BookLane | TradeLane)[] = []
  private isDamageKnown = false

  constructor(
    store: Store,
    scope: ReplayScope,
    datasets: ReplayOrder['datasets'],
    budget: RowBudget,
    start: number,
  ) {
    const range = { start, end: scope.end }
    const onDamage = (gaps: readonly Gap[]): void => this.addDamage(gaps)
    this.damage = new GapLane(Number.MAX_SAFE_INTEGER, range)
    if (start >= scope.end) return
    for (const stream of scope.streams) {
      if (datasets.has('books')) this.addRows(new BookLane(store, budget, stream, range, onDamage))
      if (datasets.has('trades')) {
        this.addRows(new TradeLane(store, budget, stream, range, onDamage))
      }
    }
    if (datasets.has('markets')) {
      for (const [index, market] of scope.markets.entries()) {
        this.heap.add(new MarketLane(store, market, index, range))
      }
    }
    for (const [index, { venue, key }] of gapKeysOf(scope).entries()) {
      this.heap.add(new GapLane(index, range, gapsOfKey(store, venue, key, range)))
    }
  }

  /** The next items, at most so many rows of books; nothing at the end. */
  async next(mostRows: number): Promise<readonly TimelineItem[]> {
    const items: TimelineItem[] = []
    const streams = new Set<ReplayStream>()
    let rows = 0
    let others = 0
    while (rows < mostRows && others < MOST_OTHERS) {
      const lane = this.heap.first
      if (lane === undefined) break
      if (!lane.isReady) {
        await lane.load()
        this.heap.settle()
        if (this.isDamageKnown) this.heapDamage()
        await this.yielder.yieldIfDue()
        continue
      }
      if (lane instanceof BookLane) {
        const { stream } = lane
        if (streams.size === MOST_STREAMS && !streams.has(stream)) break
        streams.add(stream)
        const run = lane.takeBefore(this.heap.second, mostRows - rows)
        rows += run.to - run.from
        items.push({ kind: 'book', stream, run })
      } else {
        others++
        items.push(takeOther(lane))
      }
      this.heap.settle()
    }
    return items
  }

  /** Gives back what the lanes hold. */
  close(): void {
    for (const lane of this.opened) if (!lane.isDone) lane.close()
  }

  private addRows(lane: BookLane | TradeLane): void {
    if (lane.isDone) return
    this.opened.push(lane)
    this.heap.add(lane)
  }

  private addDamage(gaps: readonly Gap[]): void {
    const wasDone = this.damage.isDone
    this.damage.add(gaps)
    this.isDamageKnown ||= wasDone && !this.damage.isDone
  }

  // While a lane is read the heap must not change: the gaps that it met are put in afterwards.
  private heapDamage(): void {
    this.isDamageKnown = false
    this.heap.add(this.damage)
  }
}

function takeOther(lane: TradeLane | MarketLane | GapLane): TimelineItem {
  if (lane instanceof TradeLane) {
    return { kind: 'trade', stream: lane.stream, trade: lane.take() }
  }
  if (lane instanceof GapLane) {
    const edge: GapEdge = lane.take()
    return { kind: 'gap', ...edge }
  }
  const { at } = lane
  return { kind: 'market', at, state: lane.take() }
}

/** The keys under which something may be missing: by venue its instruments, then its markets, then all of it. */
function gapKeysOf(scope: ReplayScope): readonly { venue: VenueId; key: string }[] {
  const keys = new Map<string, { venue: VenueId; key: string }>()
  const add = (venue: VenueId, key: string): void => {
    const name = `${venue}:${key}`
    if (!keys.has(name)) keys.set(name, { venue, key })
  }
  for (const { instrument } of scope.streams) add(instrument.venue, instrument.key)
  for (const { venue, marketId } of scope.markets) add(venue, marketId)
  for (const { venue } of scope.markets) add(venue, '')
  // A stable sort.
  return [...keys.values()].sort((a, b) => compareText(a.venue, b.venue))
}
