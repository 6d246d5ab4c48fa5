import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Micros } from '@priorbook/sdk/domain'
import { createRandom } from '../../../../bench/lib/random.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { Applier, type ApplyRecord } from '../recorder/applier.ts'
import { createLines, START_MS } from './lines.testing.ts'
import { compareStores } from './rebuild.ts'

// Small steps, so that a packing pass is half done at nearly every moment.
const limits = { rows: 60, step: 5 }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-repair-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a log that was damaged in the middle of packing', () => {
  it('is cut, and the journal gives the same tape again', async () => {
    const records = makeRecords()
    const wholeFile = join(folder, 'whole.db')
    await feed(openEmbeddedStore({ file: wholeFile }), records, 0, records.length)
    const whole = openEmbeddedStore({ file: wholeFile })
    await whole.seal()
    let tried = 0
    for (let stop = 200; stop <= 260; stop += 5) {
      const file = join(folder, `${stop}.db`)
      await feed(openEmbeddedStore({ file, limits }), records, 0, stop)
      if (!damageLog(file)) continue
      tried++
      const mended = openEmbeddedStore({ file, limits })
      expect(mended.repaired).toBeDefined()
      const applied = await mended.appliedPosition('venueb')
      expect(applied).toBeLessThan(stop)
      await feed(mended, records, applied, records.length)
      const own = openEmbeddedStore({ file })
      await own.seal()
      expect((await compareStores(own, whole)).differences).toEqual([])
      expect((await own.verify()).problems).toEqual([])
      await own.close()
    }
    await whole.close()
    expect(tried).toBeGreaterThan(5)
  })
})

// Three markets of one recorder in turn, with a reconnect of each somewhere.
function makeRecords(): ApplyRecord[] {
  const random = createRandom(7)
  const markets = ['A-1', 'B-1', 'C-1'].map((ticker) => ({ lines: createLines(ticker), seq: 0 }))
  const records: ApplyRecord[] = []
  const take = (line: string): void => {
    const number = records.length + 1
    const received = ((START_MS + number) * 1000) as Micros
    records.push({ number, received, kind: 'message', slot: 0, bytes: Buffer.from(line) })
  }
  for (let count = 0; count < 600; count++) {
    const market = random.pick(markets)
    const at = START_MS + count
    if (market.seq === 0) market.lines.snapshot(at, ++market.seq, [['0.4000', '9.00']], [])
    else if (random.integer(0, 40) === 0) {
      market.lines.delta(at, 1, 'yes', '0.3000', '1.00')
      market.seq = 0
    } else {
      const price = `0.${random.integer(10, 45)}00`
      market.lines.delta(at, ++market.seq + 5, 'yes', price, '1.00')
    }
    take(market.lines.lines.at(-1)!)
  }
  return records
}

async function feed(
  store: EmbeddedStore,
  records: readonly ApplyRecord[],
  after: number,
  to: number,
): Promise<void> {
  const applier = new Applier(store, 'venueb')
  for (const record of records) {
    if (record.number <= after || record.number > to) continue
    await applier.apply(record)
    if (record.number % 5 !== 0 && record.number !== to) continue
    const batch = applier.drain({ origin: 'live', recorder: 'r1' })
    if (batch !== undefined) await store.append(batch)
  }
  await store.close()
}

function damageLog(file: string): boolean {
  const database = new DatabaseSync(file)
  const ids = database.prepare('SELECT id FROM log ORDER BY id').all()
  if (ids.length >= 4)
    database.prepare("UPDATE log SET bytes = x'00' WHERE id = ?").run(ids[2]!['id']!)
  database.close()
  return ids.length >= 4
}
