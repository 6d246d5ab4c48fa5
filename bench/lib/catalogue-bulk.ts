import { zstdCompressSync } from 'node:zlib'
import { ORIGINS, type MarketRecord, type VenueId } from '@priorbook/sdk/domain'
import { BookColumns, CHUNK_KINDS, NO_HASH } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { Bodies } from '../../packages/service/src/store/embedded/bodies.ts'
import { Database, type Column } from '../../packages/service/src/store/embedded/database.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { eventNamesOf } from '../../packages/service/src/store/embedded/events.ts'
import { insertRow } from '../../packages/service/src/store/embedded/row-sum.ts'
import { Sealer } from '../../packages/service/src/store/embedded/seal.ts'
import { STATE, writeState } from '../../packages/service/src/store/embedded/state.ts'
import type { Stream } from '../../packages/service/src/store/embedded/streams.ts'
import type { TailRows } from '../../packages/service/src/store/embedded/tail.ts'
import { addToDay } from '../../packages/service/src/store/embedded/tally.ts'
import {
  partsOf,
  postedWordsOf,
  searchTextOf,
  tagsOf,
  tagWord,
} from '../../packages/service/src/store/embedded/words.ts'
import { BATCH, BEGIN, roundOf, type Round } from './catalogue.ts'

const DAY = 86_400_000_000
const MAKER = { origin: 'emulator', recorder: 'bench', normalizer: 1 } as const
const ORIGIN = ORIGINS.indexOf(MAKER.origin)
const BOOK = CHUNK_KINDS.indexOf('book')

/**
 * Writes the tape that `writeCatalogue` writes, many times faster: rows go into tables without indexes,
 * which are made at the end. `compareCatalogues` shows that both are the same.
 */
export async function writeCatalogueFast(
  file: string,
  venue: VenueId,
  markets: number,
  log: (done: number) => void,
): Promise<void> {
  await openEmbeddedStore({ file }).close()
  const database = new Database(file, false)
  try {
    // A bench that is interrupted starts again.
    database.script('PRAGMA synchronous = OFF')
    const indexes = database.all(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL",
    ) as { name: string; sql: string }[]
    for (const { name } of indexes) database.script(`DROP INDEX ${name}`)
    const bulk = new Bulk(database, venue)
    for (let first = 0; first < markets; first += BATCH * 10) {
      const count = Math.min(BATCH * 10, markets - first)
      database.write(() => {
        for (let at = 0; at < count; at++) bulk.add(first + at, roundOf(venue, first + at, markets))
      })
      log(first + count)
    }
    database.write(() => bulk.finish(markets))
    for (const { sql } of indexes) database.script(sql)
    database.get('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

class Bulk {
  readonly #database: Database
  readonly #venue: VenueId
  readonly #sealer: Sealer
  readonly #platform = createNodePlatform()
  readonly #families = new Map<string, { id: number; longest: number; markets: number }>()
  readonly #days = new Map<string, { markets: number; last: number }>()
  readonly #extents = new Map<string, { streams: number; first: number }>()
  // Hashes are met once, so only other words are remembered.
  readonly #words = new Map<string, number>()
  #lastWord = 0
  /** Events that further markets may belong to. */
  #events = new Map<string, EventDraft>()
  #lastEvent = 0

  constructor(database: Database, venue: VenueId) {
    this.#database = database
    this.#venue = venue
    this.#sealer = new Sealer(database, new Bodies(database, this.#platform))
  }

  add(index: number, round: Round): void {
    const id = index + 1
    // Markets of an event follow each other.
    if (index % 8 === 0) this.#writeEvents()
    const batch = Math.floor(index / BATCH)
    const opened = batch * 2 + 1
    const { record, open } = round
    this.#addMarket(id, round, opened)
    for (const [outcome, row] of round.rows.entries()) {
      this.#addBook(index * 2 + outcome + 1, { ...row, journal: opened })
    }
    for (const { scope, key, reason, start, afterSequence } of round.gaps) {
      const place: Column[] = [this.#venue, scope, key, start, reason, null, null, null]
      insertRow(this.#database, 'INSERT INTO gap', GAP, [
        ...place,
        afterSequence,
        null,
        opened + 1,
        null,
      ])
    }
    if (round.gaps.length === 0) {
      for (const { instrument } of round.rows) {
        const { venue, key, market } = instrument
        insertRow(this.#database, 'INSERT INTO unbroken', UNBROKEN, [venue, key, market])
      }
    }
    this.#count(record, open)
  }

  #addMarket(id: number, { record, open, close }: Round, opened: number): void {
    const { venue, marketId } = record
    const first = JSON.stringify({ ...record, status: 'open' })
    const body = zstdCompressSync(first)
    insertRow(this.#database, 'INSERT INTO revision', REVISION, [id, 1, open, opened, body])
    const isOpen = record.status === 'open'
    if (!isOpen) {
      const second = zstdCompressSync(JSON.stringify(record), { dictionary: Buffer.from(first) })
      const values: Column[] = [id, 2, close, opened + 1, second]
      insertRow(this.#database, 'INSERT INTO revision', REVISION, values)
    }
    const { seriesTicker: series, eventTicker: event, asset, window: span, status } = record
    const times: Column[] = [open, close]
    const names: Column[] = [series!, event!, asset!, span!, status!, isOpen ? 1 : 2]
    insertRow(this.#database, 'INSERT INTO market', MARKET, [
      id,
      venue,
      marketId,
      ...times,
      ...names,
    ])
    const text = searchTextOf(record)
    const category = record.category!
    const tags = tagsOf(record)
    const family = this.#family([0, venue, asset!, span!, '', status!, category], close - open)
    const sums: Column[] = [Number(record.volume), Number(record.liquidity)]
    this.#database.run(
      `INSERT INTO listing (id, family, line, name, open, close, volume, liquidity, text, tags, event, live)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      family,
      this.#family([1, venue, '', '', series!, status!, category], close - open),
      marketId,
      ...times,
      ...sums,
      text,
      tags,
      this.#event(id, record),
      isOpen ? 1 : 0,
    )
    for (const word of postedWordsOf(text)) {
      const place = [this.#word(word), open, id]
      this.#database.run('INSERT INTO posting (word, open, market) VALUES (?, ?, ?)', ...place)
    }
    for (const tag of record.tags!) {
      const sql = `INSERT INTO label (word, open, market, family, close, volume, liquidity)
        VALUES (?, ?, ?, ?, ?, ?, ?)`
      this.#database.run(sql, this.#word(tagWord(tag)), open, id, family, close, ...sums)
    }
  }

  #addBook(id: number, row: Round['rows'][number] & { journal: number }): void {
    const { venue, market, key } = row.instrument
    const columns = new BookColumns(row.priceDecimals)
    columns.push(row, row.keys, row.sizes)
    const stream: Stream = {
      id,
      venue,
      market,
      key,
      kind: 'book',
      metric: '',
      generation: 1,
      knownFrom: row.received,
      knownTo: null,
      maker: MAKER,
      next: 1,
      changes: 0,
      head: NO_HASH,
      removed: 0,
      anchor: NO_HASH,
      version: 1,
    }
    const makers = [{ row: 0, maker: MAKER }]
    const tail: TailRows = { kind: 'book', first: 1, columns, makers, based: true }
    const packing = { sealed: this.#platform, part: this.#platform, partForm: 'tight' } as const
    this.#sealer.pack(stream, undefined, tail, 1, packing)
  }

  #word(text: string): number {
    const known = this.#words.get(text)
    if (known !== undefined) return known
    const id = ++this.#lastWord
    if (text.length < 24) this.#words.set(text, id)
    this.#database.run('INSERT INTO word (id, text) VALUES (?, ?)', id, text)
    for (const part of partsOf(text)) {
      this.#database.run('INSERT INTO word_part (part, word) VALUES (?, ?)', part, id)
    }
    return id
  }

  #event(source: number, record: MarketRecord): number {
    const name = record.eventTicker!
    const known = this.#events.get(name)
    const draft: EventDraft = {
      id: known?.id ?? ++this.#lastEvent,
      source,
      record,
      open: Math.min(known?.open ?? Infinity, record.openTime!),
      close: Math.max(known?.close ?? 0, record.closeTime!),
      markets: (known?.markets ?? 0) + 1,
      live: (known?.live ?? 0) + (record.status === 'open' ? 1 : 0),
    }
    this.#events.set(name, draft)
    return draft.id
  }

  #writeEvents(): void {
    for (const { id, source, record, open, close, markets, live } of this.#events.values()) {
      const { venue, name, facts, text, tags } = eventNamesOf(record)
      const { asset = '', category = '', seriesTicker = '' } = record
      const status = live > 0 ? 'open' : ''
      const family = this.#family([2, venue, asset, '', '', status, category], close - open)
      const line = this.#family([3, venue, '', '', seriesTicker, status, category], close - open)
      const counted: Column[] = [open, close, markets, live, asset, source]
      const values: Column[] = [id, venue, name, family, line, ...counted, facts, text, tags]
      insertRow(this.#database, 'INSERT INTO event', EVENT, values)
      for (const word of postedWordsOf(text)) {
        const sql = 'INSERT INTO event_posting (word, open, event) VALUES (?, ?, ?)'
        this.#database.run(sql, this.#word(word), open, id)
      }
      for (const tag of record.tags!) {
        const sql = `INSERT INTO event_label (word, open, event, family, close) VALUES (?, ?, ?, ?, ?)`
        this.#database.run(sql, this.#word(tagWord(tag)), open, id, family, close)
      }
    }
    this.#events = new Map()
  }

  #family(name: readonly (string | number)[], length: number): number {
    const text = JSON.stringify(name)
    const family = this.#families.get(text) ?? {
      id: this.#families.size + 1,
      longest: 0,
      markets: 0,
    }
    family.longest = Math.max(family.longest, length)
    family.markets++
    this.#families.set(text, family)
    return family.id
  }

  #count({ asset, window }: MarketRecord, open: number): void {
    const day = `${Math.floor(open / DAY) * DAY} ${asset}`
    const sum = this.#days.get(day) ?? { markets: 0, last: 0 }
    this.#days.set(day, { markets: sum.markets + 1, last: Math.max(sum.last, open) })
    const name = `${asset} ${window}`
    const extent = this.#extents.get(name) ?? { streams: 0, first: open }
    this.#extents.set(name, { streams: extent.streams + 2, first: Math.min(extent.first, open) })
  }

  finish(markets: number): void {
    const venue = this.#venue
    this.#writeEvents()
    for (const [text, { id, longest, markets: count }] of this.#families) {
      const names = JSON.parse(text) as Column[]
      const category = names.pop()!
      const values: Column[] = [id, ...names, 0, longest, count, category]
      insertRow(this.#database, 'INSERT INTO family', FAMILY, values)
    }
    for (const [name, { markets: count, last }] of this.#days) {
      const [day, asset] = name.split(' ') as [string, string]
      const sums = { instruments: count * 2, observations: count * 2, observed: 0 }
      addToDay(this.#database, venue, asset, Number(day), { markets: count, last, ...sums })
    }
    for (const [name, { streams, first }] of this.#extents) {
      const [asset, span] = name.split(' ') as [string, string]
      const values: Column[] = [venue, BOOK, '', asset, span, ORIGIN, streams, first]
      insertRow(this.#database, 'INSERT INTO extent', EXTENT, values)
    }
    const batches = Math.ceil(markets / BATCH) * 2
    writeState(this.#database, STATE.applied(venue), batches)
    writeState(this.#database, STATE.packed(venue), batches)
    writeState(this.#database, STATE.sealedThrough, batches)
    writeState(this.#database, STATE.version, 1)
    writeState(this.#database, STATE.fact(`capture_started:${venue}`), BEGIN)
  }
}

const REVISION = ['market', 'ordinal', 'known_at', 'journal', 'body']
const MARKET =
  'id venue market sort_time close_time series event asset span status revisions'.split(' ')
const GAP =
  'venue scope key start reason finish source_start source_end after_sequence detail journal end_journal'.split(
    ' ',
  )
const FAMILY = 'id kind venue asset span series status endless longest markets category'.split(' ')
const EVENT =
  'id venue name family line open close markets live asset source facts text tags'.split(' ')
const EXTENT = 'venue kind metric asset span origin streams first'.split(' ')
const UNBROKEN = ['venue', 'key', 'market']

// Numbers of families, words and packing passes depend on the order of writing.
const COMPARED: Readonly<Record<string, string>> = {
  market: 'SELECT * FROM market ORDER BY id',
  revision: 'SELECT * FROM revision ORDER BY market, ordinal',
  stream: `SELECT id, venue, market, key, kind, metric, generation, known_from, known_to, origin, recorder,
    normalizer, next, changes, head, removed, anchor FROM stream ORDER BY id`,
  chunk: `SELECT stream, first, count, first_received, last_received, changes_before, form, bytes
    FROM chunk JOIN body ON body.id = chunk.body ORDER BY stream`,
  gap: 'SELECT * FROM gap ORDER BY id',
  listing: `SELECT listing.id, name, open, close, volume, liquidity, text, tags, live, a.asset, a.span, a.status,
    a.category, b.series FROM listing JOIN family a ON a.id = family JOIN family b ON b.id = line ORDER BY listing.id`,
  family: `SELECT kind, venue, asset, span, series, category, status, endless, longest, markets FROM family
    WHERE markets > 0 ORDER BY 1, 2, 3, 4, 5, 6, 7`,
  event: `SELECT venue, name, open, close, markets, live, asset, source, facts, text, tags FROM event
    ORDER BY name`,
  event_posting: `SELECT word.text, event_posting.open, name FROM event_posting
    JOIN word ON word.id = word JOIN event ON event.id = event ORDER BY 1, 2, 3`,
  day: 'SELECT * FROM day ORDER BY venue, day, asset',
  day_gap: 'SELECT * FROM day_gap',
  extent: 'SELECT * FROM extent ORDER BY asset, span',
  unbroken: 'SELECT * FROM unbroken ORDER BY key',
  outage: 'SELECT * FROM outage',
  posting: 'SELECT text, open, market FROM posting JOIN word ON word.id = word ORDER BY 1, 2, 3',
  label: `SELECT text, open, market, category, asset, span, status, close, volume, liquidity FROM label
    JOIN word ON word.id = word JOIN family ON family.id = family ORDER BY 1, 2, 3`,
  event_label: `SELECT word.text, event_label.open, name, category, family.status, event_label.close FROM event_label
    JOIN word ON word.id = word JOIN event ON event.id = event JOIN family ON family.id = event_label.family
    ORDER BY 1, 2, 3`,
  word_part: 'SELECT part, text FROM word_part JOIN word ON word.id = word ORDER BY 1, 2',
  state: "SELECT * FROM state WHERE name <> 'version' AND value <> 0 ORDER BY name",
  log: 'SELECT * FROM log',
  indexes:
    "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type = 'index' ORDER BY name",
}

type EventDraft = {
  readonly id: number
  readonly source: number
  readonly record: MarketRecord
  readonly open: number
  readonly close: number
  readonly markets: number
  readonly live: number
}

/** Throws where two tapes of a catalogue differ in more than numbers given in order of writing. */
export function compareCatalogues(one: string, other: string): void {
  const read = (file: string): Map<string, string> => {
    const database = new Database(file, true)
    const tables = Object.entries(COMPARED).map(([name, sql]) => {
      const rows = database.all(sql).map((row) => JSON.stringify(Object.values(row)))
      return [name, rows.join('\n')] as const
    })
    database.close()
    return new Map(tables)
  }
  const others = read(other)
  for (const [name, rows] of read(one)) {
    if (rows !== others.get(name)) throw new Error(`the bench writes table ${name} otherwise`)
  }
}
