import type { VenueId } from '../domain/index.ts'
import type {
  ListQueries,
  MARKET_ROUTES,
  MarketRouteName,
  ParamInputs,
  ParamTable,
  RouteId,
  ROUTES,
  SCOPE_PARAMS,
  STYLE_PARAMS,
} from '../wire/index.ts'
import type { WalkOptions } from './walk.ts'

export { FILE_FORMATS, type FileFormat, type Interval, type TimeInput } from '../wire/index.ts'

// The client reads JSON: of the formats it asks only for those of downloads.
type Inputs<Query extends ParamTable> = Omit<ParamInputs<Query>, 'format'>

/** What a route takes, by its id. */
export type RouteParams<Id extends RouteId> = Inputs<(typeof ROUTES)[Id]['query']>

/** What a route of a market takes, by its name. */
export type MarketRouteParams<Name extends MarketRouteName> = Inputs<
  (typeof MARKET_ROUTES)[Name]['query']
>

/** How values of an answer are written. */
export type StyleParams = ParamInputs<typeof STYLE_PARAMS>

/** Parameters of `/v3/markets`. */
export type MarketSearchParams = RouteParams<'markets'>

/** Parameters of a venue's list of markets; where the path names the asset, it is one of them. */
export type VenueMarketsParams<Venue extends VenueId> = Inputs<ListQueries[Venue]> & {
  readonly asset?: string
}

/** Parameters of a market record. */
export type MarketParams = MarketRouteParams<'market'>

/** Parameters of the history of a market record. */
export type RevisionsParams = MarketRouteParams<'revisions'>

/** Parameters of trades. */
export type TradesParams = MarketRouteParams<'trades'>

/** Parameters of samples. */
export type TimeseriesParams = MarketRouteParams<'timeseries'>

/** Parameters of changed levels; `outcome` and `token_id` where a market has a book per token. */
export type ChangesParams = MarketRouteParams<'changes'>

/** Parameters of recorded books. */
export type SnapshotsParams = MarketRouteParams<'snapshots'>

/** Parameters of the newest book. */
export type LatestParams = MarketRouteParams<'orderbook_latest'>

/** Parameters of a book out of the past. */
export type AsOfParams = MarketRouteParams<'orderbook'>

/** Parameters of an evaluated order. */
export type ExecutionParams = MarketRouteParams<'execution'>

/** Parameters of an audited row. */
export type AuditParams = MarketRouteParams<'audit'>

/** Parameters of the list of gaps. */
export type GapsParams = RouteParams<'gaps'>

/** Parameters of coverage: of a venue, or of one market. */
export type CoverageParams = RouteParams<'coverage'>

/** Parameters of the calendar of a venue. */
export type CoverageDaysParams = RouteParams<'coverage_days'>

/** What a download holds. */
export type BulkParams = ParamInputs<typeof SCOPE_PARAMS>

/** Parameters of a download. */
export type DownloadParams = ParamInputs<(typeof ROUTES)['bulk']['query']>

/** Parameters of a manifest. */
export type ManifestParams = RouteParams<'bulkManifest'>

/** Parameters of usage. */
export type UsageParams = RouteParams<'usage'>

/** What a single request may be given beside its parameters. */
export type CallOptions = Pick<WalkOptions, 'signal'>
