import { NET_ONE } from '@priorbook/sdk/backtest'
import { DAY_MICROS, POW10, startOfDay, toMicros, VENUES, type Gap } from '@priorbook/sdk/domain'
import { applyRow, applyRows, Ladder, loadBase, type BookColumns } from '@priorbook/sdk/tape'
import { Yielder } from '../../lib/yielder.ts'
import { BookLane, Merge, removedSince } from '../../rows/index.ts'
import type { MarketState } from '../../store/store.ts'
import { ladderOf } from '../markets/quote.ts'
import type { ApiContext } from '../route.ts'
import { darkSpans, gapsOfBook, type DarkSpan } from './dark-spans.ts'
import type { ContractMember } from './find.ts'
import { memberInstruments, recordAt, toYes, type MemberInstrument } from './member-book.ts'
import { feesOf, type MemberFees } from './net-book.ts'

/** The span to search, and the least edge in units of 10^−12. */
export type SpreadQuery = {
  readonly start: number
  readonly end: number
  readonly minEdge: number
  /** Before this the plan includes nothing. */
  readonly window: number
  readonly signal: AbortSignal
  /** Called with every span that has ended; the search stops where it gives true. */
  onEpisode(episode: Episode, earliestOpen: number): boolean
}

/** The books of both members at one moment, by the sequences of their rows. */
export type EpisodeRows = { readonly yes: number; readonly no: number }

/** A span in which Yes at one member and No at another cost less than 1 after fees. */
export type Episode = {
  /** The places of the members. */
  readonly yes: number
  readonly no: number
  readonly start: number
  readonly end: number
  readonly endedBy: 'edge' | 'gap' | 'range'
  readonly best: {
    readonly edge: number
    readonly at: number
    /** In ticks of the venues: the price of Yes at one, of No at the other. */
    readonly yesPrice: number
    readonly noPrice: number
    readonly yesNet: number
    readonly noNet: number
    /** In hundred-millionths of a share. */
    readonly size: number
    readonly rows: EpisodeRows
  }
  readonly startRows: EpisodeRows
  readonly endRows: EpisodeRows | undefined
}

/** A member whose book is followed. */
export type FollowedMember = MemberInstrument & { readonly place: number }

const PAGE_ROWS = 1024

/**
 * Follows the books of all members through time and reports every span with an edge. Books are known from
 * their rows on; inside a gap a book is not known, and a span ends where the gap begins.
 */
export async function findSpreads(
  context: ApiContext,
  members: readonly ContractMember[],
  query: SpreadQuery,
): Promise<readonly FollowedMember[]> {
  const chosen = await memberInstruments(context, members)
  const followed = chosen.map((one, place) => ({ ...one, place }))
  const books: FollowedBook[] = []
  for (const one of followed) {
    const book = await openBook(context, one, query)
    if (book !== undefined) books.push(book)
  }
  const search = new SpreadSearch(books, query)
  await search.run()
  return followed
}

/** Fees from a time on. */
type DatedFees = { readonly from: number; readonly fees: MemberFees | undefined }

class FollowedBook {
  readonly place: number
  readonly one: FollowedMember
  readonly lane: BookLane
  readonly dated: readonly DatedFees[]
  readonly ladder: Ladder
  columns: BookColumns | undefined
  sequence: number
  spans: DarkSpan[]
  isDark: boolean
  /** The place of the fees of now in `dated`. */
  feeAt = 0
  /** The best prices of Yes in ticks of the venue; 0 and `one` where a side is empty. */
  bid = 0
  ask = 0
  readonly #factor: Map<number, number> = new Map()

  constructor(
    one: FollowedMember,
    lane: BookLane,
    begin: { readonly ladder: Ladder; readonly sequence: number },
    dated: readonly DatedFees[],
  ) {
    this.one = one
    this.place = one.place
    this.lane = lane
    this.ladder = begin.ladder
    this.sequence = begin.sequence
    this.dated = dated
    this.spans = []
    this.isDark = false
    this.readTop()
  }

  get venue() {
    return this.one.member.state.record.venue
  }

  /** The fees of now; undefined where they are not known. */
  get fees(): MemberFees | undefined {
    return this.dated[this.feeAt]?.fees
  }

  /** The number of ticks of the venue in 1. */
  get oneTicks(): number {
    return POW10[VENUES[this.venue].priceDecimals]!
  }

  /** Applies one row. True where a best price changed. */
  apply(columns: BookColumns, row: number, sequence: number): boolean {
    if (columns === this.columns) applyRow(this.ladder, columns, row)
    else {
      loadBase(this.ladder, columns)
      applyRows(this.ladder, columns, 0, row + 1)
      this.columns = columns
    }
    this.sequence = sequence
    const { bid, ask } = this
    this.readTop()
    return bid !== this.bid || ask !== this.ask
  }

  readTop(): void {
    const { decimals, one, bestBid, bestAsk } = this.ladder
    let factor = this.#factor.get(decimals)
    if (factor === undefined) {
      factor = POW10[VENUES[this.venue].priceDecimals - decimals]!
      this.#factor.set(decimals, factor)
    }
    this.bid = (this.one.isComplement ? one - bestAsk : bestBid) * factor
    this.ask = (this.one.isComplement ? one - bestBid : bestAsk) * factor
  }

  /** What one share of Yes costs after the fee; Infinity where it cannot be bought. */
  yesNet(): number {
    const { fees } = this
    if (this.isDark || fees === undefined || this.ask >= this.oneTicks) return Infinity
    return fees.net.buy(this.ask)
  }

  /** What one share of No costs after the fee: who buys it takes the bids of Yes. */
  noNet(): number {
    const { fees } = this
    if (this.isDark || fees === undefined || this.bid <= 0) return Infinity
    return fees.net.buy(this.oneTicks - this.bid)
  }
}

async function openBook(
  context: ApiContext,
  one: FollowedMember,
  { start, end, window }: SpreadQuery,
): Promise<FollowedBook | undefined> {
  const { instrument } = one
  if (instrument === undefined) return undefined
  const { venue, key } = instrument
  const { store } = context
  const damage: Gap[] = []
  let book: FollowedBook | undefined
  const onDamage = (gaps: readonly Gap[]): void => {
    damage.push(...gaps)
    if (book !== undefined) book.spans = darkSpans([...book.spans, ...gaps])
  }
  // What was received at the start is in the book of the start.
  const range = { venue, key, order: 'asc', start: start + 1, end, pageRows: PAGE_ROWS } as const
  const lane = new BookLane(store, range, {
    lane: one.place,
    onDamage,
    // Retention may remove rows that the lane has not read yet; its gap is then newer than those read below.
    // It ends with the last removed row, but the book is not known before the next one.
    findRemoved: async ({ last, next }) => {
      const gaps = await store.gaps({ venue, key, reason: 'retention', start, end })
      const removed = removedSince(gaps, last?.received ?? start, next)
      return removed.map((gap) => ({ ...gap, end: toMicros(next ?? end) }))
    },
  })
  const { run: first } = await store.asOf({ venue, key, at: start })
  const isIncluded = first !== undefined && first.columns.received[first.to - 1]! >= window
  const run = isIncluded ? first : undefined
  const ladder = run === undefined ? new Ladder() : ladderOf(run)
  const sequence = run === undefined ? 0 : run.firstSequence + run.to - 1
  book = new FollowedBook(one, lane, { ladder, sequence }, await readFees(context, one, start, end))
  book.spans = darkSpans([...(await gapsOfBook(context, instrument, { start, end })), ...damage])
  return book
}

// Published fees change at the start of a UTC day; those of a record with a new version of it.
async function readFees(
  context: ApiContext,
  { member }: FollowedMember,
  start: number,
  end: number,
): Promise<readonly DatedFees[]> {
  const dated: DatedFees[] = []
  let record = await recordAt(context, member, start)
  const add = (from: number): void => {
    const fees = feesOf(record, from)
    dated.push({ from, fees: 'reason' in fees ? undefined : fees })
  }
  let day = startOfDay(start) + DAY_MICROS
  const addDaysUntil = (to: number): void => {
    for (; day < to; day += DAY_MICROS) add(day)
  }
  add(start)
  for await (const version of versionsBetween(context, member, start, end)) {
    addDaysUntil(version.knownAt)
    record = version.record
    add(version.knownAt)
  }
  addDaysUntil(end)
  return dated
}

const VERSIONS = 200

/** The versions of a record that became known after a time and before another. */
async function* versionsBetween(
  { store }: ApiContext,
  { state }: ContractMember,
  start: number,
  end: number,
): AsyncGenerator<MarketState> {
  const { venue, marketId } = state.record
  let after = (await store.market(venue, marketId, start))?.revision ?? 0
  for (;;) {
    const versions = await store.revisions(venue, marketId, { after, limit: VERSIONS })
    for (const version of versions) {
      if (version.knownAt >= end) return
      if (version.knownAt > start) yield version
    }
    if (versions.length < VERSIONS) return
    after = versions.at(-1)!.revision
  }
}

/** A span that has begun and not ended. */
type OpenEpisode = Pick<Episode, 'yes' | 'no' | 'start' | 'startRows'> & { best: Episode['best'] }

class SpreadSearch {
  readonly #books: readonly FollowedBook[]
  readonly #query: SpreadQuery
  readonly #open = new Map<number, OpenEpisode>()
  /** The books that changed at the time of the last row, which more rows may have. */
  readonly #changed = new Set<FollowedBook>()
  #at: number
  #isStopped = false

  constructor(books: readonly FollowedBook[], query: SpreadQuery) {
    this.#books = books
    this.#query = query
    this.#at = query.start
  }

  async run(): Promise<void> {
    const { start, end, signal } = this.#query
    const byPlace = new Map(this.#books.map((book) => [book.place, book]))
    const merge = new Merge(this.#books.map(({ lane }) => lane))
    const yielder = new Yielder()
    for (const book of this.#books) this.#enterDark(book, start)
    for (const book of this.#books) this.#compare(book, start, 'edge')
    while (!this.#isStopped) {
      signal.throwIfAborted()
      const lane = merge.ready ?? (await merge.next())
      if (lane === undefined) break
      const part = lane.shiftBefore(merge.second, PAGE_ROWS)
      const book = byPlace.get(part.lane)!
      for (let row = part.from; row < part.to && !this.#isStopped; row++) {
        const at = part.columns.received[row]!
        if (at !== this.#at) {
          this.#settle()
          this.#at = at
        }
        this.#advance(at)
        const isNew = book.apply(part.columns, row, part.firstSequence + row)
        if (isNew && !book.isDark) this.#changed.add(book)
      }
      merge.settle()
      await yielder.yieldIfDue()
    }
    this.#settle()
    if (this.#isStopped) return
    this.#advance(end)
    for (const [pair, episode] of this.#open) this.#end(pair, episode, end, 'range')
  }

  // Compares after the last row of a time: what is between two rows of one microsecond did not last.
  #settle(): void {
    for (const book of this.#changed) if (!book.isDark) this.#compare(book, this.#at, 'edge')
    this.#changed.clear()
  }

  // Gaps begin and end, and fees change, after all rows of their time and before the next row.
  #advance(to: number): void {
    for (;;) {
      let next: { book: FollowedBook; at: number } | undefined
      for (const book of this.#books) {
        const at = nextChange(book)
        if (at < to && (next === undefined || at < next.at)) next = { book, at }
      }
      if (next === undefined) return
      this.#change(next.book, next.at)
    }
  }

  #change(book: FollowedBook, at: number): void {
    const span = book.spans[0]
    if (span !== undefined && (book.isDark ? span.end : span.start) === at) {
      if (book.isDark) {
        book.isDark = false
        book.spans.shift()
        this.#compare(book, at, 'edge')
      } else {
        book.isDark = true
        this.#compare(book, at, 'gap')
      }
      return
    }
    book.feeAt++
    this.#compare(book, at, 'edge')
  }

  // At the start of a gap the last good book is still known, at its end the next one is.
  #enterDark(book: FollowedBook, at: number): void {
    book.spans = book.spans.filter(({ end }) => end > at)
    book.isDark = (book.spans[0]?.start ?? Infinity) < at
  }

  #compare(book: FollowedBook, at: number, why: 'edge' | 'gap'): void {
    for (const other of this.#books) {
      if (other === book) continue
      this.#comparePair(book, other, at, why)
      this.#comparePair(other, book, at, why)
    }
  }

  #comparePair(yes: FollowedBook, no: FollowedBook, at: number, why: 'edge' | 'gap'): void {
    const pair = yes.place * 1000 + no.place
    const yesNet = yes.yesNet()
    const noNet = no.noNet()
    const edge = NET_ONE - yesNet - noNet
    const open = this.#open.get(pair)
    if (!(edge > this.#query.minEdge)) {
      if (open !== undefined) this.#end(pair, open, at, why)
      return
    }
    if (open !== undefined && edge <= open.best.edge) return
    const rows = { yes: yes.sequence, no: no.sequence }
    const best = {
      edge,
      at,
      yesPrice: yes.ask,
      noPrice: no.oneTicks - no.bid,
      yesNet,
      noNet,
      size: fillable(yes, no, this.#query.minEdge),
      rows,
    }
    if (open === undefined) {
      this.#open.set(pair, { yes: yes.place, no: no.place, start: at, startRows: rows, best })
    } else open.best = best
  }

  #end(pair: number, open: OpenEpisode, at: number, endedBy: Episode['endedBy']): void {
    this.#open.delete(pair)
    if (at <= open.start) return
    const { yes, no } = open
    const sequenceOf = (place: number): number =>
      this.#books.find((book) => book.place === place)!.sequence
    const endRows = endedBy === 'edge' ? { yes: sequenceOf(yes), no: sequenceOf(no) } : undefined
    const earliest = Math.min(Infinity, ...[...this.#open.values()].map(({ start }) => start))
    const episode = { ...open, end: at, endedBy, endRows }
    if (this.#query.onEpisode(episode, Math.min(earliest, at))) this.#isStopped = true
  }
}

function nextChange({ spans: [span], isDark, dated, feeAt }: FollowedBook): number {
  const gap = span === undefined ? Infinity : isDark ? span.end : span.start
  return Math.min(gap, dated[feeAt + 1]?.from ?? Infinity)
}

// Shares of each outcome that can be bought while both together cost less than 1.
function fillable(yes: FollowedBook, no: FollowedBook, minEdge: number): number {
  const yesNet = yes.fees!.net
  const noNet = no.fees!.net
  const { asks } = toYes(yes.ladder, yes.venue, yes.one.isComplement)
  const { bids } = toYes(no.ladder, no.venue, no.one.isComplement)
  let total = 0
  let [a, b] = [0, 0]
  const yesSize = (): number =>
    a < asks.price.length ? yesNet.delivered(asks.price[a]!, asks.size[a]!) : 0
  const noSize = (): number =>
    b < bids.price.length ? noNet.delivered(no.oneTicks - bids.price[b]!, bids.size[b]!) : 0
  let [leftYes, leftNo] = [yesSize(), noSize()]
  while (a < asks.price.length && b < bids.price.length) {
    const cost = yesNet.buy(asks.price[a]!) + noNet.buy(no.oneTicks - bids.price[b]!)
    if (NET_ONE - cost <= minEdge) break
    const size = Math.min(leftYes, leftNo)
    total += size
    leftYes -= size
    leftNo -= size
    if (leftYes === 0) {
      a++
      leftYes = yesSize()
    }
    if (leftNo === 0) {
      b++
      leftNo = noSize()
    }
  }
  return total
}
