/** How Gamma reads one kind of row: markets or events. Rows come in the order of their ids. */
export type Shape<Row> = {
  readonly flags: Readonly<Record<string, (row: Row) => boolean>>
  /** Parameters that name rows; a parameter may be repeated. */
  readonly names: Readonly<Record<string, (row: Row) => readonly string[]>>
  /** Parameters `…_min` and `…_max` of times in milliseconds. */
  readonly times: Readonly<Record<string, (row: Row) => number>>
  /** Parameters `…_min` and `…_max` of amounts. */
  readonly amounts: Readonly<Record<string, (row: Row) => number>>
  /** What rows are ordered by: names of JSON fields only; `end_date` for `endDate` is refused. */
  readonly orders: Readonly<Record<string, (row: Row) => number>>
  /** True where closed rows are hidden unless the query asks for them. */
  readonly hidesClosed: boolean
}

/** The reason why Gamma rejects a query; it answers 422. */
export type QueryProblem = { readonly problem: string }

/** Max rows per page; Gamma silently caps larger limits. */
const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20
const MAX_OFFSET = 10_000
/** Max conditions that one query may name. */
const MAX_CONDITIONS = 100

/** Applies the filters, the order and the page of a query, as Gamma does. */
export function selectRows<Row>(
  all: readonly Row[],
  query: URLSearchParams,
  shape: Shape<Row>,
): readonly Row[] | QueryProblem {
  const limit = wholeOf(query, 'limit', DEFAULT_LIMIT)
  const offset = wholeOf(query, 'offset', 0)
  if (limit === undefined || offset === undefined) return { problem: 'invalid limit or offset' }
  if (offset > MAX_OFFSET) return { problem: `offset must not exceed ${MAX_OFFSET}` }
  const ordered = orderRows(all, query, shape)
  if ('problem' in ordered) return ordered
  return ordered.rows.slice(offset, offset + Math.min(limit, MAX_LIMIT))
}

/** A page that is continued by a cursor, which is absent on the last page. */
export type KeysetPage<Row> = { readonly rows: readonly Row[]; readonly next?: string }

/**
 * The same for /keyset, whose cursor is the position of the last row in the order: rows that come or go
 * meanwhile shift nothing.
 */
export function selectKeyset<Row>(
  all: readonly Row[],
  query: URLSearchParams,
  shape: Shape<Row>,
  maxLimit: number,
): KeysetPage<Row> | QueryProblem {
  if (query.has('offset')) return { problem: 'offset is not supported, use after_cursor' }
  const limit = Math.min(wholeOf(query, 'limit', DEFAULT_LIMIT) ?? NaN, maxLimit)
  if (!(limit > 0)) return { problem: 'invalid limit' }
  const ordered = orderRows(all, query, shape)
  if ('problem' in ordered) return ordered
  const { rows, names, isDescending } = ordered
  const readers = names.map((name) => shape.orders[name]!)
  const sign = isDescending ? -1 : 1
  const idSign = names[0] === 'id' ? sign : 1
  const positionOf = (row: Row): number[] => [
    ...readers.map((read) => sign * read(row)),
    idSign * shape.orders['id']!(row),
  ]
  const after = parseCursor(query.get('after_cursor'), names.length + 1)
  if (after === 'invalid') return { problem: 'after_cursor is not valid' }
  const left =
    after === undefined ? rows : rows.filter((row) => compareKeys(positionOf(row), after) > 0)
  const page = left.slice(0, limit)
  if (left.length <= limit) return { rows: page }
  return { rows: page, next: toCursor(positionOf(page.at(-1)!)) }
}

function toCursor(position: readonly number[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

function parseCursor(
  text: string | null,
  length: number,
): readonly number[] | 'invalid' | undefined {
  if (text === null) return undefined
  try {
    const position: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    const isPosition = Array.isArray(position) && position.length === length
    return isPosition && position.every((key) => typeof key === 'number') ? position : 'invalid'
  } catch {
    return 'invalid'
  }
}

type Ordered<Row> = {
  readonly rows: readonly Row[]
  readonly names: readonly string[]
  readonly isDescending: boolean
}

function orderRows<Row>(
  all: readonly Row[],
  query: URLSearchParams,
  shape: Shape<Row>,
): Ordered<Row> | QueryProblem {
  const filters = filtersOf(query, shape)
  if ('problem' in filters) return filters
  const names = (query.get('order') ?? 'id').split(',')
  if (!names.every((name) => Object.hasOwn(shape.orders, name))) {
    return { problem: 'order fields are not valid' }
  }
  const chosen = all.filter((row) => filters.every((filter) => filter(row)))
  const isDescending = query.get('ascending') === 'false'
  return { rows: sortRows(chosen, names, shape, isDescending), names, isDescending }
}

/** A whole number of the query; undefined where it is not one. */
export function wholeOf(
  query: URLSearchParams,
  name: string,
  otherwise: number,
): number | undefined {
  const text = query.get(name)
  if (text === null) return otherwise
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

// Rows come in the order of their ids, and sorting keeps the order of rows with equal keys.
function sortRows<Row>(
  rows: Row[],
  names: readonly string[],
  shape: Shape<Row>,
  isDescending: boolean,
): Row[] {
  if (names[0] === 'id') return isDescending ? rows.reverse() : rows
  const sign = isDescending ? -1 : 1
  const readers = names.map((name) => shape.orders[name]!)
  // Keys are read once per row: some of them are sums over a book.
  const keyed = rows.map((row) => ({ row, keys: readers.map((read) => sign * read(row)) }))
  keyed.sort((a, b) => compareKeys(a.keys, b.keys))
  return keyed.map(({ row }) => row)
}

function compareKeys(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < a.length; at++) {
    const difference = a[at]! - b[at]!
    if (difference !== 0) return difference
  }
  return 0
}

type Keep<Row> = (row: Row) => boolean

function filtersOf<Row>(
  query: URLSearchParams,
  shape: Shape<Row>,
): readonly Keep<Row>[] | QueryProblem {
  const filters: Keep<Row>[] = []
  for (const [name, isSo] of Object.entries(shape.flags)) {
    const wanted = query.get(name) ?? (name === 'closed' && shape.hidesClosed ? 'false' : undefined)
    if (wanted === undefined) continue
    if (wanted !== 'true' && wanted !== 'false') return { problem: `${name} must be a boolean` }
    filters.push((row) => isSo(row) === (wanted === 'true'))
  }
  for (const [name, namesOf] of Object.entries(shape.names)) {
    const wanted = new Set(query.getAll(name))
    if (name === 'condition_ids' && wanted.size > MAX_CONDITIONS) {
      return { problem: `at most ${MAX_CONDITIONS} condition_ids` }
    }
    if (wanted.size > 0) filters.push((row) => namesOf(row).some((one) => wanted.has(one)))
  }
  const bounds = [
    ...boundsOf(query, shape.times, Date.parse, 'date'),
    ...boundsOf(query, shape.amounts, Number, 'number'),
  ]
  for (const bound of bounds) {
    if ('problem' in bound) return bound
    filters.push(bound.keep)
  }
  return filters
}

function boundsOf<Row>(
  query: URLSearchParams,
  readers: Readonly<Record<string, (row: Row) => number>>,
  parse: (text: string) => number,
  what: string,
): readonly Bound<Row>[] {
  const bounds: Bound<Row>[] = []
  for (const [name, read] of Object.entries(readers)) {
    for (const [end, sign] of ENDS) {
      const text = query.get(`${name}_${end}`)
      if (text === null) continue
      const bound = parse(text)
      if (Number.isNaN(bound)) bounds.push({ problem: `${name}_${end} must be a ${what}` })
      else bounds.push({ keep: (row) => sign * (read(row) - bound) >= 0 })
    }
  }
  return bounds
}

type Bound<Row> = { readonly keep: Keep<Row> } | QueryProblem

const ENDS = [
  ['min', 1],
  ['max', -1],
] as const
