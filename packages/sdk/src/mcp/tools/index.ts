import type { Tool } from '../tool.ts'
import { BOOK_AT, PRICE_HISTORY } from './books.ts'
import { COMPARE_VENUES, FIND_CONTRACTS } from './contracts.ts'
import { COVERAGE, GAPS, WHAT_IS_RECORDED } from './coverage.ts'
import { DOWNLOAD_LINK } from './downloads.ts'
import { EXPLAIN_ERROR } from './errors.ts'
import { EXECUTION_QUOTE } from './execution.ts'
import { FIND_EVENTS, FIND_MARKETS } from './markets.ts'
import { TRADES } from './trades.ts'

/** The tools that any client may use, in the order of the list. */
export const TOOLS: readonly Tool[] = [
  WHAT_IS_RECORDED,
  FIND_MARKETS,
  FIND_EVENTS,
  FIND_CONTRACTS,
  BOOK_AT,
  PRICE_HISTORY,
  TRADES,
  GAPS,
  COVERAGE,
  EXECUTION_QUOTE,
  COMPARE_VENUES,
  DOWNLOAD_LINK,
  EXPLAIN_ERROR,
]
