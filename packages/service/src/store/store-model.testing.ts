import {
  canonicalDecimal,
  POW10,
  type Gap,
  type MarketRecord,
  type Sample,
  type Trade,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { Observation } from '@priorbook/sdk/tape'
import type {
  AppendBatch,
  DayCoverage,
  GapQuery,
  InstrumentRef,
  MarketQuery,
  MarketState,
  Order,
  Quarantined,
} from './store.ts'
import type { PlainBook } from './store-script.testing.ts'

/** One observation as text that two sides can be compared by; every price in the venue's ticks. */
export type PlainRow = {
  readonly sequence: number
  readonly received: number
  /** Source time and flags. */
  readonly head: string
  /** Venue number, channel and journal record, which some pages leave out. */
  readonly numbers: string
  /** The changed levels, sorted. */
  readonly changes: string
  readonly changeCount: number
  /** Bids best first, asks best first. */
  readonly book: string
}

/** A trade or a sample as text with its place. */
export type PlainEntry = {
  readonly ordinal: number
  readonly received: number
  readonly text: string
}

/** A page of a walk, by the words of the contract. */
export type PlainQuery = {
  readonly order: Order
  readonly start?: number
  readonly end?: number
  readonly after?: number
  readonly limit: number
  readonly knownAt?: number
}

/** One bucket of interval sampling. */
export type PlainBucket = {
  readonly start: number
  readonly end: number
  readonly sequence: number
  readonly ageMs: number
  readonly observations: number
  readonly changes: number
  readonly partial: boolean
  readonly book: string
}

const DAY = 86_400_000_000

/** The naive store: plain arrays of whole books, filters and loops. What a real one must equal. */
export class ModelStore {
  readonly books = new Map<string, PlainRow[]>()
  readonly trades = new Map<string, PlainEntry[]>()
  readonly samples = new Map<string, PlainEntry[]>()
  readonly markets = new Map<string, MarketState[]>()
  readonly quarantine: Quarantined[] = []
  readonly facts = new Map<string, number>()
  readonly applied = new Map<VenueId, number>()
  private readonly gaps = new Map<string, Gap>()
  private readonly truth: WeakMap<Observation, PlainBook>

  constructor(truth: WeakMap<Observation, PlainBook>) {
    this.truth = truth
  }

  /** Takes over what a batch brings that is new. */
  apply(batch: AppendBatch): void {
    const applied = this.applied.get(batch.venue) ?? 0
    if (batch.position <= applied) return
    const isNew = (row: { journal: number }): boolean => row.journal > applied
    for (const row of (batch.observations ?? []).filter(isNew)) this.addBook(row)
    for (const trade of (batch.trades ?? []).filter(isNew)) this.addTrade(trade)
    for (const sample of (batch.samples ?? []).filter(isNew)) this.addSample(sample)
    for (const { record, received, journal } of (batch.revisions ?? []).filter(isNew)) {
      const list = listOf(this.markets, `${record.venue}:${record.marketId}`)
      if (JSON.stringify(list.at(-1)?.record) === JSON.stringify(record)) continue
      list.push({ record, knownAt: received, revision: list.length + 1, journal })
    }
    for (const gap of (batch.gaps ?? []).filter(isNew)) this.addGap(gap)
    this.quarantine.push(...(batch.quarantine ?? []).filter(isNew))
    for (const [name, value] of Object.entries(batch.facts ?? {})) {
      if (value === null) this.facts.delete(name)
      else this.facts.set(name, value)
    }
    this.applied.set(batch.venue, batch.position)
  }

  addGap(gap: Gap): void {
    this.gaps.set([gap.venue, gap.scope, gap.key, gap.start, gap.reason].join(), gap)
  }

  rows(ref: InstrumentRef): readonly PlainRow[] {
    return this.books.get(nameOf(ref)) ?? []
  }

  tradesOf(ref: InstrumentRef): readonly PlainEntry[] {
    return this.trades.get(nameOf(ref)) ?? []
  }

  samplesOf(ref: InstrumentRef, metric: string): readonly PlainEntry[] {
    return this.samples.get(`${nameOf(ref)}/${metric}`) ?? []
  }

  /** Gaps by start, those that touch [start, end). */
  listGaps(query: GapQuery): Gap[] {
    return [...this.gaps.values()]
      .filter((gap) => query.venue === undefined || gap.venue === query.venue)
      .filter((gap) => query.key === undefined || gap.key === query.key)
      .filter((gap) => query.reason === undefined || gap.reason === query.reason)
      .filter((gap) => query.start === undefined || (gap.end ?? Infinity) > query.start)
      .filter((gap) => query.end === undefined || gap.start < query.end)
      .filter(
        ({ afterSequence }) =>
          query.sequence === undefined ||
          (afterSequence >= query.sequence.from && afterSequence <= query.sequence.to),
      )
      .sort(
        (a, b) =>
          a.start - b.start ||
          a.afterSequence - b.afterSequence ||
          compareText(a.venue, b.venue) ||
          compareText(a.key, b.key),
      )
      .slice(0, query.limit)
  }

  /** The gaps that an instant lies in; the one that starts at a real observation is not among them. */
  gapsAt(ref: InstrumentRef, market: string, at: number): Gap[] {
    const keys = new Set([ref.key, market, ''])
    const seen = this.rows(ref).some((row) => row.received <= at)
    return this.listGaps({ venue: ref.venue })
      .filter((gap) => keys.has(gap.key))
      .filter((gap) => (seen ? gap.start < at : gap.start <= at) && at < (gap.end ?? Infinity))
  }

  /** The last row received at or before a time. */
  rowAt(ref: InstrumentRef, at: number): PlainRow | undefined {
    return this.rows(ref).findLast((row) => row.received <= at)
  }

  /** One row per bucket that has one, ascending, cut to the limit from the page's end. */
  buckets(
    ref: InstrumentRef,
    query: {
      start: number
      end: number
      interval: number
      limit: number
      order: Order
      knownAt?: number
    },
  ): { buckets: PlainBucket[]; hasMore: boolean } {
    const end = Math.min(query.end, (query.knownAt ?? Infinity) + 1)
    const all: PlainBucket[] = []
    for (const row of this.rows(ref)) {
      if (row.received < query.start || row.received >= end) continue
      const start = Math.floor(row.received / query.interval) * query.interval
      const before = all.at(-1)?.start === start ? all.pop() : undefined
      all.push({
        start,
        end: start + query.interval,
        sequence: row.sequence,
        ageMs: (start + query.interval - row.received) / 1000,
        observations: (before?.observations ?? 0) + 1,
        changes: (before?.changes ?? 0) + row.changeCount,
        partial: start < query.start || start + query.interval > end,
        book: row.book,
      })
    }
    const hasMore = all.length > query.limit
    const buckets = query.order === 'asc' ? all.slice(0, query.limit) : all.slice(-query.limit)
    return { buckets, hasMore }
  }

  /** The days of an instrument, counted microsecond span by microsecond span. */
  days(ref: InstrumentRef, market: string): DayCoverage[] {
    const rows = this.rows(ref)
    const first = rows[0]!.received
    const last = rows.at(-1)!.received
    const keys = new Set([ref.key, market, ''])
    const gaps = this.listGaps({ venue: ref.venue }).filter((gap) => keys.has(gap.key))
    const days: DayCoverage[] = []
    for (let day = first - (first % DAY); day <= last; day += DAY) {
      const observations = rows.filter((row) => row.received >= day && row.received < day + DAY)
      const from = Math.max(day, first)
      const to = Math.min(day + DAY, last)
      // Every bound of a gap inside the day splits it; each piece is observed or not.
      const bounds = [from, to, ...gaps.flatMap((gap) => [gap.start, gap.end ?? to])]
        .filter((bound) => bound >= from && bound <= to)
        .sort((a, b) => a - b)
      let gapMicros = 0
      for (const [index, bound] of bounds.entries()) {
        const next = bounds[index + 1] ?? bound
        const missing = gaps.some((gap) => gap.start <= bound && next <= (gap.end ?? Infinity))
        if (missing) gapMicros += next - bound
      }
      const holes = gaps.some(
        (gap) => gap.start < day + DAY && (gap.end === undefined || gap.end > from),
      )
      const observedMicros = Math.max(0, to - from - gapMicros)
      const count = observations.length
      days.push({
        day,
        condition: count === 0 ? 'missing' : holes ? 'degraded' : 'available',
        observations: count,
        observedMicros,
        gapMicros,
        ...(count < 2 ? {} : { meanSpacingMicros: observedMicros / (count - 1) }),
      })
    }
    return days
  }

  /** Every market that matches, in the order of the query; limit and cursor are the caller's. */
  listMarkets(
    query: Omit<MarketQuery, 'limit' | 'after'>,
  ): { record: MarketRecord; sortTime: number }[] {
    const direction = query.order === 'desc' ? -1 : 1
    return [...this.markets.values()]
      .map((list) => {
        const { record } = list.at(-1)!
        return { record, sortTime: list.findLast(hasOpen)?.record.openTime ?? list[0]!.knownAt }
      })
      .filter(({ record, sortTime }) => matchesQuery(record, sortTime, query))
      .sort(
        (a, b) =>
          direction *
          (a.sortTime - b.sortTime ||
            compareText(a.record.venue, b.record.venue) ||
            compareText(a.record.marketId, b.record.marketId)),
      )
  }

  private addBook(row: Observation): void {
    const list = listOf(this.books, nameOf(row.instrument))
    const book = this.truth.get(row)
    if (book === undefined) throw new Error('an observation without its book')
    // The scripts draw prices of up to four decimals.
    const factor = POW10[4 - row.priceDecimals]!
    list.push({
      sequence: list.length + 1,
      received: row.received,
      head: headText(row.source, row.flags),
      numbers: numbersText(row.venueSeq, row.channel, row.journal),
      changes: changesText(
        row.keys.map((key, index) => [scaleKey(key, factor), row.sizes[index]!]),
      ),
      changeCount: row.keys.length,
      book: bookText(book),
    })
  }

  private addTrade(trade: Trade): void {
    const list = listOf(this.trades, nameOf(trade.instrument))
    const { tradeId, price, size, taker, native } = trade
    const said = native === undefined ? undefined : JSON.stringify(native)
    list.push(toEntry(list.length + 1, trade, [tradeId, price, size, taker, said].join(' ')))
  }

  private addSample(sample: Sample): void {
    const list = listOf(this.samples, `${nameOf(sample.instrument)}/${sample.metric}`)
    list.push(toEntry(list.length + 1, sample, canonicalDecimal(sample.value)))
  }
}

/** The rows of a page as the contract defines it, ascending. */
export function pageOf<Row extends { received: number }>(
  all: readonly Row[],
  placeOf: (row: Row) => number,
  query: PlainQuery,
): { rows: Row[]; hasMore: boolean } {
  const matching = all
    .filter((row) => query.start === undefined || row.received >= query.start)
    .filter((row) => query.end === undefined || row.received < query.end)
    .filter((row) => query.knownAt === undefined || row.received <= query.knownAt)
    .filter((row) => {
      if (query.after === undefined) return true
      return query.order === 'asc' ? placeOf(row) > query.after : placeOf(row) < query.after
    })
  const rows = query.order === 'asc' ? matching.slice(0, query.limit) : matching.slice(-query.limit)
  return { rows, hasMore: matching.length > query.limit }
}

/** The whole row as one line. */
export function lineOf(row: PlainRow): string {
  return `#${row.sequence} ${row.received} ${row.head} ${row.numbers} ${row.changes} = ${row.book}`
}

/** Source time and flags of a row. */
export function headText(source: number, flags: number): string {
  return `source ${source} flags ${flags}`
}

/** The numbers that a page can leave out. */
export function numbersText(venueSeq: number, channel: number, journal: number): string {
  return `seq ${venueSeq}/${channel} journal ${journal}`
}

/** Changed levels, by key. */
export function changesText(changes: readonly (readonly [number, number])[]): string {
  return [...changes]
    .sort((a, b) => a[0] - b[0])
    .map(([key, size]) => `${key}>${size}`)
    .join(' ')
}

/** A book, bids best first, asks best first. */
export function bookText(book: PlainBook): string {
  const side = (wanted: number, direction: number): string =>
    [...book]
      .filter(([key]) => (key & 1) === wanted)
      .sort((a, b) => (a[0] - b[0]) * direction)
      .map(([key, size]) => `${key >> 1}:${size}`)
      .join(' ')
  return `${side(0, -1)} | ${side(1, 1)}`
}

/** A trade or sample with everything its head says. */
export function toEntry(
  ordinal: number,
  row: {
    received: number
    source?: number
    venueSeq?: number
    channel?: number
    journal: number
    flags?: number
  },
  value: string,
): PlainEntry {
  const head = headText(row.source ?? -1, row.flags ?? 0)
  const numbers = numbersText(row.venueSeq ?? -1, row.channel ?? -1, row.journal)
  return {
    ordinal,
    received: row.received,
    text: `#${ordinal} ${row.received} ${head} ${numbers} ${value}`,
  }
}

/** A level key in finer ticks. */
export function scaleKey(key: number, factor: number): number {
  return (key >>> 1) * factor * 2 + (key & 1)
}

function hasOpen(state: MarketState): boolean {
  return state.record.openTime !== undefined
}

function matchesQuery(
  record: MarketRecord,
  sortTime: number,
  query: Omit<MarketQuery, 'limit' | 'after'>,
): boolean {
  const is = (wanted: string | undefined, value: string | undefined): boolean =>
    wanted === undefined || wanted === value
  const { marketId, title, question, slug, eventTicker, seriesTicker } = record
  const texts = [marketId, title, question, slug, eventTicker, seriesTicker]
  const wanted = query.text?.toLowerCase()
  return (
    is(query.venue, record.venue) &&
    is(query.series, record.seriesTicker) &&
    is(query.event, record.eventTicker ?? record.eventId ?? record.topicId) &&
    is(query.asset, record.asset) &&
    (query.hasAsset === undefined || (record.asset !== undefined) === query.hasAsset) &&
    is(query.window, record.window) &&
    is(query.status, record.status) &&
    is(query.category?.toLowerCase(), record.category?.toLowerCase()) &&
    (query.tag === undefined || isTagged(record, query.tag.toLowerCase())) &&
    (query.start === undefined || (record.closeTime ?? Infinity) > query.start) &&
    (query.end === undefined || sortTime < query.end) &&
    (wanted === undefined || texts.some((text) => text?.toLowerCase().includes(wanted) === true))
  )
}

function isTagged({ tags = [] }: MarketRecord, tag: string): boolean {
  return tags.some((one) => one.toLowerCase() === tag)
}

function nameOf(ref: InstrumentRef): string {
  return `${ref.venue}:${ref.key}`
}

function listOf<T>(map: Map<string, T[]>, name: string): T[] {
  let list = map.get(name)
  if (list === undefined) map.set(name, (list = []))
  return list
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
