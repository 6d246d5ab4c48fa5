import { expect, it } from 'vitest'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { createDataFolder, differences, record, START_MS } from './scripted.testing.ts'

const BOOKS = 3000

const book = (number: number) => ({
  event_type: 'book',
  asset_id: String(10 ** 12 + number),
  market: `0x${String(number).padStart(64, '0')}`,
  timestamp: String(START_MS),
  hash: 'a'.repeat(40),
  bids: [{ price: '0.4', size: '1' }],
  asks: [{ price: '0.6', size: '1' }],
})

it('goes on storing and lets timers run while the store is asked for thousands of books', async () => {
  const data = createDataFolder()
  const seen = new Set<number>()
  await record(data, 'venuec', async (script) => {
    script.note({ note: 'connected', slot: 1, url: 'ws://c' })
    for (let number = 0; number < BOOKS; number++) script.frame(1, book(number))
    const reader = openEmbeddedStore({ file: data.tape, readOnly: true })
    let stored = 0
    while (stored < BOOKS) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      stored = (await reader.totals('venuec')).instruments
      seen.add(stored)
    }
    await reader.close()
  })
  expect([...seen].filter((stored) => stored > 0 && stored < BOOKS).length).toBeGreaterThan(1)
  expect(await differences(data)).toEqual([])
})
