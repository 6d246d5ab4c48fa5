import type { MarketQuery } from '../store.ts'
import type { Database } from './database.ts'
import { familiesOfEvent, findEventNumbers } from './events.ts'
import { listFamilies, readFamilies, type Family } from './families.ts'
import type { Condition, ListingColumn, ListTables, Selection } from './listed.ts'

/**
 * The families that a query selects: those of an event, of a series, or of all. `facets` are all families by
 * asset and window.
 */
export function selectFamilies(
  database: Database,
  query: MarketQuery,
  tables: ListTables,
  facets: readonly Family[],
): Selection {
  if (query.event !== undefined) return selectEvent(database, query, query.event, tables)
  const { series } = query
  const all = series === undefined ? facets : listFamilies(database, tables.series, series)
  const families = all.filter(
    (family) =>
      matches(family, query, series === undefined) && isIncluded(database, family, query, tables),
  )
  const markets = families.reduce((sum, family) => sum + family.markets, 0)
  const more = series === undefined ? [] : ofSeries(query)
  const by = series === undefined ? 'family' : 'line'
  const isAll = series === undefined && families.length === all.length
  return { tables, by, families, isAll, markets, more }
}

// An event may have many markets, but they are of few families; each is read by an index.
function selectEvent(
  database: Database,
  query: MarketQuery,
  event: string,
  tables: ListTables,
): Selection {
  const numbers = findEventNumbers(database, event)
  const families = numbers
    .flatMap(({ id }) => readFamilies(database, familiesOfEvent(database, id)))
    .filter((family) => matches(family, query, true) && isIncluded(database, family, query, tables))
  const ids = JSON.stringify(numbers.map(({ id }) => id))
  const more: Condition[] = [['event IN (SELECT value FROM json_each(?))', ids]]
  if (query.series !== undefined) more.push(ofMarket('series', query.series))
  const markets = numbers.reduce((sum, one) => sum + one.markets, 0)
  const events = new Map<string, number>(numbers.map(({ id, venue }) => [venue, id]))
  return { tables, by: 'family', families, isAll: false, markets, more, events }
}

function matches(family: Family, query: MarketQuery, hasFacets: boolean): boolean {
  const { venue, asset, hasAsset, window, status, category } = query
  return (
    (venue === undefined || family.venue === venue) &&
    (status === undefined || family.status === status) &&
    (category === undefined || family.category.toLowerCase() === category.trim().toLowerCase()) &&
    (!hasFacets ||
      ((asset === undefined || family.asset === asset) &&
        (hasAsset === undefined || (family.asset !== '') === hasAsset) &&
        (window === undefined || family.span === window)))
  )
}

// A series has one asset and one window, so these hardly ever leave a market out.
function ofSeries({ asset, hasAsset, window }: MarketQuery): Condition[] {
  const more: Condition[] = []
  if (asset !== undefined) more.push(ofMarket('asset', asset))
  if (window !== undefined) more.push(ofMarket('span', window))
  if (hasAsset !== undefined) {
    const is = hasAsset ? 'IS NOT NULL' : 'IS NULL'
    more.push([`(SELECT asset FROM market WHERE market.id = listing.id) ${is}`])
  }
  return more
}

function ofMarket(column: string, value: string): Condition {
  return [`(SELECT ${column} FROM market WHERE market.id = listing.id) = ?`, value]
}

// The caller is asked only about families that have a market in the range: it may tell what is left out.
function isIncluded(
  database: Database,
  family: Family,
  query: MarketQuery,
  { listing }: ListTables,
): boolean {
  if (query.includes === undefined || family.asset === '') return true
  const where = timeConditions(family, query, 'open')
  const row = database.get(
    `SELECT 1 AS found FROM ${listing} INDEXED BY ${listing}_open
     WHERE family = ? ${where.map(([sql]) => `AND ${sql}`).join(' ')} LIMIT 1`,
    family.id,
    ...where.flatMap(([, ...values]) => values),
  )
  return row === undefined || query.includes(family.venue, family.asset)
}

/** The conditions that the times of a query put on the markets of a family. */
export function timeConditions(
  family: Family,
  { start, end }: MarketQuery,
  column: ListingColumn,
): Condition[] {
  const where: Condition[] = []
  if (start !== undefined && !family.isEndless) {
    where.push(['close > ?', start])
    // No market of the family lasts longer, so older ones have closed.
    if (column !== 'close') where.push(['open > ?', start - family.longest - 1])
  }
  if (end !== undefined) {
    where.push(['open < ?', end])
    if (column === 'close' && !family.isEndless) {
      where.push(['close < ?', end + family.longest + 1])
    }
  }
  return where
}
