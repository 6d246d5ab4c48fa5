import type { Column, Database } from './database.ts'
import type { ListTables } from './listed.ts'
import type { Search, SearchTerm } from './search-terms.ts'
import { LONGEST_SPLIT, PART, wordsOf } from './words.ts'

// Max words and markets that one search sorts, and max parts that are compared for it. Beyond
// them a word says little, and lists are walked in their order instead.
const MAX_WORDS = 2000
const MAX_MARKETS = 2000
const MAX_PARTS = 5000
// Max markets of a tag that are sorted, about 30 ms, in another order than that of open times. A tag
// is exact, so all of them are hits, and walking a list by volume would pass most others.
const MAX_TAGGED = 10_000
// Words of a search that are tried, the longest first.
const MAX_TRIED = 3
// Max words whose markets are merged by time.
const MAX_LANES = 16

/** What the words of a search lead to. */
export type WordHits = {
  /** Words that every market has one of whose text holds the wanted one. */
  readonly words: readonly number[]
  /** False where too many markets have them to be sorted at once. */
  readonly isFew: boolean
}

/** Looks up the words of a search; undefined where they say too little. */
export function findByText(
  database: Database,
  { terms }: Search,
  tables: ListTables,
  isByTime: boolean,
): WordHits | undefined {
  const tag = terms.find(({ kind }) => kind === 'tag')
  const tagged = tag?.word === undefined ? [] : [tag.word]
  if (tag !== undefined && haveFew(database, tagged, tables, isByTime ? MAX_MARKETS : MAX_TAGGED)) {
    return { words: tagged, isFew: true }
  }
  const pieces = terms
    .flatMap((term) => piecesOf(term))
    .toSorted((a, b) => b.text.length - a.text.length)
  let frequent: WordHits | undefined = tag && { words: tagged, isFew: false }
  for (const piece of pieces.slice(0, MAX_TRIED)) {
    const words = findWords(database, piece)
    if (words === undefined) continue
    if (haveFew(database, words, tables, MAX_MARKETS)) return { words, isFew: true }
    if (words.length <= MAX_LANES) frequent ??= { words, isFew: false }
  }
  return frequent
}

/** A word of a search, and whether the stored word may have more before or after it. */
type Piece = {
  readonly text: string
  readonly isCutBefore: boolean
  readonly isCutAfter: boolean
  readonly similar: SearchTerm['similar']
}

// Markets of an asset or a window need not have it in their text.
function piecesOf({ text: wanted, kind, similar }: SearchTerm): Piece[] {
  if (kind === 'facet' || kind === 'tag') return []
  return [...wordsOf(wanted)].map((text) => ({
    text,
    isCutBefore: kind !== 'number' && wanted.startsWith(text),
    isCutAfter: wanted.endsWith(text),
    similar,
  }))
}

function findWords(database: Database, piece: Piece): readonly number[] | undefined {
  if (piece.similar !== undefined) return piece.similar.map(({ id }) => id)
  const found = piece.isCutAfter
    ? idsOf(database, 'SELECT id FROM word WHERE text >= ? AND text < ?', ...prefix(piece.text))
    : idsOf(database, 'SELECT id FROM word WHERE text = ?', piece.text)
  if (found === undefined || !piece.isCutBefore) return found
  if (piece.text.length > LONGEST_SPLIT) return found
  const inside = findInside(database, piece.text)
  return inside === undefined ? undefined : [...new Set([...found, ...inside])]
}

// The words that contain a text, found by the rarest of its parts.
function findInside(database: Database, text: string): readonly number[] | undefined {
  const isShort = text.length < PART
  const where = isShort ? 'part >= ? AND part < ?' : 'part = ?'
  const starts = Array.from({ length: Math.max(1, text.length - PART + 1) }, (_, at) => at)
  let best: { readonly values: Column[]; readonly count: number } | undefined
  for (const at of starts) {
    const values = isShort ? prefix(text) : [text.slice(at, at + PART)]
    const row = database.get(
      `SELECT count(*) AS count FROM (SELECT 1 FROM word_part WHERE ${where} LIMIT ?)`,
      ...values,
      Math.min(MAX_PARTS, best?.count ?? MAX_PARTS),
    )
    const count = row!['count'] as number
    if (best === undefined || count < best.count) best = { values, count }
  }
  if (best === undefined || best.count >= MAX_PARTS) return undefined
  return idsOf(
    database,
    `SELECT DISTINCT word AS id FROM word_part JOIN word ON word.id = word_part.word
     WHERE ${where} AND instr(text, ?) > 0`,
    ...best.values,
    text,
  )
}

function haveFew(
  database: Database,
  words: readonly number[],
  { posting }: ListTables,
  most: number,
): boolean {
  const row = database.get(
    `SELECT count(*) AS count FROM
       (SELECT 1 FROM ${posting} WHERE word IN (SELECT value FROM json_each(?)) LIMIT ?)`,
    JSON.stringify(words),
    most + 1,
  )
  return (row!['count'] as number) <= most
}

// As one text: thousands of rows would be as many objects.
function idsOf(database: Database, sql: string, ...values: Column[]): number[] | undefined {
  const all = `SELECT json_group_array(id) AS ids FROM (${sql} LIMIT ?)`
  const ids = JSON.parse(database.get(all, ...values, MAX_WORDS + 1)!['ids'] as string) as number[]
  return ids.length > MAX_WORDS ? undefined : ids
}

// The range of texts that begin with one.
function prefix(text: string): [string, string] {
  return [text, `${text}\u{10FFFF}`]
}
