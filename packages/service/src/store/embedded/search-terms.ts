import type { SearchCorrection } from '../store.ts'
import type { Column, Database } from './database.ts'
import type { Family } from './families.ts'
import type { Condition, ListTables } from './listed.ts'
import { findSimilar, isKnownWord, type StoredWord } from './similar-words.ts'
import { findWord, tagWord } from './words.ts'

/** One word or phrase of a search: every market that is found has it. */
export type SearchTerm = {
  /** In lower case. */
  readonly text: string
  /** How it is looked for. */
  readonly kind: 'text' | 'number' | 'facet' | 'similar' | 'tag'
  /** For an asset or a window: the families that have it, and those of unknown ones, where the text tells. */
  readonly facet?: { readonly named: readonly number[]; readonly unknown: readonly number[] }
  /** The words that are meant where no market has the term itself. */
  readonly similar?: readonly StoredWord[]
  /** The word of a tag; absent where nothing has the tag. */
  readonly word?: number | undefined
}

/** Words, and the table that lists what has them. */
export type WordList = {
  readonly table: ListTables['posting'] | ListTables['label']
  readonly words: readonly number[]
}

/** What a search asks of a market: all of its terms, in any order. */
export type Search = {
  readonly terms: readonly SearchTerm[]
  /** The families that its markets may be of, by asset and window; absent where it names neither. */
  readonly families?: ReadonlySet<number>
}

// What a person types has fewer; a longer text is looked for as one phrase.
const MAX_TERMS = 8
const TERM = /"([^"]+)"|([^\s"]+)/g
const LETTERS = /^\p{L}+$/u
const DIGITS = /^\d+$/

/** Reads the terms of a search: words, or phrases between quotation marks. */
function termsOf(text: string): string[] {
  const found = [...text.toLowerCase().matchAll(TERM)].map(([, phrase, word]) => phrase ?? word!)
  const terms = [...new Set(found.map((term) => term.trim()).filter((term) => term !== ''))]
  return terms.length > MAX_TERMS ? [text.toLowerCase().trim()] : terms
}

/** Prepares a search for a text, a tag or both, given all families of markets by asset and window. */
export function prepareSearch(
  database: Database,
  { text, tag }: { readonly text: string | undefined; readonly tag: string | undefined },
  families: readonly Family[],
): Search {
  const tagged: SearchTerm[] =
    tag === undefined ? [] : [{ text: tag, kind: 'tag', word: findWord(database, tagWord(tag)) }]
  if (text === undefined) return { terms: tagged }
  let left = families
  const terms = termsOf(text).map((term): SearchTerm => {
    const name = (['asset', 'span'] as const).find((facet) =>
      families.some((family) => family[facet].toLowerCase() === term),
    )
    if (name === undefined) return toTerm(database, term)
    const having = (value: string): number[] =>
      families.filter((family) => family[name].toLowerCase() === value).map(({ id }) => id)
    left = left.filter((family) => ['', term].includes(family[name].toLowerCase()))
    return { text: term, kind: 'facet', facet: { named: having(term), unknown: having('') } }
  })
  return { terms: [...tagged, ...terms], families: new Set(left.map(({ id }) => id)) }
}

function toTerm(database: Database, text: string): SearchTerm {
  // A number that is not there is not another number.
  if (DIGITS.test(text)) return { text, kind: 'number' }
  if (LETTERS.test(text) && !isKnownWord(database, text)) {
    const similar = findSimilar(database, text)
    if (similar.length > 0) return { text, kind: 'similar', similar }
  }
  return { text, kind: 'text' }
}

/** The words that were not found, and those in their place. */
export function correctionsOf(search: Search | undefined): SearchCorrection[] {
  return (search?.terms ?? []).flatMap(({ text, similar }) =>
    similar === undefined ? [] : [{ word: text, meant: similar.map((one) => one.text) }],
  )
}

/** What is left to ask of what a list of words has. */
export function beyondList({ terms }: Search, { table }: WordList, { label }: ListTables): Search {
  // All that have the word of a tag are hits.
  return { terms: table === label ? terms.filter(({ kind }) => kind !== 'tag') : terms }
}

const IN_LIST = 'IN (SELECT value FROM json_each(?))'

/** SQL for whether a row of a list is what a search looks for, with its values. */
export function hitOf(search: Search | undefined, tables: ListTables): Condition {
  if (search === undefined || search.terms.length === 0) return ['1']
  const conditions = search.terms.map((term) => conditionOf(term, tables))
  const values = conditions.flatMap(([, ...given]): Column[] => given)
  return [`(${conditions.map(([sql]) => sql).join(' AND ')})`, ...values]
}

function conditionOf(
  { text, kind, facet, similar, word }: SearchTerm,
  tables: ListTables,
): Condition {
  switch (kind) {
    case 'text':
      return ['instr(text, ?) > 0', text]
    case 'number':
      // At the beginning of a word: times and ids have all numbers somewhere. GLOB alone takes 7 µs a text.
      return [
        '(instr(text, ?) > 0 AND (text GLOB ? OR text GLOB ?))',
        text,
        `${text}*`,
        `*[^0-9a-z]${text}*`,
      ]
    case 'facet':
      return [
        `(family ${IN_LIST} OR (family ${IN_LIST} AND instr(text, ?) > 0))`,
        JSON.stringify(facet!.named),
        JSON.stringify(facet!.unknown),
        text,
      ]
    case 'similar':
      return hasWord(
        similar!.map(({ id }) => id),
        tables,
        tables.posting,
      )
    case 'tag':
      return word === undefined ? ['0'] : hasWord([word], tables, tables.label)
  }
}

function hasWord(
  words: readonly number[],
  { listing, number }: ListTables,
  table: WordList['table'],
): Condition {
  return [
    `EXISTS (SELECT 1 FROM json_each(?) AS meant JOIN ${table} AS named ON named.word = meant.value
       AND named.open = ${listing}.open AND named.${number} = ${listing}.id)`,
    JSON.stringify(words),
  ]
}
