import { afterEach, describe, expect, it } from 'vitest'
import type { DataFolder } from '../lib/data-folder.ts'
import { walkedFacts } from './batch.ts'
import type { Note } from './notes.ts'
import { RefusedNotes } from './refused-notes.ts'
import {
  booksOf,
  createDataFolder,
  differences,
  gapsOf,
  read,
  record,
  type Script,
} from './scripted.testing.ts'

const TICKER = 'KXTEST15M-26SEP211200-15'

let used: DataFolder | undefined

function folder(): DataFolder {
  used = createDataFolder()
  return used
}

// What was kept of the refused notes is in the journal, so it gives the same rows and gaps again.
afterEach(async () => {
  if (used !== undefined) expect(await differences(used)).toEqual([])
  used = undefined
})

function venueB(script: Script, slot = 1) {
  let seq = 0
  return {
    /** A connection numbers its messages from the start. */
    connect(): void {
      seq = 0
      script.note({ note: 'connected', slot, url: 'ws://b' })
    },
    lose: () => script.note({ note: 'loss', reason: 'disconnected', why: 'closed', slot }),
    full: (yes: string) =>
      script.frame(slot, {
        type: 'orderbook_snapshot',
        sid: 1,
        seq: ++seq,
        msg: { market_ticker: TICKER, yes_dollars_fp: [[yes, '10.00']], no_dollars_fp: [] },
      }),
  }
}

const marketOf = (status: string) => ({ market: { ticker: TICKER, event_ticker: 'E', status } })

describe('while nothing can be written', () => {
  it('a connection that came meanwhile is known afterwards', async () => {
    const data = folder()
    await record(data, 'venueb', async (script) => {
      const b = venueB(script)
      b.connect()
      for (const yes of ['0.1000', '0.2000', '0.3000']) b.full(yes)
      await script.fill(true)
      b.lose()
      b.connect()
      await script.fill(false)
      script.wait(1000)
      // By the numbers of the connection before, this would be an old message.
      b.full('0.4000')
    })
    expect(await gapsOf(data, 'venueb', TICKER)).toEqual([
      'disk_full 0–1000',
      'recorder_down 1000–',
    ])
    expect((await booksOf(data, 'venueb', TICKER)).at(-1)).toContain('0.4')
  })

  it('a socket that opened for the first time is known, so that its end closes its books', async () => {
    const data = folder()
    await record(data, 'venueb', async (script) => {
      const b = venueB(script, 2)
      await script.fill(true)
      b.connect()
      await script.fill(false)
      b.full('0.4000')
      b.lose()
    })
    expect(await gapsOf(data, 'venueb', TICKER)).toEqual(['disconnected 0–'])
  })

  it('what was decided and listed meanwhile is known afterwards', async () => {
    const data = folder()
    await record(data, 'venueb', async (script) => {
      script.answer({ kind: 'market' }, marketOf('active'))
      await script.fill(true)
      script.note({ note: 'tier', tier: 'none', why: 'crowded', markets: [TICKER] })
      script.note({ note: 'tier', tier: 'polled', why: 'asked for', markets: [TICKER, 'OTHER'] })
      script.note({ note: 'walked', since: 5, rules: 7 })
      await script.fill(false)
    })
    await read(data, async (store) => {
      const market = await store.market('venueb', TICKER)
      expect(market?.record.capture).toEqual({ tier: 'polled', why: 'asked for' })
      expect(await store.fact(walkedFacts('venueb').at)).toBe(5)
    })
  })

  it('an answer counts as failed, and a frame says nothing of markets', async () => {
    const data = folder()
    await record(data, 'venueb', async (script) => {
      const b = venueB(script)
      const lifecycle = {
        type: 'market_lifecycle_v2',
        sid: 9,
        msg: { market_ticker: TICKER, event_type: 'determined', result: 'yes' },
      }
      b.connect()
      script.frame(1, lifecycle)
      expect(script.told().events.map(({ kind }) => kind)).toEqual(['market'])
      await script.fill(true)
      script.answer({ kind: 'market' }, marketOf('finalized'))
      expect(script.told()).toMatchObject({ events: [], error: { code: 'disk_full' } })
      script.frame(1, lifecycle)
      expect(script.told().events).toEqual([])
      // It shows that the socket lives.
      b.full('0.4000')
      expect(script.told().events).toHaveLength(1)
      await script.fill(false)
    })
  })

  it('a full book may be lost that a gap waited for, so it is asked for again', async () => {
    const data = folder()
    const recoveries = await record(data, 'venueb', async (script) => {
      const b = venueB(script)
      b.connect()
      b.full('0.4000')
      b.lose()
      b.connect()
      await script.fill(true)
      b.full('0.4000')
      await script.fill(false)
    })
    expect(recoveries).toEqual([
      { keys: [TICKER], reason: 'disconnected' },
      { keys: [TICKER], reason: 'disk_full' },
    ])
  })
})

describe('refused notes', () => {
  const connected: Note = { note: 'connected', slot: 3, url: 'ws://x' }

  it('are those of connections that are still open', () => {
    const refused = new RefusedNotes()
    expect(refused.keep(connected)).toBe(true)
    // The end of one of its subscriptions.
    refused.keep({ note: 'loss', reason: 'sequence_break', why: 'x', slot: 3, sid: 1 })
    refused.keep({ note: 'loss', reason: 'disconnected', why: 'x', slot: 4 })
    expect(refused.take()).toEqual([connected])
    expect(refused.take()).toEqual([])
    refused.keep(connected)
    expect(refused.keep({ note: 'loss', reason: 'disconnected', why: 'x', slot: 3 })).toBe(false)
    expect(refused.take()).toEqual([])
  })

  it('stay few: the newest of each socket and each market, and of all walks', () => {
    const refused = new RefusedNotes()
    const markets = Array.from({ length: 300 }, (_, at) => `M${at}`)
    for (let time = 0; time < 3; time++) {
      refused.keep(connected)
      refused.keep({ note: 'walked', since: time, rules: 1 })
      refused.keep({ note: 'tier', tier: 'none', why: 'x', markets })
      refused.keep({ note: 'tier', tier: 'full', why: 'x', markets: ['M0'] })
    }
    expect(refused.take()).toEqual([
      connected,
      { note: 'tier', tier: 'full', why: 'x', markets: ['M0'] },
      { note: 'tier', tier: 'none', why: 'x', markets: markets.slice(1, 201) },
      { note: 'tier', tier: 'none', why: 'x', markets: markets.slice(201) },
      { note: 'walked', since: 2, rules: 1 },
    ])
  })
})
