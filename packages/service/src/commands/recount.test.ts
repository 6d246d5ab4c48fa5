import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fillCatalogue } from '../store/embedded/catalogue.testing.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { makeBatches } from '../store/embedded/tape-batches.testing.ts'
import { callServer } from './call.testing.ts'

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-recount-'))
const original = join(scratch, 'original')

beforeAll(async () => {
  const store = openEmbeddedStore({ file: join(original, 'tape.db') })
  const records = await fillCatalogue(store, 40)
  const [first] = records.filter(({ venue }) => venue === 'venueb')
  const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  const revisions = [0, 1, 2].map((index) => {
    const own = { marketId: `KXTAG-${index}`, eventTicker: 'KXTAG', title: `Tagged 12${index}` }
    const record = { ...first!, ...own, tags: ['All', `Number ${index}`], category: 'Crypto' }
    return { kind: 'market', received: record.openTime!, journal: 9000 + index, record } as const
  })
  await store.append({ ...made, venue: 'venueb', position: 9100, revisions })
  let batches = 0
  for (const batch of makeBatches(5, 1, 20)) {
    await store.append(batch)
    if (++batches === 30) break
  }
  await store.seal()
  await store.close()
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const OF_TAG = "(SELECT id FROM word WHERE text = '#number 1')"
const TAGGED = "(SELECT id FROM listing WHERE name = 'KXTAG-0')"

it.each([
  [
    'a tag that a market no longer has',
    `INSERT INTO label SELECT ${OF_TAG}, open, id, family, close, volume, liquidity FROM listing WHERE id = ${TAGGED}`,
  ],
  ['a tag that is missing', `DELETE FROM label WHERE word = ${OF_TAG}`],
  [
    'a tag that an event no longer has',
    "INSERT INTO event_label SELECT word.id, event.open, event.id, event.family, event.close FROM word, event WHERE word.text = '#all' AND event.name <> 'KXTAG' LIMIT 1",
  ],
  [
    'a word that a market does not have',
    `INSERT INTO posting SELECT word.id, open, listing.id FROM word, listing
     WHERE listing.id = ${TAGGED} AND word.text = '122'`,
  ],
  [
    'a word that is missing',
    `DELETE FROM posting WHERE market = ${TAGGED} AND word = (SELECT id FROM word WHERE text = '^12')`,
  ],
  [
    'a word that an event does not have',
    "INSERT OR IGNORE INTO event_posting SELECT word.id, event.open, event.id FROM word, event WHERE word.text = '122' AND event.name <> 'KXTAG' LIMIT 1",
  ],
  ['another volume', `UPDATE listing SET volume = 1.5 WHERE id = ${TAGGED}`],
  ['another close', `UPDATE listing SET close = close + 1 WHERE id = ${TAGGED}`],
  [
    'another family',
    `UPDATE listing SET family = (SELECT max(family) FROM listing WHERE family <> (SELECT family FROM listing WHERE id = ${TAGGED})) WHERE id = ${TAGGED}`,
  ],
  ['a market that is not listed', `DELETE FROM listing WHERE id = ${TAGGED}`],
  [
    'a day without observations',
    'DELETE FROM day WHERE day = (SELECT min(day) FROM day WHERE observations > 0)',
  ],
  ['a sum that was changed', 'UPDATE day SET observations = observations + 1'],
  ['a kind of rows without a first one', 'DELETE FROM extent'],
])('verify finds %s, and tape recount mends it', async (_, sql) => {
  const data = mkdtempSync(join(scratch, 'data-'))
  cpSync(original, data, { recursive: true })
  expect(await callServer('verify', '--data', data)).toMatchObject({ code: 0 })
  const database = new DatabaseSync(join(data, 'tape.db'))
  expect(Number(database.prepare(sql).run().changes)).toBeGreaterThan(0)
  database.close()
  const found = await callServer('verify', '--data', data)
  expect(found.code).toBe(1)
  expect(found.out).toContain('corrupt_row')
  expect(found.out).toContain('priorbook-server tape recount makes lists and sums again')
  expect(await callServer('tape', 'recount', '--data', data)).toMatchObject({ code: 0 })
  const mended = await callServer('verify', '--data', data)
  expect([mended.code, mended.out]).toEqual([0, expect.stringContaining('all sound')])
})
