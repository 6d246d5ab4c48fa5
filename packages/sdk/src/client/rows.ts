import type { Flag, RevisionAnomaly, VenueId } from '../domain/index.ts'
import type {
  DatasetCoverageJson,
  DecimalJson,
  GapJson,
  InstrumentCoverageJson,
  MarketJson,
  TimeJson,
} from '../wire/index.ts'
import type { FileFormat } from './params.ts'

/** A decimal as it arrives: a JSON number, or text with `number_format=string`. */
export type Decimal = number | string

/** One side of a book, best first. */
export type LadderJson = { readonly price: readonly Decimal[]; readonly size: readonly Decimal[] }

type RowIdentity = {
  /** `venue:instrument:sequence`: the same everywhere and for ever. */
  readonly id: string
  readonly venue: VenueId
  readonly market_id: string
  readonly condition_id: string | null
  readonly event_id: string | null
  readonly series_ticker: string | null
  readonly outcome: string | null
  readonly token_id: string | null
  readonly source_time: TimeJson | null
  readonly received_time: TimeJson
  readonly sequence: number
}

type NativeJson = { readonly sid?: number; readonly connection?: number; readonly seq?: number }

/** One observation of a book; ladders with `include_orderbook`, buckets with `interval`. */
export type BookRowJson = RowIdentity & {
  readonly bucket_start?: TimeJson
  readonly bucket_end?: TimeJson
  readonly age_ms?: number
  readonly observations?: number
  readonly changes?: number
  readonly best_bid: Decimal | null
  readonly best_ask: Decimal | null
  readonly mid: Decimal | null
  readonly spread: Decimal | null
  readonly bid_levels: number
  readonly ask_levels: number
  readonly flags: readonly (Flag | 'truncated' | 'partial')[]
  readonly native: NativeJson
  readonly bids?: LadderJson
  readonly asks?: LadderJson
  readonly yes?: LadderJson
  readonly no?: LadderJson
}

/** A book row that surely has its ladders: that of the newest book and of one out of the past. */
export type FullBookRowJson = BookRowJson & {
  readonly bids: LadderJson
  readonly asks: LadderJson
}

/** What one observation changed; size 0: the level went. */
export type ChangesRowJson = RowIdentity & {
  readonly flags: readonly Flag[]
  readonly native: NativeJson
  readonly changes: {
    readonly side: readonly ('bid' | 'ask')[]
    readonly price: readonly Decimal[]
    readonly size: readonly Decimal[]
  }
}

/** A market of `/v3/markets`: its record with quote and coverage. */
export type ListedMarketJson = MarketJson & {
  readonly last_price: Decimal | null
  readonly last_price_time: TimeJson | null
  readonly best_bid: Decimal | null
  readonly best_ask: Decimal | null
  readonly spread: Decimal | null
  readonly quote_time: TimeJson | null
  readonly coverage: {
    readonly first_time: TimeJson | null
    readonly last_time: TimeJson | null
    readonly observations: number
    readonly gaps: number
  }
}

/** A version of a market record. */
export type RevisionJson = MarketJson & {
  readonly revision: number
  /** Only on a version whose status does not follow from the version before it. */
  readonly anomaly?: RevisionAnomaly
}

/** What an order would have met. */
export type ExecutionJson = {
  readonly venue: VenueId
  readonly market_id: string
  readonly outcome: string | null
  readonly token_id: string | null
  readonly side: 'buy' | 'sell'
  readonly at: TimeJson
  readonly size: DecimalJson
  readonly filled_size: DecimalJson
  readonly is_complete: boolean
  readonly vwap: DecimalJson | null
  readonly vwap_is_exact: boolean | null
  readonly cost: DecimalJson
  readonly best_price: DecimalJson | null
  readonly worst_price: DecimalJson | null
  readonly price_range: DecimalJson | null
  readonly levels: LadderJson
  readonly fee: {
    readonly amount: DecimalJson | null
    readonly rate: DecimalJson | null
    readonly formula: string | null
    readonly reason: string | null
  }
  readonly evidence: {
    readonly row_id: string
    readonly sequence: number
    readonly is_complement: boolean
    readonly received_time: TimeJson
    readonly source_time: TimeJson | null
    readonly book_age_ms: DecimalJson
    readonly flags: readonly string[]
    readonly next_gap: (GapJson & { readonly distance_ms: DecimalJson }) | null
  }
  readonly disclaimer: string
}

/** A stored row beside its raw message. */
export type AuditJson = {
  readonly id: string
  readonly kind: 'book' | 'trade' | 'sample'
  readonly metric: string | null
  readonly state: 'equal' | 'different' | 'raw_expired' | 'raw_missing' | 'raw_damaged'
  readonly detail: string | null
  readonly differences: readonly string[]
  readonly journal_record: number
  readonly received_time: TimeJson
  readonly normalizer_version: number
  readonly stored: unknown
  readonly derived: unknown
  readonly raw: {
    readonly text: string
    readonly encoding: 'utf8' | 'base64'
    readonly bytes: number
    readonly received_time: TimeJson
    readonly socket: number
    readonly origin: string
    readonly recorder: string
    readonly request: unknown
  } | null
}

/** Coverage of a venue's datasets, or of the instruments of a market. */
export type CoverageJson = DatasetCoverageJson | InstrumentCoverageJson

/** The key of a request and what its plan allows. */
export type WhoamiJson = {
  readonly key_id: string
  readonly key_prefix: string
  readonly key_last_four: string
  readonly name: string
  readonly plan: string
  readonly created_time: string
  readonly expires_time: string | null
  readonly ends_time: string | null
  readonly venues: readonly VenueId[]
  readonly assets: readonly string[] | null
  readonly history_days: number | null
  readonly history_start_time: string | null
  readonly features: readonly string[]
}

/** Every limit of a key. */
export type LimitsJson = {
  readonly plan: string
  readonly rates: readonly {
    readonly limit: string
    readonly quota: number
    readonly window_seconds: number
    readonly remaining: number
    readonly reset_seconds: number
  }[]
  readonly page: { readonly default: number; readonly max: number }
  readonly intervals: readonly string[]
  readonly bulk_days: number | null
  readonly history_days: number | null
  readonly address_bytes: number
  readonly header_bytes: number
}

/** What a key was used for on one day. */
export type UsageJson = {
  readonly day: string
  readonly route: string
  readonly requests: number
  readonly refused: number
  readonly limited: number
  readonly rows: number
  readonly bytes: number
}

/** What a recorder does with one venue; counts since it started. */
export type CaptureJson = {
  readonly markets: number
  readonly books: number
  readonly books_open: number
  readonly sockets: number
  readonly messages: number
  readonly messages_per_second: number
  readonly observations: number
  readonly trades: number
  readonly samples: number
  readonly gaps: number
  readonly quarantined: number
  /** The venue's limit on requests, what was used of the current window, and refusals. */
  readonly quota: {
    readonly limit: number
    readonly window_ms: number
    readonly used: number
    readonly refused: number
  } | null
}

/** How the service is doing. */
export type StatusJson = {
  readonly state: 'operational' | 'degraded' | 'not_recording'
  readonly recorder: {
    readonly lag_p50_ms: number
    readonly lag_p99_ms: number
    readonly disk_full: boolean
  } | null
  readonly venues: readonly {
    readonly venue: VenueId
    readonly state: 'recording' | 'interrupted' | 'not_recording'
    readonly detail: string | null
    readonly instruments: number
    readonly last_received_time: string | null
    readonly open_gaps: number
    /** What the recorder says of the venue since it started; null where it does not record it. */
    readonly capture: CaptureJson | null
  }[]
  readonly incidents: readonly {
    readonly venue: VenueId
    readonly state: 'open' | 'resolved'
    readonly reason: string
    readonly summary: string
    readonly start_time: string
    readonly end_time: string | null
    readonly detail: string | null
  }[]
}

/** What proves that a file is whole. */
export type FileReceiptJson = {
  readonly rows: number
  readonly markets: number
  readonly gaps: number
  readonly first_id: string | null
  readonly last_id: string | null
  readonly first_received_time: TimeJson | null
  readonly last_received_time: TimeJson | null
  readonly range: { readonly start_time: TimeJson; readonly end_time: TimeJson }
  readonly is_final: boolean
  readonly ids_sha256: string
}

/** One file of a manifest. */
export type ManifestFileJson = {
  readonly format: FileFormat
  readonly file_name: string
  readonly content_type: string
  /** Before any content encoding. */
  readonly bytes: number
  /** Null in an estimate. */
  readonly sha256: string | null
}

/** What a download holds. */
export type ManifestJson = {
  readonly schema_version: string
  readonly venue: VenueId
  readonly market_id: string | null
  readonly family: {
    readonly asset: string | null
    readonly series: string | null
    readonly window: string | null
  } | null
  readonly dataset: 'books' | 'trades' | 'samples'
  readonly metric: string | null
  readonly range: { readonly start_time: TimeJson; readonly end_time: TimeJson }
  readonly known_at: TimeJson | null
  readonly sort_order: readonly string[]
  readonly is_estimate: boolean
  readonly rows: number
  readonly markets: number
  readonly time_range: { readonly first: TimeJson | null; readonly last: TimeJson | null } | null
  readonly schema: {
    readonly columns: readonly {
      readonly name: string
      readonly type: string
      readonly is_nullable: boolean
    }[]
    readonly csv: readonly string[]
  }
  readonly files: readonly ManifestFileJson[]
  readonly gap_count: number | null
  readonly receipt: FileReceiptJson | null
}
