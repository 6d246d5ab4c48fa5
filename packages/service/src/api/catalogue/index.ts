import type { Route } from '../kit/route.ts'
import { AUDIT_ROUTES } from './audit.ts'
import { COVERAGE_ROUTE } from './coverage.ts'
import { COVERAGE_CALENDAR_ROUTE } from './coverage-calendar.ts'
import { EXECUTION_ROUTES } from './execution.ts'
import { GAPS_ROUTE } from './gaps.ts'
import { MARKET_LIST_ROUTES } from './market-lists.ts'
import { MARKET_RECORD_ROUTES } from './market-record.ts'
import { MARKET_SEARCH_ROUTE } from './market-search.ts'
import { TIMESERIES_ROUTES } from './timeseries.ts'
import { TRADE_ROUTES } from './trades.ts'

/** Markets, their history, trades, samples, gaps, coverage, executions and audit. */
export const CATALOGUE_ROUTES: readonly Route[] = [
  ...MARKET_LIST_ROUTES,
  MARKET_SEARCH_ROUTE,
  ...MARKET_RECORD_ROUTES,
  ...TRADE_ROUTES,
  ...TIMESERIES_ROUTES,
  GAPS_ROUTE,
  COVERAGE_ROUTE,
  COVERAGE_CALENDAR_ROUTE,
  ...EXECUTION_ROUTES,
  ...AUDIT_ROUTES,
]
