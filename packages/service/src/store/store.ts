import {
  fromBackfillKey,
  isBackfillKey,
  toBackfillKey,
  toMicros,
  type ErrorCode,
  type Gap,
  type GapReason,
  type Instrument,
  type MarketEvent,
  type MarketRecord,
  type MarketRevision,
  type MarketStatus,
  type Micros,
  type Origin,
  type Sample,
  type Trade,
  type VenueId,
  type Violation,
} from '@priorbook/sdk/domain'
import type {
  BookPick,
  BookRun,
  Chunk,
  ChunkKind,
  Observation,
  SampleColumns,
  TradeColumns,
} from '@priorbook/sdk/tape'
import type { ParityCounts } from './parity-checks.ts'

/** The fact that marks a merged tape; its value is the number of recorders it was merged from. */
export const MERGED_FACT = 'merged_recorders'

/** The name of the fact that says when a recorder first ran for a venue. */
export function captureFact(venue: VenueId): string {
  return `capture_started:${venue}`
}

/**
 * The names of the facts about a feed of trades apart from the books: when it was first and last read, and
 * up to which time of the venue.
 */
export function feedFacts(venue: VenueId): {
  readonly started: string
  readonly received: string
  readonly source: string
} {
  const name = `feed:${venue}`
  return { started: `${name}:started`, received: `${name}:received`, source: `${name}:source` }
}

/** The names of the facts that say how far a backfill of a family has come. */
export function backfillFacts(
  venue: VenueId,
  family: string,
): { readonly from: string; readonly reached: string; readonly topic: string } {
  const name = `backfill:${venue}:${family}`
  return { from: `${name}:from`, reached: `${name}:reached`, topic: `${name}:topic` }
}

/** From when to when all that a venue has of a family was requested; undefined where it was not. */
export async function backfilledSpan(
  store: Pick<StoreReader, 'fact'>,
  venue: VenueId,
  family: string,
): Promise<{ readonly from: Micros; readonly to: Micros } | undefined> {
  const names = backfillFacts(venue, family)
  const [from, to] = [await store.fact(names.from), await store.fact(names.reached)]
  if (from === undefined || to === undefined) return undefined
  return { from: toMicros(from), to: toMicros(to) }
}

/** The family of the past trades of a market. */
export function tradesFamily(marketId: string): string {
  return `trades:${marketId}`
}

/** The family of the price history of a market. */
export function pricesFamily(marketId: string): string {
  return `prices:${marketId}`
}

/** In place of a market's id, the name under which gaps of its price history lie. */
export function pricesGapKey(marketId: string): string {
  return `prices/${marketId}`
}

/** The id of the market, or the key of the instrument, that a key of a history names; other keys as they are. */
export function fromHistoryKey(key: string): string {
  if (!isBackfillKey(key)) return key
  const own = fromBackfillKey(key)
  const prefix = pricesGapKey('')
  return own.startsWith(prefix) ? own.slice(prefix.length) : own
}

/** The keys under which rows and gaps of the history of a market lie. */
export function historyKeysOf({
  marketId,
  outcomes,
}: Pick<MarketRecord, 'marketId' | 'outcomes'>): string[] {
  const tokens = outcomes.flatMap(({ tokenId }) => tokenId ?? [])
  return [marketId, pricesGapKey(marketId), ...tokens].map(toBackfillKey)
}

/** The name of the fact that says when the newest trade from a venue's history happened. */
export function newestPastTrade(venue: VenueId): string {
  return `backfill:${venue}:newest_trade`
}

/** The names of the facts that say how many markets of a venue retention removed, and which. */
export const REMOVED_MARKETS = {
  count: (venue: VenueId): string => `markets_removed:${venue}`,
  /** All of them ended before this time. */
  before: (venue: VenueId): string => `markets_removed_before:${venue}`,
} as const

/** A message that could not be used, with the reason and its raw bytes. */
export type Quarantined = {
  readonly venue: VenueId
  /** The instrument key if it could be parsed, else empty. */
  readonly key: string
  readonly journal: number
  readonly received: number
  readonly code: ErrorCode | Violation
  readonly detail: string
  readonly raw: Uint8Array
}

/** Which quarantined messages to list; oldest first where no order is given. */
export type QuarantinePage = {
  readonly venue?: VenueId | undefined
  readonly after?: number | undefined
  readonly order?: Order | undefined
  readonly limit: number
}

/** A message after which the books of a market contradict each other, or are off the market's ticks. */
export type ParityNote = {
  readonly venue: VenueId
  readonly marketId: string
  readonly received: number
  readonly journal: number
  readonly check: 'sum_off' | 'complement_crossed' | 'off_tick'
}

/** How often checks failed in the books of a market on a UTC day. */
export type ParityDay = Readonly<ParityCounts> & {
  /** The start of the day. */
  readonly day: number
  readonly venue: VenueId
  readonly marketId: string
}

/** Which days of which markets to list; those without a failed check are left out. */
export type ParityQuery = {
  readonly venue?: VenueId | undefined
  readonly marketId?: string | undefined
  /** Days in [from, to). */
  readonly from: number
  readonly to: number
  readonly order: Order
  readonly after?: Pick<ParityDay, 'day' | 'venue' | 'marketId'> | undefined
  readonly limit: number
}

/** Rows derived from one journal up to `position`; durable together or not at all. */
export type AppendBatch = {
  readonly venue: VenueId
  /** The last journal record that this batch covers; rows at or before the applied one are ignored. */
  readonly position: number
  readonly origin: Origin
  readonly recorder: string
  readonly normalizer: number
  readonly observations?: readonly Observation[]
  readonly trades?: readonly Trade[]
  readonly samples?: readonly Sample[]
  readonly revisions?: readonly MarketRevision[]
  readonly gaps?: readonly Gap[]
  readonly quarantine?: readonly Quarantined[]
  readonly parity?: readonly ParityNote[]
  /**
   * Named numbers of the recorder, such as which file was imported up to which journal record; null removes
   * one.
   */
  readonly facts?: Readonly<Record<string, number | null>>
}

/** Names one ladder stream. */
export type InstrumentRef = { readonly venue: VenueId; readonly key: string }

/** The first and the last row of a stream that are left; where none is, the last has the smaller sequence. */
export type RowExtent = {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly firstReceived: number
  readonly lastReceived: number
}

/**
 * What is stored of one instrument. Where retention removed every row, the first sequence is the one
 * after the last.
 */
export type InstrumentFacts = RowExtent & {
  readonly instrument: Instrument
  /** SHA-256 of the newest sealed chunk, which covers all before it; absent while none is sealed. */
  readonly head?: string
}

/** What is stored of one series of samples. */
export type SeriesFacts = RowExtent & {
  readonly instrument: Instrument
  readonly metric: string
}

/** The order of rows in a page, by (received time, sequence). */
export type Order = 'asc' | 'desc'

/** A page of rows of one instrument. */
export type RowQuery = InstrumentRef & {
  readonly order: Order
  /** Inclusive received time. */
  readonly start?: number | undefined
  /** Exclusive received time. */
  readonly end?: number | undefined
  /** The position of a walk: only rows after it in the page's order. */
  readonly after?: number | undefined
  readonly limit: number
  /** What was known at that time; later generations of the stream are ignored. */
  readonly knownAt?: number | undefined
}

/** A page of observations. */
export type BookQuery = RowQuery & {
  /** Also read venue numbers and journal places; pages with `native` need them. */
  readonly numbers?: boolean | undefined
  /** False leaves `BookRun.chunk` undefined: to hash a chunk takes time. True by default. */
  readonly hashes?: boolean | undefined
  /** False leaves out levels: the runs then have times, flags and numbers only. True by default. */
  readonly levels?: boolean | undefined
}

/** Runs in ascending order whatever the page's order; a reader of `desc` emits them backwards. */
export type BookPage = {
  readonly runs: readonly BookRun[]
  readonly count: number
  readonly hasMore: boolean
  /** Spans of the page that are damaged on disk and left out. */
  readonly corrupt: readonly Gap[]
}

/** The book at one instant: a run of one row, or why there is none. */
export type AsOf = {
  readonly run?: BookRun
  /** The gap that `at` lies in; then there is no run. */
  readonly gap?: Gap
  /** The sequence and received time of the last row before a gap. */
  readonly lastBefore?: { readonly sequence: number; readonly received: number }
}

/** Interval sampling of one instrument. */
export type SampleQuery = InstrumentRef & {
  readonly start: number
  readonly end: number
  readonly interval: number
  readonly limit: number
  readonly order: Order
  readonly knownAt?: number | undefined
  /** Max levels per side of a book; all by default. */
  readonly depth?: number | undefined
}

/** One row per non-empty bucket, ascending. */
export type SamplePage = {
  readonly picks: readonly BookPick[]
  readonly hasMore: boolean
  readonly corrupt: readonly Gap[]
}

/** Trades or samples in ascending order with the ordinal of each. */
export type RowPage<Columns> = {
  readonly rows: Columns
  readonly ordinals: readonly number[]
  readonly hasMore: boolean
  readonly corrupt: readonly Gap[]
}

/** A market as known at one time. */
export type MarketState = {
  readonly record: MarketRecord
  /** The received time of the revision, and its number within the market. */
  readonly knownAt: number
  readonly revision: number
  readonly journal: number
}

/** Catalogue filters; a market matches a time range when [open, close) meets it. */
export type MarketQuery = {
  readonly venue?: VenueId | undefined
  readonly series?: string | undefined
  readonly event?: string | undefined
  readonly asset?: string | undefined
  /** Only markets whose asset is known, or only those whose asset is not. */
  readonly hasAsset?: boolean | undefined
  readonly window?: string | undefined
  readonly status?: MarketStatus | undefined
  /** The venue's heading, and one of its labels; whatever the case of their letters. */
  readonly category?: string | undefined
  readonly tag?: string | undefined
  /**
   * Words or "phrases", all of which are in identifiers, titles or slug, or name the asset or window, in any order,
   * whatever the case of their letters.
   */
  readonly text?: string | undefined
  /** False for assets whose markets are left out; markets of an unknown asset are not asked about. */
  readonly includes?: ((venue: VenueId, asset: string) => boolean) | undefined
  /**
   * Chooses from all markets of the page those that are returned: the records of others are not read, which takes
   * most of the time of a list. May be called again for the same page.
   */
  readonly choose?: ((listed: readonly ListedFacts[]) => readonly ListedFacts[]) | undefined
  readonly start?: number | undefined
  readonly end?: number | undefined
  readonly after?:
    | {
        readonly openTime: number
        readonly venue: string
        readonly marketId: string
        /** The value that the list is sorted by, where that is not the open time; null for none. */
        readonly value?: number | null | undefined
      }
    | undefined
  readonly limit: number
  /** What the list is sorted by; open_time where it is absent. Markets without a value come last. */
  readonly sort?: 'open_time' | 'close_time' | 'volume' | 'liquidity' | undefined
  readonly order?: Order | undefined
}

/** What a list knows of a market without its record. */
export type ListedFacts = {
  readonly venue: VenueId
  readonly marketId: string
  readonly asset: string | undefined
  readonly series: string | undefined
  /** Its titles and names, in lower case. */
  readonly text: string
  /** The open time; where the record has none, that of its first revision. */
  readonly sortTime: number
  /** The value that the list is sorted by; null where the market has none. */
  readonly sortValue: number | null
}

/** Markets by (value, venue, id). A market never seen open counts from its first revision. */
export type MarketPage = {
  readonly markets: readonly (MarketState & {
    readonly sortTime: number
    /** The value that the list is sorted by; null where the market has none. */
    readonly sortValue: number | null
  })[]
  readonly hasMore: boolean
  /** Where a search for text paused before the page was full; the next one goes on after it. */
  readonly reached?: NonNullable<MarketQuery['after']>
  /** Words of a search that no market has, and the words that were looked for in their place. */
  readonly corrections?: readonly SearchCorrection[]
}

/** A word that was mistyped, and what it may mean. */
export type SearchCorrection = { readonly word: string; readonly meant: readonly string[] }

/** An event of a venue: what its markets share, and what they add up to. */
export type StoredEvent = Omit<MarketEvent, 'outcome'> & {
  readonly venue: VenueId
  readonly eventId: string
  readonly category?: string
  readonly tags?: readonly string[]
  readonly series?: string
  /** The asset of all its markets; absent where they have none, or several. */
  readonly asset?: string
  readonly markets: number
  readonly openMarkets: number
  readonly firstOpen: number
  /** The last close time of its markets; absent where one has none. */
  readonly lastClose?: number
}

/** Filters of events; an event matches a time range when [first open, last close) meets it. */
export type EventQuery = Pick<
  MarketQuery,
  'venue' | 'series' | 'category' | 'tag' | 'includes' | 'start' | 'end' | 'limit' | 'order'
> & {
  /** Words or "phrases", all of which are in the title, the slug or an identifier of the event. */
  readonly text?: string | undefined
  /** Only events with an open market. */
  readonly isOpen?: boolean | undefined
  readonly sort?: 'open_time' | 'close_time' | undefined
  readonly after?: EventPlace | undefined
}

/** A position in a list of events; `value` is what the list is sorted by, null for none. */
export type EventPlace = {
  readonly value: number | null
  readonly venue: string
  readonly eventId: string
}

/** Events by (value, venue, id); those without a close time come last in a list by it. */
export type EventPage = {
  readonly events: readonly (StoredEvent & { readonly sortValue: number | null })[]
  readonly hasMore: boolean
  /** Where a search paused before the page was full; the next one goes on after it. */
  readonly reached?: EventPlace
  readonly corrections?: readonly SearchCorrection[]
}

/** How many markets and events a venue has under a heading, for one asset; empty where it is unknown. */
export type CategoryTotals = {
  readonly venue: VenueId
  readonly category: string
  readonly asset: string
  readonly markets: number
  readonly openMarkets: number
  readonly events: number
  readonly openEvents: number
}

/** Which gaps to list. */
export type GapQuery = {
  readonly venue?: VenueId | undefined
  readonly key?: string | undefined
  readonly reason?: GapReason | undefined
  /** Only gaps that have not ended. */
  readonly open?: boolean | undefined
  readonly start?: number | undefined
  readonly end?: number | undefined
  /** Only gaps after this one in list order; for paging. */
  readonly after?:
    | Pick<Gap, 'start' | 'afterSequence' | 'venue' | 'key' | 'reason' | 'scope'>
    | undefined
  /** Only gaps whose last good sequence lies in [from, to]; for pages of rows. */
  readonly sequence?: { readonly from: number; readonly to: number } | undefined
  readonly limit?: number | undefined
}

/** One UTC day of one instrument. */
export type DayCoverage = {
  /** The start of the day. */
  readonly day: number
  /** `available`: observed without a hole; `degraded`: with holes; `missing`: not observed at all. */
  readonly condition: 'available' | 'degraded' | 'missing'
  readonly observations: number
  readonly observedMicros: number
  readonly gapMicros: number
  /** The realized cadence: observed time per observation, absent below two observations. */
  readonly meanSpacingMicros?: number
}

/** What is stored of one instrument, and what is known to be missing. */
export type Coverage = {
  readonly facts: InstrumentFacts
  readonly days: readonly DayCoverage[]
  readonly gaps: readonly Gap[]
}

/** What is stored of a venue as a whole. */
export type VenueTotals = {
  readonly instruments: number
  /** 0 where nothing was observed. */
  readonly lastReceived: number
  /** Open gaps, by reason. */
  readonly openGaps: Readonly<Partial<Record<GapReason, number>>>
}

/** The books of a venue on one UTC day, for one asset; empty where the asset is unknown. */
export type DayTotals = {
  readonly day: number
  readonly asset: string
  readonly markets: number
  readonly instruments: number
  readonly observations: number
  readonly observedMicros: number
  /** The gaps, each counted on every day that it touches; open ones last until the end of the range. */
  readonly gaps: readonly {
    readonly reason: GapReason
    readonly gaps: number
    readonly micros: number
  }[]
}

/** The metric of extents of trades that come from a venue's history, which are apart from others. */
export const BACKFILL_EXTENT = 'backfill'

/** The first row of one kind, by asset and window; empty names where they are unknown. */
export type DatasetExtent = {
  readonly kind: ChunkKind
  readonly metric: string
  readonly asset: string
  readonly window: string
  readonly origin: Origin
  readonly streams: number
  readonly firstReceived: number
}

/** An outage: the gaps that began together, for one reason. */
export type Incident = {
  readonly venue: VenueId
  readonly reason: GapReason
  readonly start: number
  /** Absent while one of its books is missing. */
  readonly end?: number
  readonly books: number
  readonly detail?: string
}

/** Asks for the newest book of an instrument, and for the newest execution or sample of a key. */
export type QuoteQuery = InstrumentRef & {
  readonly last?: { readonly key: string; readonly metric?: string | undefined } | undefined
  /** Nothing older, and no gap that ended before. */
  readonly since: number
}

/** The best prices of a book in ticks of 10^−decimals; undefined where a side is empty. */
export type BookTop = {
  readonly decimals: number
  readonly bid: number | undefined
  readonly ask: number | undefined
}

/** The newest of what is stored of an instrument. */
export type Quote = {
  readonly extent?: RowExtent | undefined
  readonly top?: BookTop | undefined
  /** The newest execution or sample, in the units of its column. */
  readonly last?: { readonly value: number; readonly received: number } | undefined
  /** Gaps since then, without spans in which the market was not open. */
  readonly gaps: number
}

/** How much one pass sealed. */
export type SealReport = { readonly chunks: number; readonly rows: number }

/** One problem found by `verify`. */
export type Problem = {
  readonly code: ErrorCode | Violation
  readonly where: string
  readonly detail: string
}

/** What `verify` counted and found. */
export type VerifyReport = {
  readonly chunks: number
  readonly observations: number
  readonly trades: number
  readonly samples: number
  readonly problems: readonly Problem[]
}

/** Called repeatedly during long operations. */
export type Progress = (done: number, total: number, what: string) => void

/** What retention removed. */
export type RetentionReport = {
  readonly chunks: number
  readonly rows: number
  readonly bytes: number
}

/** Names one market. */
export type MarketRef = { readonly venue: VenueId; readonly marketId: string }

/** What was committed since the follower was last polled; everything named is durable and readable. */
export type Changes = {
  /** Instruments with new observations, and with new trades, each once. */
  readonly books: readonly Instrument[]
  readonly trades: readonly Instrument[]
  /** Series with new reference prices; absent where there are none. */
  readonly references?: readonly Instrument[]
  /** Markets with new revisions. */
  readonly markets: readonly MarketRef[]
  /** Gaps that opened or closed, as they are now. */
  readonly gaps: readonly Gap[]
  /**
   * `behind`: more was committed than is named here, so everything followed must be read again.
   * `rebuilt`: in addition, existing rows may have been replaced.
   */
  readonly missed?: 'behind' | 'rebuilt'
}

/** Reports commits from its opening on. */
export interface Follower {
  /** Changes since the last call; absent when there are none. Cheap enough to call every 10 ms. */
  poll(): Promise<Changes | undefined>
  close(): void
}

/** Rows of one stream whose chunk chain is asked for. */
export type HeadQuery = InstrumentRef & {
  readonly kind: ChunkKind
  /** The metric of samples. */
  readonly metric?: string | undefined
  /** Inclusive numbers of rows. */
  readonly first: number
  readonly last: number
  readonly knownAt?: number | undefined
}

/** A stored chunk as bytes, for export and comparison. */
export type StoredChunk = {
  readonly kind: ChunkKind
  readonly metric: string
  readonly first: number
  readonly count: number
  readonly firstReceived: number
  readonly lastReceived: number
  readonly sealed: boolean
  readonly bytes: Uint8Array
  /** Present where the store has the chunk in another form: to decode it, take this, because `bytes` are made of it. */
  readonly chunk?: Chunk | undefined
}

/** Some of the chunks of an instrument. */
export type ChunkQuery = InstrumentRef & {
  readonly kind: ChunkKind
  readonly metric: string
  /** Of chunks whose rows are all outside this range only the place is read, except of the last one. */
  readonly start: number
  readonly end: number
}

/** A chunk, or where it is. */
export type ChunkOfRange = Omit<StoredChunk, 'bytes'> & { readonly bytes: Uint8Array | undefined }

/** Reads rows, markets, gaps and coverage; all that the API, the live hub and the row engine see. */
export interface StoreReader {
  /**
   * Changes with every commit, another process's within one turn of the event loop: results read under
   * one stamp stay valid while it lasts.
   */
  stamp(): Promise<string>
  /** Follows commits of this process and others; without a writer it never reports any. */
  follow(): Promise<Follower>
  /** The last journal record whose rows are stored. */
  appliedPosition(venue: VenueId): Promise<number>
  /** Changes when stored rows are packed, removed or replaced, which moves no position. */
  version(): Promise<number>
  /** A named number of the recorder; absent when it was never written. */
  fact(name: string): Promise<number | undefined>
  /** All numbers whose names begin like this, by name. */
  facts(beginning: string): Promise<ReadonlyMap<string, number>>

  instrument(ref: InstrumentRef): Promise<InstrumentFacts | undefined>
  instruments(venue?: VenueId): Promise<readonly InstrumentFacts[]>
  /** The instruments of a venue without an open gap. */
  unbroken(venue: VenueId): Promise<readonly Instrument[]>
  latest(ref: InstrumentRef): Promise<BookRun | undefined>
  /** The newest of what is stored of some instruments, in the order of the queries. */
  quotes(queries: readonly QuoteQuery[]): Promise<readonly Quote[]>
  books(query: BookQuery): Promise<BookPage>
  asOf(query: InstrumentRef & { at: number; knownAt?: number | undefined }): Promise<AsOf>
  booksByInterval(query: SampleQuery): Promise<SamplePage>
  trades(query: RowQuery): Promise<RowPage<TradeColumns>>
  samples(query: RowQuery & { metric: string }): Promise<RowPage<SampleColumns>>
  chunks(ref: InstrumentRef): AsyncIterable<StoredChunk>
  /** The chunks of one stream; what is outside the range may be in other storage, and is not fetched. */
  chunksOfRange(query: ChunkQuery): AsyncIterable<ChunkOfRange>
  /**
   * The SHA-256 of the newest sealed chunk that holds one of the rows, in hexadecimal. Each chunk repeats
   * the hash of the one before it, so it proves the rows and all before them. Absent while none of the
   * rows is sealed.
   */
  head(query: HeadQuery): Promise<string | undefined>

  market(venue: VenueId, marketId: string, knownAt?: number): Promise<MarketState | undefined>
  revisions(
    venue: VenueId,
    marketId: string,
    page: { after?: number | undefined; limit: number },
  ): Promise<readonly MarketState[]>
  markets(query: MarketQuery): Promise<MarketPage>
  event(venue: VenueId, eventId: string): Promise<StoredEvent | undefined>
  events(query: EventQuery): Promise<EventPage>
  /** The headings of all venues, by asset; markets without one are left out. */
  categories(): Promise<readonly CategoryTotals[]>
  gaps(query: GapQuery): Promise<readonly Gap[]>
  coverage(ref: InstrumentRef): Promise<Coverage | undefined>
  /** The instruments of one market that have a row. */
  instrumentsOf(venue: VenueId, marketId: string): Promise<readonly InstrumentFacts[]>
  /** The market that rows of any kind under a key belong to; absent where it never had one. */
  marketOf(ref: InstrumentRef): Promise<string | undefined>
  /** The series of samples under a market's id, or under a name that is not a market's. */
  series(venue: VenueId, market: string): Promise<readonly SeriesFacts[]>
  totals(venue: VenueId): Promise<VenueTotals>
  /** The days of a venue in [from, to), by asset; days without anything are left out. */
  days(venue: VenueId, from: number, to: number): Promise<readonly DayTotals[]>
  extents(venue: VenueId): Promise<readonly DatasetExtent[]>
  /** Days of markets on which a check of parity failed, by day, venue and market. */
  parity(query: ParityQuery): Promise<readonly ParityDay[]>
  /** Outages that touch [start, end), newest first. */
  incidents(query: {
    venue: VenueId
    start: number
    end: number
    limit: number
  }): Promise<readonly Incident[]>
  /** Messages that could not be used, by arrival; `after` is the id of one, in the page's order. */
  quarantine(page: QuarantinePage): Promise<readonly (Quarantined & { id: number })[]>
}

/** Reads and appends; what a recorder, an import or a backfill needs. */
export interface StoreWriter extends StoreReader {
  /** Resolves when the whole batch is durable; applying the same journal twice changes nothing. */
  append(batch: AppendBatch): Promise<void>
}

/** Maintenance by an operator's command or at the end of a job. */
export interface StoreAdmin {
  /** Cuts full chunks out of the tail and packs the rest tightly. */
  seal(): Promise<SealReport>
  verify(progress?: Progress): Promise<VerifyReport>
  /** Removes whole chunks older than a time; a gap `retention` takes their place. */
  retain(before: number): Promise<RetentionReport>
  /** Writes a consistent copy while others read and write. */
  backup(file: string): Promise<void>
  close(): Promise<void>
}

/**
 * The contract between Priorbook and a storage engine. Several processes may read while one writes.
 * Damaged rows are never returned: a gap `corrupt` is reported in their place.
 */
export interface Store extends StoreWriter, StoreAdmin {}
