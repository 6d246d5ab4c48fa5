import { compareGaps, type Gap, type VenueId } from '@priorbook/sdk/domain'
import type { Database, Draft } from './database.ts'
import { GAP_COLUMNS, gapOfColumns } from './gap-rows.ts'
import { columnsHold } from './row-sum.ts'

/** A gap and the number of its row. */
export type StoredGap = { readonly id: number; gap: Gap }

/** Fewer books than this are looked for one by one. */
const WORTH_READING = 8

// Qualified, because `json_each` has an id and a key, too.
const SELECTED = ['id', ...GAP_COLUMNS, 'sum'].map((name) => `gap.${name}`).join(', ')
// A cross join keeps its order: the keys first, then the gaps of each by the index.
const OF_KEYS = `SELECT ${SELECTED} FROM json_each(?) AS named CROSS JOIN gap INDEXED BY gap_by_name
  ON gap.venue = ? AND gap.key = named.value AND (gap.finish IS NULL OR gap.finish > ?)`

/**
 * Gaps of books that the running transaction ends, read with one statement. After a start the gap of every book ends:
 * to look for it, for other open ones and for those that touch the new row took three statements a book.
 */
class KnownGaps implements Draft {
  /** Gaps that are open or end after `since`, by venue and key. */
  private readonly books = new Map<string, { readonly since: number; readonly gaps: StoredGap[] }>()

  read(database: Database, venue: VenueId, ended: readonly Gap[]): void {
    const since = Math.min(...ended.map(({ start }) => start))
    const keys = new Set(ended.map(({ key }) => key))
    for (const key of keys) this.books.set(nameOf(venue, key), { since, gaps: [] })
    for (const [id, ...row] of database.columns(OF_KEYS, JSON.stringify([...keys]), venue, since)) {
      const gap = gapOfColumns(row)
      const name = nameOf(gap.venue, gap.key)
      // Not known, so the next read of this book's gaps goes to the table and reports the damage.
      if (!columnsHold('gap', row)) this.books.delete(name)
      else this.books.get(name)?.gaps.push({ id: id as number, gap })
    }
  }

  of(
    venue: VenueId,
    key: string,
  ): { readonly since: number; readonly gaps: StoredGap[] } | undefined {
    return this.books.get(nameOf(venue, key))
  }

  forget(venue: VenueId, key: string): void {
    this.books.delete(nameOf(venue, key))
  }

  write(): boolean {
    return false
  }
}

const DRAFT = 'known gaps'

/** Reads what ending these gaps needs to know, where they are many; the caller is in a write transaction. */
export function readKnownGaps(database: Database, venue: VenueId, gaps: readonly Gap[]): void {
  const ended = gaps.filter(({ end }) => end !== undefined)
  if (ended.length < WORTH_READING) return
  database.draft(DRAFT, () => new KnownGaps()).read(database, venue, ended)
}

/** The stored gap of the same name; undefined where it is not known. */
export function findKnownGap(database: Database, gap: Gap): StoredGap | undefined {
  const { start, afterSequence, reason, scope } = gap
  return knownIn(database)
    ?.of(gap.venue, gap.key)
    ?.gaps.find(
      ({ gap: one }) =>
        one.start === start &&
        one.afterSequence === afterSequence &&
        one.reason === reason &&
        one.scope === scope,
    )
}

/** Whether an instrument has an open gap; undefined where that is not known. */
export function hasKnownOpenGap(
  database: Database,
  venue: VenueId,
  key: string,
): boolean | undefined {
  const book = knownIn(database)?.of(venue, key)
  return book?.gaps.some(({ gap }) => gap.end === undefined)
}

/** The gaps of an instrument that touch [start, end), as `listGaps` gives them; undefined where they are not known. */
export function listKnownGaps(
  database: Database,
  { venue, key, start, end }: { venue: VenueId; key: string; start: number; end: number },
): Gap[] | undefined {
  const book = knownIn(database)?.of(venue, key)
  if (book === undefined || start < book.since) return undefined
  return book.gaps
    .map(({ gap }) => gap)
    .filter((gap) => gap.start < end && (gap.end === undefined || gap.end > start))
    .sort(compareGaps)
}

/** Notes that the gaps of an instrument changed otherwise. */
export function forgetKnownGaps(
  database: Database,
  { venue, key }: Pick<Gap, 'venue' | 'key'>,
): void {
  knownIn(database)?.forget(venue, key)
}

function knownIn(database: Database): KnownGaps | undefined {
  const draft = database.drafted(DRAFT)
  return draft instanceof KnownGaps ? draft : undefined
}

function nameOf(venue: VenueId, key: string): string {
  return `${venue} ${key}`
}
