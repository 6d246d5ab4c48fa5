import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { Store } from '../../store/store.ts'
import { isBefore, RANK, type Lane, type Place } from './lane.ts'

// Gaps of one key that are read at once; each lane holds so many at most, and those that are open.
const PAGE = 8

/** An edge of a gap: where it opens it has no end yet, where it closes it has one. */
export type GapEdge = { readonly at: number; readonly gap: Gap }

type Waiting = Place & { readonly gap: Gap }

/** The gaps of one key (an instrument, a market, a whole venue) as what opens and closes. */
export class GapLane implements Lane {
  at: number
  rank: number = RANK.gapClose
  sequence = 0
  readonly index: number
  isReady = false
  isDone = false
  private readonly range: { readonly start: number; readonly end: number }
  private readonly read: ((after: Gap | undefined) => Promise<readonly Gap[]>) | undefined
  private readonly seen = new Set<string>()
  /** Edges that are known, in order; of a gap that is not closed yet the close waits here. */
  private waiting: Waiting[] = []
  private last: Gap | undefined
  private hasMore: boolean

  /** Without `read` the lane holds what is added to it alone. */
  constructor(
    index: number,
    range: { readonly start: number; readonly end: number },
    read?: (after: Gap | undefined) => Promise<readonly Gap[]>,
  ) {
    this.index = index
    this.range = range
    this.read = read
    this.at = range.start
    this.hasMore = read !== undefined
    this.isDone = !this.hasMore
  }

  async load(): Promise<void> {
    const gaps = await this.read!(this.last)
    this.hasMore = gaps.length === PAGE
    this.last = gaps.at(-1)
    for (const gap of gaps) this.place(gap)
    this.look()
  }

  /** Adds gaps that reading brought to light, such as damaged chunks. */
  add(gaps: readonly Gap[]): void {
    for (const gap of gaps) {
      const name = `${gap.scope}/${gap.key}/${gap.start}/${gap.afterSequence}/${gap.reason}`
      if (this.seen.has(name)) continue
      this.seen.add(name)
      this.place(gap)
    }
    this.look()
  }

  take(): GapEdge {
    const { at, gap } = this.waiting.shift()!
    this.look()
    return { at, gap }
  }

  private place(gap: Gap): void {
    const { start, end } = this.range
    const { index } = this
    const finish = gap.end ?? Infinity
    const isEmpty = finish === gap.start
    if (gap.start >= end || finish < start || (finish === start && !isEmpty)) return
    // A gap of no length opens and closes before the rows of its time.
    const rank = isEmpty ? RANK.gapClose : RANK.gapOpen
    const sequence = gap.afterSequence * 2
    // What was open before the range opens where it begins.
    const at = Math.max(gap.start, start)
    this.insert({ at, rank, index, sequence, gap: asOpened(gap) })
    if (finish >= end) return
    this.insert({ at: finish, rank: RANK.gapClose, index, sequence: sequence + 1, gap })
  }

  private insert(edge: Waiting): void {
    let at = this.waiting.length
    while (at > 0 && isBefore(edge, this.waiting[at - 1]!)) at--
    this.waiting.splice(at, 0, edge)
  }

  private look(): void {
    const [first] = this.waiting
    // What was read last opens last: before it nothing unread can open.
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
export function gapsOfKey(
  store: Store,
  venue: VenueId,
  key: string,
  range: { readonly start: number; readonly end: number },
): (after: Gap | undefined) => Promise<readonly Gap[]> {
  // A gap of no length where the range begins counts, hence the microsecond.
  const query = { venue, key, start: range.start - 1, end: range.end, limit: PAGE }
  return (after) => store.gaps({ ...query, ...(after === undefined ? {} : { after }) })
}

// Where a gap opens nobody knows yet when and how it ends.
function asOpened(gap: Gap): Gap {
  if (gap.end === undefined) return gap
  const { end: _end, sourceEnd: _source, endJournal: _journal, detail: _detail, ...open } = gap
  return open
}
