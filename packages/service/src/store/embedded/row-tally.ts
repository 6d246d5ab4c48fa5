import { DAY_MICROS, startOfDay, type Gap, type VenueId } from '@priorbook/sdk/domain'
import { mendBook, moveGaps, type GapBook } from './gap-tally.ts'
import { listGaps, listTouchingGaps } from './gaps.ts'
import { firstReceived, hasSibling, sharesOf } from './recount.ts'
import { STATE, writeState } from './state.ts'
import { listStreamsOfMarket, type Stream } from './streams.ts'
import { addStream, addToDay, facetsOf, sameFacets, type DayDelta, type Facets } from './tally.ts'
import type { View } from './view.ts'

type Touched = {
  /** The received time of the row before the batch, 0 where there is none. */
  readonly before: number
  readonly first: number
  last: number
  /** Rows by day, and the days that have their first row in this batch. */
  readonly days: Map<number, { rows: number; isFirst: boolean }>
}

/** What the rows of one venue, asset and day add in the running batch. */
type DaySum = {
  readonly venue: VenueId
  readonly asset: string
  readonly day: number
  readonly delta: Sum
  isWaiting: boolean
}

// Sums of days past are dropped when there are more than this.
const MAX_SUMS = 1000

/** Counts the rows of appended batches in the sums that the store keeps. */
export class RowTally {
  private readonly view: View
  private touched = new Map<Stream, Touched>()
  private created: { readonly stream: Stream; readonly received: number }[] = []
  /** The numbers of the streams in `created`. */
  private fresh = new Set<number>()
  /** Days of markets that this commit counted; the view does not show its rows yet. */
  private counted = new Set<string>()
  private readonly facets = new WeakMap<Stream, Facets>()
  /** What the running commit found of markets, by venue and market: its gaps and its rows ask for the same. */
  private found = new Map<string, Facets>()
  /** Streams of markets that got another asset or window in this commit. */
  private moves = new Map<Stream, { readonly from: Facets; readonly to: Facets }>()
  /** Moves of commits before this one, whose rows could not be moved yet. */
  private unmoved: RowTally['moves'] = new Map()
  /** Streams without a gap since their last row; all others are looked up. */
  private readonly whole = new WeakSet<Stream>()
  /**
   * Where the next row of a whole stream is counted, as long as it is of the same day as the row before:
   * nearly every row, in a few instructions.
   */
  private readonly accounts = new WeakMap<Stream, DaySum>()
  /** Streams that got their account in this commit, which may fail. */
  private opened: Stream[] = []
  private readonly sums = new Map<string, DaySum>()
  /** Sums with something to write. */
  private waiting: DaySum[] = []

  constructor(view: View) {
    this.view = view
  }

  /** Forgets what a commit that failed, or the one before, had counted. */
  begin(): void {
    this.touched = new Map()
    this.created = []
    this.fresh = new Set()
    this.counted = new Set()
    this.found = new Map()
    this.moves = new Map(this.unmoved)
    for (const stream of this.opened) this.accounts.delete(stream)
    this.opened = []
    for (const sum of this.waiting) settle(sum)
    this.waiting = []
  }

  /** Notes a stream without a row that gets its first one. */
  create(stream: Stream, received: number): void {
    this.created.push({ stream, received })
    this.fresh.add(stream.id)
  }

  /** Notes a row of a book; `before` is the received time of the row before it, 0 where there is none. */
  row(stream: Stream, before: number, received: number): void {
    const sum = this.accounts.get(stream)
    if (sum !== undefined && before >= sum.day && received < sum.day + DAY_MICROS) {
      sum.delta.observations++
      sum.delta.observed += received - before
      if (received > sum.delta.last) sum.delta.last = received
      if (!sum.isWaiting) this.wait(sum)
      return
    }
    let touched = this.touched.get(stream)
    if (touched === undefined) {
      touched = { before, first: received, last: received, days: new Map() }
      this.touched.set(stream, touched)
    }
    touched.last = received
    const day = startOfDay(received)
    const known = touched.days.get(day)
    if (known !== undefined) known.rows++
    else touched.days.set(day, { rows: 1, isFirst: before < day })
  }

  /** Notes that a gap of an instrument will be written, before the rows of its batch are counted. */
  gap(stream: Stream | undefined): void {
    if (stream === undefined) return
    this.whole.delete(stream)
    this.accounts.delete(stream)
  }

  /** What the sums of a gap need to know of its instrument; undefined where that has to be looked up. */
  bookOf({ scope }: Gap, stream: Stream | undefined): GapBook | undefined {
    // A rebuilt stream may be of another market than the one that it replaced.
    if (scope !== 'instrument' || stream?.generation !== 1) return undefined
    const { venue, market } = stream
    return { market, asset: this.findFacets(venue, market).asset }
  }

  /**
   * Runs `change`, which may write a revision of a market. If it names another asset or window, what was
   * counted for the market so far moves there: gaps at once, rows when they are committed.
   */
  revise<T>(venue: VenueId, market: string, change: () => T): T {
    const { database } = this.view
    const from = facetsOf(database, venue, market)
    const result = change()
    const to = facetsOf(database, venue, market)
    this.found.delete(`${venue} ${market}`)
    if (sameFacets(from, to)) return result
    const keys = new Set<string>()
    for (const { id, key } of listStreamsOfMarket(database, { venue, market })) {
      if (this.fresh.has(id)) continue
      keys.add(key).add(market)
      const stream = this.view.streamById(id)
      // Rows of this commit are counted where the earlier ones are, and move with them.
      this.facets.set(stream, this.moves.get(stream)?.from ?? from)
      this.accounts.delete(stream)
      this.moves.set(stream, { from: this.moves.get(stream)?.from ?? from, to })
      writeState(database, STATE.counted, 0)
    }
    for (const key of keys)
      moveGaps(database, listGaps(database, { venue, key }), from.asset, to.asset)
    return result
  }

  /** Moves the rows of markets that got another asset; their commit is visible now. */
  moveCommitted(): void {
    const { moves, view } = this
    this.opened = []
    this.unmoved = moves
    if (moves.size === 0) return
    const { database } = view
    database.write(() => {
      const seen = new Set<string>()
      for (const [stream, { from, to }] of moves) {
        const first = firstReceived(view, stream)
        if (sameFacets(from, to) || first === undefined) continue
        addStream(database, stream, from, first, -1)
        addStream(database, stream, to, first)
        for (const [day, { observations, observed }] of sharesOf(view, stream)) {
          const name = `${stream.venue} ${stream.market} ${day}`
          const instruments = observations > 0 ? 1 : 0
          const markets = seen.has(name) ? 0 : instruments
          if (markets > 0) seen.add(name)
          const last = Math.min(view.lastReceived(stream), day + DAY_MICROS - 1)
          const share = { observations, observed, instruments, markets, last }
          addToDay(database, stream.venue, from.asset, day, negative(share))
          addToDay(database, stream.venue, to.asset, day, share)
        }
      }
      writeState(database, STATE.counted, 1)
    })
    // Until then their rows are counted where the earlier ones are.
    for (const [stream, { to }] of moves) {
      this.facets.set(stream, to)
      this.accounts.delete(stream)
    }
    this.unmoved = new Map()
    this.moves = new Map()
  }

  /** Writes the sums of a batch; its rows, revisions and gaps are in the transaction already. */
  finish(): void {
    const { database } = this.view
    for (const { stream, received } of this.created) {
      addStream(database, stream, this.facetsOf(stream), received)
      if (stream.kind === 'book') mendBook(database, stream, stream.market)
    }
    for (const [stream, touched] of this.touched) this.count(stream, touched)
    for (const sum of this.waiting) {
      addToDay(database, sum.venue, sum.asset, sum.day, sum.delta)
      settle(sum)
    }
    this.waiting = []
    this.touched = new Map()
    this.created = []
    this.fresh = new Set()
  }

  private count(stream: Stream, touched: Touched): void {
    const { asset } = this.facetsOf(stream)
    const observed = this.observedBy(stream, touched)
    for (const day of new Set([...observed.keys(), ...touched.days.keys()])) {
      const sum = this.sumOf(stream.venue, asset, day)
      if (!sum.isWaiting) this.wait(sum)
      const { delta } = sum
      const seen = touched.days.get(day)
      delta.observed += observed.get(day) ?? 0
      if (seen === undefined) continue
      delta.observations += seen.rows
      delta.last = Math.max(delta.last, Math.min(touched.last, day + DAY_MICROS - 1))
      if (!seen.isFirst) continue
      delta.instruments++
      if (this.isFirstOfMarket(stream, day)) delta.markets++
    }
    if (!this.whole.has(stream)) return
    this.accounts.set(stream, this.sumOf(stream.venue, asset, startOfDay(touched.last)))
    this.opened.push(stream)
  }

  private sumOf(venue: VenueId, asset: string, day: number): DaySum {
    const name = `${venue} ${day} ${asset}`
    const known = this.sums.get(name)
    if (known !== undefined) return known
    if (this.sums.size >= MAX_SUMS) this.sums.clear()
    const sum = { venue, asset, day, delta: noSum(), isWaiting: false }
    this.sums.set(name, sum)
    return sum
  }

  private wait(sum: DaySum): void {
    sum.isWaiting = true
    this.waiting.push(sum)
  }

  private facetsOf(stream: Stream): Facets {
    let facets = this.facets.get(stream)
    if (facets === undefined) {
      facets = this.findFacets(stream.venue, stream.market)
      this.facets.set(stream, facets)
    }
    return facets
  }

  private findFacets(venue: VenueId, market: string): Facets {
    const name = `${venue} ${market}`
    let facets = this.found.get(name)
    if (facets === undefined) {
      facets = facetsOf(this.view.database, venue, market)
      this.found.set(name, facets)
    }
    return facets
  }

  private isFirstOfMarket(stream: Stream, day: number): boolean {
    const name = `${stream.venue} ${stream.market} ${day}`
    if (this.counted.has(name)) return false
    this.counted.add(name)
    return !hasSibling(this.view, stream, day)
  }

  // The time from the row before the batch to its last row, without gaps, by day.
  private observedBy(stream: Stream, { before, first, last }: Touched): Map<number, number> {
    const from = before === 0 ? first : before
    const days = new Map<number, number>()
    if (last <= from) return days
    const { venue, key } = stream
    const gaps = this.whole.has(stream)
      ? []
      : listTouchingGaps(this.view.database, { venue, key, start: from, end: last })
    if (gaps.every(({ end }) => end !== undefined)) this.whole.add(stream)
    const add = (start: number, end: number): void => {
      for (let day = startOfDay(start); day < end; day += DAY_MICROS) {
        const micros = Math.min(end, day + DAY_MICROS) - Math.max(start, day)
        if (micros > 0) days.set(day, (days.get(day) ?? 0) + micros)
      }
    }
    let covered = from
    for (const gap of gaps) {
      add(covered, Math.min(Math.max(gap.start, covered), last))
      covered = Math.max(covered, Math.min(gap.end ?? last, last))
    }
    add(covered, last)
    return days
  }
}

type Sum = { -readonly [Name in keyof DayDelta]: number }

function negative({ observations, observed, instruments, markets }: DayDelta): DayDelta {
  return {
    observations: -observations,
    observed: -observed,
    instruments: -instruments,
    markets: -markets,
    last: 0,
  }
}

function settle(sum: DaySum): void {
  Object.assign(sum.delta, noSum())
  sum.isWaiting = false
}

function noSum(): Sum {
  return { markets: 0, instruments: 0, observations: 0, observed: 0, last: 0 }
}
