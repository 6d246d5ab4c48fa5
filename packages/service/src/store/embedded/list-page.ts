import type { MarketPage, MarketQuery } from '../store.ts'
import type { Database } from './database.ts'
import type { Listed, ListTables } from './listed.ts'
import { walkListings } from './listing-walk.ts'
import { correctionsOf, type Search } from './search-terms.ts'

/** What a page of a list holds, and how the list goes on. */
export type ListPage = Omit<MarketPage, 'markets'> & { readonly found: readonly Listed[] }

// Max markets that a search by frequent words passes without a hit; others wait for it.
const MAX_PASSED = 4000

/** The markets or events of one page, in the order of the query. */
export function takePage(database: Database, query: MarketQuery, tables: ListTables): ListPage {
  const found: Listed[] = []
  let search: Search | undefined
  const page = (more: Pick<ListPage, 'hasMore' | 'reached'>): ListPage => {
    const corrections = correctionsOf(search)
    return corrections.length === 0 ? { found, ...more } : { found, corrections, ...more }
  }
  let passed = 0
  for (const listed of walkListings(database, query, tables, (made) => void (search = made))) {
    if (!listed.isHit) {
      passed += listed.passed ?? 1
      if (passed < MAX_PASSED) continue
      const { venue, name: marketId, value } = listed
      return page({ hasMore: true, reached: { openTime: value ?? 0, venue, marketId, value } })
    }
    if (found.length === query.limit) return page({ hasMore: true })
    found.push(listed)
  }
  return page({ hasMore: false })
}
