import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { Column, Database, Row } from './database.ts'
import { checkColumns, checkRow, insertRow } from './row-sum.ts'

const FAMILY_COLUMNS = [
  'id',
  'kind',
  'venue',
  'asset',
  'span',
  'series',
  'status',
  'endless',
  'longest',
  'markets',
  'category',
] as const
const SELECT = `SELECT ${FAMILY_COLUMNS.join(', ')}, sum FROM family`

/** Markets or events that share venue, category, status and either asset and window or the series. */
export type Family = {
  readonly id: number
  readonly venue: VenueId
  readonly asset: string
  readonly span: string
  readonly series: string
  readonly category: string
  readonly status: string
  /** True where the markets have no close time. */
  readonly isEndless: boolean
  /** The longest time from open to close of any market that was ever in it. */
  readonly longest: number
  /** How many markets it has. */
  readonly markets: number
}

/** What the markets of a family share. */
export type FamilyName = {
  readonly kind: number
  readonly venue: string
  readonly asset: string
  readonly span: string
  readonly series: string
  readonly category: string
  readonly status: string
  readonly endless: number
}

// The partial indexes on the series of a kind.
const BY_SERIES: Readonly<Record<number, string>> = { 1: 'family_by_series', 3: 'family_of_events' }

/** The families of a kind; of one series where it is named. */
export function listFamilies(database: Database, kind: number, series?: string): Family[] {
  const rows =
    series === undefined
      ? database.columns(`${SELECT} WHERE kind = ? AND markets > 0`, kind)
      : database.columns(
          `${SELECT} INDEXED BY ${BY_SERIES[kind]!}
           WHERE series = ? AND kind = ${kind} AND markets > 0`,
          series,
        )
  return rows.map(toFamily)
}

/** The families with these numbers. */
export function readFamilies(database: Database, ids: readonly number[]): Family[] {
  database.writeDraft(DRAFT)
  const sql = `${SELECT} WHERE id IN (SELECT value FROM json_each(?))`
  return database.columns(sql, JSON.stringify(ids)).map(toFamily)
}

// The columns of `SELECT`.
function toFamily(row: readonly Column[]): Family {
  checkColumns('family', row)
  const [id, , venue, asset, span, series, status, endless, longest, markets, category] = row
  return {
    id: id as number,
    venue: venue as VenueId,
    asset: asset as string,
    span: span as string,
    series: series as string,
    category: category as string,
    status: status as string,
    isEndless: endless === 1,
    longest: longest as number,
    markets: markets as number,
  }
}

/** Moves a market from one family to another; returns the new one. */
export function joinFamily(
  database: Database,
  name: FamilyName,
  length: number,
  before: Column,
): number {
  const families = draftOf(database)
  const family = families.named(name)
  const isNew = before !== family.id
  if (isNew || length > family.longest) {
    family.longest = Math.max(family.longest, length)
    if (isNew) family.markets++
    families.change(family)
  }
  if (isNew) leaveFamily(database, before)
  return family.id
}

/** Takes a market out of its family, where it has one. */
export function leaveFamily(database: Database, id: Column): void {
  if (id === null) return
  const families = draftOf(database)
  const family = families.numbered(id as number)
  if (family === undefined) {
    throw new PriorbookError('corrupt_row', `family ${String(id)} is missing`)
  }
  family.markets = Math.max(0, family.markets - 1)
  families.change(family)
}

const DRAFT = 'families'

function draftOf(database: Database): FamilyDraft {
  return database.draft(DRAFT, () => new FamilyDraft(database))
}

type FamilyRow = FamilyName & { readonly id: number; longest: number; markets: number }

const FIND_NAMED = `${SELECT} WHERE kind = ? AND venue = ? AND asset = ? AND span = ? AND series = ?
  AND category = ? AND status = ? AND endless = ?`

/** The families of one transaction: hundreds of markets that are listed at once join the same few. */
class FamilyDraft {
  private readonly database: Database
  private readonly byName = new Map<string, FamilyRow>()
  private readonly byId = new Map<number, FamilyRow>()
  private readonly changed = new Set<FamilyRow>()
  private lastId: number | undefined

  constructor(database: Database) {
    this.database = database
  }

  /** The family of a name, which is new where there is none. */
  named(name: FamilyName): FamilyRow {
    const values = valuesOf(name)
    const text = JSON.stringify(values)
    const known = this.byName.get(text)
    if (known !== undefined) return known
    const row = this.database.get(FIND_NAMED, ...values)
    if (row !== undefined) return this.take(row)
    const family = { ...name, id: this.nextId(), longest: 0, markets: 0 }
    this.byName.set(text, family)
    this.byId.set(family.id, family)
    return family
  }

  numbered(id: number): FamilyRow | undefined {
    const known = this.byId.get(id)
    if (known !== undefined) return known
    const row = this.database.get(`${SELECT} WHERE id = ?`, id)
    return row === undefined ? undefined : this.take(row)
  }

  change(family: FamilyRow): void {
    this.changed.add(family)
  }

  write(): boolean {
    if (this.changed.size === 0) return false
    for (const family of this.changed) {
      const values = FAMILY_COLUMNS.map((name) => family[name])
      insertRow(this.database, 'INSERT OR REPLACE INTO family', FAMILY_COLUMNS, values)
    }
    this.changed.clear()
    return true
  }

  private take(row: Row): FamilyRow {
    checkRow('family', FAMILY_COLUMNS, row)
    const { sum: _, ...columns } = row
    const family = columns as unknown as FamilyRow
    this.byName.set(JSON.stringify(valuesOf(family)), family)
    this.byId.set(family.id, family)
    return family
  }

  private nextId(): number {
    this.lastId ??= this.database.get('SELECT coalesce(max(id), 0) AS id FROM family')![
      'id'
    ] as number
    return ++this.lastId
  }
}

function valuesOf(name: FamilyName): (string | number)[] {
  const { kind, venue, asset, span, series, category, status, endless } = name
  return [kind, venue, asset, span, series, category, status, endless]
}
