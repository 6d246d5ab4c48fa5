import { VENUE_IDS, VENUES, type VenueId } from '../../domain/index.ts'
import {
  HEALTH_SCHEMA,
  LIMITS_SCHEMA,
  STATUS_SCHEMA,
  USAGE_SCHEMA,
  WHOAMI_SCHEMA,
} from '../account.ts'
import { ALERT_DELIVERY_SCHEMA, ALERT_SCHEMA } from '../alert.ts'
import { BOOK_ROW_SCHEMA, CHANGES_ROW_SCHEMA } from '../book-schema.ts'
import { CONTRACT_SCHEMA, CONTRACT_WITH_TERMS_SCHEMA } from '../contract.ts'
import {
  CONSOLIDATED_SCHEMA,
  CONTRACT_BOOKS_SCHEMA,
  CONTRACT_SNAPSHOT_SCHEMA,
  SPREAD_SCHEMA,
} from '../contract-books.ts'
import { LEAD_LAG_SCHEMA } from '../contract-lead-lag.ts'
import { CALENDAR_DAY_SCHEMA, COVERAGE_SCHEMA } from '../coverage.ts'
import { AUDIT_SCHEMA, EXECUTION_SCHEMA } from '../execution.ts'
import { CATEGORY_SCHEMA, EVENT_SCHEMA, EVENT_WITH_MARKETS_SCHEMA } from '../event.ts'
import { GAP_SCHEMA } from '../gap.ts'
import { listOf, orNull, type JsonSchema } from '../json-schema.ts'
import { MANIFEST_SCHEMA } from '../manifest.ts'
import { LISTED_MARKET_SCHEMA, revisionSchema } from '../market.ts'
import { PANEL_SCHEMA } from '../panel.ts'
import { PARITY_SCHEMA } from '../parity.ts'
import { HISTORY_SCHEMA } from '../price-history.ts'
import { DAY_PROOF_SCHEMA, ROOT_SCHEMA } from '../proof.ts'
import {
  REFERENCE_AT_SCHEMA,
  REFERENCE_PRICE_SCHEMA,
  REFERENCE_SERIES_SCHEMA,
} from '../reference.ts'
import { SAMPLE_SCHEMA, TRADE_SCHEMA } from '../trade-sample.ts'
import { VENUE_WIRE } from '../venues/index.ts'
import { listRouteDocs, marketRouteDocs, PARAM_TEXTS, ROUTE_DOCS, type RouteDocs } from './docs.ts'
import { required, textParam, type Param, type ParamTable } from './param.ts'
import { OUTCOME_PARAMS } from './params.ts'
import {
  BOOK_ROUTE_NAMES,
  listRoute,
  MARKET_ROUTES,
  ROUTES,
  type AnyListQuery,
  type MarketRouteName,
  type RouteId,
  type RouteShape,
} from './routes.ts'

/** A route without its handler: what the server checks, the docs show and the client calls. */
export type RouteContract<
  Path extends ParamTable = ParamTable,
  Query extends ParamTable = ParamTable,
> = Omit<RouteDocs, 'params'> &
  Omit<RouteShape, 'query'> & {
    /** Names the route in OpenAPI (`operationId`), in cursors and in usage. */
    readonly id: string
    /** Other addresses of the same route. */
    readonly aliases?: readonly string[]
    readonly path: Path
    readonly query: Query
    /** What each parameter means, by its name. */
    readonly paramTexts: Readonly<Record<string, string>>
    /** The schema of `data`; absent where the answer has no envelope. */
    readonly data?: JsonSchema
  }

type PathOf<Id extends RouteId> = (typeof ROUTES)[Id] extends {
  readonly path: infer Path extends ParamTable
}
  ? Path
  : {}

type TextPath = Readonly<Record<string, Param<string>>>

const NATIVE_ID = required(textParam(200))
const ASSET = required(textParam(20, 'btc'))

/** The contract of a route that is not one venue's. */
export function contractOf<Id extends RouteId>(
  id: Id,
): RouteContract<PathOf<Id>, (typeof ROUTES)[Id]['query']> {
  const { path = {}, ...shape } = ROUTES[id] as RouteShape<(typeof ROUTES)[Id]['query']>
  const data: JsonSchema | undefined = DATA[id]
  return {
    id,
    ...shape,
    path: path as PathOf<Id>,
    ...withTexts(ROUTE_DOCS[id]),
    ...(data === undefined ? {} : { data }),
  }
}

/** The contract of a route of one market; `isPlain` for the address that does not name the asset. */
export function marketContract<Name extends MarketRouteName>(
  name: Name,
  venue: VenueId,
  isPlain = false,
): RouteContract<TextPath, (typeof MARKET_ROUTES)[Name]['query']> {
  const { paths, booksPer } = VENUES[venue]
  const { address, query, ...shape } = MARKET_ROUTES[name] as RouteShape
  const { market: base } = (isPlain ? paths.plain : undefined) ?? paths
  return {
    id: `${venue}_${isPlain ? 'any_' : ''}${name}`,
    address: `${base}${address}`,
    ...(paths.alias !== undefined && { aliases: [`${paths.alias.market}${address}`] }),
    ...shape,
    path: {
      ...(paths.hasAsset && !isPlain && { asset: ASSET }),
      [paths.marketParam]: NATIVE_ID,
    },
    query: (booksPer === 'market' && BOOK_ROUTE_NAMES.includes(name)
      ? withoutOutcome(query)
      : query) as (typeof MARKET_ROUTES)[Name]['query'],
    ...withTexts(marketRouteDocs(name, venue, isPlain)),
    data: MARKET_DATA[name](venue),
  }
}

/** The contract of a venue's list of markets; `isPlain` for the address that does not name the asset. */
export function listContract(
  venue: VenueId,
  isPlain = false,
): RouteContract<TextPath, AnyListQuery> {
  const { alias, hasAsset } = VENUES[venue].paths
  return {
    id: `${venue}_${isPlain ? 'any_' : ''}markets`,
    ...listRoute(venue, isPlain),
    ...(alias !== undefined && { aliases: [alias.markets] }),
    path: hasAsset && !isPlain ? { asset: ASSET } : {},
    ...withTexts(listRouteDocs(venue, isPlain)),
    data: listOf<unknown>(VENUE_WIRE[venue].schema),
  }
}

/** The contracts of all routes, in the order of the docs. */
export function allContracts(): readonly RouteContract[] {
  const names = Object.keys(MARKET_ROUTES) as MarketRouteName[]
  return [
    ...VENUE_IDS.map((venue) => listContract(venue)),
    ...VENUE_IDS.flatMap((venue) => names.map((name) => marketContract(name, venue))),
    ...VENUE_IDS.filter((venue) => VENUES[venue].paths.plain !== undefined).flatMap((venue) => [
      listContract(venue, true),
      ...names.map((name) => marketContract(name, venue, true)),
    ]),
    ...(Object.keys(ROUTES) as RouteId[]).map((id) => contractOf(id)),
  ]
}

const DATA: Partial<Readonly<Record<RouteId, JsonSchema>>> = {
  markets: listOf(LISTED_MARKET_SCHEMA),
  events: listOf(EVENT_SCHEMA),
  event: orNull(EVENT_WITH_MARKETS_SCHEMA),
  categories: listOf(CATEGORY_SCHEMA),
  gaps: listOf(GAP_SCHEMA),
  coverage: listOf(COVERAGE_SCHEMA),
  coverage_days: listOf(CALENDAR_DAY_SCHEMA),
  bulkManifest: MANIFEST_SCHEMA,
  parity: listOf(PARITY_SCHEMA),
  panels: listOf(PANEL_SCHEMA),
  reference: listOf(REFERENCE_SERIES_SCHEMA),
  reference_prices: listOf(REFERENCE_PRICE_SCHEMA),
  reference_asof: listOf(REFERENCE_AT_SCHEMA),
  reference_audit: orNull(AUDIT_SCHEMA),
  contracts: listOf(CONTRACT_SCHEMA),
  contract: CONTRACT_WITH_TERMS_SCHEMA,
  contract_books: CONTRACT_BOOKS_SCHEMA,
  contract_snapshots: listOf(CONTRACT_SNAPSHOT_SCHEMA),
  contract_consolidated: CONSOLIDATED_SCHEMA,
  contract_spreads: listOf(SPREAD_SCHEMA),
  contract_leadlag: LEAD_LAG_SCHEMA,
  proofs: listOf(ROOT_SCHEMA),
  proof_day: orNull(DAY_PROOF_SCHEMA),
  alerts: listOf(ALERT_SCHEMA),
  alert: ALERT_SCHEMA,
  alert_deliveries: listOf(ALERT_DELIVERY_SCHEMA),
  whoami: WHOAMI_SCHEMA,
  limits: LIMITS_SCHEMA,
  usage: listOf(USAGE_SCHEMA),
  status: STATUS_SCHEMA,
  health: HEALTH_SCHEMA,
}

const MARKET_DATA: Readonly<Record<MarketRouteName, (venue: VenueId) => JsonSchema>> = {
  market: (venue) => orNull<unknown>(VENUE_WIRE[venue].schema),
  revisions: (venue) => listOf(revisionSchema(venue)),
  trades: () => listOf(TRADE_SCHEMA),
  timeseries: () => listOf(SAMPLE_SCHEMA),
  history: () => listOf(HISTORY_SCHEMA),
  execution: () => orNull(EXECUTION_SCHEMA),
  audit: () => orNull(AUDIT_SCHEMA),
  snapshots: () => listOf(BOOK_ROW_SCHEMA),
  orderbook_latest: oneBook,
  orderbook: oneBook,
  changes: () => listOf(CHANGES_ROW_SCHEMA),
}

// A market with one book per token answers with a list of them.
function oneBook(venue: VenueId): JsonSchema {
  return orNull<unknown>(
    VENUES[venue].booksPer === 'token' ? listOf(BOOK_ROW_SCHEMA) : BOOK_ROW_SCHEMA,
  )
}

function withoutOutcome(query: ParamTable): ParamTable {
  return Object.fromEntries(
    Object.entries(query).filter(([name]) => !Object.hasOwn(OUTCOME_PARAMS, name)),
  )
}

function withTexts({ params, ...docs }: RouteDocs): Omit<RouteDocs, 'params'> & {
  readonly paramTexts: Readonly<Record<string, string>>
} {
  return { ...docs, paramTexts: params === undefined ? PARAM_TEXTS : { ...PARAM_TEXTS, ...params } }
}
