import { describe, expect, test } from 'vitest'
import { expectLines, expectRows, expectStore } from '../store-answers.testing.ts'
import { lineOf, ModelStore } from '../store-model.testing.ts'
import { rowsOf } from '../store-rows.testing.ts'
import { INSTRUMENTS, Script } from '../store-script.testing.ts'
import type { AppendBatch, Store } from '../store.ts'
import { createTapeFolder, type TapeFolder } from './tape-folder.testing.ts'
import { countOf } from './temp-folder.testing.ts'

const VENUES = ['venuea', 'venueb', 'venuec'] as const

type Damage = (folder: TapeFolder, log: number) => void

const DAMAGES: readonly { what: string; damage: Damage }[] = [
  {
    what: 'one flipped byte',
    damage: (folder, log) => {
      const [row] = folder.sql('SELECT bytes FROM log WHERE id = ?', log)
      const bytes = Uint8Array.from(row!['bytes'] as Uint8Array)
      bytes[bytes.length >> 1]! ^= 4
      folder.sql('UPDATE log SET bytes = ? WHERE id = ?', bytes, log)
    },
  },
  {
    what: 'an empty body',
    damage: (folder, log) => folder.sql("UPDATE log SET bytes = x'' WHERE id = ?", log),
  },
  {
    what: 'a missing batch',
    damage: (folder, log) => folder.sql('DELETE FROM log WHERE id = ?', log),
  },
  {
    what: "another batch's body",
    damage: (folder, log) =>
      folder.sql(
        'UPDATE log SET bytes = (SELECT bytes FROM log WHERE id = ?) WHERE id = ?',
        log - 1,
        log,
      ),
  },
]

/** The model after some batches. */
function modelOf(script: Script, batches: readonly AppendBatch[]): ModelStore {
  const model = new ModelStore(script.books)
  for (const batch of batches) model.apply(batch)
  return model
}

async function appendAll(store: Store, batches: readonly AppendBatch[]): Promise<void> {
  for (const batch of batches) await store.append(batch)
}

/** The rows before the damage, and everywhere the word that newer ones may be lost. */
async function expectPrefix(store: Store, model: ModelStore): Promise<void> {
  for (const { venue, key } of INSTRUMENTS) {
    const rows = model.rows({ venue, key })
    const page = await store.books({ venue, key, order: 'asc', limit: 100_000 })
    expectLines(rowsOf(page.runs).map(lineOf), rows.map(lineOf))
    const lost = { venue, key, reason: 'corrupt', afterSequence: rows.length }
    expect(page.corrupt).toMatchObject([lost])
    const at = rows.at(-1)!.received + 1
    expect(await store.asOf({ venue, key, at })).toMatchObject({ gap: lost })
    await expect(store.latest({ venue, key })).rejects.toMatchObject({ code: 'corrupt_row' })
  }
}

describe('a damaged log batch', () => {
  test.each(DAMAGES)(
    '$what: only the prefix is served, the rest is taken again',
    async ({ damage }) => {
      const folder = createTapeFolder()
      const script = new Script(101)
      const batches = script.take(60)
      const writer = folder.open()
      await appendAll(writer, batches.slice(0, 20))
      // What is in chunks is safe; the log begins after it.
      await writer.seal()
      await appendAll(writer, batches.slice(20))
      const early = folder.open({ readOnly: true })
      await expectStore(early, modelOf(script, batches))
      await writer.close()

      const logs = folder.sql('SELECT id FROM log ORDER BY id').map((row) => row['id'] as number)
      expect(logs.length).toBe(40)
      damage(folder, logs[17]!)
      const good = modelOf(script, batches.slice(0, 37))
      const late = folder.open({ readOnly: true })
      await expectPrefix(late, good)
      const { problems } = await late.verify()
      expect(problems.map(({ where }) => where)).toContain('log')

      const mended = folder.open()
      expect(mended.repaired).toEqual(expect.stringContaining('log batch'))
      for (const venue of VENUES) {
        expect(await mended.appliedPosition(venue)).toBe(good.applied.get(venue) ?? 0)
      }
      for (const store of [mended, late, early]) await expectRows(store, good)

      // The recorder asks where to go on, and goes on from there.
      await appendAll(mended, batches)
      const model = modelOf(script, batches)
      for (const store of [mended, late, early]) await expectStore(store, model)
      await mended.seal()
      for (const store of [mended, late, early]) await expectStore(store, model)
      expect((await mended.verify()).problems).toEqual([])
      await mended.close()
      const again = folder.open()
      expect(again.repaired).toBeUndefined()
      await expectStore(again, model)
    },
  )

  test('the first batch of the log: everything goes back to what is in chunks', async () => {
    const folder = createTapeFolder()
    const script = new Script(102)
    const batches = script.take(50)
    const writer = folder.open()
    await appendAll(writer, batches.slice(0, 30))
    await writer.seal()
    await appendAll(writer, batches.slice(30))
    await writer.close()
    const [first] = folder.sql('SELECT min(id) AS id FROM log')
    DAMAGES[0]!.damage(folder, first!['id'] as number)
    const mended = folder.open()
    const good = modelOf(script, batches.slice(0, 30))
    await expectRows(mended, good)
    for (const venue of VENUES) {
      expect(await mended.appliedPosition(venue)).toBe(good.applied.get(venue) ?? 0)
    }
    await appendAll(mended, batches.slice(25))
    await expectStore(mended, modelOf(script, batches))
    expect((await mended.verify()).problems).toEqual([])
  })

  test('with some streams packed and others not, damage at any batch heals', async () => {
    for (let seed = 1; seed <= countOf(8, 4); seed++) {
      const folder = createTapeFolder()
      const script = new Script(110 + seed)
      const batches = script.take(50)
      const limits = { rows: 40, step: 10 }
      const writer = folder.open({ limits })
      await appendAll(writer, batches)
      await writer.close()
      const logs = folder.sql('SELECT id FROM log ORDER BY id').map((row) => row['id'] as number)
      if (logs.length === 0) continue
      DAMAGES[0]!.damage(folder, logs[script.whole(0, logs.length - 1)]!)
      const mended = folder.open({ limits })
      expect(mended.repaired).toBeDefined()
      await appendAll(mended, batches)
      await expectStore(mended, modelOf(script, batches))
      expect((await mended.verify()).problems).toEqual([])
      await mended.close()
    }
  })

  test('gaps go back together with the rows', async () => {
    const folder = createTapeFolder()
    const batches = new Script(103).take(60)
    const writer = folder.open()
    await appendAll(writer, batches)
    await writer.close()
    DAMAGES[0]!.damage(folder, 31)
    const short = createTapeFolder().open()
    await appendAll(short, batches.slice(0, 30))
    const mended = folder.open()
    expect((await short.gaps({})).length).toBeGreaterThan(0)
    expect(await mended.gaps({})).toEqual(await short.gaps({}))
    await appendAll(mended, batches)
    const whole = createTapeFolder().open()
    await appendAll(whole, batches)
    expect(await mended.gaps({})).toEqual(await whole.gaps({}))
  })
})
