import type { Column, Database } from './database.ts'
import { keptDiffers } from './kept-differs.ts'
import type { ListTables } from './listed.ts'
import { draftWords, splitTags, tagWord } from './words.ts'

/** Where a market or an event is found by its tags, and what lists by them are filtered and sorted by. */
export type LabelPlace = {
  /** As lists keep them, see `words.ts`. */
  readonly tags: string
  readonly open: number
  readonly family: number
  readonly close: number | null
  /** Events have neither. */
  readonly volume?: number | null
  readonly liquidity?: number | null
}

const COLUMNS = {
  label: ['family', 'close', 'volume', 'liquidity'],
  event_label: ['family', 'close'],
} as const

/** Lists a market or an event under its tags, or takes it off; the caller is in a write transaction. */
export function saveLabels(
  database: Database,
  tables: ListTables,
  id: number,
  before: LabelPlace | undefined,
  after: LabelPlace | undefined,
): void {
  const columns = COLUMNS[tables.label]
  const isMoved = before?.open !== after?.open
  const isSame = columns.every((name) => before?.[name] === after?.[name])
  if (!isMoved && isSame && before?.tags === after?.tags) return
  const old = tagsOf(before)
  const tags = before?.tags === after?.tags ? old : tagsOf(after)
  const isKept = (tag: string): boolean => !isMoved && old.has(tag) && tags.has(tag)
  const left = [...old].filter((tag) => !isKept(tag))
  const joined = [...tags].filter((tag) => !isKept(tag))
  const draft = draftWords(database)
  for (const tag of left) {
    const known = draft.find(tag)
    if (known === undefined) continue
    const sql = `DELETE FROM ${tables.label} WHERE ${placeIn(tables)} AND word = ?`
    database.run(sql, before!.open, id, known)
    if (!tags.has(tag)) draft.leave(tag)
  }
  if (after === undefined) return
  const values = columns.map((name): Column => after[name] ?? null)
  const changed = columns.filter((name) => before?.[name] !== after[name])
  if (changed.length > 0 && left.length < old.size) {
    const sql = `UPDATE ${tables.label} SET ${changed.map((name) => `${name} = ?`).join(', ')}
      WHERE ${placeIn(tables)} AND word = ?`
    const news = changed.map((name): Column => after[name] ?? null)
    for (const tag of tags) {
      if (isKept(tag)) database.run(sql, ...news, after.open, id, draft.find(tag)!)
    }
  }
  const places = '?, '.repeat(columns.length + 2)
  const sql = `INSERT OR REPLACE INTO ${tables.label} (word, open, ${tables.number}, ${columns.join(', ')})
    VALUES (${places}?)`
  for (const tag of joined) {
    database.run(sql, draft.find(tag) ?? draft.add(tag), after.open, id, ...values)
  }
}

/** True where a market or an event is found by all of its tags. */
export function hasLabels(
  database: Database,
  { label, number }: ListTables,
  id: number,
  place: Pick<LabelPlace, 'tags' | 'open'>,
): boolean {
  const tags = tagsOf(place)
  if (tags.size === 0) return true
  const row = database.get(
    `SELECT count(*) AS count FROM json_each(?) AS tag CROSS JOIN word ON word.text = tag.value
     CROSS JOIN ${label} AS named ON named.word = word.id AND named.open = ? AND named.${number} = ?`,
    JSON.stringify([...tags]),
    place.open,
    id,
  )
  return row!['count'] === tags.size
}

/** Throws `corrupt_row` where labels tell other values than the lists do. */
export function checkLabels(database: Database, { label, listing, number }: ListTables): void {
  const differs = ['open', ...COLUMNS[label]].map((name) => `named.${name} IS NOT listed.${name}`)
  const found = database.get(
    `SELECT named.${number} AS id FROM ${label} AS named LEFT JOIN ${listing} AS listed
       ON listed.id = named.${number}
     WHERE listed.id IS NULL OR ${differs.join(' OR ')} LIMIT 1`,
  )
  if (found === undefined) return
  const name = `${number} ${String(found['id'])}`
  throw keptDiffers(`${name} is listed otherwise under a tag`)
}

function placeIn({ number }: ListTables): string {
  return `open = ? AND ${number} = ?`
}

function tagsOf(place: Pick<LabelPlace, 'tags'> | undefined): Set<string> {
  return new Set(splitTags(place?.tags ?? '').map(tagWord))
}
