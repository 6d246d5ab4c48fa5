import type { VenueId } from '../domain/index.ts'
import type {
  AsOfParams,
  AuditParams,
  ChangesParams,
  CoverageDaysParams,
  CoverageParams,
  DownloadParams,
  ExecutionParams,
  GapsParams,
  LatestParams,
  ManifestParams,
  MarketParams,
  MarketSearchParams,
  OutcomeParams,
  RevisionsParams,
  SnapshotsParams,
  TimeseriesParams,
  TradesParams,
  UsageParams,
  VenueAMarketsParams,
  VenueBMarketsParams,
  VenueCMarketsParams,
} from './params.ts'

/** A route as the client knows it: a test compares the table with the server's OpenAPI document. */
export type ClientRoute = { readonly address: string; readonly query: readonly string[] }

const RANGE = ['start_time', 'end_time'] as const
const PAGE = ['limit', 'cursor'] as const
const STYLE = ['number_format', 'time_format'] as const
const OUTCOME = ['outcome', 'token_id'] as const
const LIST = ['status', ...RANGE, ...PAGE, 'order', ...STYLE] as const
const ROWS = [...RANGE, 'known_at', ...PAGE, 'order', ...STYLE] as const
const SCOPE = [
  'venue',
  'market_id',
  'asset',
  'series',
  'window',
  'day',
  ...RANGE,
  'dataset',
  'metric',
  'include_orderbook',
  'depth',
  ...STYLE,
  'known_at',
] as const

/** Where the markets of each venue hang. */
export const MARKET_ADDRESSES: Readonly<Record<VenueId, string>> = {
  venuea: '/v3/venuea-prediction/{market_id}',
  venueb: '/v3/venueb/{market_ticker}',
  venuec: '/v3/{asset}/markets/{market_id}',
}

/** Routes below the path of a market, by the name of their method. */
export const MARKET_ROUTES = {
  record: named<MarketParams>()('', ['known_at', ...STYLE]),
  revisions: named<RevisionsParams>()('/revisions', [...RANGE, 'known_at', ...PAGE, ...STYLE]),
  trades: named<TradesParams>()('/trades', [...OUTCOME, ...ROWS]),
  timeseries: named<TimeseriesParams>()('/timeseries', ['metric', ...OUTCOME, ...ROWS]),
  execution: named<ExecutionParams>()('/execution', [
    'side',
    'size',
    'at',
    ...OUTCOME,
    'known_at',
    ...STYLE,
  ]),
  audit: named<AuditParams>()('/audit', ['id', 'time_format']),
  // Only venue C takes `outcome` and `token_id` here: the others have one book a market.
  snapshots: named<Omit<SnapshotsParams, keyof OutcomeParams>>()('/snapshots', [
    ...ROWS,
    'clock',
    'include_orderbook',
    'depth',
    'interval',
  ]),
  latest: named<Omit<LatestParams, keyof OutcomeParams>>()('/orderbook/latest', [
    'depth',
    ...STYLE,
  ]),
  asOf: named<Omit<AsOfParams, keyof OutcomeParams>>()('/orderbook', [
    'at',
    'depth',
    ...STYLE,
    'known_at',
  ]),
  changes: named<Omit<ChangesParams, keyof OutcomeParams>>()('/changes', [...ROWS, 'clock']),
} as const

/** Routes of single books, which venue C has by token. */
export const TOKEN_ROUTES: readonly string[] = ['snapshots', 'latest', 'asOf', 'changes']

/** Every other route, by the name of its method. */
export const ROUTES = {
  venueaMarkets: named<VenueAMarketsParams>()('/v3/venuea-prediction/markets', [
    'coin',
    'window',
    ...LIST,
  ]),
  venuebMarkets: named<VenueBMarketsParams>()('/v3/venueb/markets', ['series', 'event', ...LIST]),
  venuecMarkets: named<VenueCMarketsParams>()('/v3/{asset}/markets', ['window', 'event', ...LIST]),
  markets: named<MarketSearchParams>()('/v3/markets', [
    'q',
    'sort',
    'venue',
    'asset',
    'window',
    'series',
    ...LIST,
  ]),
  gaps: named<GapsParams>()('/v3/gaps', [
    'venue',
    'market',
    'key',
    'reason',
    ...RANGE,
    ...PAGE,
    'time_format',
  ]),
  coverage: named<CoverageParams>()('/v3/coverage', ['venue', 'market', ...STYLE]),
  coverageDays: named<CoverageDaysParams>()('/v3/coverage/days', ['venue', ...RANGE, ...STYLE]),
  bulk: named<DownloadParams>()('/v3/bulk', [...SCOPE, 'format', 'offset']),
  manifest: named<ManifestParams>()('/v3/bulk/manifest', [...SCOPE, 'formats', 'estimate']),
  whoami: named<{}>()('/v3/whoami', []),
  limits: named<{}>()('/v3/limits', []),
  usage: named<UsageParams>()('/v3/usage', ['days']),
  status: named<{}>()('/v3/status', []),
  health: named<{}>()('/v3/health', []),
  openapi: named<{}>()('/v3/openapi.json', []),
  asyncapi: named<{}>()('/v3/asyncapi.json', []),
} as const

/** Routes of the account and of the service itself: they have no demonstration data. */
export const ACCOUNT_ADDRESSES: readonly string[] = [
  ROUTES.whoami,
  ROUTES.limits,
  ROUTES.usage,
  ROUTES.health,
  ROUTES.openapi,
  ROUTES.asyncapi,
].map(({ address }) => address)

/** The same route over demonstration data, which needs no key. */
export function demoAddress(address: string): string {
  return ACCOUNT_ADDRESSES.includes(address) ? address : address.replace('/v3/', '/v3/demo/')
}

/** Pairs an address with all the names of its parameters; the compiler refuses one too many or few. */
function named<Params>() {
  return <const Names extends readonly (keyof Params & string)[]>(
    address: string,
    query: Exclude<keyof Params & string, Names[number]> extends never ? Names : never,
  ): ClientRoute => ({ address, query })
}
