import type { MarketQuery } from '../store.ts'
import type { Column, Database } from './database.ts'
import { FAMILY_KIND, listFamilies, type Family, type ListingColumn } from './listing.ts'

/** One market of a list: its number, and its place in the order. */
export type Listed = {
  readonly id: number
  /** The value that the list is sorted by; null where the market has none. */
  readonly value: number | null
  readonly venue: string
  readonly name: string
}

const COLUMN_OF: Readonly<Record<NonNullable<MarketQuery['sort']>, ListingColumn>> = {
  open_time: 'open',
  close_time: 'close',
  volume: 'volume',
  liquidity: 'liquidity',
}

/**
 * Walks the markets that match all filters but `text`, in the order of the query. Each family of markets
 * is read in the order of an index, and the families are merged: the cost depends on the markets that
 * are taken and the number of families, never on the number of markets.
 */
export function* walkListings(database: Database, query: MarketQuery): Generator<Listed> {
  const order: Order = {
    column: COLUMN_OF[query.sort ?? 'open_time'],
    sign: query.order === 'desc' ? -1 : 1,
  }
  const families = familiesOf(database, query)
  if (order.column === 'volume' || order.column === 'liquidity') {
    if (query.start !== undefined || query.end !== undefined) {
      const few = readFew(database, families, query, order)
      if (few !== undefined) {
        yield* few
        return
      }
    }
  }
  for (const lanes of lanesOf(families, query, order)) {
    yield* merge(
      lanes.map((lane) => new Lane(database, lane, query.limit, lanes.length)),
      order,
    )
  }
}

type Order = { readonly column: ListingColumn; readonly sign: 1 | -1 }

/** The order of a list: values first, markets without one last, ties by venue and id. */
export function compareListed(a: Listed, b: Listed, sign: 1 | -1): number {
  if (a.value !== b.value) {
    if (a.value === null) return 1
    if (b.value === null) return -1
    return sign * (a.value - b.value)
  }
  if (a.venue !== b.venue) return a.venue < b.venue ? -sign : sign
  return a.name === b.name ? 0 : a.name < b.name ? -sign : sign
}

function familiesOf(database: Database, query: MarketQuery): Filtered {
  const { venue, series, asset, window, status } = query
  const kind = series === undefined ? FAMILY_KIND.facets : FAMILY_KIND.series
  const all = listFamilies(database, kind, series)
  const families = all.filter(
    (family) =>
      (venue === undefined || family.venue === venue) &&
      (status === undefined || family.status === status) &&
      (series !== undefined ||
        ((asset === undefined || family.asset === asset) &&
          (window === undefined || family.span === window))),
  )
  // A series has one asset and one window, so these hardly ever leave a market out.
  const more: Condition[] = []
  if (series !== undefined && asset !== undefined) more.push(ofMarket('asset', asset))
  if (series !== undefined && window !== undefined) more.push(ofMarket('span', window))
  return { by: series === undefined ? 'family' : 'line', families, more }
}

function ofMarket(column: string, value: string): Condition {
  return [`(SELECT ${column} FROM market WHERE market.id = listing.id) = ?`, value]
}

type Filtered = {
  readonly by: 'family' | 'line'
  readonly families: readonly Family[]
  readonly more: readonly Condition[]
}

type Condition = readonly [sql: string, ...values: Column[]]

/** What one lane reads. */
type LanePlan = {
  readonly by: 'family' | 'line'
  readonly family: Family
  readonly order: Order
  readonly isNull: boolean
  readonly where: readonly Condition[]
}

// Markets without a value come after all others, so they are a second round of lanes.
function lanesOf(
  { by, families, more }: Filtered,
  query: MarketQuery,
  order: Order,
): [LanePlan[], LanePlan[]] {
  const filled: LanePlan[] = []
  const empty: LanePlan[] = []
  for (const family of families) {
    const times = timeConditions(family, query, order.column)
    if (times === undefined) continue
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
): Condition[] | undefined {
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
  { column, sign }: Order,
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
    this.#rows = rows.map((row) => ({
      id: row['id'] as number,
      value: row['value'] as number | null,
      venue: family.venue,
      name: row['name'] as string,
    }))
  }
}

function indexOf(by: 'family' | 'line', column: ListingColumn): string {
  return `${by === 'family' ? 'listing' : 'line'}_${column}`
}

function* merge(all: readonly Lane[], { sign }: Order): Generator<Listed> {
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

// Max markets of a range that are sorted in memory.
const FEW = 4000

// A short range of time holds few markets; walking an index on volume would visit all the others.
function readFew(
  database: Database,
  { by, families, more }: Filtered,
  query: MarketQuery,
  order: Order,
): Listed[] | undefined {
  const found: Listed[] = []
  for (const family of families) {
    const where = [...timeConditions(family, query, 'open')!, ...more]
    const rows = database.all(
      `SELECT id, ${order.column} AS value, name FROM listing INDEXED BY ${indexOf(by, 'open')}
       WHERE ${by} = ? ${where.map(([sql]) => `AND ${sql}`).join(' ')} LIMIT ?`,
      family.id,
      ...where.flatMap(([, ...values]) => values),
      FEW + 1,
    )
    for (const row of rows) {
      const { id, value, name } = row as { id: number; value: number | null; name: string }
      found.push({ id, value, venue: family.venue, name })
    }
    if (found.length > FEW) return undefined
  }
  found.sort((a, b) => compareListed(a, b, order.sign))
  const { after } = query
  if (after === undefined) return found
  const value = after.value === undefined ? after.openTime : after.value
  const place = { id: 0, value, venue: after.venue, name: after.marketId }
  return found.filter((listed) => compareListed(listed, place, order.sign) > 0)
}
