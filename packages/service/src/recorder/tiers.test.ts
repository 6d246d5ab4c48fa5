import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { Applier } from './applier.ts'
import { createDataFolder, createFeed } from './scripted.testing.ts'

const MADE = { origin: 'emulator', recorder: 'r1' } as const
const CONDITION = `0x${'7e'.repeat(32)}`
const TICKER = 'KXA-1-1'

let store: EmbeddedStore
let applier: Applier

beforeEach(() => {
  store = openEmbeddedStore({ file: createDataFolder().tape })
})

afterEach(() => store.close())

const put = createFeed(() => applier)

async function begin(venue: 'venueb' | 'venuec'): Promise<void> {
  applier = new Applier(store, venue)
  await put('note', { note: 'started', version: '1' })
  await put('note', { note: 'connected', slot: 1, url: 'ws://venue' })
}

async function keep(): Promise<void> {
  const batch = applier.drain(MADE)
  if (batch !== undefined) await store.append(batch)
}

const market = { ticker: TICKER, event_ticker: 'KXA-1', title: 'Who?', status: 'active' }

async function list(captured: unknown): Promise<void> {
  await put('note', { note: 'request', request: { kind: 'markets', captured } })
  await put('message', { markets: [market], cursor: '' })
}

describe('a note of a tier', () => {
  it('is a version of the record, and a rebuild of the request gives it too', async () => {
    await begin('venueb')
    await list([{ tier: 'full', why: 'rule 1 (every market)' }])
    await put('note', { note: 'tier', tier: 'polled', why: 'crowded', markets: [TICKER] })
    await keep()
    const versions = await store.revisions('venueb', TICKER, { limit: 10 })
    expect(versions.map(({ record }) => record.capture?.tier)).toStrictEqual(['full', 'polled'])
    expect(versions.map(({ record }) => record.title)).toStrictEqual(['Who?', 'Who?'])
  })

  it('of a market that the tape does not have gives no record', async () => {
    await begin('venueb')
    await put('note', { note: 'tier', tier: 'full', why: 'x', markets: ['KXNONE-1-1'] })
    await keep()
    expect(await store.market('venueb', 'KXNONE-1-1')).toBeUndefined()
  })

  it('from the time of another recorder does not count after a takeover', async () => {
    await begin('venueb')
    await list([{ tier: 'full', why: 'rule 1 (every market)' }])
    await keep()
    await put('note', { note: 'took_over', slots: [], since: 1000, books: [] })
    await put('note', { note: 'tier', tier: 'none', why: 'x', markets: [TICKER] })
    await keep()
    expect((await store.market('venueb', TICKER))!.record.capture?.tier).toBe('full')
  })
})

describe('a book that is polled from now on', () => {
  it('of venue B is closed, and goes on with its polls', async () => {
    await begin('venueb')
    const levels = { yes_dollars_fp: [['0.4000', '10.00']], no_dollars_fp: [['0.5500', '7.00']] }
    const msg = { market_ticker: TICKER, market_id: 'id', ...levels }
    await put('message', { type: 'orderbook_snapshot', sid: 1, seq: 1, msg }, 1)
    await put('note', { note: 'tier', tier: 'polled', why: 'x', markets: [TICKER] })
    await put('note', { note: 'loss', reason: 'not_selected', why: 'polled', keys: [TICKER] })
    for (const price of ['0.4100', '0.4200', '0.4300']) {
      const request = { kind: 'orderbook', ticker: TICKER, depth: 0 }
      await put('note', { note: 'request', request })
      const book = { yes_dollars: [[price, '10.00']], no_dollars: [['0.5000', '7.00']] }
      await put('message', { orderbook_fp: book })
    }
    await keep()
    expect(applier.counts).toMatchObject({ observations: 4, duplicates: 0 })
    const gaps = await store.gaps({ venue: 'venueb', key: TICKER })
    expect(gaps.map(({ reason, end }) => [reason, end !== undefined])).toStrictEqual([
      ['not_selected', true],
    ])
  })

  it.each([false, true])(
    'of venue C is not closed with a socket (restart: %s)',
    async (restarts) => {
      await begin('venuec')
      const gamma = { conditionId: CONDITION, question: 'Who?', active: true, closed: false }
      const captured = [{ tier: 'polled', why: 'rule 1 (every market)' }]
      await put('note', { note: 'request', request: { kind: 'gamma_market', captured } })
      await put('message', gamma)
      for (const price of ['0.4', '0.5']) {
        await put('note', { note: 'request', request: { kind: 'clob_books', polled: true } })
        const book = { asset_id: '314', market: CONDITION, timestamp: '1791192800750', asks: [] }
        await put('message', [{ ...book, bids: [{ price, size: '5' }] }])
      }
      await keep()
      if (restarts) applier = new Applier(store, 'venuec')
      await put('note', { note: 'loss', reason: 'disconnected', why: 'x', slot: 1 })
      await keep()
      expect(await store.gaps({ venue: 'venuec', key: '314' })).toStrictEqual([])
    },
  )
})
