import type { MarketQuery } from '../store.ts'
import type { Database } from './database.ts'
import {
  compareListed,
  toListed,
  type Condition,
  type Listed,
  type ListingColumn,
  type ListOrder,
  type ListTables,
  type Selection,
} from './listed.ts'
import { selectFamilies, timeConditions } from './list-selection.ts'
import { listFamilies, type Family } from './families.ts'
import { FEW, readRange } from './listing-range.ts'
import { readLabels } from './listing-labels.ts'
import { markHits, readWords, walkFew, walkWords, type SearchWalk } from './listing-search.ts'
import { prepareSearch, type Search } from './search-terms.ts'
import { findByText } from './word-search.ts'

const COLUMN_OF: Readonly<Record<NonNullable<MarketQuery['sort']>, ListingColumn>> = {
  open_time: 'open',
  close_time: 'close',
  volume: 'volume',
  liquidity: 'liquidity',
}

/**
 * Walks the markets or events that match, in the order of the query. Each family of markets is read in the order of
 * an index, and the families are merged: the cost depends on the markets that are taken and the number of
 * families, never on the number of markets. A search by rare words reads only the markets that have them;
 * one by frequent words also passes markets that are not hits.
 */
export function* walkListings(
  database: Database,
  query: MarketQuery,
  tables: ListTables,
  onSearch: (search: Search) => void,
): Generator<Listed> {
  const order: ListOrder = {
    column: COLUMN_OF[query.sort ?? 'open_time'],
    sign: query.order === 'desc' ? -1 : 1,
  }
  const { series, text, tag, event } = query
  const isByFacets = (series === undefined && event === undefined) || text !== undefined
  const facets = isByFacets ? listFamilies(database, tables.facets) : []
  const asked = selectFamilies(database, query, tables, facets)
  const search =
    text === undefined && tag === undefined
      ? undefined
      : prepareSearch(database, { text, tag }, facets)
  const selection = search === undefined ? asked : narrow(asked, search)
  if (search !== undefined) {
    onSearch(search)
    // Nothing has the tag.
    if (search.terms.some(({ kind, word }) => kind === 'tag' && word === undefined)) return
    const found = searchByWords(database, { search, selection, query, order })
    if (found !== undefined) {
      yield* found
      return
    }
  }
  if (event === undefined && (order.column === 'volume' || order.column === 'liquidity')) {
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
    else yield* markHits(database, merged, search, tables, query.limit)
  }
}

// A search that names an asset or a window leaves out the families of others.
function narrow(asked: Selection, search: Search): Selection {
  if (asked.by !== 'family' || search.families === undefined) return asked
  const { families: left } = search
  const families = asked.families.filter(({ id }) => left.has(id))
  const markets = families.reduce((sum, one) => sum + one.markets, 0)
  const isAll = asked.isAll && families.length === asked.families.length
  return { ...asked, families, isAll, markets: Math.min(asked.markets, markets) }
}

// What the index of words finds; undefined where walking the list is better.
function searchByWords(database: Database, walk: SearchWalk): Iterable<Listed> | undefined {
  const { search, selection, query, order } = walk
  const { tables, by, more, markets } = selection
  if (markets <= query.limit) return undefined
  const isByTime = order.column === 'open' && markets > FEW
  const hits = findByText(database, search, tables, isByTime)
  if (hits === undefined) return undefined
  if (!hits.isFew) return isByTime ? walkWords(database, hits.lists, walk) : undefined
  const { list } = hits
  const isTagAlone = list.table === tables.label && search.terms.length === 1
  if (isTagAlone && by === 'family' && more.length === 0) {
    return list.words.flatMap((word) => readLabels(database, word, walk))
  }
  const isSortedByTime = order.column === 'open'
  return isSortedByTime ? walkFew(database, list, walk) : readWords(database, list, walk)
}

/** What one lane reads. */
type LanePlan = {
  readonly tables: ListTables
  readonly by: 'family' | 'line'
  readonly family: Family
  /** The event that all of its markets are of. */
  readonly event: number | undefined
  readonly order: ListOrder
  readonly isNull: boolean
  readonly where: readonly Condition[]
}

// Markets without a value come after all others, so they are a second round of lanes.
function lanesOf(
  { tables, by, families, more, events }: Selection,
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
      const where = [...place, ...times, ...more]
      const event = events?.get(family.venue)
      const lane = { tables, by, family, event, order, isNull, where }
      if (isNull) empty.push(lane)
      else filled.push(lane)
    }
  }
  return [filled, empty]
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

// Least rows of the first read of a lane where there are many lanes; later reads take twice as many.
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
    const share = lanes <= 4 ? limit + 1 : Math.max(FIRST_READ, Math.ceil((limit + 1) / lanes))
    this.#size = Math.min(share, MAX_READ)
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
    const { tables, by, family, event, order } = this.#plan
    const { column, sign } = order
    const direction = sign === 1 ? 'ASC' : 'DESC'
    const rows = this.#database.columns(
      `SELECT id, ${column}, name FROM ${tables.listing} INDEXED BY ${indexOf(this.#plan)}
       WHERE ${event === undefined ? '' : 'event = ? AND'} ${by} = ?
       ${where.map(([sql]) => `AND ${sql}`).join(' ')}
       ORDER BY ${column} ${direction}, name ${direction} LIMIT ?`,
      ...(event === undefined ? [] : [event]),
      family.id,
      ...where.flatMap(([, ...values]) => values),
      this.#size,
    )
    this.#isDone = rows.length < this.#size
    this.#at = 0
    const { venue } = family
    this.#rows = rows.map(([id, value, name]) => toListed([id!, value!, name!, venue]))
  }
}

function indexOf({ tables, by, event, order: { column } }: LanePlan): string {
  if (event !== undefined) return 'listing_event'
  if (tables.listing === 'event') return `${by === 'family' ? 'event' : 'event_line'}_${column}`
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
