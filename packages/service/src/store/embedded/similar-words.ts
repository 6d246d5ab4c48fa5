import { editDistance } from '@priorbook/sdk/domain'
import type { Database } from './database.ts'
import { LONGEST_SPLIT, PART, partsOf } from './words.ts'

/** A stored word. */
export type StoredWord = { readonly id: number; readonly text: string }

// Shorter words are similar to too many others.
const LEAST_LENGTH = 4
// Two typing errors are forgiven in words of this length, one in shorter ones.
const LONG_WORD = 8
// Parts that more words have say little.
const MAX_PER_PART = 5000
const LEAST_SHARED = 2
const MAX_CANDIDATES = 200
const MAX_SIMILAR = 8

/** True where a stored word contains this one. */
export function isKnownWord(database: Database, word: string): boolean {
  const [low, high] = [word, `${word}\u{10FFFF}`]
  const begins = 'SELECT 1 AS found FROM word WHERE text >= ? AND text < ? LIMIT 1'
  if (database.get(begins, low, high) !== undefined) return true
  if (word.length > LONGEST_SPLIT || word.length < PART) return word.length < PART
  const inside = `SELECT 1 AS found FROM word_part JOIN word ON word.id = word_part.word
    WHERE part = ? AND instr(text, ?) > 0 LIMIT 1`
  return database.get(inside, rarestPart(database, word), word) !== undefined
}

/** The stored words that are most similar to a word that no market has; none where all differ too much. */
export function findSimilar(database: Database, word: string): readonly StoredWord[] {
  if (word.length < LEAST_LENGTH || word.length > LONGEST_SPLIT) return []
  const most = word.length < LONG_WORD ? 1 : 2
  const parts = [...partsOf(word)].filter((part) => countPart(database, part) < MAX_PER_PART)
  const rows = database.all(
    `SELECT word.id AS id, word.text AS text, count(*) AS shared
     FROM word_part JOIN word ON word.id = word_part.word
     WHERE part IN (SELECT value FROM json_each(?)) AND length(word.text) BETWEEN ? AND ?
     GROUP BY word.id HAVING shared >= ? ORDER BY shared DESC, word.id LIMIT ?`,
    JSON.stringify(parts),
    word.length - most,
    word.length + most,
    LEAST_SHARED,
    MAX_CANDIDATES,
  ) as unknown as StoredWord[]
  const measured = rows
    .map(({ id, text }) => ({ id, text, distance: editDistance(word, text) }))
    .filter(({ distance }) => distance <= most)
  const least = Math.min(...measured.map(({ distance }) => distance))
  return measured
    .filter(({ distance }) => distance === least)
    .slice(0, MAX_SIMILAR)
    .map(({ id, text }) => ({ id, text }))
}

function rarestPart(database: Database, word: string): string {
  const parts = Array.from({ length: word.length - PART + 1 }, (_, at) => word.slice(at, at + PART))
  const counted = parts.map((part) => ({ part, count: countPart(database, part) }))
  return counted.reduce((a, b) => (b.count < a.count ? b : a)).part
}

function countPart(database: Database, part: string): number {
  const sql = 'SELECT count(*) AS count FROM (SELECT 1 FROM word_part WHERE part = ? LIMIT ?)'
  return database.get(sql, part, MAX_PER_PART)!['count'] as number
}
