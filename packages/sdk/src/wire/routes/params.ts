import { DAY_MICROS, MARKET_STATUSES, VENUE_IDS } from '../../domain/index.ts'
import { REFERENCE_FEEDS } from '../reference.ts'
import { HISTORY_METRICS } from '../price-history.ts'
import { SAMPLE_METRICS } from '../trade-sample.ts'
import {
  boundParam,
  dayParam,
  flagParam,
  integerParam,
  required,
  textParam,
  timeParam,
  wordParam,
  wordsParam,
  type Param,
} from './param.ts'

/** The intervals of sampling, in microseconds. */
export const INTERVALS = {
  '1s': 1_000_000,
  '5s': 5_000_000,
  '10s': 10_000_000,
  '30s': 30_000_000,
  '1m': 60_000_000,
  '5m': 300_000_000,
  '15m': 900_000_000,
  '1h': 3_600_000_000,
  '1d': DAY_MICROS,
} as const

/** The name of an interval. */
export type Interval = keyof typeof INTERVALS

/** The formats of a page of rows. */
export const PAGE_FORMATS = ['json', 'ndjson', 'csv'] as const

/** The formats of a page of a list: a table that programs read as columns. */
export const TABLE_FORMATS = [...PAGE_FORMATS, 'arrow'] as const

/** The media types of each format, the one that answers carry first. */
export const MEDIA_TYPES: Readonly<
  Record<(typeof PAGE_FORMATS)[number] | DownloadFormat, readonly [string, ...string[]]>
> = {
  json: ['application/json'],
  ndjson: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
  csv: ['text/csv'],
  arrow: ['application/vnd.apache.arrow.stream'],
  parquet: ['application/vnd.apache.parquet'],
  tape: ['application/vnd.priorbook.tape'],
  hftbacktest: ['application/vnd.priorbook.hftbacktest+zip'],
  nautilus: ['application/vnd.priorbook.nautilus+zip'],
  tardis: ['application/vnd.priorbook.tardis+zip'],
}

/** The formats of a download. */
export const FILE_FORMATS = ['ndjson', 'csv', 'arrow', 'parquet', 'tape'] as const

/** The name of a format of downloads. */
export type FileFormat = (typeof FILE_FORMATS)[number]

/** The tools whose files books and trades are converted into. */
export const TOOL_FORMATS = ['hftbacktest', 'nautilus', 'tardis'] as const

/** The name of one tool. */
export type ToolFormat = (typeof TOOL_FORMATS)[number]

/** The formats of downloads, and archives of the files of other tools. */
export const DOWNLOAD_FORMATS = [...FILE_FORMATS, ...TOOL_FORMATS] as const

/** The name of what a download can be. */
export type DownloadFormat = FileFormat | ToolFormat

/** What can be downloaded. */
export const FILE_DATASETS = ['books', 'trades', 'samples', 'history', 'reference'] as const

/** The metrics of downloads: those of samples, and those of the price history. */
const FILE_METRICS = [...new Set([...SAMPLE_METRICS, ...HISTORY_METRICS])]

/** The name of what can be downloaded. */
export type FileDataset = (typeof FILE_DATASETS)[number]

/** Rows per page where the request does not say. */
export const DEFAULT_LIMIT = 100

/** Max rows per page. */
export const MAX_LIMIT = 1000

/** Spans that the docs of routes name and their handlers keep to, in days. */
export const DOCUMENTED_DAYS = {
  /** How far back a status lists incidents. */
  status: 7,
  /** How far back a calendar goes by default, and at most. */
  calendar: 31,
  calendarMax: 92,
  /** Max days per download without the feature for more. */
  download: 31,
  /** How far back usage goes by default. */
  usage: 30,
} as const

/** Parameters of paged routes. */
export const PAGE_PARAMS = {
  /** Rows per page; a walk of the client requests the maximum where absent. */
  limit: integerParam(1, MAX_LIMIT),
  /** A bare cursor; the client's `resume` also carries what the receipt needs. */
  cursor: textParam(4096),
}

/** Parameters of paged routes with a direction. */
export const ORDERED_PAGE_PARAMS = {
  ...PAGE_PARAMS,
  /** Oldest first (the default) or newest first. */
  order: wordParam(['asc', 'desc'], 'Order'),
}

/** A range of received time: start inclusive, end exclusive. */
export const RANGE_PARAMS = { start_time: boundParam(), end_time: boundParam() }

/** A range of spans, such as gaps, days and lives of markets: those that end after the start and begin before the end. */
export const SPAN_RANGE_PARAMS = { start_time: timeParam(), end_time: boundParam() }

/** How values of an answer are written. */
export const STYLE_PARAMS = {
  /** Decimals as JSON numbers, or as text, which no reader can round. */
  number_format: wordParam(['number', 'string'], 'NumberFormat'),
  time_format: wordParam(['iso', 'epoch_us'], 'TimeFormat'),
}

/** The format of a page, where `Accept` cannot be set. */
export const FORMAT_PARAM = { format: wordParam(PAGE_FORMATS, 'PageFormat') }

/** The format of a page of a list, where `Accept` cannot be set. */
export const TABLE_FORMAT_PARAM = { format: wordParam(TABLE_FORMATS, 'TableFormat') }

/** Leaves out what was learned later. */
export const KNOWN_AT_PARAM = { known_at: timeParam() }

/** Where trades come from. */
const TRADE_ORIGINS = ['observed', 'backfill'] as const

/** Trades that were observed, or those that were fetched from the venue's history, which are never mixed. */
export const ORIGIN_PARAM = { origin: wordParam(TRADE_ORIGINS, 'TradeOrigin') }

/** Which outcome, by its label or by the venue's token. */
export const OUTCOME_PARAMS = {
  outcome: textParam(200),
  token_id: textParam(200),
}

/** Max levels per side. */
export const DEPTH_PARAM = { depth: integerParam(1, 10_000) }

/** Which clock a range means. */
export const CLOCK_PARAM = { clock: wordParam(['received', 'source'], 'Clock') }

/** The last book of every interval instead of every book. */
export const INTERVAL_PARAM = {
  interval: wordParam(Object.keys(INTERVALS) as Interval[], 'Interval'),
}

/** A feed of reference prices. */
export const FEED_PARAM = wordParam(REFERENCE_FEEDS, 'ReferenceFeed')

/** A venue, where it is a choice. */
export const VENUE_PARAM = wordParam(VENUE_IDS, 'VenueId')

/** The venue's own heading, and one of its labels; the case of letters does not count. */
export const LABEL_PARAMS = {
  category: textParam(100, 'Politics'),
  tag: textParam(100, 'Elections'),
}

/** What a list of events can be ordered by. */
export const EVENT_SORTS = ['open_time', 'close_time'] as const

/** What a list across venues can be ordered by. */
export const MARKET_SORTS = ['open_time', 'close_time', 'volume', 'liquidity'] as const

/** The status of a market. */
export const STATUS_PARAM = wordParam(MARKET_STATUSES, 'MarketStatus')

/** What a list of markets adds on request. */
const LIST_EXTRAS = ['native'] as const

/** The name of what a list of markets adds on request. */
export type ListExtra = (typeof LIST_EXTRAS)[number]

/** Parts of a record that a list leaves out unless they are named. */
export const INCLUDE_PARAM = { include: wordsParam(LIST_EXTRAS, 'native') }

/** The id of a contract. */
export const CONTRACT_ID_PARAM = textParam(100, 'btc-15m-up-down-20261117T174500Z')

/** The size of an order in the size unit of the venue; text keeps every digit. */
export const SIZE_PARAM: Param<string, string | number> = textParam(40, '100', '^\\d+(\\.\\d+)?$')

/** The id of a row of any kind. */
export const ROW_ID_PARAM = textParam(300, 'venueb:KXBTC15M-26AUG110115-15:1', '^[a-z]+:.+:\\d+$')

/** What a download holds: the same parameters for the file and for its manifest. */
export const SCOPE_PARAMS = {
  venue: required(VENUE_PARAM),
  market_id: textParam(200),
  asset: textParam(20, 'btc'),
  series: textParam(200, 'KXBTC15M'),
  window: textParam(20, '15m'),
  /** A UTC day, such as `2026-08-11`. */
  day: dayParam(),
  ...RANGE_PARAMS,
  dataset: wordParam(FILE_DATASETS, 'FileDataset'),
  /** With `dataset=trades`: those that were observed, or those of the venue's history. */
  ...ORIGIN_PARAM,
  /** With `dataset=samples` one of theirs, with `dataset=history` one of the price history. */
  metric: wordParam(FILE_METRICS, 'FileMetric'),
  /** With `dataset=reference`: one feed of the asset; all of them without. */
  feed: FEED_PARAM,
  include_orderbook: flagParam(),
  ...DEPTH_PARAM,
  ...STYLE_PARAMS,
  ...KNOWN_AT_PARAM,
}
