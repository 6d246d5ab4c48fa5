import type { Gap, VenueId } from '@priorbook/sdk/domain'
import { asOpened, isBefore, touchesSpan, type Lane, type Place } from '../../rows/index.ts'
import type { MarketState, StoreReader } from '../../store/store.ts'
import type { ReplayMarket } from './scope.ts'

/** The order of items received at one time; the same as of `ReplayEvent` in the SDK. */
export const RANK = {
  market: 0,
  gapClose: 1,
  book: 2,
  trade: 3,
  reference: 4,
  gapOpen: 5,
} as const

/** The received times that a replay covers; `end` is exclusive. */
export type ReplayRange = { readonly start: number; readonly end: number }

// Max gaps of a key read from the store at once.
const GAP_PAGE = 8

/** The record of a market: as known at the start of the replay, then each later revision. */
export class MarketLane implements Lane {
  readonly rank = RANK.market
  readonly index: number
  readonly lane = 0
  at: number
  sequence = 0
  isReady = false
  isDone = false
  private readonly store: StoreReader
  private readonly market: ReplayMarket
  private readonly range: ReplayRange
  private next: MarketState | undefined
  private hasStarted = false

  constructor(store: StoreReader, market: ReplayMarket, index: number, range: ReplayRange) {
    this.store = store
    this.market = market
    this.index = index
    this.range = range
    this.at = range.start
  }

  async load(): Promise<void> {
    const { venue, marketId, lastRevision } = this.market
    if (!this.hasStarted) {
      this.hasStarted = true
      this.next = await this.store.market(venue, marketId, this.range.start)
    }
    if (this.next === undefined && this.sequence < lastRevision) {
      const page = { after: this.sequence, limit: 1 }
      this.next = (await this.store.revisions(venue, marketId, page))[0]
    }
    const { next } = this
    if (next === undefined || next.revision > lastRevision) {
      this.isDone = true
      return
    }
    this.isReady = true
    this.sequence = next.revision
    // The recorder's clock may have stepped back between two revisions; their order stays.
    this.at = Math.max(this.at, next.knownAt)
    this.isDone = this.at >= this.range.end
  }

  shift(): MarketState {
    const shifted = this.next!
    this.next = undefined
    this.isReady = false
    this.isDone = this.sequence >= this.market.lastRevision
    return shifted
  }
}

/** Where a gap opens or closes; an opening gap has no end yet. */
export type GapEdge = { readonly at: number; readonly gap: Gap }

type Waiting = Place & { readonly gap: Gap }

/** The gaps of one key (an instrument, a market or a whole venue) as edges that open and close. */
export class GapEdgeLane implements Lane {
  at: number
  rank: number = RANK.gapClose
  sequence = 0
  readonly index: number
  readonly lane = 0
  isReady = false
  isDone = false
  private readonly range: ReplayRange
  private readonly read: ((after: Gap | undefined) => Promise<readonly Gap[]>) | undefined
  private readonly isSent: ((gap: Gap) => boolean) | undefined
  /** Known edges in order; the closing edge of an open gap waits here. */
  private readonly waiting: Waiting[] = []
  private last: Gap | undefined
  private hasMore: boolean

  /** Takes the gaps themselves, or a function that reads the gaps after one; those sent already are skipped. */
  constructor(
    index: number,
    range: ReplayRange,
    gaps: readonly Gap[] | ((after: Gap | undefined) => Promise<readonly Gap[]>),
    isSent?: (gap: Gap) => boolean,
  ) {
    this.isSent = isSent
    this.index = index
    this.range = range
    this.at = range.start
    this.hasMore = typeof gaps === 'function'
    if (typeof gaps === 'function') this.read = gaps
    else {
      for (const gap of gaps) this.place(gap)
      this.advance()
    }
  }

  async load(): Promise<void> {
    const gaps = await this.read!(this.last)
    this.hasMore = gaps.length === GAP_PAGE
    this.last = gaps.at(-1)
    for (const gap of gaps) this.place(gap)
    this.advance()
  }

  shift(): GapEdge {
    const { at, gap } = this.waiting.shift()!
    this.advance()
    return { at, gap }
  }

  private place(gap: Gap): void {
    const { range, index, lane } = this
    if (!touchesSpan(gap, range) || this.isSent?.(gap) === true) return
    // A gap without length opens and closes before the rows of its time.
    const rank = gap.end === gap.start ? RANK.gapClose : RANK.gapOpen
    const sequence = gap.afterSequence * 2
    // A gap that was open before the range opens at its start.
    const at = Math.max(gap.start, range.start)
    this.insert({ at, rank, index, sequence, lane, gap: asOpened(gap) })
    if (gap.end === undefined || gap.end >= range.end) return
    const close = { at: gap.end, rank: RANK.gapClose, sequence: sequence + 1 }
    this.insert({ ...close, index, lane, gap })
  }

  private insert(edge: Waiting): void {
    let at = this.waiting.length
    while (at > 0 && isBefore(edge, this.waiting[at - 1]!)) at--
    this.waiting.splice(at, 0, edge)
  }

  private advance(): void {
    const [first] = this.waiting
    // Gaps are read by their start: unread ones open at or after the last one read.
    this.isReady = first !== undefined && (!this.hasMore || first.at <= this.last!.start)
    this.isDone = first === undefined && !this.hasMore
    if (this.isReady) {
      this.at = first!.at
      this.rank = first!.rank
      this.sequence = first!.sequence
    } else {
      this.at = Math.max(this.range.start, this.last?.start ?? 0)
      this.rank = RANK.gapClose
      this.sequence = 0
    }
  }
}

/** Reads the gaps of a key that touch a range, page by page. */
export function readGapsOf(
  store: StoreReader,
  venue: VenueId,
  key: string,
  range: ReplayRange,
): (after: Gap | undefined) => Promise<readonly Gap[]> {
  // One microsecond earlier, to include a gap without length at the start of the range.
  const query = { venue, key, start: range.start - 1, end: range.end, limit: GAP_PAGE }
  return (after) => store.gaps({ ...query, after })
}
