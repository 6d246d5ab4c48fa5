import { expect, test } from 'vitest'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { Applier } from './applier.ts'
import { createDataFolder, createFeed, START_MS } from './scripted.testing.ts'

const TICKER = 'KXTEST-1'
const TRADES = 3000
const MADE = { origin: 'emulator', recorder: 'r1' } as const

const tradeOf = (at: number): object => ({
  trade_id: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
  yes_price_dollars: '0.4150',
  no_price_dollars: '0.5850',
  count_fp: '3.25',
  taker_side: 'no',
})

// While REST fails, trades go on arriving over the socket. The answer that comes at last has them all.
test('an answer with thousands of trades that the socket has brought adds the missing ones alone', async () => {
  const { tape } = createDataFolder()
  let store: EmbeddedStore = openEmbeddedStore({ file: tape })
  let applier = new Applier(store, 'venueb')
  const put = createFeed(() => applier)
  const keep = async (): Promise<void> => {
    const batch = applier.drain(MADE)
    if (batch !== undefined) await store.append(batch)
  }
  const answer = async (from: number, to: number): Promise<void> => {
    await put('note', { note: 'request', request: { kind: 'trades', ticker: TICKER } })
    const trades = Array.from({ length: to - from }, (_, at) => ({
      ...tradeOf(to - 1 - at),
      ticker: TICKER,
      created_time: new Date(START_MS + to - 1 - at).toISOString(),
    }))
    await put('message', { trades, cursor: '' })
    await keep()
  }
  const stored = async (): Promise<number> => {
    const page = await store.trades({ venue: 'venueb', key: TICKER, order: 'asc', limit: 10_000 })
    expect(new Set(page.rows.tradeId).size).toBe(page.rows.count)
    return page.rows.count
  }
  await put('note', { note: 'started', version: '1' })
  await put('note', { note: 'connected', slot: 1, url: 'ws://b' })
  // Ten were missed before the rest.
  for (let at = 10; at < TRADES; at++) {
    const msg = { ...tradeOf(at), market_ticker: TICKER, ts_ms: START_MS + at }
    await put('message', { type: 'trade', sid: 4, seq: at, msg }, 1)
    if (at % 500 === 0) await keep()
  }
  await keep()
  expect(await stored()).toBe(TRADES - 10)
  await answer(0, TRADES)
  expect(await stored()).toBe(TRADES)
  // The same after a restart, which reads the known ids from the tape.
  await store.close()
  store = openEmbeddedStore({ file: tape })
  applier = new Applier(store, 'venueb')
  await put('note', { note: 'started', version: '1' })
  await answer(0, TRADES + 5)
  expect(await stored()).toBe(TRADES + 5)
  await store.close()
})
