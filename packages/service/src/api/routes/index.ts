import { VENUE_ADDRESSES } from '../markets/addresses.ts'
import type { Route } from '../route.ts'
import { ALERT_ROUTES } from './alerts.ts'
import { asOfRoute } from './as-of.ts'
import { AUDIT_ROUTES } from './audit.ts'
import { BULK_ROUTES } from './bulk.ts'
import { CATEGORIES_ROUTE } from './categories.ts'
import { changesRoute } from './changes.ts'
import { CONTRACT_BOOKS_ROUTE } from './contract-books.ts'
import { CONTRACT_CONSOLIDATED_ROUTE } from './contract-consolidated.ts'
import { CONTRACT_LEADLAG_ROUTE } from './contract-leadlag.ts'
import { CONTRACT_SNAPSHOTS_ROUTE } from './contract-snapshots.ts'
import { CONTRACT_SPREADS_ROUTE } from './contract-spreads.ts'
import { CONTRACT_ROUTE, CONTRACTS_ROUTE } from './contracts.ts'
import { COVERAGE_DAYS_ROUTE } from './coverage-days.ts'
import { COVERAGE_ROUTE } from './coverage.ts'
import { DOCUMENT_ROUTES } from './documents.ts'
import { EVENT_ROUTE } from './event.ts'
import { EVENTS_ROUTE } from './events.ts'
import { EXECUTION_ROUTES } from './execution.ts'
import { GAPS_ROUTE } from './gaps.ts'
import { healthRoute } from './health.ts'
import { HISTORY_ROUTES } from './history.ts'
import { latestRoute } from './latest.ts'
import { limitsRoute } from './limits.ts'
import { MARKET_LIST_ROUTES } from './market-lists.ts'
import { MARKET_RECORD_ROUTES } from './market-record.ts'
import { MARKET_SEARCH_ROUTE } from './market-search.ts'
import { PANELS_ROUTE } from './panels.ts'
import { PARITY_ROUTE } from './parity.ts'
import { PROOF_ROUTES } from './proofs.ts'
import { REFERENCE_AS_OF_ROUTE } from './reference-as-of.ts'
import { REFERENCE_AUDIT_ROUTE } from './reference-audit.ts'
import { REFERENCE_LIST_ROUTE } from './reference-list.ts'
import { REFERENCE_PRICES_ROUTE } from './reference-prices.ts'
import { REVISION_ROUTES } from './revisions.ts'
import { snapshotsRoute } from './snapshots.ts'
import { statusRoute } from './status.ts'
import { TIMESERIES_ROUTES } from './timeseries.ts'
import { TRADE_ROUTES } from './trades.ts'
import { usageRoute } from './usage.ts'
import { whoamiRoute } from './whoami.ts'

/** Markets, their history, trades, samples, gaps, coverage, executions and audit. */
export const CATALOGUE_ROUTES: readonly Route[] = [
  ...MARKET_LIST_ROUTES,
  MARKET_SEARCH_ROUTE,
  EVENTS_ROUTE,
  EVENT_ROUTE,
  CATEGORIES_ROUTE,
  ...MARKET_RECORD_ROUTES.flatMap((route, index) => [route, REVISION_ROUTES[index]!]),
  ...TRADE_ROUTES,
  ...TIMESERIES_ROUTES,
  ...HISTORY_ROUTES,
  GAPS_ROUTE,
  COVERAGE_ROUTE,
  COVERAGE_DAYS_ROUTE,
  PARITY_ROUTE,
  PANELS_ROUTE,
  REFERENCE_LIST_ROUTE,
  REFERENCE_PRICES_ROUTE,
  REFERENCE_AS_OF_ROUTE,
  REFERENCE_AUDIT_ROUTE,
  ...EXECUTION_ROUTES,
  ...AUDIT_ROUTES,
]

/** Books: pages, samples by interval, the newest, the one at an instant, and changed levels. */
export const BOOK_ROUTES: readonly Route[] = VENUE_ADDRESSES.flatMap((address) => [
  snapshotsRoute(address),
  latestRoute(address),
  asOfRoute(address),
  changesRoute(address),
])

// What is being bet on over all venues, and the books of its members.
const CONTRACT_ROUTES: readonly Route[] = [
  CONTRACTS_ROUTE,
  CONTRACT_ROUTE,
  CONTRACT_BOOKS_ROUTE,
  CONTRACT_SNAPSHOTS_ROUTE,
  CONTRACT_CONSOLIDATED_ROUTE,
  CONTRACT_SPREADS_ROUTE,
  CONTRACT_LEADLAG_ROUTE,
]

/** The routes of the account and of the service itself. */
export const ACCOUNT_ROUTES: readonly Route[] = [
  whoamiRoute,
  limitsRoute,
  usageRoute,
  statusRoute,
  healthRoute,
  ...DOCUMENT_ROUTES,
]

/** Every route of the interface, in the order of the docs. */
export const ROUTES: readonly Route[] = [
  ...CATALOGUE_ROUTES,
  ...BOOK_ROUTES,
  ...CONTRACT_ROUTES,
  ...BULK_ROUTES,
  ...PROOF_ROUTES,
  ...ALERT_ROUTES,
  ...ACCOUNT_ROUTES,
]

/** True for routes that the demo copies. */
export function isInDemo(route: Route): boolean {
  return route.hasNoDemo !== true
}

export { demoAddress as toDemoAddress } from '@priorbook/sdk/wire'
