import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillCatalogue } from './catalogue.testing.ts'
import { Database } from './database.ts'
import { lockTape, openEmbeddedStore } from './open.ts'
import { openTapeCopy } from './shared/copy.ts'
import { createTapeFolder, type TapeFolder } from './tape-folder.testing.ts'
import { makeBatches } from './tape-batches.testing.ts'

const LISTS = ['day', 'day_gap', 'extent', 'unbroken', 'outage', 'family', 'listing']
const WORDS = ['word', 'word_part', 'posting']
// The index of the first schema that the second one dropped.
const BY_TIME = 'CREATE INDEX market_by_time ON market (sort_time, venue, market)'

const LATER = ['sealed', 'parity', 'revision_cut']

const EVENTS = ['event', 'event_posting']

const LABELS = ['label', 'event_label']

// Tags had postings, and numbers no words for their beginnings.
const WITHOUT_LABELS = [
  'INSERT INTO posting SELECT word, open, market FROM label',
  'INSERT INTO event_posting SELECT word, open, event FROM event_label',
  ...LABELS.map((table) => `DROP TABLE ${table}`),
  ...['posting', 'event_posting'].map(
    (table) => `DELETE FROM ${table} WHERE word IN (SELECT id FROM word WHERE text GLOB '^*')`,
  ),
  "DELETE FROM word WHERE text GLOB '^*'",
]

const WITHOUT_PACKS = [...WITHOUT_LABELS, 'DROP INDEX chunk_sealed']

const WITHOUT_EVENTS = [
  ...WITHOUT_PACKS,
  'DROP INDEX listing_event',
  'DROP INDEX family_by_name',
  'DROP INDEX family_of_events',
  ...EVENTS.map((table) => `DROP TABLE ${table}`),
  ...['tags', 'event', 'live'].map((column) => `ALTER TABLE listing DROP COLUMN ${column}`),
  'ALTER TABLE family DROP COLUMN category',
  'CREATE UNIQUE INDEX family_by_name ON family (kind, venue, asset, span, series, status, endless)',
  'CREATE INDEX market_by_event ON market (event, venue) WHERE event IS NOT NULL',
]

const WITHOUT_COLD = ['DROP TABLE cold', 'DROP TABLE segment', 'DROP INDEX chunk_by_body']

const NARROW_LISTS = [
  'DROP INDEX listing_open',
  'DROP INDEX line_open',
  'CREATE INDEX listing_open ON listing (family, open, name)',
  'CREATE INDEX line_open ON listing (line, open, name) WHERE line IS NOT NULL',
]

const WITHOUT_WORDS = [
  ...WITHOUT_EVENTS,
  ...WITHOUT_COLD,
  ...NARROW_LISTS,
  ...WORDS.map((table) => `DROP TABLE ${table}`),
  'ALTER TABLE listing DROP COLUMN text',
  'DROP INDEX gap_open',
  'DROP INDEX gap_closed',
  'DROP INDEX gap_long',
  'CREATE INDEX gap_open ON gap (venue, reason, key) WHERE finish IS NULL',
  'CREATE INDEX gap_by_start ON gap (start, after_sequence, venue, key, reason, scope)',
  "DELETE FROM state WHERE name IN ('searchable', 'recounting', 'recounted')",
]

/** Takes from a tape what later schemas added, as if an earlier version had written it. */
const DOWNGRADES: Readonly<Record<number, readonly string[]>> = {
  9: [...WITHOUT_LABELS, 'PRAGMA user_version = 9'],
  8: [...WITHOUT_PACKS, 'PRAGMA user_version = 8'],
  7: [
    ...WITHOUT_EVENTS,
    // A recorder of that version was killed while it counted streams.
    "UPDATE state SET value = 3 WHERE name = 'recounting'",
    'PRAGMA user_version = 7',
  ],
  4: [...WITHOUT_WORDS, 'PRAGMA user_version = 4'],
  2: [...LATER.map((table) => `DROP TABLE ${table}`), ...WITHOUT_WORDS, 'PRAGMA user_version = 2'],
  1: [
    ...WITHOUT_PACKS,
    ...WITHOUT_COLD,
    ...[...WORDS, ...EVENTS, ...LISTS, ...LATER].map((table) => `DROP TABLE ${table}`),
    ...['stream_by_market', 'chunk_loose', 'gap_by_venue'].map((index) => `DROP INDEX ${index}`),
    ...['gap_open', 'gap_closed', 'gap_long'].map((index) => `DROP INDEX ${index}`),
    BY_TIME,
    "DELETE FROM state WHERE name IN ('counted', 'searchable', 'recounting', 'recounted')",
    'PRAGMA user_version = 1',
  ],
}

/** The kept lists and sums; families and words get other numbers when they are made again. */
function keptIn(file: string): Record<string, unknown[]> {
  const database = new DatabaseSync(file)
  const read = (sql: string): unknown[] => database.prepare(sql).all()
  const kept = {
    listing: read('SELECT id, name, open, close, volume, liquidity, text FROM listing ORDER BY id'),
    words: read('SELECT text FROM word ORDER BY text'),
    parts: read('SELECT part, text FROM word_part JOIN word ON word = id ORDER BY 1, 2'),
    postings: read(
      'SELECT text, open, market FROM posting JOIN word ON word = id ORDER BY 1, 2, 3',
    ),
    families: read(
      'SELECT venue, asset, span, series, status, markets FROM family ORDER BY 1, 2, 3, 4, 5',
    ),
    events: read(
      'SELECT venue, name, open, close, markets, live, asset, facts, text, tags FROM event ORDER BY 1, 2',
    ),
    eventPostings: read(
      `SELECT word.text AS word, event_posting.open AS open, name FROM event_posting
       JOIN word ON word = word.id JOIN event ON event.id = event ORDER BY 1, 2, 3`,
    ),
    labels: read(
      `SELECT text, label.open AS open, market, asset, span, close, volume, liquidity
       FROM label JOIN word ON word.id = word JOIN family ON family.id = family ORDER BY 1, 2, 3`,
    ),
    eventLabels: read(
      `SELECT word.text AS word, event_label.open AS open, name, family.asset AS asset, event_label.close AS close
       FROM event_label JOIN word ON word.id = word JOIN event ON event.id = event
       JOIN family ON family.id = event_label.family ORDER BY 1, 2, 3`,
    ),
    indexes: read(
      "SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL AND type = 'index' ORDER BY 1",
    ),
  }
  database.close()
  return kept
}

// Titles of markets with tags: numbers begin words, follow letters of other alphabets, or are inside words.
const LABELLED = [
  'Bitcoin 100000 am 24. Dezember',
  '比特币12月345日 7',
  'é77 und x88, 9é10x11',
  'ÖL-2026-08-05 t118000.99',
  '99',
  'Ohne Zahl',
]

// The tape that all tests copy: to write it takes longer than to upgrade it.
const original = mkdtempSync(join(tmpdir(), 'priorbook-upgrade-'))
let kept: Record<string, unknown[]>

beforeAll(async () => {
  const file = join(original, 'tape.db')
  const store = openEmbeddedStore({ file })
  const records = await fillCatalogue(store, 2400)
  const labelled = LABELLED.map((title, index) => {
    const [named] = records.filter(({ venue }) => venue === 'venueb')
    const own = { marketId: `KXTAG-${index}`, eventTicker: `KXTAG-${index % 3}`, title }
    const event = { title: `${title} ${index % 3}` }
    const tags = ['All', `Number ${index % 4}`, ...(index % 2 === 0 ? ['Ä-Liga'] : [])]
    const record = { ...named!, ...own, event, tags }
    return { kind: 'market', received: record.openTime!, journal: 9000 + index, record } as const
  })
  const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  await store.append({ ...made, venue: 'venueb', position: 9100, revisions: labelled })
  let batches = 0
  for (const batch of makeBatches(5, 1, 20)) {
    await store.append(batch)
    if (++batches === 20) break
  }
  await store.close()
  kept = keptIn(file)
})

afterAll(() => rmSync(original, { recursive: true, force: true }))

/** A copy of the tape, as a version with that schema would have written it. */
function writtenWith(version: number): TapeFolder {
  const folder = createTapeFolder()
  copyFileSync(join(original, 'tape.db'), folder.file)
  for (const sql of DOWNGRADES[version]!) folder.sql(sql)
  return folder
}

const COUNTING = 'listed and counted'
const MIGRATION = 'steps to schema 10'

/** Opens the tape in another process, which is killed after some steps of a part of the upgrade. */
function openAndDie(file: string, steps: number, part = COUNTING): string {
  const code = `
import { openEmbeddedStore } from '${new URL('open.ts', import.meta.url).href}'
let steps = 0
const onUpgrade = (done, total, what) => {
  if (!what.endsWith('${part}')) return
  console.log(done)
  if (++steps === ${steps}) process.kill(process.pid, 'SIGKILL')
}
await openEmbeddedStore({ file: process.argv[1], readOnly: true, onUpgrade }).close()
console.log('open')`
  const args = ['--input-type=module', '-e', code, file]
  const { stdout, signal } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return `${stdout.trim().split('\n').join(' ')}${signal === null ? '' : ` ${signal}`}`
}

describe.each([1, 2, 4, 7])('a tape of schema %i', (version) => {
  test('is brought to the newest one in steps, which a kill does not undo', async () => {
    const folder = writtenWith(version)
    expect(openAndDie(folder.file, 3)).toMatch(/^(\d+ ){3}SIGKILL$/)
    const [state] = folder.sql("SELECT value FROM state WHERE name = 'recounted'")
    const last = Number(state!['value'])
    expect(last).toBeGreaterThan(0)
    const rest = openAndDie(folder.file, -1).split(' ')
    expect(Number(rest[0])).toBeGreaterThan(last)
    expect(rest.at(-1)).toBe('open')
    expect(keptIn(folder.file)).toEqual(kept)
    const store = folder.open({ readOnly: true })
    expect((await store.verify()).problems).toEqual([])
    expect((await store.markets({ text: 'round 2399', limit: 5 })).markets).toHaveLength(1)
  })

  test('is not listed while half of its lists are made', async () => {
    const folder = writtenWith(version)
    openAndDie(folder.file, 2)
    // A reader of this version that cannot finish the work, because a writer does.
    const lock = new DatabaseSync(`${folder.file}.lock`)
    lock.exec('BEGIN EXCLUSIVE')
    const store = folder.open({ readOnly: true })
    await expect(store.markets({ limit: 1 })).rejects.toMatchObject({ code: 'store_unavailable' })
    await expect(store.totals('venuea')).rejects.toMatchObject({ code: 'store_unavailable' })
    lock.exec('ROLLBACK')
    lock.close()
  })
})

describe.each([1, 2, 4, 7, 9])('a tape of schema %i', (version) => {
  const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0

  test.skipIf(!canMount)('is read whole on a read-only mount, and left as it is', async () => {
    const folder = writtenWith(version)
    const code = `
import { openEmbeddedStore } from '${new URL('open.ts', import.meta.url).href}'
const store = openEmbeddedStore({ file: process.argv[1], readOnly: true, mayBeFixed: true })
const { markets } = await store.markets({ limit: 3, sort: 'volume', order: 'desc' })
const found = await store.markets({ text: 'round 2399', limit: 5 })
const tagged = await store.markets({ tag: 'ä-liga', sort: 'volume', limit: 5 })
const { problems } = await store.verify()
const totals = await store.totals('venueb')
const gaps = await store.gaps({ start: 1, limit: 3 })
console.log(JSON.stringify({ top: markets.map(({ record }) => record.marketId), found: found.markets.length,
  tagged: tagged.markets.length, problems, totals, gaps }))
await store.close()`
    const args = ['--input-type=module', '-e', code]
    const read = (inside: string): unknown => {
      const command = `${inside} exec "$@"`
      const given = ['--mount', 'sh', '-c', command, 'sh', process.execPath, ...args, folder.file]
      const { stdout, stderr } = spawnSync('unshare', given, { encoding: 'utf8' })
      return stdout === '' ? stderr : JSON.parse(stdout)
    }
    const place = folder.file.replace(/\/tape\.db$/, '')
    const bind = `mount --bind ${place} ${place} && mount -o remount,ro,bind ${place} &&`
    const answer = read(bind)
    expect(folder.sql('PRAGMA user_version')).toEqual([{ user_version: version }])
    expect(answer).toEqual(read(''))
    expect(answer).toMatchObject({ found: 1, tagged: 3, problems: [] })
  })
})

describe.each([4, 9])('the migration of a tape of schema %i', (version) => {
  test('is undone by a kill at any step, and done by the next opening', async () => {
    const folder = writtenWith(version)
    const all = openAndDie(writtenWith(version).file, -1, MIGRATION).split(' ')
    const steps = all.length - 1
    expect(all).toEqual([...Array.from({ length: steps }, (_, step) => String(step)), 'open'])
    for (const step of [1, Math.ceil(steps / 2), steps]) {
      expect(openAndDie(folder.file, step, MIGRATION)).toMatch(/SIGKILL$/)
      const look = new DatabaseSync(folder.file)
      expect(look.prepare('PRAGMA user_version').get()).toEqual({ user_version: version })
      look.close()
    }
    expect(openAndDie(folder.file, -1, MIGRATION).split(' ')).toEqual(all)
    expect(keptIn(folder.file)).toEqual(kept)
    const store = folder.open({ readOnly: true })
    expect((await store.verify()).problems).toEqual([])
  })
})

test.each(['doctor', 'seal', 'verify'])('%s says that it upgrades a tape first', (command) => {
  const folder = writtenWith(9)
  const bin = fileURLToPath(new URL('../../../bin/priorbook-server.mjs', import.meta.url))
  const args = [bin, command, '--data', dirname(folder.file)]
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stderr).toMatch(
    /^upgrade of the tape: 0 of \d+ steps to schema 10; after a stop the next start finishes it$/m,
  )
})

test.each([8, 9])(
  'a tape of schema %i is listed as a new one after its opening',
  async (version) => {
    const folder = writtenWith(version)
    const store = folder.open({ readOnly: true })
    expect(keptIn(folder.file)).toEqual(kept)
    const tagged = await store.markets({ tag: 'ä-liga', sort: 'volume', limit: 5 })
    expect(tagged.markets).toHaveLength(3)
    const numbered = await store.markets({ text: '34', limit: 50 })
    expect(numbered.markets.map(({ record }) => record.title)).toContain('比特币12月345日 7')
    expect((await store.verify()).problems).toEqual([])
  },
)

const DAMAGED_LOG = "UPDATE log SET bytes = x'0001' WHERE id = (SELECT max(id) FROM log)"
const NOT_MADE = { code: 'store_unavailable', message: expect.stringContaining('not made yet') }

describe('lists that a newer schema makes again', () => {
  test('are made by a reader although the log is damaged', async () => {
    const folder = writtenWith(7)
    folder.sql(DAMAGED_LOG)
    const reader = folder.open({ readOnly: true })
    expect((await reader.markets({ limit: 5 })).markets).toHaveLength(5)
    expect(keptIn(folder.file)).toEqual(kept)
  })

  test('are refused, not empty, where sums are due too and the log is damaged', async () => {
    const folder = writtenWith(4)
    folder.sql("DELETE FROM state WHERE name = 'counted'")
    folder.sql(DAMAGED_LOG)
    const reader = folder.open({ readOnly: true })
    await expect(reader.markets({ limit: 5 })).rejects.toMatchObject(NOT_MADE)
    await expect(reader.categories()).rejects.toMatchObject(NOT_MADE)
  })

  test('are made by the next reader where a process died before it began', async () => {
    const folder = writtenWith(7)
    new Database(folder.file, false).close()
    const lock = lockTape(folder.file)
    const waiting = folder.open({ readOnly: true })
    await expect(waiting.events({ limit: 5 })).rejects.toMatchObject(NOT_MADE)
    lock.close()
    const reader = folder.open({ readOnly: true })
    expect((await reader.markets({ limit: 5 })).markets).toHaveLength(5)
    expect((await waiting.markets({ limit: 5 })).markets).toHaveLength(5)
  })

  test('are made in a copy before the shared tape gets its rows, and by no reader of it', async () => {
    const folder = writtenWith(7)
    const copy = openTapeCopy(folder.file)
    copy.loaded({ tape: 'shared', commit: 1, mark: '' })
    copy.close()
    const early = folder.open({ readOnly: true })
    await expect(early.markets({ limit: 5 })).rejects.toMatchObject(NOT_MADE)
    const again = openTapeCopy(folder.file)
    again.recount()
    again.close()
    const { listing, events, eventPostings } = kept
    expect(keptIn(folder.file)).toMatchObject({ listing, events, eventPostings })
    expect((await early.markets({ limit: 5 })).markets).toHaveLength(5)
  })

  test('are made in a copy into which rows of an older schema were fetched', () => {
    const folder = createTapeFolder()
    copyFileSync(join(original, 'tape.db'), folder.file)
    for (const table of [...EVENTS, ...LABELS]) folder.sql(`DELETE FROM ${table}`)
    folder.sql("UPDATE listing SET event = NULL, tags = '', live = 0")
    folder.sql('DELETE FROM family WHERE kind > 1')
    const copy = openTapeCopy(folder.file)
    copy.recount()
    copy.close()
    expect(keptIn(folder.file)).toEqual(kept)
  })
})
