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

/** What a download holds. */
export type BulkParams = ParamInputs<typeof SCOPE_PARAMS>

/** Parameters of a download. */
export type DownloadParams = ParamInputs<(typeof ROUTES)['bulk']['query']>

/** Parameters of a file of panels, which has no pages and no style. */
export type PanelsFileParams = Omit<
  RouteParams<'panels'>,
  'limit' | 'cursor' | keyof StyleParams
> & { readonly format: 'arrow' | 'parquet' }

/** What a single request may be given beside its parameters. */
export type CallOptions = Pick<WalkOptions, 'signal'>
