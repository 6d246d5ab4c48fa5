import type { MarketRecord } from '@priorbook/sdk/domain'
import type { Database } from './database.ts'
import type { ListTables } from './listed.ts'

const BETWEEN_FIELDS = '\u001F'
const WORD = /[\p{L}\p{N}]+/gu

/** Words up to this length are also found by any part of them; longer ones, such as hashes, by their beginning. */
export const LONGEST_SPLIT = 24

/** Characters of a part of a word. */
export const PART = 3

/** What a search looks in: the identifiers, titles and slug of a market and its event, in lower case. */
export function searchTextOf(record: MarketRecord): string {
  const { marketId, title, question, slug, eventTicker, seriesTicker, event } = record
  const named = [event?.title, event?.outcome]
  return joinFields([marketId, title, question, slug, eventTicker, seriesTicker, ...named])
}

/** Puts texts together so that a search looks in each of them, in lower case. */
export function joinFields(fields: readonly (string | undefined)[]): string {
  return [...new Set(fields)]
    .filter((field) => field !== undefined)
    .map((field) => field.toLowerCase().replaceAll(BETWEEN_FIELDS, ' '))
    .join(BETWEEN_FIELDS)
}

/** The tags of a record as lists keep them. */
export function tagsOf({ tags = [] }: Pick<MarketRecord, 'tags'>): string {
  return joinFields(tags.map((tag) => tag.trim()).filter((tag) => tag !== ''))
}

/** The tags that lists keep, as they keep them. */
export function splitTags(tags: string): string[] {
  return tags === '' ? [] : tags.split(BETWEEN_FIELDS)
}

/** The word of a tag, see `labels.ts`. Words of texts have no such mark. */
export function tagWord(tag: string): string {
  return `${TAG_MARK}${tag.trim().toLowerCase().replaceAll(BETWEEN_FIELDS, ' ')}`
}

const TAG_MARK = '#'
const NUMBER_MARK = '^'

/**
 * The first two and the first three digits of a number are words of their own. Each lists the markets that have a number
 * with this beginning. Longer beginnings match few numbers, and a single digit is found soon in any list.
 */
export const NUMBER_PREFIXES: readonly number[] = [2, 3]

/** The word of all numbers that begin with some digits. */
export function numberWord(digits: string): string {
  return `${NUMBER_MARK}${digits}`
}

// A number begins where a search looks for one, see `search-terms.ts`: also inside a word, after a letter that is
// not one of a to z.
const NUMBER = /(?<![0-9a-z])[0-9]+/g

/** The words of a text, each once. */
export function wordsOf(text: string): Set<string> {
  return new Set(text.match(WORD))
}

const MARKED = /^[#^]/

/**
 * The words that a text is listed under: its own, those of the beginnings of its numbers, and those of numbers inside
 * of words.
 */
export function postedWordsOf(text: string): Set<string> {
  const words = wordsOf(text)
  const posted = new Set(words)
  for (const word of words) {
    for (const { 0: number, index } of word.matchAll(NUMBER)) {
      for (const length of NUMBER_PREFIXES) {
        if (number.length >= length) posted.add(numberWord(number.slice(0, length)))
      }
      if (index > 0) posted.add(numberWord(number))
    }
  }
  return posted
}

/** The parts by which a word is found; spaces follow it, so that its last characters begin a part too. */
export function partsOf(word: string): Set<string> {
  const parts = new Set<string>()
  if (word.length > LONGEST_SPLIT || MARKED.test(word)) return parts
  const padded = `${word}${' '.repeat(PART - 1)}`
  for (let at = 0; at < word.length; at++) parts.add(padded.slice(at, at + PART))
  return parts
}

/** Where a market or an event is found: under the words of its text, by its open time. */
export type WordPlace = { readonly text: string; readonly open: number }

/** The place of what is no longer listed. */
export const NO_PLACE: WordPlace = { text: '', open: 0 }

/** Lists a market or an event under its words; the caller is in a write transaction. */
export function saveWords(
  database: Database,
  { posting, number }: ListTables,
  id: number,
  before: WordPlace | undefined,
  after: WordPlace,
): void {
  if (before?.text === after.text && before.open === after.open) return
  const draft = draftWords(database)
  const words = postedWordsOf(after.text)
  const old = before === undefined ? new Set<string>() : postedWordsOf(before.text)
  const hasMoved = before?.open !== after.open
  for (const word of old) {
    if (!hasMoved && words.has(word)) continue
    const known = draft.find(word)
    if (known === undefined) continue
    const sql = `DELETE FROM ${posting} WHERE word = ? AND open = ? AND ${number} = ?`
    database.run(sql, known, before!.open, id)
    if (!words.has(word)) draft.leave(word)
  }
  for (const word of words) {
    if (!hasMoved && old.has(word)) continue
    const sql = `INSERT OR IGNORE INTO ${posting} (word, open, ${number}) VALUES (?, ?, ?)`
    database.run(sql, draft.find(word) ?? draft.add(word), after.open, id)
  }
}

/** The number of a stored word. */
export function findWord(database: Database, word: string): number | undefined {
  return database.get('SELECT id FROM word WHERE text = ?', word)?.['id'] as number | undefined
}

/** The words of the running write transaction. */
export function draftWords(database: Database): WordDraft {
  return database.draft('words', () => new WordDraft(database))
}

/** The words of one transaction: markets that are listed at once have most of them in common. */
class WordDraft {
  private readonly database: Database
  private readonly known = new Map<string, number>()
  /** Words that a market or an event is no longer found by. */
  private readonly left = new Set<string>()

  constructor(database: Database) {
    this.database = database
  }

  find(word: string): number | undefined {
    const known = this.known.get(word) ?? findWord(this.database, word)
    if (known !== undefined) this.known.set(word, known)
    return known
  }

  add(word: string): number {
    const id = this.database.run('INSERT INTO word (text) VALUES (?)', word)
    for (const part of partsOf(word)) {
      this.database.run('INSERT OR IGNORE INTO word_part (part, word) VALUES (?, ?)', part, id)
    }
    this.known.set(word, id)
    return id
  }

  leave(word: string): void {
    this.left.add(word)
  }

  write(): boolean {
    if (this.left.size === 0) return false
    for (const word of this.left) this.dropUnused(word)
    this.left.clear()
    return true
  }

  // Most words are those of one market: a number, a time, an id.
  private dropUnused(word: string): void {
    const { database } = this
    const id = this.find(word)
    if (id === undefined) return
    const isTag = word.startsWith(TAG_MARK)
    for (const table of isTag ? ['label', 'event_label'] : ['posting', 'event_posting']) {
      const sql = `SELECT 1 AS found FROM ${table} WHERE word = ? LIMIT 1`
      if (database.get(sql, id) !== undefined) return
    }
    for (const part of partsOf(word)) {
      database.run('DELETE FROM word_part WHERE part = ? AND word = ?', part, id)
    }
    database.run('DELETE FROM word WHERE id = ?', id)
    this.known.delete(word)
  }
}
