import type { MarketRecord } from '@priorbook/sdk/domain'
import type { Database } from './database.ts'

const BETWEEN_FIELDS = '\u001F'
const WORD = /[\p{L}\p{N}]+/gu

/** Words up to this length are also found by any part of them; longer ones, such as hashes, by their beginning. */
export const LONGEST_SPLIT = 24

/** Characters of a part of a word. */
export const PART = 3

/** What a search looks in: the identifiers, titles and slug of a market, in lower case. */
export function searchTextOf(record: MarketRecord): string {
  const { marketId, title, question, slug, eventTicker, seriesTicker } = record
  const fields = [marketId, title, question, slug, eventTicker, seriesTicker]
  return fields
    .filter((field) => field !== undefined)
    .map((field) => field.toLowerCase().replaceAll(BETWEEN_FIELDS, ' '))
    .join(BETWEEN_FIELDS)
}

/** The words of a text, each once. */
export function wordsOf(text: string): Set<string> {
  return new Set(text.match(WORD))
}

/** The parts by which a word is found; spaces follow it, so that its last characters begin a part too. */
export function partsOf(word: string): Set<string> {
  const parts = new Set<string>()
  if (word.length > LONGEST_SPLIT) return parts
  const padded = `${word}${' '.repeat(PART - 1)}`
  for (let at = 0; at < word.length; at++) parts.add(padded.slice(at, at + PART))
  return parts
}

/** Where a market is found: under the words of its text, by its open time. */
export type WordPlace = { readonly text: string; readonly open: number }

/** Lists a market under its words; the caller is in a write transaction. */
export function saveWords(
  database: Database,
  market: number,
  before: WordPlace | undefined,
  after: WordPlace,
): void {
  if (before?.text === after.text && before.open === after.open) return
  const words = wordsOf(after.text)
  const old = before === undefined ? new Set<string>() : wordsOf(before.text)
  const hasMoved = before?.open !== after.open
  for (const word of old) {
    if (!hasMoved && words.has(word)) continue
    const id = findWord(database, word)
    if (id === undefined) continue
    const place = [id, before!.open, market]
    database.run('DELETE FROM posting WHERE word = ? AND open = ? AND market = ?', ...place)
    if (!words.has(word)) dropUnused(database, id, word)
  }
  for (const word of words) {
    if (!hasMoved && old.has(word)) continue
    const id = findWord(database, word) ?? addWord(database, word)
    const place = [id, after.open, market]
    database.run('INSERT OR IGNORE INTO posting (word, open, market) VALUES (?, ?, ?)', ...place)
  }
}

// Most words are those of one market: a number, a time, an id.
function dropUnused(database: Database, id: number, word: string): void {
  if (database.get('SELECT 1 AS found FROM posting WHERE word = ? LIMIT 1', id) !== undefined)
    return
  for (const part of partsOf(word)) {
    database.run('DELETE FROM word_part WHERE part = ? AND word = ?', part, id)
  }
  database.run('DELETE FROM word WHERE id = ?', id)
}

function findWord(database: Database, word: string): number | undefined {
  return database.get('SELECT id FROM word WHERE text = ?', word)?.['id'] as number | undefined
}

function addWord(database: Database, word: string): number {
  const id = database.run('INSERT INTO word (text) VALUES (?)', word)
  for (const part of partsOf(word)) {
    database.run('INSERT OR IGNORE INTO word_part (part, word) VALUES (?, ?)', part, id)
  }
  return id
}
