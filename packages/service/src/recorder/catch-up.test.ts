import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { toMicros } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { compareStores } from '../derive/rebuild.ts'
import { openJournalWriter } from '../journal/index.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { catchUp } from './catch-up.ts'
import { createDataFolder, START_MS } from './scripted.testing.ts'

const VENUE = 'venueb'
const FIRST = 'KXTEST15M-26SEP211200-15'
const SECOND = 'KXTEST15M-26SEP211200-30'

const full = (ticker: string, seq: number): string =>
  JSON.stringify({
    type: 'orderbook_snapshot',
    sid: 2,
    seq,
    msg: { market_ticker: ticker, yes_dollars_fp: [['0.4700', '26.75']], no_dollars_fp: [] },
  })
const change = (ticker: string, seq: number): string =>
  JSON.stringify({
    type: 'orderbook_delta',
    sid: 2,
    seq,
    msg: { market_ticker: ticker, price_dollars: '0.4600', delta_fp: '1.00', side: 'yes' },
  })

it('closes every book at damage of the journal, also over restarts', async () => {
  const data = createDataFolder()
  const writer = openJournalWriter({
    dir: data.journal,
    venue: VENUE,
    origin: 'emulator',
    recorder: 'r1',
    acknowledged: 0,
  })
  let received = START_MS * 1000
  const block = (...texts: readonly string[]): void => {
    for (const text of texts) {
      const isNote = text.includes('"note"')
      const kind = isNote ? 'note' : 'message'
      writer.append(toMicros((received += 100_000)), kind, Buffer.from(text), isNote ? 0 : 1)
    }
    writer.commit()
  }
  block('{"note":"connected","slot":1,"url":"x"}', full(FIRST, 1), full(SECOND, 2))
  const segment = join(data.journal, VENUE, readdirSync(join(data.journal, VENUE))[0]!)
  const damagedAt = statSync(segment).size
  block(change(FIRST, 3), change(SECOND, 4))
  block(change(FIRST, 5))
  block(change(SECOND, 6), change(SECOND, 7))
  writer.close()

  // The tape has the books of before the damage, then stops once more right behind it.
  const apply = async (file: string, to?: number): Promise<void> => {
    const store = openEmbeddedStore({ file })
    await catchUp(store, data.journal, VENUE, undefined, to)
    await store.close()
  }
  await apply(data.tape, 3)
  const file = openSync(segment, 'r+')
  writeSync(file, Buffer.alloc(20, 0x55), 0, 20, damagedAt + 70)
  closeSync(file)
  await apply(data.tape, 6)
  await apply(data.tape)

  const restarted = openEmbeddedStore({ file: data.tape })
  const whole = openEmbeddedStore({ file: join(data.path, 'whole.db') })
  await catchUp(whole, data.journal, VENUE)
  await restarted.seal()
  await whole.seal()
  expect((await compareStores(restarted, whole)).differences).toEqual([])
  const gaps = await restarted.gaps({ venue: VENUE, reason: 'corrupt' })
  expect(gaps.map(({ key, end }) => `${key} ${end === undefined ? 'open' : 'closed'}`)).toEqual([
    `${FIRST} open`,
    `${SECOND} open`,
  ])
  await restarted.close()
  await whole.close()
})
