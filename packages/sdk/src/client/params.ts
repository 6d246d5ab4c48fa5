import type { GapReason, MarketStatus, VenueId } from '../domain/index.ts'
import type { SampleMetric } from '../wire/index.ts'
import type { WalkOptions } from './walk.ts'

/** The words that parameters take, as the server lists them. */
export const PARAM_WORDS = {
  order: ['asc', 'desc'],
  clock: ['received', 'source'],
  interval: ['1s', '5s', '10s', '30s', '1m', '5m', '15m', '1h', '1d'],
  number_format: ['number', 'string'],
  time_format: ['iso', 'epoch_us'],
  sort: ['open_time', 'close_time', 'volume', 'liquidity'],
  side: ['buy', 'sell'],
  dataset: ['books', 'trades', 'samples'],
  metric: ['chance', 'price', 'last_trade'],
  status: ['scheduled', 'open', 'paused', 'closed', 'determined', 'disputed', 'resolved', 'voided'],
} as const

/** The intervals of sampling. */
export type Interval = (typeof PARAM_WORDS)['interval'][number]

/** The formats of a download. */
export const FILE_FORMATS = ['ndjson', 'csv', 'arrow', 'parquet', 'tape'] as const

/** One of them. */
export type FileFormat = (typeof FILE_FORMATS)[number]

/** An instant: ISO 8601, milliseconds (13 digits), microseconds (16 digits), or a `Date`. */
export type TimeInput = string | number | Date

/** How values of an answer are written. */
export type StyleParams = {
  /** Decimals as JSON numbers, or as text, which no reader can round. */
  readonly number_format?: 'number' | 'string'
  readonly time_format?: 'iso' | 'epoch_us'
}

/** A range of received time: start inclusive, end exclusive. */
export type RangeParams = { readonly start_time?: TimeInput; readonly end_time?: TimeInput }

/** Rows a page, and where to begin. */
export type PageParams = {
  /** Rows a page; a walk takes the largest where absent. */
  readonly limit?: number
  /** A bare cursor; `resume` also carries what the receipt needs. */
  readonly cursor?: string
}

/** Oldest or newest first. */
export type OrderParams = { readonly order?: 'asc' | 'desc' }

/** Leaves out what was learned later. */
export type KnownAtParams = { readonly known_at?: TimeInput }

/** Parameters of `/v3/markets`. */
export type MarketSearchParams = RangeParams &
  PageParams &
  OrderParams &
  StyleParams & {
    /** Text in id, title, question, slug or tickers. */
    readonly q?: string
    readonly sort?: (typeof PARAM_WORDS)['sort'][number]
    readonly venue?: VenueId
    readonly asset?: string
    readonly window?: string
    readonly series?: string
    readonly status?: MarketStatus
  }

type MarketListParams = RangeParams &
  PageParams &
  OrderParams &
  StyleParams & { readonly status?: MarketStatus }

/** Parameters of the list of markets of venue A. */
export type VenueAMarketsParams = MarketListParams & {
  readonly coin?: 'BTC' | 'ETH' | 'BNB' | 'btc' | 'eth' | 'bnb'
  readonly window?: '5m' | '15m'
}

/** Parameters of the list of markets of venue B. */
export type VenueBMarketsParams = MarketListParams & {
  readonly series?: string
  readonly event?: string
}

/** Parameters of the list of markets of venue C. */
export type VenueCMarketsParams = MarketListParams & {
  readonly window?: '5m' | '15m' | '1h' | '4h' | '1d'
  readonly event?: string
}

/** Parameters of a market record. */
export type MarketParams = KnownAtParams & StyleParams

/** Parameters of the history of a market record. */
export type RevisionsParams = RangeParams & KnownAtParams & PageParams & StyleParams

/** Which outcome; venue C has a book and trades a token. */
export type OutcomeParams = { readonly outcome?: string; readonly token_id?: string }

/** Parameters of trades. */
export type TradesParams = RangeParams &
  KnownAtParams &
  PageParams &
  OrderParams &
  StyleParams &
  OutcomeParams

/** Parameters of samples. */
export type TimeseriesParams = TradesParams & { readonly metric: SampleMetric }

/** Parameters of changed levels; `outcome` and `token_id` for venue C. */
export type ChangesParams = TradesParams & {
  /** Which clock the range means. */
  readonly clock?: 'received' | 'source'
}

/** Parameters of recorded books. */
export type SnapshotsParams = ChangesParams & {
  /** Whether rows carry ladders; by default those of A do. */
  readonly include_orderbook?: boolean
  readonly depth?: number
  /** The last book of every interval instead of every book. */
  readonly interval?: Interval
}

/** Parameters of the newest book. */
export type LatestParams = StyleParams & OutcomeParams & { readonly depth?: number }

/** Parameters of a book out of the past. */
export type AsOfParams = LatestParams & KnownAtParams & { readonly at: TimeInput }

/** Parameters of an evaluated order. */
export type ExecutionParams = StyleParams &
  OutcomeParams &
  KnownAtParams & {
    readonly side: 'buy' | 'sell'
    /** In the size unit of the venue; text keeps every digit. */
    readonly size: string | number
    readonly at?: TimeInput
  }

/** Parameters of an audited row. */
export type AuditParams = {
  readonly id: string
  readonly time_format?: 'iso' | 'epoch_us'
}

/** Parameters of the list of gaps. */
export type GapsParams = RangeParams &
  PageParams & {
    readonly venue?: VenueId
    readonly market?: string
    readonly key?: string
    readonly reason?: GapReason
    readonly time_format?: 'iso' | 'epoch_us'
  }

/** Parameters of coverage: of a venue, or of one market. */
export type CoverageParams = StyleParams & {
  readonly venue?: VenueId
  readonly market?: string
}

/** Parameters of the calendar of a venue. */
export type CoverageDaysParams = StyleParams & RangeParams & { readonly venue: VenueId }

/** What a download holds. */
export type BulkParams = RangeParams &
  KnownAtParams &
  StyleParams & {
    readonly venue: VenueId
    readonly market_id?: string
    readonly asset?: string
    readonly series?: string
    readonly window?: string
    /** A UTC day, such as `2026-08-11`. */
    readonly day?: string
    readonly dataset?: (typeof PARAM_WORDS)['dataset'][number]
    readonly metric?: SampleMetric
    readonly include_orderbook?: boolean
    readonly depth?: number
  }

/** Parameters of a download. */
export type DownloadParams = BulkParams & {
  readonly format?: FileFormat
  /** Leaves out so many bytes at the beginning, to go on with a broken download. */
  readonly offset?: number
}

/** Parameters of a manifest. */
export type ManifestParams = BulkParams & {
  readonly formats?: readonly FileFormat[]
  /** Rows and bytes quickly, without hashes. */
  readonly estimate?: boolean
}

/** Parameters of usage. */
export type UsageParams = { readonly days?: number }

/** What a single request may be given beside its parameters. */
export type CallOptions = Pick<WalkOptions, 'signal'>
