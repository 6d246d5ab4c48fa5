import { expect, it, onTestFinished } from 'vitest'
import { reachedFact } from '../recorder/batch.ts'
import { createDataFolder } from '../recorder/scripted.testing.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { backfillFacts } from '../store/store.ts'
import { withIntake } from './backfill-intake.ts'

it('leaves alone how far live capture is stored: a recorder that was killed has yet to say what it missed', async () => {
  const data = createDataFolder()
  const store = openEmbeddedStore({ file: data.tape })
  onTestFinished(() => store.close())
  const venue = 'venueb'
  const maker = { origin: 'live', recorder: 'r' } as const
  const facts = { [reachedFact(venue)]: 1000 }
  await store.append({ venue, position: 1, ...maker, normalizer: 1, facts })
  await withIntake({ venue, store, journalDir: data.journal, ...maker }, async (intake) => {
    intake.note({ note: 'backfill', family: 'BTC:5m', reached: 5 })
    await intake.flush()
  })
  expect(await store.fact(backfillFacts(venue, 'BTC:5m').reached)).toBe(5)
  expect(await store.fact(reachedFact(venue))).toBe(1000)
})
