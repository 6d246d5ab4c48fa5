import { expect, test } from 'vitest'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { Applier } from './applier.ts'
import { createDataFolder, createFeed, START_MS } from './scripted.testing.ts'

const MADE = { origin: 'emulator', recorder: 'r1' } as const

// A recorder is never idle: while rows of one market are being stored, messages of the next arrive.
test('a busy recorder forgets markets that ended', async () => {
  const store = openEmbeddedStore({ file: createDataFolder().tape })
  const applier = new Applier(store, 'venueb')
  const put = createFeed(() => applier)
  const answer = async (ticker: string, status: string): Promise<void> => {
    const open_time = new Date(START_MS).toISOString()
    await put('note', { note: 'request', request: { kind: 'market' } })
    await put('message', { market: { ticker, event_ticker: `E-${ticker}`, status, open_time } })
  }
  let seq = 0
  const begin = async (round: number): Promise<void> => {
    const ticker = `KXTEST-${round}`
    await answer(ticker, 'active')
    const levels = [['0.4000', '10.00']]
    const msg = { market_ticker: ticker, yes_dollars_fp: levels, no_dollars_fp: levels }
    await put('message', { type: 'orderbook_snapshot', sid: 1, seq: ++seq, msg }, 1)
  }
  await put('note', { note: 'started', version: '1' })
  await put('note', { note: 'connected', slot: 1, url: 'ws://b' })
  await begin(0)
  const sizes: number[] = []
  const ROUNDS = 1150
  for (let round = 1; round <= ROUNDS; round++) {
    await answer(`KXTEST-${round - 1}`, 'finalized')
    const batch = applier.drain(MADE)!
    const stored = store.append(batch)
    await begin(round)
    await stored
    applier.forgetEnded()
    sizes.push(applier.remembered)
  }
  const { tracks } = applier.held
  expect(tracks).toBeLessThan(5)
  // A bounded number of ended markets is remembered, because venues go on talking about them.
  expect(sizes.at(-1)).toBeLessThan(1100)
  expect(sizes.at(-1)! - sizes.at(-100)!).toBeLessThan(10)
  expect(await store.fact('passed:venueb:KXTEST-1')).toBeUndefined()
  const page = await store.markets({ venue: 'venueb', status: 'resolved', limit: 2000 })
  expect(page.markets).toHaveLength(ROUNDS)
  await store.close()
})
