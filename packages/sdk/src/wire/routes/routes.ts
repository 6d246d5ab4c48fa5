import { GAP_REASONS, VENUES, type GapReason, type VenueId } from '../../domain/index.ts'
import { CONTRACT_KIND_NAMES, CONTRACT_STATUSES } from '../contract.ts'
import { HISTORY_METRICS } from '../price-history.ts'
import { SAMPLE_METRICS } from '../trade-sample.ts'
import { VENUE_WIRE } from '../venues/index.ts'
import {
  dayParam,
  flagParam,
  integerParam,
  required,
  textParam,
  timeParam,
  wordParam,
  wordsParam,
  type ParamTable,
} from './param.ts'
import { PANEL_FORMATS, PANEL_PARAMS } from './panel-params.ts'
import { CREATE_ALERT, DELETE_ALERT, TEST_ALERT, type Writes } from './writes.ts'
import {
  CLOCK_PARAM,
  CONTRACT_ID_PARAM,
  DEPTH_PARAM,
  EVENT_SORTS,
  FEED_PARAM,
  DOWNLOAD_FORMATS,
  FILE_FORMATS,
  FORMAT_PARAM,
  INCLUDE_PARAM,
  INTERVAL_PARAM,
  KNOWN_AT_PARAM,
  LABEL_PARAMS,
  MARKET_SORTS,
  ORDERED_PAGE_PARAMS,
  ORIGIN_PARAM,
  OUTCOME_PARAMS,
  PAGE_PARAMS,
  RANGE_PARAMS,
  ROW_ID_PARAM,
  SCOPE_PARAMS,
  SIZE_PARAM,
  SPAN_RANGE_PARAMS,
  STATUS_PARAM,
  STYLE_PARAMS,
  TABLE_FORMAT_PARAM,
  VENUE_PARAM,
} from './params.ts'

/** The formats of rows beside JSON. */
export type RowFormat = (typeof DOWNLOAD_FORMATS)[number]

/** Where a route is and what it accepts. What it answers and what the docs say is in its contract. */
export type RouteShape<Query extends ParamTable = ParamTable> = {
  /** The address, or for a route of a market the part below the market's address. */
  readonly address: string
  readonly query: Query
  /** The parameters in the address. */
  readonly path?: ParamTable
  /** Formats beside JSON. */
  readonly formats?: readonly RowFormat[]
  readonly isKeyless?: boolean
  /** True for routes of the account and of the service itself, which have no demonstration data. */
  readonly hasNoDemo?: boolean
  /** What other methods than GET do at the address. */
  readonly writes?: Writes
  /** Present on a route that will be removed: answers say so in headers. */
  readonly deprecated?: Deprecation
}

/** When a route was deprecated, when it ends (UTC days such as `2026-12-01`), and what to use instead. */
export type Deprecation = {
  readonly since: string
  readonly sunset: string
  /** An address of documentation. */
  readonly link: string
}

const ASSET = required(textParam(20, 'btc'))
const ROWS = { formats: ['ndjson', 'csv'] } as const
const TABLES = { formats: ['ndjson', 'csv', 'arrow'] } as const
const SERVICE = { query: {}, isKeyless: true, hasNoDemo: true } as const
const { time_format } = STYLE_PARAMS
const CONTRACT = { contract_id: required(CONTRACT_ID_PARAM) }
const ORDER_SIDE = wordParam(['buy', 'sell'], 'OrderSide')
const ALERT = { alert_id: required(textParam(40, 'alert_0123456789ab')) }

const ROW_PARAMS = {
  ...OUTCOME_PARAMS,
  ...RANGE_PARAMS,
  ...KNOWN_AT_PARAM,
  ...ORDERED_PAGE_PARAMS,
  ...STYLE_PARAMS,
  ...FORMAT_PARAM,
}
const CHANGES_PARAMS = {
  ...ORDERED_PAGE_PARAMS,
  ...RANGE_PARAMS,
  ...CLOCK_PARAM,
  ...STYLE_PARAMS,
  ...FORMAT_PARAM,
  ...KNOWN_AT_PARAM,
  ...OUTCOME_PARAMS,
}
const LATEST_PARAMS = { ...DEPTH_PARAM, ...STYLE_PARAMS, ...FORMAT_PARAM, ...OUTCOME_PARAMS }
const LIST_PARAMS = {
  ...LABEL_PARAMS,
  ...SPAN_RANGE_PARAMS,
  ...ORDERED_PAGE_PARAMS,
  ...STYLE_PARAMS,
  ...TABLE_FORMAT_PARAM,
  ...INCLUDE_PARAM,
}

/** The routes of one market, by the end of their ids (`venuea_trades`); addresses are below the market's. */
export const MARKET_ROUTES = {
  market: { address: '', query: { ...KNOWN_AT_PARAM, ...STYLE_PARAMS } },
  revisions: {
    address: '/revisions',
    query: {
      ...RANGE_PARAMS,
      ...KNOWN_AT_PARAM,
      ...PAGE_PARAMS,
      ...STYLE_PARAMS,
      ...TABLE_FORMAT_PARAM,
    },
    ...TABLES,
  },
  trades: { address: '/trades', query: { ...ROW_PARAMS, ...ORIGIN_PARAM }, ...ROWS },
  timeseries: {
    address: '/timeseries',
    query: { metric: required(wordParam(SAMPLE_METRICS, 'SampleMetric')), ...ROW_PARAMS },
    ...ROWS,
  },
  history: {
    address: '/history',
    query: {
      metric: required(wordParam(HISTORY_METRICS, 'HistoryMetric')),
      ...OUTCOME_PARAMS,
      ...RANGE_PARAMS,
      ...ORDERED_PAGE_PARAMS,
      ...STYLE_PARAMS,
      ...FORMAT_PARAM,
    },
    ...ROWS,
  },
  execution: {
    address: '/execution',
    query: {
      side: required(ORDER_SIDE),
      size: required(SIZE_PARAM),
      at: timeParam(),
      /** Milliseconds until the order arrives. */
      latency_ms: integerParam(0, 60_000),
      /** Max age of the book at the arrival, in milliseconds. */
      max_age_ms: integerParam(0, 86_400_000),
      ...OUTCOME_PARAMS,
      ...KNOWN_AT_PARAM,
      ...STYLE_PARAMS,
    },
  },
  audit: { address: '/audit', query: { id: required(ROW_ID_PARAM), time_format } },
  snapshots: {
    address: '/snapshots',
    query: {
      ...CHANGES_PARAMS,
      /** Whether rows carry ladders; the default depends on the venue. */
      include_orderbook: flagParam(),
      ...DEPTH_PARAM,
      ...INTERVAL_PARAM,
    },
    ...ROWS,
  },
  orderbook_latest: { address: '/orderbook/latest', query: LATEST_PARAMS, ...ROWS },
  orderbook: {
    address: '/orderbook',
    query: { at: required(timeParam()), ...LATEST_PARAMS, ...KNOWN_AT_PARAM },
    ...ROWS,
  },
  changes: { address: '/changes', query: CHANGES_PARAMS, ...ROWS },
} as const satisfies Readonly<Record<string, RouteShape>>

/** The name of a route of a market. */
export type MarketRouteName = keyof typeof MARKET_ROUTES

/** Book routes: where a market has one book, they take neither `outcome` nor `token_id`. */
export const BOOK_ROUTE_NAMES: readonly MarketRouteName[] = [
  'snapshots',
  'orderbook_latest',
  'orderbook',
  'changes',
]

/** The parameters of each venue's list of markets. */
export type ListQueries = {
  readonly [Venue in VenueId]: (typeof VENUE_WIRE)[Venue]['filters'] & typeof LIST_PARAMS
}

/** The parameters that any list of markets may have. */
export type AnyListQuery = UnionToIntersection<ListQueries[VenueId]>

type UnionToIntersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All extends ParamTable,
) => void
  ? All
  : never

/**
 * The list of markets of a venue (`venuea_markets`), or its plain one, which is not of one asset
 * (`venuec_any_markets`).
 */
export function listRoute(venue: VenueId, isPlain = false): RouteShape<AnyListQuery> {
  const { markets, plain } = VENUES[venue].paths
  const filters: ParamTable = VENUE_WIRE[venue].filters
  const query: ParamTable = {
    ...(isPlain ? { asset: textParam(20, 'btc') } : {}),
    ...filters,
    ...LIST_PARAMS,
  }
  const address = isPlain && plain !== undefined ? plain.markets : markets
  return { address, query: query as AnyListQuery, ...TABLES }
}

/** Every other route, by its id. */
export const ROUTES = {
  markets: {
    address: '/v3/markets',
    query: {
      /** Words or "phrases" in id, title, question, slug or tickers, or an asset or window; all of them, in any order. */
      q: textParam(100, 'btc'),
      sort: wordParam(MARKET_SORTS, 'MarketSort'),
      venue: VENUE_PARAM,
      asset: textParam(20, 'btc'),
      window: textParam(10, '15m'),
      status: STATUS_PARAM,
      series: textParam(200, 'KXBTC15M'),
      event: textParam(200, 'KXPRESPERSON-28'),
      ...LIST_PARAMS,
    },
    ...TABLES,
  },
  events: {
    address: '/v3/events',
    query: {
      /** Words or "phrases" in title, slug, id or series; all of them, in any order. */
      q: textParam(100, 'election'),
      sort: wordParam(EVENT_SORTS, 'EventSort'),
      venue: VENUE_PARAM,
      series: textParam(200, 'KXPRESPERSON'),
      /** Events with an open market, or all. */
      status: wordParam(['all', 'open'], 'EventStatus'),
      ...LABEL_PARAMS,
      ...SPAN_RANGE_PARAMS,
      ...ORDERED_PAGE_PARAMS,
      time_format,
      ...TABLE_FORMAT_PARAM,
    },
    ...TABLES,
  },
  event: {
    address: '/v3/events/{event_id}',
    path: { event_id: required(textParam(200, 'KXPRESPERSON-28')) },
    query: { venue: VENUE_PARAM, ...PAGE_PARAMS, ...STYLE_PARAMS },
  },
  categories: { address: '/v3/categories', query: { venue: VENUE_PARAM } },
  gaps: {
    address: '/v3/gaps',
    query: {
      venue: VENUE_PARAM,
      market: textParam(200),
      key: textParam(200),
      reason: wordParam(Object.keys(GAP_REASONS) as GapReason[], 'GapReason'),
      ...SPAN_RANGE_PARAMS,
      ...PAGE_PARAMS,
      ...TABLE_FORMAT_PARAM,
      time_format,
    },
    ...TABLES,
  },
  coverage: {
    address: '/v3/coverage',
    query: { venue: VENUE_PARAM, market: textParam(200), ...STYLE_PARAMS, ...TABLE_FORMAT_PARAM },
    ...TABLES,
  },
  coverage_days: {
    address: '/v3/coverage/days',
    query: {
      venue: required(VENUE_PARAM),
      ...SPAN_RANGE_PARAMS,
      ...STYLE_PARAMS,
      ...TABLE_FORMAT_PARAM,
    },
    ...TABLES,
  },
  bulk: {
    address: '/v3/bulk',
    query: {
      ...SCOPE_PARAMS,
      format: wordParam(DOWNLOAD_FORMATS, 'DownloadFormat'),
      /** Skips this many bytes at the start of the file, to continue a broken download. */
      offset: integerParam(0, Number.MAX_SAFE_INTEGER),
    },
    formats: DOWNLOAD_FORMATS,
  },
  bulkManifest: {
    address: '/v3/bulk/manifest',
    query: {
      ...SCOPE_PARAMS,
      formats: wordsParam(FILE_FORMATS, 'ndjson,parquet'),
      /** Rows and bytes quickly, without hashes. */
      estimate: flagParam(),
    },
  },
  parity: {
    address: '/v3/parity',
    query: {
      venue: VENUE_PARAM,
      market: textParam(200),
      ...SPAN_RANGE_PARAMS,
      ...ORDERED_PAGE_PARAMS,
      ...TABLE_FORMAT_PARAM,
    },
    ...TABLES,
  },
  panels: { address: '/v3/panels', query: PANEL_PARAMS, formats: PANEL_FORMATS },
  reference: { address: '/v3/reference', query: { venue: VENUE_PARAM, time_format } },
  reference_prices: {
    address: '/v3/reference/{asset}',
    path: { asset: ASSET },
    query: {
      feed: FEED_PARAM,
      ...RANGE_PARAMS,
      ...INTERVAL_PARAM,
      ...KNOWN_AT_PARAM,
      ...ORDERED_PAGE_PARAMS,
      ...STYLE_PARAMS,
      ...FORMAT_PARAM,
    },
    ...ROWS,
  },
  reference_asof: {
    address: '/v3/reference/{asset}/asof',
    path: { asset: ASSET },
    query: { at: required(timeParam()), feed: FEED_PARAM, ...KNOWN_AT_PARAM, ...STYLE_PARAMS },
  },
  reference_audit: {
    address: '/v3/reference/{asset}/audit',
    path: { asset: ASSET },
    query: { id: required(ROW_ID_PARAM), time_format },
  },
  contracts: {
    address: '/v3/contracts',
    query: {
      /** Words of a member, as in a search of markets. */
      q: textParam(100, 'btc 15m'),
      kind: wordParam(CONTRACT_KIND_NAMES, 'ContractKind'),
      status: wordParam(CONTRACT_STATUSES, 'ContractStatus'),
      asset: textParam(20, 'btc'),
      window: textParam(10, '15m'),
      /** The least number of members. */
      members: integerParam(1, 10),
      ...SPAN_RANGE_PARAMS,
      ...PAGE_PARAMS,
      ...STYLE_PARAMS,
      ...TABLE_FORMAT_PARAM,
    },
    ...TABLES,
  },
  contract: {
    address: '/v3/contracts/{contract_id}',
    path: CONTRACT,
    query: { ...KNOWN_AT_PARAM, ...STYLE_PARAMS },
  },
  contract_books: {
    address: '/v3/contracts/{contract_id}/books',
    path: CONTRACT,
    query: { at: required(timeParam()), ...KNOWN_AT_PARAM, ...DEPTH_PARAM, ...STYLE_PARAMS },
  },
  contract_snapshots: {
    address: '/v3/contracts/{contract_id}/snapshots',
    path: CONTRACT,
    query: {
      ...INTERVAL_PARAM,
      ...RANGE_PARAMS,
      ...KNOWN_AT_PARAM,
      ...PAGE_PARAMS,
      ...STYLE_PARAMS,
      ...TABLE_FORMAT_PARAM,
    },
    ...TABLES,
  },
  contract_consolidated: {
    address: '/v3/contracts/{contract_id}/consolidated',
    path: CONTRACT,
    query: {
      at: required(timeParam()),
      side: ORDER_SIDE,
      size: SIZE_PARAM,
      ...KNOWN_AT_PARAM,
      ...DEPTH_PARAM,
      ...STYLE_PARAMS,
    },
  },
  contract_spreads: {
    address: '/v3/contracts/{contract_id}/spreads',
    path: CONTRACT,
    query: {
      /** Edges up to this are left out: from 0 to 1, with 12 decimals at most. */
      min_edge: textParam(20, '0.01', '^0*(0(\\.\\d{1,12}0*)?|1(\\.0+)?)$'),
      ...RANGE_PARAMS,
      ...KNOWN_AT_PARAM,
      ...PAGE_PARAMS,
      ...STYLE_PARAMS,
      ...TABLE_FORMAT_PARAM,
    },
    ...TABLES,
  },
  contract_leadlag: {
    address: '/v3/contracts/{contract_id}/leadlag',
    path: CONTRACT,
    query: {
      /** The greatest delay that is tried, and the distance of two delays. */
      max_lag_ms: integerParam(10, 60_000),
      step_ms: integerParam(1, 10_000),
      include_curve: flagParam(),
      ...RANGE_PARAMS,
      ...KNOWN_AT_PARAM,
      ...STYLE_PARAMS,
    },
  },
  proofs: {
    address: '/v3/proofs',
    query: { ...RANGE_PARAMS, ...ORDERED_PAGE_PARAMS, ...FORMAT_PARAM, time_format },
    ...ROWS,
    hasNoDemo: true,
  },
  proof_day: {
    address: '/v3/proofs/{day}',
    path: { day: required(dayParam()) },
    query: { venue: VENUE_PARAM, market_id: textParam(200), time_format },
    hasNoDemo: true,
  },
  alerts: {
    address: '/v3/alerts',
    query: { ...PAGE_PARAMS, time_format },
    hasNoDemo: true,
    writes: { POST: CREATE_ALERT },
  },
  alert: {
    address: '/v3/alerts/{alert_id}',
    path: ALERT,
    query: { time_format },
    hasNoDemo: true,
    writes: { DELETE: DELETE_ALERT },
  },
  alert_deliveries: {
    address: '/v3/alerts/{alert_id}/deliveries',
    path: ALERT,
    query: { ...PAGE_PARAMS, time_format },
    hasNoDemo: true,
    writes: { POST: TEST_ALERT },
  },
  whoami: { address: '/v3/whoami', query: {}, hasNoDemo: true },
  limits: { address: '/v3/limits', query: {}, hasNoDemo: true },
  usage: { address: '/v3/usage', query: { days: integerParam(1, 400) }, hasNoDemo: true },
  status: { address: '/v3/status', query: {} },
  health: { address: '/v3/health', ...SERVICE },
  home: { address: '/', ...SERVICE },
  docs: { address: '/docs', ...SERVICE },
  docs_errors: { address: '/docs/errors', ...SERVICE },
  llms: { address: '/llms.txt', ...SERVICE },
  openapi: { address: '/v3/openapi.json', ...SERVICE },
  asyncapi: { address: '/v3/asyncapi.json', ...SERVICE },
} as const satisfies Readonly<Record<string, RouteShape>>

/** The id of a route that is not one venue's. */
export type RouteId = keyof typeof ROUTES

/** The same address over demonstration data, which needs no key. */
export function demoAddress(address: string): string {
  return address.replace('/v3/', '/v3/demo/')
}
