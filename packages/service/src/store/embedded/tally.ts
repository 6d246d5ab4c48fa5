import {
  DAY_MICROS,
  isBackfillKey,
  startOfDay,
  toBackfillKey,
  ORIGINS,
  VENUES,
  type GapReason,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import { CHUNK_KINDS, type ChunkKind } from '@priorbook/sdk/tape'
import { BACKFILL_EXTENT, type DatasetExtent, type DayTotals } from '../store.ts'
import type { Column, Database, Row } from './database.ts'
import { checkRow, holds, rowSum } from './row-sum.ts'
import { STATE, writeState } from './state.ts'

/** What sums are kept by. */
export type Facets = { readonly asset: string; readonly span: string }

/** The asset and window of a market, as far as its record or its ticker tells. */
export function facetsOf(database: Database, venue: VenueId, market: string): Facets {
  const row = database.get(
    'SELECT asset, span, series FROM market WHERE venue = ? AND market = ?',
    venue,
    market,
  )
  return facetsIn(venue, market, row)
}

/** The sums of a market by its row of the list, which may be missing. */
export function facetsIn(venue: VenueId, market: string, row: Row | undefined): Facets {
  const ticker = (row?.['series'] as string | null | undefined) ?? market
  const asset = (row?.['asset'] as string | null | undefined) ?? tickerAsset(venue, ticker) ?? ''
  return { asset: asset.toUpperCase(), span: (row?.['span'] as string | null | undefined) ?? '' }
}

function tickerAsset(venue: VenueId, ticker: string): string | undefined {
  return VENUES[venue].assetInTicker?.exec(ticker)?.[1]
}

/** True when both put rows into the same sums. */
export function sameFacets(a: Facets, b: Facets): boolean {
  return a.asset === b.asset && a.span === b.span
}

/** What is added to the sums of one day. */
export type DayDelta = {
  readonly markets: number
  readonly instruments: number
  readonly observations: number
  readonly observed: number
  readonly last: number
}

/** A table of sums, with its statements made once: `day` is read and written in every commit. */
type SumTable = {
  readonly name: string
  readonly columns: readonly string[]
  readonly find: string
  readonly save: string
}

const DAYS = sumTable(
  'day',
  ['venue', 'day', 'asset'],
  ['markets', 'instruments', 'observations', 'observed', 'last'],
)
const GAP_DAYS = sumTable('day_gap', ['venue', 'day', 'asset', 'reason'], ['gaps', 'micros'])
const EXTENTS = sumTable(
  'extent',
  ['venue', 'kind', 'metric', 'asset', 'span', 'origin'],
  ['streams', 'first'],
)

/** Adds to the sums of a day; the caller is in a write transaction. */
export function addToDay(
  database: Database,
  venue: VenueId,
  asset: string,
  day: number,
  delta: DayDelta,
): void {
  const before = find(database, DAYS, [venue, day, asset])
  const sum = (name: Exclude<keyof DayDelta, 'last'>): number =>
    Math.max(0, numberIn(before, name) + delta[name])
  const last = Math.max(numberIn(before, 'last'), delta.last)
  const values = [sum('markets'), sum('instruments'), sum('observations'), sum('observed'), last]
  save(database, DAYS, [venue, day, asset, ...values])
}

/** Adds a closed gap (`sign` 1) to the sums of the days that it touches, or takes it away again. */
export function addGapDays(
  database: Database,
  gap: { readonly venue: VenueId; readonly reason: GapReason; start: number; end: number },
  asset: string,
  sign: 1 | -1,
): void {
  const { venue, reason, start, end } = gap
  const sums = database.draft('gap days', () => new GapDays(database)).sumsOf(venue, asset, reason)
  // A gap of years is no more than a sum of its first days.
  const first = startOfDay(start)
  for (let day = first, seen = 0; day < end && seen < MAX_GAP_DAYS; day += DAY_MICROS, seen++) {
    const micros = Math.min(end, day + DAY_MICROS) - Math.max(start, day)
    if (micros <= 0) continue
    const sum = sums.get(day)
    if (sum === undefined) sums.set(day, { gaps: sign, micros: sign * micros })
    else {
      sum.gaps += sign
      sum.micros += sign * micros
    }
  }
}

type GapSum = { gaps: number; micros: number }

/** What the gaps of one transaction add: thousands of markets that are listed at once were open for the same weeks. */
class GapDays {
  private readonly database: Database
  /** Sums by day, by venue, asset and reason. */
  private readonly added = new Map<string, { readonly key: GapKey; readonly sums: GapSums }>()

  constructor(database: Database) {
    this.database = database
  }

  sumsOf(...key: GapKey): GapSums {
    const name = key.join(' ')
    let known = this.added.get(name)
    if (known === undefined) this.added.set(name, (known = { key, sums: new Map() }))
    return known.sums
  }

  write(): boolean {
    if (this.added.size === 0) return false
    for (const { key, sums } of this.added.values()) {
      const [venue, asset, reason] = key
      for (const [day, added] of sums) {
        const name = [venue, day, asset, reason]
        const before = find(this.database, GAP_DAYS, name)
        const gaps = Math.max(0, numberIn(before, 'gaps') + added.gaps)
        const micros = Math.max(0, numberIn(before, 'micros') + added.micros)
        save(this.database, GAP_DAYS, [...name, gaps, micros])
      }
    }
    this.added.clear()
    return true
  }
}

type GapKey = readonly [venue: VenueId, asset: string, reason: GapReason]
type GapSums = Map<number, GapSum>

const MAX_GAP_DAYS = 400

function extentMetric({ key, metric }: { readonly key: string; readonly metric: string }): string {
  return metric === '' && isBackfillKey(key) ? BACKFILL_EXTENT : metric
}

// The same in SQL.
const EXTENT_METRIC = `CASE WHEN s.metric = '' AND s.key LIKE '${toBackfillKey('')}%'
  THEN '${BACKFILL_EXTENT}' ELSE s.metric END`

/** Counts a stream from its first row on, or no longer (−1); the caller is in a write transaction. */
export function addStream(
  database: Database,
  stream: {
    readonly venue: VenueId
    readonly key: string
    readonly kind: ChunkKind
    readonly metric: string
    readonly maker: { readonly origin: Origin }
  },
  { asset, span }: Facets,
  firstReceived: number,
  count: 1 | -1 = 1,
): void {
  const { venue, kind, maker } = stream
  const metric = extentMetric(stream)
  const key = [venue, CHUNK_KINDS.indexOf(kind), metric, asset, span, ORIGINS.indexOf(maker.origin)]
  const before = find(database, EXTENTS, key)
  const first = Math.min((before?.['first'] as number | undefined) ?? Infinity, firstReceived)
  const values = [Math.max(0, numberIn(before, 'streams') + count), first]
  save(database, EXTENTS, [...key, ...values])
}

/** Counts a stream no longer that has no row left; the caller is in a write transaction. */
export function dropStream(
  database: Database,
  stream: Parameters<typeof addStream>[1],
  { asset, span }: Facets,
): void {
  const { venue, kind, maker } = stream
  const metric = extentMetric(stream)
  const key = [venue, CHUNK_KINDS.indexOf(kind), metric, asset, span, ORIGINS.indexOf(maker.origin)]
  const before = find(database, EXTENTS, key)
  if (before === undefined) return
  const values = [Math.max(0, numberIn(before, 'streams') - 1), numberIn(before, 'first')]
  save(database, EXTENTS, [...key, ...values])
}

/** The first rows of some streams, by what extents are kept by; null where no row is left. */
export type FirstRows = ReadonlyMap<string, number | null>

type FirstRow = { readonly key: Column[]; readonly first: number | null }

// What the streams of a condition are counted under, and when their first row was received.
function firstRowsOf(database: Database, where: string, ...values: Column[]): FirstRow[] {
  const rows = database.all(
    `SELECT s.venue AS venue, s.market AS market, s.kind AS kind, ${EXTENT_METRIC} AS metric,
       s.origin AS origin, m.asset AS asset, m.span AS span, m.series AS series,
       coalesce((SELECT first_received FROM chunk WHERE stream = s.id ORDER BY first LIMIT 1),
         CASE WHEN s.removed = 0 THEN s.known_from END) AS first
     FROM stream s LEFT JOIN market m ON m.venue = s.venue AND m.market = s.market
     WHERE s.known_to IS NULL AND ${where}`,
    ...values,
  )
  return rows.map((row) => {
    const { venue, kind, metric, origin } = row
    const { asset, span } = facetsIn(venue as VenueId, row['market'] as string, row)
    return {
      key: [venue!, kind!, metric!, asset, span, origin!],
      first: row['first'] as number | null,
    }
  })
}

/** Adds the first rows of the streams with numbers in (after, until] to those found before. */
export function collectFirstRows(
  database: Database,
  venue: VenueId | undefined,
  after: number,
  until: number,
  found: FirstRows = new Map(),
): FirstRows {
  const where = 's.id > ? AND s.id <= ? AND (? IS NULL OR s.venue = ?)'
  const own = venue ?? null
  const merged = new Map(found)
  for (const { key, first } of firstRowsOf(database, where, after, until, own, own)) {
    const name = JSON.stringify(key)
    const known = merged.get(name) ?? null
    const both = known !== null && first !== null
    merged.set(name, both ? Math.min(known, first) : (known ?? first))
  }
  return merged
}

/** Writes the first row of each kind, after rows were removed; the caller is in a write transaction. */
export function saveFirstRows(database: Database, found: FirstRows): void {
  for (const [name, first] of found) {
    const key = JSON.parse(name) as Column[]
    const before = find(database, EXTENTS, key)
    if (before === undefined) continue
    const streams = first === null ? 0 : numberIn(before, 'streams')
    const values = [...key, streams, first ?? numberIn(before, 'first')]
    save(database, EXTENTS, values)
  }
}

/** Finds the first row of each kind again, after rows were removed. */
export function recountExtents(database: Database): void {
  const extents = new Map<string, { readonly key: Column[]; streams: number; first: number }>()
  for (const { key, first } of firstRowsOf(database, '1')) {
    if (first === null) continue
    const name = JSON.stringify(key)
    const known = extents.get(name)
    if (known === undefined) extents.set(name, { key, streams: 1, first })
    else {
      known.streams++
      known.first = Math.min(known.first, first)
    }
  }
  database.run('DELETE FROM extent')
  for (const { key, streams, first } of extents.values()) {
    save(database, EXTENTS, [...key, streams, first])
  }
}

/** The sums of a venue for the days in [from, to), by asset. */
export function listDays(
  database: Database,
  venue: VenueId,
  from: number,
  to: number,
): DayTotals[] {
  const days = new Map<string, DayTotals & { gaps: DayTotals['gaps'][number][] }>()
  const at = (row: Row): DayTotals & { gaps: DayTotals['gaps'][number][] } => {
    const day = row['day'] as number
    const asset = row['asset'] as string
    const name = `${day} ${asset}`
    const known = days.get(name)
    if (known !== undefined) return known
    const empty = { day, asset, markets: 0, instruments: 0, observations: 0, observedMicros: 0 }
    const fresh = { ...empty, gaps: [] }
    days.set(name, fresh)
    return fresh
  }
  for (const row of range(database, DAYS, venue, from, to)) {
    const { markets, instruments, observations, observed } = row as Record<string, number>
    Object.assign(at(row), { markets, instruments, observations, observedMicros: observed })
  }
  for (const row of range(database, GAP_DAYS, venue, from, to)) {
    const { gaps, micros } = row as { gaps: number; micros: number }
    if (gaps > 0) at(row).gaps.push({ reason: row['reason'] as GapReason, gaps, micros })
  }
  return [...days.values()].sort((a, b) => a.day - b.day)
}

/** The first row of each kind of row of a venue, by asset, window and origin. */
export function listExtents(database: Database, venue: VenueId): DatasetExtent[] {
  const { columns } = EXTENTS
  const rows = database.all(`SELECT ${columns.join(', ')}, sum FROM extent WHERE venue = ?`, venue)
  return rows
    .filter(({ streams }) => streams !== 0)
    .map((row) => {
      checkRow('extent', columns, row)
      return {
        kind: CHUNK_KINDS[row['kind'] as number]!,
        metric: row['metric'] as string,
        asset: row['asset'] as string,
        window: row['span'] as string,
        origin: ORIGINS[row['origin'] as number]!,
        streams: row['streams'] as number,
        firstReceived: row['first'] as number,
      }
    })
}

/** The received time of the newest observation of a venue, 0 where there is none. */
export function lastReceivedOf(database: Database, venue: VenueId): number {
  const { columns } = DAYS
  const rows = database.all(
    `SELECT ${columns.join(', ')}, sum FROM day
     WHERE venue = ? AND day = (SELECT max(day) FROM day WHERE venue = ? AND observations > 0)`,
    venue,
    venue,
  )
  let last = 0
  for (const row of rows) {
    checkRow('day', columns, row)
    last = Math.max(last, row['last'] as number)
  }
  return last
}

function range(
  database: Database,
  { name, columns }: SumTable,
  venue: string,
  from: number,
  to: number,
): Row[] {
  const rows = database.all(
    `SELECT ${columns.join(', ')}, sum FROM ${name} WHERE venue = ? AND day >= ? AND day < ?`,
    venue,
    from,
    to,
  )
  for (const row of rows) checkRow(name, columns, row)
  return rows
}

// A damaged sum must not stop a recorder: everything is counted again when the tape is next opened.
function find(database: Database, table: SumTable, key: readonly Column[]): Row | undefined {
  const row = database.get(table.find, ...key)
  if (row === undefined || holds(table.name, table.columns, row)) return row
  writeState(database, STATE.counted, 0)
  return undefined
}

function save(database: Database, table: SumTable, values: readonly Column[]): void {
  database.run(table.save, ...values, rowSum(table.name, values))
}

function sumTable(name: string, key: readonly string[], values: readonly string[]): SumTable {
  const columns = [...key, ...values]
  const names = columns.join(', ')
  const keyed = key.map((column) => `${column} = ?`).join(' AND ')
  return {
    name,
    columns,
    find: `SELECT ${names}, sum FROM ${name} WHERE ${keyed}`,
    save: `INSERT OR REPLACE INTO ${name} (${names}, sum) VALUES (${'?, '.repeat(columns.length)}?)`,
  }
}

function numberIn(row: Row | undefined, name: string): number {
  return (row?.[name] as number | undefined) ?? 0
}
