import {
  startOfDay,
  FLAGS,
  PARITY_CHECKS,
  VENUES,
  type Instrument,
  type ParityCheck,
  type VenueId,
} from '@priorbook/sdk/domain'
import { noParity, REFUSED_CHECKS, type ParityCounts } from '../parity-checks.ts'
import type { ParityDay, ParityNote, ParityQuery, Quarantined } from '../store.ts'
import type { Column, Database, Row } from './database.ts'
import { checkRow, holds, insertRow } from './row-sum.ts'
import type { View } from './view.ts'

/** The flag of a row that is counted. */
export const CHECKED_FLAGS: number = FLAGS.locked

const COLUMNS = ['day', 'venue', 'market', 'journal', ...PARITY_CHECKS]
const SELECT = `SELECT ${COLUMNS.join(', ')}, sum FROM parity`

/** One day of one market in a commit. */
type Touched = {
  readonly day: number
  readonly venue: VenueId
  readonly market: string
  /** The last record that the table had counted before the commit. */
  readonly counted: number
  journal: number
  readonly counts: ParityCounts
}

type Failure = {
  readonly venue: VenueId
  readonly market: string
  readonly received: number
  readonly journal: number
}

/**
 * ParityCounts failed checks by market and day. Only failures are written, so that sound books cost nothing. A
 * journal that is applied again is not counted again.
 */
export class ParityTally {
  private readonly view: View
  private touched = new Map<string, Touched>()

  constructor(view: View) {
    this.view = view
  }

  /** Forgets what a commit that failed had counted. */
  begin(): void {
    this.touched = new Map()
  }

  /** Notes a row with one of the checked flags. */
  row(row: {
    readonly instrument: Instrument
    readonly received: number
    readonly journal: number
  }): void {
    const { venue, market } = row.instrument
    this.add({ venue, market, received: row.received, journal: row.journal }, 'locked')
  }

  /** Notes what the recorder found. */
  note({ venue, marketId: market, received, journal, check }: ParityNote): void {
    this.add({ venue, market, received, journal }, check)
  }

  /** Notes a message that was refused for its prices; others are not about parity. */
  refused({ venue, key, received, journal, code }: Quarantined): void {
    const check = REFUSED_CHECKS.get(code)
    if (check === undefined) return
    const isToken = VENUES[venue].booksPer === 'token'
    const market = isToken ? this.view.stream({ venue, key }, 'book')?.market : key
    if (market !== undefined) this.add({ venue, market, received, journal }, check)
  }

  /** Writes the counts of a batch; the caller is in a write transaction. */
  finish(): void {
    if (this.touched.size === 0) return
    const { database } = this.view
    for (const { day, venue, market, journal, counts } of this.touched.values()) {
      const before = readDay(database, day, venue, market)
      const sums = PARITY_CHECKS.map((check) => numberIn(before, check) + counts[check])
      save(database, [day, venue, market, journal, ...sums])
    }
    this.touched = new Map()
  }

  private add({ venue, market, received, journal }: Failure, check: ParityCheck): void {
    const day = startOfDay(received)
    const name = `${day} ${venue} ${market}`
    let touched = this.touched.get(name)
    if (touched === undefined) {
      const before = readDay(this.view.database, day, venue, market)
      const counted = numberIn(before, 'journal')
      touched = { day, venue, market, counted, journal: counted, counts: noParity() }
      this.touched.set(name, touched)
    }
    if (journal <= touched.counted) return
    touched.counts[check]++
    touched.journal = Math.max(touched.journal, journal)
  }
}

/** Lists the days of markets on which a check failed. */
export function listParity(database: Database, query: ParityQuery): ParityDay[] {
  const { venue = null, marketId = null, from, to, order, after, limit } = query
  const sign = order === 'asc' ? '>' : '<'
  const rest = after === undefined ? '' : `AND (day, venue, market) ${sign} (?, ?, ?)`
  const place: Column[] = after === undefined ? [] : [after.day, after.venue, after.marketId]
  const index = marketId === null ? '' : 'INDEXED BY parity_by_market'
  const rows = database.all(
    `SELECT ${COLUMNS.join(', ')}, sum FROM parity ${index}
     WHERE day >= ? AND day < ? ${venue === null ? '' : 'AND venue = ?'}
     ${marketId === null ? '' : 'AND market = ?'} ${rest}
     ORDER BY day ${order}, venue ${order}, market ${order} LIMIT ?`,
    from,
    to,
    ...(venue === null ? [] : [venue]),
    ...(marketId === null ? [] : [marketId]),
    ...place,
    limit,
  )
  return rows.map(toParityDay)
}

/** Takes over the counts of a market from a tape that was derived again. */
export function copyParity(
  from: Database,
  to: Database,
  { venue, market }: { readonly venue: VenueId; readonly market: string },
): void {
  to.run('DELETE FROM parity WHERE venue = ? AND market = ?', venue, market)
  for (const row of from.all(`${SELECT} WHERE venue = ? AND market = ?`, venue, market)) {
    checkRow('parity', COLUMNS, row)
    save(
      to,
      COLUMNS.map((name) => row[name]!),
    )
  }
}

function readDay(database: Database, day: number, venue: VenueId, market: string): Row | undefined {
  const row = database.get(
    `${SELECT} WHERE day = ? AND venue = ? AND market = ?`,
    day,
    venue,
    market,
  )
  // A damaged count must not stop a recorder: it begins again.
  return row === undefined || holds('parity', COLUMNS, row) ? row : undefined
}

function save(database: Database, values: readonly Column[]): void {
  insertRow(database, 'INSERT OR REPLACE INTO parity', COLUMNS, values)
}

function toParityDay(row: Row): ParityDay {
  checkRow('parity', COLUMNS, row)
  const counts = PARITY_CHECKS.map((check) => [check, row[check]])
  return {
    ...(Object.fromEntries(counts) as ParityCounts),
    day: row['day'] as number,
    venue: row['venue'] as VenueId,
    marketId: row['market'] as string,
  }
}

function numberIn(row: Row | undefined, name: string): number {
  return (row?.[name] as number | undefined) ?? 0
}
