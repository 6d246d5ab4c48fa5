import type { Column, Database } from './database.ts'
import type { ListTables } from './listed.ts'
import type { Search, SearchTerm, WordList } from './search-terms.ts'
import { findWord, LONGEST_SPLIT, NUMBER_PREFIXES, numberWord, PART, wordsOf } from './words.ts'

// Max words of one search, max markets that it sorts, and max parts that are compared for it. Beyond
// them a word says little, and lists are walked in their order instead.
const MAX_WORDS = 2000
const MAX_MARKETS = 2000
const MAX_PARTS = 5000
// Max markets of a tag that are sorted in another order than that of open times. A tag
// is exact, so all of them are hits, and walking a list by volume would pass most others.
const MAX_TAGGED = 10_000
// Words of a search that are tried: numbers first, then the longest.
const MAX_TRIED = 4
// Max words whose markets are merged by time.
const MAX_LANES = 16

/** What the words of a search lead to: every market that is found has a word of each list. */
export type WordHits =
  | { readonly isFew: true; readonly list: WordList }
  /** Too many markets have the words of each list to be sorted at once. */
  | { readonly isFew: false; readonly lists: readonly WordList[] }

/** Looks up the words of a search; undefined where they say too little. */
export function findByText(
  database: Database,
  { terms }: Search,
  tables: ListTables,
  isByTime: boolean,
): WordHits | undefined {
  const lists: WordList[] = []
  const tag = terms.find(({ kind }) => kind === 'tag')
  if (tag !== undefined) {
    const list = { table: tables.label, words: tag.word === undefined ? [] : [tag.word] }
    if (!isByTime && haveFew(database, list, MAX_TAGGED)) return { isFew: true, list }
    lists.push(list)
  }
  const pieces = terms
    .flatMap((term) => piecesOf(term))
    .toSorted((a, b) => Number(b.isNumber) - Number(a.isNumber) || b.text.length - a.text.length)
  for (const piece of pieces.slice(0, MAX_TRIED)) {
    for (const words of findWords(database, piece)) {
      const list = { table: tables.posting, words }
      if (haveFew(database, list, MAX_MARKETS)) return { isFew: true, list }
      if (words.length <= MAX_LANES) lists.push(list)
    }
  }
  return lists.length === 0 ? undefined : { isFew: false, lists }
}

/** A word of a search, and whether the stored word may have more before or after it. */
type Piece = {
  readonly text: string
  readonly isCutBefore: boolean
  readonly isCutAfter: boolean
  readonly isNumber: boolean
  readonly similar: SearchTerm['similar']
}

// Markets of an asset or a window need not have it in their text.
function piecesOf({ text: wanted, kind, similar }: SearchTerm): Piece[] {
  if (kind === 'facet' || kind === 'tag') return []
  return [...wordsOf(wanted)].map((text) => ({
    text,
    isCutBefore: kind !== 'number' && wanted.startsWith(text),
    isCutAfter: wanted.endsWith(text),
    isNumber: kind === 'number',
    similar,
  }))
}

const BEGINNING = 'SELECT id FROM word WHERE text >= ? AND text < ?'

// The words that a piece may be part of; where there are two lists of them, each is enough.
function* findWords(database: Database, piece: Piece): Generator<readonly number[]> {
  const { text, isCutAfter, isNumber, similar } = piece
  if (similar !== undefined) {
    yield similar.map(({ id }) => id)
    return
  }
  const prefixes = isNumber ? NUMBER_PREFIXES.filter((length) => length <= text.length) : []
  // Two or three digits begin too many words, and have one of their own.
  if (!prefixes.includes(text.length)) {
    const found = isCutAfter
      ? idsOf(database, BEGINNING, ...prefix(text))
      : idsOf(database, 'SELECT id FROM word WHERE text = ?', text)
    const inside = findInWords(database, piece)
    if (found !== undefined && inside !== undefined) yield [...new Set([...found, ...inside])]
  }
  if (prefixes.length > 0) {
    const word = findWord(database, numberWord(text.slice(0, Math.max(...prefixes))))
    yield word === undefined ? [] : [word]
  }
}

function findInWords(database: Database, piece: Piece): readonly number[] | undefined {
  const { text, isCutBefore, isNumber } = piece
  if (isNumber) return idsOf(database, BEGINNING, ...prefix(numberWord(text)))
  return isCutBefore && text.length <= LONGEST_SPLIT ? findInside(database, text) : []
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

function haveFew(database: Database, { table, words }: WordList, most: number): boolean {
  const sql = `SELECT 1 AS found FROM ${table} WHERE word IN (SELECT value FROM json_each(?)) LIMIT 1 OFFSET ?`
  return database.get(sql, JSON.stringify(words), most) === undefined
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
