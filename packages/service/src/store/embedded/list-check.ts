import { eventIdOf, type MarketRecord } from '@priorbook/sdk/domain'
import type { Column, Database } from './database.ts'
import { keptDiffers } from './kept-differs.ts'
import { hasLabels, type LabelPlace } from './labels.ts'
import { EVENT_TABLES, MARKET_TABLES, type ListTables } from './listed.ts'
import { numberOf } from './listing.ts'
import { postedWordsOf, searchTextOf, splitTags, tagsOf, tagWord, type WordPlace } from './words.ts'

// What lists show of a market, by the names of the record.
const LISTED = `SELECT listing.name, listing.open, listing.close, volume, liquidity, listing.text, listing.tags,
    listing.live, family.venue, family.asset, family.span, family.status, family.category, family.endless,
    line.series, event.name AS event
  FROM listing JOIN family ON family.id = listing.family AND family.kind = ${MARKET_TABLES.facets}
  LEFT JOIN family AS line ON line.id = listing.line AND line.kind = ${MARKET_TABLES.series}
  LEFT JOIN event ON event.id = listing.event WHERE listing.id = ?`

/**
 * Compares the lists with the records that they are made of: market by market, and at the end whether something is
 * listed that no record gives.
 */
export class ListCheck {
  readonly #database: Database
  readonly #markets = new PlaceCount()
  readonly #events = new PlaceCount()

  constructor(database: Database) {
    this.#database = database
  }

  /** Throws `corrupt_row` where a market is not listed as its record says. */
  market(id: number, record: MarketRecord | undefined, sortTime: number): void {
    const listed = this.#database.get(LISTED, id)
    const wanted = record && toListedRow(record, sortTime)
    if (listed === undefined || wanted === undefined) throw keptDiffers('it is not listed')
    const wrong = Object.keys(wanted).find((name) => listed[name] !== wanted[name])
    if (wrong !== undefined) throw keptDiffers(`it is listed with another ${wrong}`)
    const place = listed as WordPlace & LabelPlace
    this.#markets.add(place)
    requirePlaces(this.#database, MARKET_TABLES, id, place)
  }

  /** Throws `corrupt_row` where events, families, tags or words have more or less than the markets give. */
  end(): void {
    for (const row of this.#database.all('SELECT id, text, tags, open FROM event')) {
      const place = row as WordPlace & LabelPlace & { readonly id: number }
      this.#events.add(place)
      requirePlaces(this.#database, EVENT_TABLES, place.id, place)
    }
    for (const tables of [MARKET_TABLES, EVENT_TABLES]) {
      const { labels, postings } = tables === MARKET_TABLES ? this.#markets : this.#events
      this.#requireCount(tables.label, labels, 'tags')
      this.#requireCount(tables.posting, postings, 'words')
      for (const [kind, column] of [
        [tables.facets, 'family'],
        [tables.series, 'line'],
      ] as const) {
        this.#requireFamilies(tables, kind, column)
      }
    }
  }

  #requireCount(table: string, wanted: number, what: string): void {
    const count = this.#database.get(`SELECT count(*) AS count FROM ${table}`)!['count']
    if (count === wanted) return
    throw keptDiffers(`table ${table} has ${String(count)} rows, but ${what} give ${wanted}`)
  }

  #requireFamilies({ listing }: ListTables, kind: number, column: 'family' | 'line'): void {
    const wrong = this.#database.get(
      `SELECT family.id, markets, coalesce(own.count, 0) AS count FROM family LEFT JOIN (
         SELECT ${column} AS id, count(*) AS count FROM ${listing} GROUP BY 1
       ) AS own ON own.id = family.id WHERE kind = ? AND markets <> coalesce(own.count, 0) LIMIT 1`,
      kind,
    )
    if (wrong === undefined) return
    const [id, said, count] = ['id', 'markets', 'count'].map((name) => String(wrong[name]))
    throw keptDiffers(`family ${id} counts ${said}, but ${count} are listed in it`)
  }
}

/** How many rows the tags and the words of what is listed give. */
class PlaceCount {
  labels = 0
  postings = 0

  add({ tags, text }: Pick<WordPlace & LabelPlace, 'tags' | 'text'>): void {
    this.labels += new Set(splitTags(tags).map(tagWord)).size
    this.postings += postedWordsOf(text).size
  }
}

function requirePlaces(
  database: Database,
  tables: ListTables,
  id: number,
  place: WordPlace & LabelPlace,
): void {
  const name = `${tables.number} ${id}`
  if (!hasLabels(database, tables, id, place)) throw keptDiffers(`${name} lacks a tag`)
  const words = postedWordsOf(place.text)
  const row = database.get(
    `SELECT count(*) AS count FROM json_each(?) AS one CROSS JOIN word ON word.text = one.value
     CROSS JOIN ${tables.posting} AS posted
       ON posted.word = word.id AND posted.open = ? AND posted.${tables.number} = ?`,
    JSON.stringify([...words]),
    place.open,
    id,
  )
  if (row!['count'] !== words.size) throw keptDiffers(`${name} is not found by a word of it`)
}

function toListedRow(record: MarketRecord, sortTime: number): Readonly<Record<string, Column>> {
  const { venue, marketId, status, closeTime, seriesTicker, asset, window, category } = record
  return {
    name: marketId,
    open: sortTime,
    close: closeTime ?? null,
    volume: numberOf(record.volume),
    liquidity: numberOf(record.liquidity),
    text: searchTextOf(record),
    tags: tagsOf(record),
    live: status === 'open' ? 1 : 0,
    venue,
    asset: asset ?? '',
    span: window ?? '',
    status: status ?? '',
    category: category ?? '',
    endless: closeTime === undefined ? 1 : 0,
    series: seriesTicker ?? null,
    event: eventIdOf(record) ?? null,
  }
}
