import type { MarketQuery } from '../store.ts'
import type { Database } from './database.ts'
import {
  compareListed,
  sortListed,
  toListed,
  type Condition,
  type Listed,
  type ListOrder,
  type Selection,
} from './listed.ts'
import { FAMILY_KIND, listFamilies, type Family, type ListingColumn } from './listing.ts'
import { FEW, readRange } from './listing-range.ts'
import { markHits, readWords, walkWords, type SearchWalk } from './listing-search.ts'
import { prepareSearch, type Search } from './search-terms.ts'
import { findByText } from './word-search.ts'

const COLUMN_OF: Readonly<Record<NonNullable<MarketQuery['sort']>, ListingColumn>> = {
  open_time: 'open',
  close_time: 'close',
  volume: 'volume',
  liquidity: 'liquidity',
}

/**
 * Walks the markets that match, in the order of the query. Each family of markets is read in the order of
 * an index, and the families are merged: the cost depends on the markets that are taken and the number of
 * families, never on the number of markets. A search by rare words reads only the markets that have them;
 * one by frequent words also passes markets that are not hits.
 */
export function* walkListings(
  database: Database,
  query: MarketQuery,
  onSearch: (search: Search) => void,
): Generator<Listed> {
  const order: ListOrder = {
    column: COLUMN_OF[query.sort ?? 'open_time'],
    sign: query.order === 'desc' ? -1 : 1,
  }
  const { series, text } = query
  const isByFacets = series === undefined || text !== undefined
  const facets = isByFacets ? listFamilies(database, FAMILY_KIND.facets) : []
  const asked = familiesOf(database, query, facets)
  const search = text === undefined ? undefined : prepareSearch(database, text, facets)
  const selection = search === undefined ? asked : narrow(asked, search)
  if (search !== undefined) {
    onSearch(search)
    const found = searchByWords(database, { search, selection, query, order })
    if (found !== undefined) {
      yield* found
      return
    }
  }
  if (order.column === 'volume' || order.column === 'liquidity') {
    if (query.start !== undefined || query.end !== undefined) {
      const few = readRange(database, selection, query, order, search)
      if (few !== undefined) {
        yield* few
        return
      }
    }
  }
  for (const plans of lanesOf(selection, query, order)) {
    const lanes = plans.map((plan) => new Lane(database, plan, query.limit, plans.length))
    const merged = merge(lanes, order)
    if (search === undefined) yield* merged
    else yield* markHits(database, merged, search, query.limit)
  }
}

// A search that names an asset or a window leaves out the families of others.
function narrow(asked: Selection, search: Search): Selection {
  if (asked.by !== 'family') return asked
  const families = asked.families.filter(({ id }) => search.families.has(id))
  return { ...asked, families, markets: families.reduce((sum, one) => sum + one.markets, 0) }
}

// What the index of words finds; undefined where walking the list is better.
function searchByWords(database: Database, walk: SearchWalk): Iterable<Listed> | undefined {
  const { search, selection, query, order } = walk
  if (selection.markets <= query.limit) return undefined
  const hits = findByText(database, search)
  if (hits === undefined) return undefined
  if (hits.isFew) return sortListed(readWords(database, hits.words, walk), query.after, order)
  const isByTime = order.column === 'open' && selection.markets > FEW
  return isByTime ? walkWords(database, hits.words, walk) : undefined
}

function familiesOf(database: Database, query: MarketQuery, facets: readonly Family[]): Selection {
  const { venue, series, asset, window, status } = query
  const all = series === undefined ? facets : listFamilies(database, FAMILY_KIND.series, series)
  const families = all.filter(
    (family) =>
      (venue === undefined || family.venue === venue) &&
      (status === undefined || family.status === status) &&
      (series !== undefined ||
        ((asset === undefined || family.asset === asset) &&
          (window === undefined || family.span === window))) &&
      isIncluded(database, family, query),
  )
  // A series has one asset and one window, so these hardly ever leave a market out.
  const more: Condition[] = []
  if (series !== undefined && asset !== undefined) more.push(ofMarket('asset', asset))
  if (series !== undefined && window !== undefined) more.push(ofMarket('span', window))
  const markets = families.reduce((sum, family) => sum + family.markets, 0)
  return { by: series === undefined ? 'family' : 'line', families, markets, more }
}

// The caller is asked only about families that have a market in the range: it may tell what is left out.
function isIncluded(database: Database, family: Family, query: MarketQuery): boolean {
  if (query.includes === undefined || family.asset === '') return true
  const where = timeConditions(family, query, 'open')
  const row = database.get(
    `SELECT 1 AS found FROM listing INDEXED BY listing_open
     WHERE family = ? ${where.map(([sql]) => `AND ${sql}`).join(' ')} LIMIT 1`,
    family.id,
    ...where.flatMap(([, ...values]) => values),
  )
  return row === undefined || query.includes(family.venue, family.asset)
}

function ofMarket(column: string, value: string): Condition {
  return [`(SELECT ${column} FROM market WHERE market.id = listing.id) = ?`, value]
}

/** What one lane reads. */
type LanePlan = {
  readonly by: 'family' | 'line'
  readonly family: Family
  readonly order: ListOrder
  readonly isNull: boolean
  readonly where: readonly Condition[]
}

// Markets without a value come after all others, so they are a second round of lanes.
function lanesOf(
  { by, families, more }: Selection,
  query: MarketQuery,
  order: ListOrder,
): [LanePlan[], LanePlan[]] {
  const filled: LanePlan[] = []
  const empty: LanePlan[] = []
  for (const family of families) {
    const times = timeConditions(family, query, order.column)
    for (const isNull of [false, true]) {
      if (isNull && order.column === 'open') continue
      if (order.column === 'close' && family.isEndless !== isNull) continue
      const place = placeConditions(family.venue, query.after, order, isNull)
      if (place === undefined) continue
      const lane = { by, family, order, isNull, where: [...place, ...times, ...more] }
      if (isNull) empty.push(lane)
      else filled.push(lane)
    }
  }
  return [filled, empty]
}

function timeConditions(
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

// The conditions that put a lane after the position of a walk; undefined where all of it is before.
function placeConditions(
  venue: string,
  after: MarketQuery['after'],
  { column, sign }: ListOrder,
  isNull: boolean,
): Condition[] | undefined {
  const where: Condition[] = [[isNull ? `${column} IS NULL` : `${column} IS NOT NULL`]]
  if (after === undefined) return where
  const value = after.value === undefined ? after.openTime : after.value
  const beyond = sign === 1 ? '>' : '<'
  const isLater = venue !== after.venue && venue > after.venue === (sign === 1)
  const isSame = venue === after.venue
  if (value === null) {
    if (!isNull) return undefined
    if (isSame) return [...where, [`name ${beyond} ?`, after.marketId]]
    return isLater ? where : undefined
  }
  if (isNull) return where
  if (isSame) return [[`(${column}, name) ${beyond} (?, ?)`, value, after.marketId]]
  return [[`${column} ${beyond}${isLater ? '=' : ''} ?`, value]]
}

// Rows of the first read of a lane where there are many lanes; later reads take twice as many.
const FIRST_READ = 4
const MAX_READ = 1000

class Lane {
  readonly #database: Database
  readonly #plan: LanePlan
  #size: number
  #rows: readonly Listed[] = []
  #at = 0
  #isDone = false

  constructor(database: Database, plan: LanePlan, limit: number, lanes: number) {
    this.#database = database
    this.#plan = plan
    this.#size = lanes <= 4 ? Math.min(limit + 1, MAX_READ) : FIRST_READ
    this.#read(plan.where)
  }

  get head(): Listed | undefined {
    return this.#rows[this.#at]
  }

  next(): void {
    const last = this.#rows[this.#at++]
    if (this.#at < this.#rows.length || this.#isDone || last === undefined) return
    const { family, order, isNull, where } = this.#plan
    const { venue, name: marketId, value } = last
    const after = { openTime: 0, value, venue, marketId }
    const place = placeConditions(family.venue, after, order, isNull)!
    // The conditions of the start are still true; those of the place are narrower.
    this.#size = Math.min(this.#size * 2, MAX_READ)
    this.#read([...place, ...where.slice(1)])
  }

  #read(where: readonly Condition[]): void {
    const { by, family, order } = this.#plan
    const { column, sign } = order
    const direction = sign === 1 ? 'ASC' : 'DESC'
    const rows = this.#database.all(
      `SELECT id, ${column} AS value, name FROM listing INDEXED BY ${indexOf(by, column)}
       WHERE ${by} = ? ${where.map(([sql]) => `AND ${sql}`).join(' ')}
       ORDER BY ${column} ${direction}, name ${direction} LIMIT ?`,
      family.id,
      ...where.flatMap(([, ...values]) => values),
      this.#size,
    )
    this.#isDone = rows.length < this.#size
    this.#at = 0
    this.#rows = rows.map((row) => toListed(row, family.venue))
  }
}

function indexOf(by: 'family' | 'line', column: ListingColumn): string {
  return `${by === 'family' ? 'listing' : 'line'}_${column}`
}

function* merge(all: readonly Lane[], { sign }: ListOrder): Generator<Listed> {
  let lanes = all.filter(({ head }) => head !== undefined)
  while (lanes.length > 0) {
    let first = lanes[0]!
    for (const lane of lanes) {
      if (lane !== first && compareListed(lane.head!, first.head!, sign) < 0) first = lane
    }
    const taken = first.head!
    first.next()
    if (first.head === undefined) lanes = lanes.filter((lane) => lane !== first)
    yield taken
  }
}
