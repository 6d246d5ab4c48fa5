import { join } from 'node:path'
import type { VenueId } from '@priorbook/sdk/domain'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { journalStats } from '@priorbook/sdk/journal'
import type { DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import type { AppendBatch } from '../store/store.ts'
import { catchUp } from './catch-up.ts'
import { compareStores } from '../derive/rebuild.ts'
import {
  booksOf,
  createDataFolder,
  differences,
  gapsOf,
  read,
  record,
  START_MS,
  type Script,
} from './scripted.testing.ts'

const TICKER = 'KXTEST15M-26SEP211200-15'
const OTHER = 'KXTEST15M-26SEP211200-30'
const CONDITION = `0x${'ab'.repeat(32)}`
const UP = `1${'0'.repeat(75)}1`
let used: DataFolder | undefined

function folder(): DataFolder {
  used = createDataFolder()
  return used
}

// Whatever a test recorded, the journal gives the same rows and gaps again.
afterEach(async () => {
  if (used !== undefined) expect(await differences(used)).toEqual([])
  used = undefined
})

/** Messages of venue B on one subscription. */
function venueB(script: Script, slot = 1, sid = 1) {
  let seq = 0
  const send = (type: string, msg: object, number = ++seq): void =>
    script.frame(slot, { type, sid, seq: number, msg })
  return {
    skip: () => void seq++,
    connect: () => script.note({ note: 'connected', slot, url: 'ws://b' }),
    full: (ticker = TICKER, yes = '0.4000', no = '0.5000') =>
      send('orderbook_snapshot', {
        market_ticker: ticker,
        yes_dollars_fp: [[yes, '10.00']],
        no_dollars_fp: [[no, '20.00']],
      }),
    delta: (price: string, delta: string, ticker = TICKER, number?: number) =>
      send(
        'orderbook_delta',
        { market_ticker: ticker, price_dollars: price, delta_fp: delta, side: 'yes' },
        number,
      ),
    trade: (id: string) =>
      send('trade', {
        market_ticker: TICKER,
        trade_id: id,
        yes_price_dollars: '0.4500',
        no_price_dollars: '0.5500',
        count_fp: '1.00',
        taker_side: 'yes',
      }),
  }
}

/** Messages of venue C about one token; times of the venue are ours. */
function venueC(script: Script, slot = 1) {
  let ms = START_MS
  const wait = (by: number): void => {
    ms += by
    script.wait(by)
  }
  const level = (text: string) => ({ price: text.split('×')[0], size: text.split('×')[1] })
  const book = (bids: readonly string[], asks: readonly string[], at = ms) => ({
    event_type: 'book',
    asset_id: UP,
    market: CONDITION,
    timestamp: String(at),
    hash: 'a'.repeat(40),
    bids: bids.map(level),
    asks: asks.map(level),
  })
  return {
    wait,
    now: () => ms,
    connect: () => script.note({ note: 'connected', slot, url: 'ws://c' }),
    book: (bids: readonly string[], asks: readonly string[], at = ms) =>
      script.frame(slot, book(bids, asks, at)),
    rest: (bids: readonly string[], asks: readonly string[], at = ms) =>
      script.answer(
        { kind: 'clob_book', token_id: UP, condition_id: CONDITION },
        book(bids, asks, at),
      ),
    change: (side: 'BUY' | 'SELL', text: string, best: readonly [string, string], at = ms) =>
      script.frame(slot, {
        event_type: 'price_change',
        market: CONDITION,
        timestamp: String(at),
        price_changes: [
          { asset_id: UP, ...level(text), side, hash: 'b', best_bid: best[0], best_ask: best[1] },
        ],
      }),
  }
}

const marketOf = (status: string) => ({
  market: { ticker: TICKER, event_ticker: 'E', status, open_time: '2026-09-21T00:00:00Z' },
})

describe('a recorder of venue B', () => {
  it('does not take a resolved market back to what an answer said that was requested before', async () => {
    const lifecycle = (event: string, more: object = {}) => ({
      type: 'market_lifecycle_v2',
      sid: 9,
      msg: { market_ticker: TICKER, event_type: event, ...more },
    })
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      script.answer({ kind: 'market' }, marketOf('active'))
      script.frame(1, lifecycle('determined', { result: 'yes', settlement_value: '1.0000' }))
      const asked = script.position()
      script.frame(1, lifecycle('settled', { settled_ts: 1_790_000_000 }))
      const late = { ...marketOf('determined').market, title: 'A title', result: 'yes' }
      script.answer({ kind: 'market' }, { market: late }, asked)
    })
    const [first] = await read(data, (store) => store.revisions('venueb', TICKER, { limit: 100 }))
    expect(first?.record.status).toBe('open')
    const state = (await read(data, (store) => store.market('venueb', TICKER)))!
    expect(state.record).toMatchObject({
      status: 'resolved',
      statusNative: 'finalized',
      resolution: { state: 'final' },
      winningOutcome: 'Yes',
      // What nothing newer has told is from the answer.
      title: 'A title',
    })
    expect(state.record.lastAnomaly).toBeUndefined()
  })

  it('does not take such an answer with an older close for another market', async () => {
    const move = {
      market_ticker: TICKER,
      event_type: 'close_date_updated',
      close_ts: 1_790_003_600,
    }
    const settled = { market_ticker: TICKER, event_type: 'settled', settled_ts: 1_790_003_700 }
    const before = { ...marketOf('active').market, close_time: '2026-09-21T16:00:00Z' }
    const data = folder()
    await record(data, 'venueb', (script) => {
      venueB(script).connect()
      script.answer({ kind: 'market' }, { market: before })
      const asked = script.position()
      for (const msg of [move, settled]) {
        script.frame(1, { type: 'market_lifecycle_v2', sid: 9, msg })
      }
      script.answer({ kind: 'market' }, { market: { ...before, status: 'closed' } }, asked)
    })
    const revisions = await read(data, (store) => store.revisions('venueb', TICKER, { limit: 100 }))
    expect(revisions).toHaveLength(3)
    const last = revisions.at(-1)!.record
    expect(last).toMatchObject({ status: 'resolved', closeTime: 1_790_003_600_000_000 })
    expect(last.lastAnomaly).toBeUndefined()
  })

  it('decides about a late answer after a restart as before, also where an answer told nothing new', async () => {
    const data = folder()
    let asked = 0
    await record(data, 'venueb', (script) => {
      venueB(script).connect()
      script.answer({ kind: 'market' }, marketOf('finalized'))
      asked = script.position()
      script.answer({ kind: 'market' }, marketOf('finalized'))
    })
    // The record is read from the store here, and is in memory when the journal is read again at the end of the test.
    const late = (script: Script) =>
      script.answer({ kind: 'market' }, marketOf('determined'), asked)
    await record(data, 'venueb', late, { fresh: false })
    const revisions = await read(data, (store) => store.revisions('venueb', TICKER, { limit: 100 }))
    expect(revisions.map(({ record: { status } }) => status)).toEqual(['resolved', 'determined'])
  })

  it('records a market that goes back by an answer that was requested afterwards', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      venueB(script).connect()
      script.answer({ kind: 'market' }, marketOf('finalized'))
      script.answer({ kind: 'market' }, marketOf('determined'), script.position())
    })
    const state = (await read(data, (store) => store.market('venueb', TICKER)))!
    expect(state.record.status).toBe('determined')
    expect(state.record.lastAnomaly).toMatchObject({ code: 'illegal_transition', from: 'resolved' })
  })

  it('knows the habit of a socket after a restart as before', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const slow = venueB(script)
      slow.connect()
      slow.full()
      for (let row = 0; row < 64; row++) {
        script.wait(1000)
        slow.delta('0.4000', '1.00')
      }
      // The first message of each new connection proves no spacing.
      for (let turn = 0; turn < 32; turn++) {
        const fast = venueB(script)
        fast.connect()
        script.wait(10)
        fast.full()
        script.wait(10)
        fast.delta('0.4000', '1.00')
      }
    })
    const restart = { fresh: false }
    await record(
      data,
      'venueb',
      (script) => {
        const after = venueB(script)
        after.connect()
        after.full()
        script.wait(10_000)
        after.delta('0.4000', '1.00')
      },
      restart,
    )
    const gaps = await gapsOf(data, 'venueb', TICKER)
    expect(gaps.filter((text) => text.startsWith('venue_silent'))).toHaveLength(1)
  })

  it('stores frames in order, and a stop and a start leave one gap', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      b.full()
      script.wait(10)
      b.delta('0.4100', '5.00')
      b.trade('t1')
      b.trade('t1')
    })
    await record(
      data,
      'venueb',
      (script) => {
        script.wait(500)
        const b = venueB(script)
        b.connect()
        b.full(TICKER, '0.3000')
      },
      { fresh: false },
    )
    expect(await booksOf(data, 'venueb', TICKER)).toEqual([
      '0: 0.4×10 | 0.5×20',
      '10: 0.41×5 0.4×10 | 0.5×20',
      '510: 0.3×10 | 0.5×20',
    ])
    expect(await gapsOf(data, 'venueb', TICKER)).toEqual([
      'recorder_down 10–510',
      'recorder_down 510–',
    ])
    const trades = await read(data, (store) =>
      store.trades({ venue: 'venueb', key: TICKER, order: 'asc', limit: 10 }),
    )
    expect(trades.rows.tradeId).toEqual(['t1'])
  })

  it('closes the books of a socket when it is lost, and requests full ones', async () => {
    const data = folder()
    const recoveries = await record(data, 'venueb', (script) => {
      const [one, two] = [venueB(script, 1), venueB(script, 2)]
      one.connect()
      two.connect()
      one.full(TICKER)
      two.full(OTHER)
      script.wait(10)
      script.note({ note: 'loss', reason: 'disconnected', why: 'closed', slot: 1 })
      script.wait(10)
      two.delta('0.4100', '5.00', OTHER)
      const again = venueB(script, 1)
      again.connect()
      script.wait(10)
      again.full(TICKER)
    })
    expect(recoveries[0]).toEqual({ keys: [TICKER], reason: 'disconnected' })
    expect(await gapsOf(data, 'venueb', TICKER)).toEqual(['disconnected 0–30', 'recorder_down 30–'])
    expect(await gapsOf(data, 'venueb', OTHER)).toEqual(['recorder_down 20–'])
  })

  it('skips duplicates and never bridges a noted break', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      b.full()
      b.delta('0.4100', '5.00')
      b.delta('0.4100', '5.00', TICKER, 2)
      b.skip()
      script.wait(5)
      script.note({ note: 'loss', reason: 'sequence_break', why: '3 is missing', slot: 1, sid: 1 })
      b.delta('0.4200', '5.00')
      script.wait(5)
      b.full()
    })
    expect(await booksOf(data, 'venueb', TICKER)).toEqual([
      '0: 0.4×10 | 0.5×20',
      '0: 0.41×5 0.4×10 | 0.5×20',
      '10: 0.4×10 | 0.5×20',
    ])
    expect(await gapsOf(data, 'venueb', TICKER)).toEqual([
      'sequence_break 0–10',
      'recorder_down 10–',
    ])
  })

  it('applies answers to markets without a socket, and not between numbered changes', async () => {
    const data = folder()
    const book = (yes: string) => ({
      orderbook_fp: { yes_dollars: [[yes, '1.00']], no_dollars: [] },
    })
    await record(data, 'venueb', (script) => {
      script.answer({ kind: 'orderbook', ticker: OTHER, depth: 0 }, book('0.1000'))
      script.wait(10)
      script.answer({ kind: 'orderbook', ticker: OTHER, depth: 0 }, book('0.1000'))
      const b = venueB(script)
      b.connect()
      b.full()
      script.answer({ kind: 'orderbook', ticker: TICKER, depth: 0 }, book('0.1000'))
      b.delta('0.4100', '5.00')
    })
    expect(await booksOf(data, 'venueb', OTHER)).toEqual(['0: 0.1×1 | ', '10: 0.1×1 | '])
    expect((await booksOf(data, 'venueb', TICKER)).at(-1)).toBe('10: 0.41×5 0.4×10 | 0.5×20')
  })

  it('closes a polled book that the socket took over, when its messages are lost', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      const polled = { orderbook_fp: { yes_dollars: [['0.4000', '10.00']], no_dollars: [] } }
      b.connect()
      b.full(OTHER)
      script.answer({ kind: 'orderbook', ticker: TICKER, depth: 0 }, polled)
      script.wait(100)
      const why = 'seq 3 after 1'
      const keys = [TICKER]
      script.note({ note: 'loss', reason: 'sequence_break', why, slot: 1, sid: 1, keys })
      b.skip()
      b.delta('0.4100', '5.00', OTHER)
      script.wait(100)
      b.full()
      b.full(OTHER)
    })
    for (const ticker of [TICKER, OTHER]) {
      expect(await gapsOf(data, 'venueb', ticker)).toEqual([
        'sequence_break 0–200',
        'recorder_down 200–',
      ])
    }
  })

  it('closes the books that an unreadable frame may have concerned', async () => {
    const data = folder()
    const recoveries = await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      b.full(TICKER)
      b.full(OTHER)
      script.wait(10)
      b.delta('NaN', '5.00', OTHER)
      script.wait(10)
      script.text(1, '{"type":"orderbook_delta","sid":1,"seq":4,"msg":{"market_ti')
    })
    expect(recoveries.slice(0, 2)).toEqual([
      { keys: [OTHER], reason: 'rejected' },
      { keys: [TICKER], reason: 'rejected' },
    ])
    expect(await gapsOf(data, 'venueb', TICKER)).toEqual(['rejected 0–'])
    const kept = await read(data, (store) => store.quarantine({ limit: 10 }))
    expect(kept).toHaveLength(2)
  })

  it('records a gap before the first book of a market', async () => {
    const data = folder()
    const iso = (ms: number) => new Date(START_MS + ms).toISOString()
    const market = (ticker: string, open: number) => ({
      market: { ticker, event_ticker: 'E', status: 'active', open_time: iso(open) },
    })
    await record(data, 'venueb', (script) => {
      script.wait(1000)
      script.answer({ kind: 'market' }, market(TICKER, -5000))
      script.answer({ kind: 'market' }, market(OTHER, 500))
      const b = venueB(script)
      b.connect()
      b.full(TICKER)
      b.full(OTHER)
      script.wait(1000)
      script.answer(
        { kind: 'market' },
        { market: { ticker: OTHER, event_ticker: 'E', status: 'closed', open_time: iso(500) } },
      )
    })
    expect(await gapsOf(data, 'venueb', TICKER)).toEqual([
      'before_capture -5000–1000',
      'recorder_down 1000–',
    ])
    expect(await gapsOf(data, 'venueb', OTHER)).toEqual([
      'late_discovery 500–1000',
      'market_closed 1000–',
    ])
  })

  it('stores hundreds of records of an answer before those of the next', async () => {
    const data = folder()
    const sizes: number[] = []
    const onAsked = (name: string, [batch]: readonly unknown[]): void => {
      if (name === 'append') sizes.push((batch as AppendBatch).revisions?.length ?? 0)
    }
    const ticker = (page: number, one: number): string => `KXTEST15M-26SEP2112${page}0-${one}`
    await record(
      data,
      'venueb',
      async (script) => {
        await script.stored()
        for (let page = 0; page < 5; page++) {
          const markets = Array.from({ length: 300 }, (_, one) => ({
            ...marketOf('active').market,
            ticker: ticker(page, one),
          }))
          script.answer({ kind: 'markets' }, { markets })
          await new Promise((resolve) => setImmediate(resolve))
        }
      },
      { onAsked },
    )
    // Messages that came in between would wait for no more than that.
    expect(sizes.filter((size) => size > 0)).toEqual([300, 300, 300, 300, 300])
  })

  it('ends a market that closed while the recorder was down', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      script.answer({ kind: 'market' }, marketOf('active'))
      b.full()
    })
    await record(
      data,
      'venueb',
      (script) => {
        script.wait(1000)
        script.answer({ kind: 'market' }, marketOf('finalized'))
      },
      { fresh: false },
    )
    expect((await gapsOf(data, 'venueb', TICKER)).slice(1)).toEqual([
      'recorder_down 0–1000',
      'market_closed 1000–',
    ])
  })

  it('ends a market that a backfill resolved while the recorder was down', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      script.answer({ kind: 'market' }, marketOf('active'))
      b.full()
    })
    const answer = (status: string) => (script: Script) => {
      script.wait(1000)
      script.answer({ kind: 'history_markets' }, { markets: [marketOf(status).market] })
    }
    // A status that is not the last one ends nothing.
    await record(data, 'venueb', answer('closed'), { fresh: false })
    expect((await gapsOf(data, 'venueb', TICKER)).slice(1)).toEqual(['recorder_down 0–'])
    await record(data, 'venueb', answer('finalized'), { fresh: false })
    await record(data, 'venueb', answer('finalized'), { fresh: false })
    expect((await gapsOf(data, 'venueb', TICKER)).slice(1)).toEqual([
      'recorder_down 0–2000',
      'market_closed 2000–',
    ])
  })

  it('leaves a book open that misses nothing, whatever a backfill says', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      script.answer({ kind: 'market' }, marketOf('active'))
      b.full()
      script.wait(1000)
      script.answer({ kind: 'history_markets' }, { markets: [marketOf('finalized').market] })
      script.wait(1000)
      b.delta('0.0100', '5.00')
    })
    expect(await booksOf(data, 'venueb', TICKER)).toHaveLength(2)
    expect((await gapsOf(data, 'venueb', TICKER)).slice(1)).toEqual(['recorder_down 2000–'])
  })

  it('ends a book that late messages opened again after its market was over', async () => {
    const data = folder()
    await record(data, 'venueb', async (script) => {
      const b = venueB(script)
      b.connect()
      script.answer({ kind: 'market' }, marketOf('active'))
      b.full()
      script.wait(1000)
      script.answer({ kind: 'market' }, marketOf('finalized'))
      await script.stored()
      // Frames that were still on their way: all of them are rows.
      script.wait(1000)
      b.full()
      script.wait(1000)
      b.delta('0.0100', '5.00')
      script.wait(9000)
      script.answer({ kind: 'market' }, marketOf('finalized'))
      await script.stored()
      script.wait(2000)
      script.answer({ kind: 'market' }, marketOf('finalized'))
      await script.stored()
    })
    expect(await booksOf(data, 'venueb', TICKER)).toHaveLength(3)
    expect((await gapsOf(data, 'venueb', TICKER)).slice(1)).toEqual([
      'market_closed 0–2000',
      'market_closed 3000–',
    ])
    expect(await differences(data)).toEqual([])
  })

  it('ends a book of a market that was over when the recorder died', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      script.answer({ kind: 'market' }, marketOf('active'))
      b.full()
      script.wait(1000)
      script.answer({ kind: 'market' }, marketOf('finalized'))
      script.wait(1000)
      b.full()
      // As a start after kill -9 says it, without the note of an end.
      script.wait(1000)
      script.note({ note: 'started', version: '1' } as never)
      script.wait(10_000)
    })
    expect((await gapsOf(data, 'venueb', TICKER)).slice(1)).toEqual([
      'market_closed 0–2000',
      'recorder_down 2000–13000',
      'market_closed 13000–',
    ])
    expect(await differences(data)).toEqual([])
  })

  it('ends a book that an earlier run left in a gap after its market was over', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      script.answer({ kind: 'market' }, marketOf('active'))
      b.full()
      script.wait(1000)
      script.answer({ kind: 'market' }, marketOf('finalized'))
      script.wait(1000)
      b.full()
      script.wait(1000)
      // It stops within seconds: nothing has ended the book that the late message opened.
      script.note({ note: 'loss', reason: 'disconnected', why: 'closed', slot: 1 })
    })
    const before = (await gapsOf(data, 'venueb', TICKER)).slice(1)
    expect(before).toEqual(['market_closed 0–2000', 'disconnected 2000–'])
    await record(data, 'venueb', (script) => script.wait(1000), { fresh: false })
    expect((await gapsOf(data, 'venueb', TICKER)).slice(1)).toEqual([
      'market_closed 0–2000',
      'disconnected 2000–3000',
      'market_closed 3000–',
    ])
    expect(await differences(data)).toEqual([])
  })

  it('opens no book with a full one that is older than a change that arrived before it', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      b.full()
      script.wait(10)
      script.note({ note: 'loss', reason: 'sequence_break', why: 'a jump', slot: 1, sid: 1 })
      // The change overtook the full book that it belongs to.
      b.delta('0.4100', '5.00', TICKER, 3)
      script.wait(10)
      b.full()
      script.wait(10)
      b.skip()
      b.full()
      script.wait(10)
      b.delta('0.4200', '5.00')
    })
    expect(await gapsOf(data, 'venueb', TICKER)).toEqual([
      'sequence_break 0–30',
      'recorder_down 40–',
    ])
    const rows = await booksOf(data, 'venueb', TICKER)
    expect(rows.map((row) => row.split(':')[0])).toEqual(['0', '30', '40'])
  })

  it('keeps received time from going back when our clock does', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      b.full()
      script.wait(-60_000)
      b.delta('0.4100', '5.00')
      script.wait(1)
      b.delta('0.4200', '5.00')
    })
    const rows = await booksOf(data, 'venueb', TICKER)
    expect(rows.map((row) => row.split(':')[0])).toEqual(['0', '0.001', '0.002'])
  })
})

describe('a recorder of venue C', () => {
  it.each([
    ['a book without a token', { event_type: 'book', bids: [], asks: [] }],
    ['a value of no type', 7],
    ['levels without a type or a token', { price_changes: 5 }],
  ])('closes the books of a socket for %s inside a list', async (_name, unreadable) => {
    const data = folder()
    const recoveries = await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1'], ['0.60×1'])
      script.note({ note: 'connected', slot: 2, url: 'ws://c' })
      c.wait(10)
      script.frame(2, [unreadable])
      script.frame(1, [{ event_type: 'unknown' }, unreadable])
      c.wait(10)
      c.change('BUY', '0.41×1', ['0.41', '0.6'])
      c.book(['0.42×1'], ['0.60×1'])
    })
    expect(recoveries[0]).toEqual({ keys: [UP], reason: 'rejected' })
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['rejected 0–20', 'recorder_down 20–'])
  })

  it('finds a lost message by the best prices, back to the last full book', async () => {
    const data = folder()
    const recoveries = await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1'], ['0.60×1'])
      c.wait(10)
      c.change('BUY', '0.41×1', ['0.41', '0.6'])
      c.wait(10)
      // 0.45 came and was lost.
      c.change('BUY', '0.42×1', ['0.45', '0.6'])
      c.wait(10)
      c.rest(['0.45×1', '0.42×1', '0.41×1', '0.40×1'], ['0.60×1'])
      c.wait(10)
      c.change('BUY', '0.45×0', ['0.42', '0.6'])
    })
    expect(recoveries[0]).toEqual({ keys: [UP], reason: 'sequence_break' })
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['sequence_break 0–30', 'recorder_down 40–'])
    expect((await booksOf(data, 'venuec', UP)).at(-1)).toBe('40: 0.42×1 0.41×1 0.4×1 | 0.6×1')
  })

  it('finds a lost message by a change that crosses the book, back to the last full one', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1', '0.39×1'], ['0.60×1'])
      c.wait(10)
      c.change('BUY', '0.38×1', ['0.4', '0.6'])
      c.wait(10)
      // 0.40 went and that was lost: an ask at 0.40 is news of the venue's sound book.
      c.change('SELL', '0.40×1', ['0.39', '0.4'])
      c.wait(10)
      c.book(['0.39×1', '0.38×1'], ['0.40×1', '0.60×1'])
      c.wait(10)
      // A bid above the best bid that the message itself names is nonsense.
      c.change('BUY', '0.99×1', ['0.39', '0.4'])
      c.wait(10)
      c.book(['0.39×1', '0.38×1'], ['0.40×1', '0.60×1'])
    })
    expect(await gapsOf(data, 'venuec', UP)).toEqual([
      'sequence_break 0–30',
      'rejected 30–50',
      'recorder_down 50–',
    ])
  })

  it('finds a lost message by a full book that no trade explains', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1', '0.30×5'], ['0.60×1', '0.70×2'])
      c.wait(10)
      // A trade took the best ask: nothing is missing.
      c.book(['0.40×1', '0.30×5'], ['0.70×2'])
      c.wait(10)
      // The deep bid changed without a message.
      c.book(['0.40×1', '0.30×9'], ['0.70×2'])
    })
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['sequence_break 10–20', 'recorder_down 20–'])
  })

  it('compares answers with the socket: equal, on its way, older, and missed for long', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1'], ['0.60×1'])
      const first = c.now()
      c.wait(100)
      c.rest(['0.40×1'], ['0.60×1'], first)
      c.wait(100)
      c.rest(['0.41×1'], ['0.60×1'])
      c.change('BUY', '0.41×1', ['0.41', '0.6'])
      c.wait(100)
      c.rest(['0.40×1'], ['0.60×1'], first)
      c.wait(5000)
      c.rest(['0.45×1'], ['0.60×1'], c.now() - 2500)
    })
    expect(await booksOf(data, 'venuec', UP)).toEqual([
      '0: 0.4×1 | 0.6×1',
      '100: 0.4×1 | 0.6×1',
      '200: 0.41×1 0.4×1 | 0.6×1',
      '5300: 0.45×1 | 0.6×1',
    ])
    expect(await gapsOf(data, 'venuec', UP)).toEqual([
      'venue_silent 200–5300',
      'recorder_down 5300–',
    ])
  })

  it('closes a book that only answers have fed when the socket is lost', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.rest(['0.40×1'], ['0.60×1'])
      c.wait(10)
      script.note({ note: 'loss', reason: 'venue_silent', why: 'a test', slot: 1 })
      c.wait(10)
      c.connect()
      c.book(['0.40×1'], ['0.60×1'])
    })
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['venue_silent 0–20', 'recorder_down 20–'])
  })

  it('makes no row of the readable part of a malformed change', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1'], ['0.60×1'])
      c.wait(10)
      const best = { hash: 'b', best_bid: '0.4', best_ask: '0.6' }
      const entry = (price: string) => ({ asset_id: UP, price, size: '5', side: 'BUY', ...best })
      script.frame(1, {
        event_type: 'price_change',
        market: CONDITION,
        timestamp: String(c.now()),
        price_changes: [entry('0.39'), entry('1e308')],
      })
      c.wait(10)
      c.book(['0.40×1', '0.39×5'], ['0.60×1'])
    })
    expect((await booksOf(data, 'venuec', UP)).map((row) => row.split(':')[0])).toEqual(['0', '20'])
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['rejected 0–20', 'recorder_down 20–'])
  })

  it('treats changes out of order as a loss', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1'], ['0.60×1'])
      c.wait(10)
      const early = c.now()
      c.wait(10)
      c.change('BUY', '0.41×2', ['0.41', '0.6'])
      c.change('BUY', '0.41×1', ['0.41', '0.6'], early)
      c.wait(10)
      c.book(['0.41×2', '0.40×1'], ['0.60×1'])
    })
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['sequence_break 0–30', 'recorder_down 30–'])
  })

  it('treats a full book after a newer change as a loss, and requests another', async () => {
    const data = folder()
    const recoveries = await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1', '0.30×5'], ['0.60×1', '0.70×2'])
      c.wait(10)
      const early = c.now()
      c.wait(10)
      c.change('BUY', '0.20×2', ['0.4', '0.6'])
      // The trade was before the change, which was made to a book that we did not have.
      c.book(['0.40×1', '0.30×5'], ['0.70×2'], early)
      c.wait(10)
      c.book(['0.40×1', '0.30×5', '0.20×2'], ['0.70×2'])
    })
    expect(recoveries[0]).toEqual({ keys: [UP], reason: 'sequence_break' })
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['sequence_break 0–30', 'recorder_down 30–'])
  })

  it('skips a full book that repeats, equals ours, or is older than the last full one', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      const [first, second] = [c.now(), c.now() + 10]
      c.connect()
      c.book(['0.40×1'], ['0.60×1', '0.70×2'])
      c.wait(10)
      c.book(['0.40×1'], ['0.70×2'])
      c.wait(10)
      c.change('BUY', '0.20×2', ['0.4', '0.7'])
      c.book(['0.40×1'], ['0.70×2'], second)
      c.book(['0.40×1'], ['0.60×1', '0.70×2'], first)
      // Older than the change, and just what it made of the book: nothing disagrees.
      c.book(['0.40×1', '0.20×2'], ['0.70×2'], second + 5)
      c.wait(10)
      c.change('BUY', '0.41×2', ['0.41', '0.7'])
    })
    expect((await booksOf(data, 'venuec', UP)).at(-1)).toBe('30: 0.41×2 0.4×1 0.2×2 | 0.7×2')
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['recorder_down 30–'])
  })

  it('skips messages of the socket that an answer already contained', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1'], ['0.60×1', '0.70×2'])
      const start = c.now()
      c.wait(100)
      script.note({ note: 'loss', reason: 'sequence_break', why: 'a test', keys: [UP] })
      c.rest(['0.41×2', '0.40×1'], ['0.70×2'])
      c.wait(100)
      c.change('BUY', '0.41×3', ['0.41', '0.6'], start + 50)
      c.book(['0.41×3', '0.40×1'], ['0.70×2'], start + 60)
      c.change('BUY', '0.41×2', ['0.41', '0.7'], start + 100)
      c.wait(100)
      // No message that was under way is older than those that came before the answer.
      c.change('BUY', '0.40×7', ['0.41', '0.7'], start - 10)
    })
    expect((await booksOf(data, 'venuec', UP)).slice(1)).toEqual(['100: 0.41×2 0.4×1 | 0.7×2'])
    expect(await gapsOf(data, 'venuec', UP)).toEqual([
      'sequence_break 0–100',
      'sequence_break 100–',
    ])
  })

  it('opens no book with an answer that is older than its newest row', async () => {
    const data = folder()
    const recoveries = await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1'], ['0.60×1'])
      const start = c.now()
      c.wait(10)
      c.change('BUY', '0.30×2', ['0.4', '0.6'])
      script.note({ note: 'loss', reason: 'rejected', why: 'a test', keys: [UP] })
      c.wait(10)
      c.rest(['0.40×1'], ['0.60×1'], start)
      c.wait(10)
      c.rest(['0.40×1', '0.30×2'], ['0.60×1'], start + 10)
    })
    expect(recoveries.slice(0, 2)).toEqual([
      { keys: [UP], reason: 'rejected' },
      { keys: [UP], reason: 'book_reset' },
    ])
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['rejected 10–30', 'recorder_down 30–'])
  })
})

describe('a recorder of venue A', () => {
  const frame = (bid: string, ms: number) => ({
    type: 'TOPIC',
    topic: 'web3_prediction_orderbook_77',
    data: JSON.stringify({
      msgType: 'orderbook',
      marketId: 77,
      updateTimestampMs: ms,
      bids: [[bid, '1']],
      asks: [['0.9', '2.5']],
    }),
  })

  it('drops older books, keeps unchanged ones, and survives a venue clock that steps back', async () => {
    const data = folder()
    await record(data, 'venuea', (script) => {
      script.note({ note: 'connected', slot: 1, url: 'ws://a' })
      script.frame(1, frame('0.40', START_MS))
      script.wait(100)
      script.frame(1, frame('0.42', START_MS + 100))
      script.wait(10)
      script.frame(1, frame('0.41', START_MS + 50))
      script.wait(10)
      script.frame(1, frame('0.42', START_MS + 100))
      for (let step = 0; step < 5; step++) {
        script.wait(1000)
        script.frame(1, frame('0.43', START_MS - 60_000 + step * 1000))
      }
    })
    expect(await booksOf(data, 'venuea', '77')).toEqual([
      '0: 0.4×1 | 0.9×2.5',
      '100: 0.42×1 | 0.9×2.5',
      '120: 0.42×1 | 0.9×2.5',
      '3120: 0.43×1 | 0.9×2.5',
      '4120: 0.43×1 | 0.9×2.5',
      '5120: 0.43×1 | 0.9×2.5',
    ])
  })
})

describe('a journal that was applied in two parts', () => {
  /** Applies the journal up to a record, opens the store again, applies the rest, compares. */
  async function judge(data: DataFolder, venue: VenueId): Promise<unknown[]> {
    const last = journalStats(data.journal, venue).last!
    expect(last).toBeGreaterThan(19)
    const whole = openEmbeddedStore({ file: data.tape })
    onTestFinished(() => whole.close())
    await whole.seal()
    const wrong: unknown[] = []
    for (let cut = 1; cut < last; cut++) {
      const file = join(data.path, `cut-${cut}.db`)
      let store = openEmbeddedStore({ file })
      await catchUp(store, data.journal, venue, undefined, cut)
      await store.close()
      store = openEmbeddedStore({ file })
      await catchUp(store, data.journal, venue)
      await store.seal()
      const { differences: found } = await compareStores(whole, store)
      await store.close()
      wrong.push(...found.map((difference) => ({ cut, ...difference })))
    }
    used = undefined
    return wrong
  }

  it('gives the same rows and gaps of venue B wherever it was cut', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.connect()
      b.full(TICKER)
      b.full(OTHER)
      b.delta('0.4100', '5.00')
      b.trade('t1')
      script.wait(10)
      b.delta('0.4100', '5.00', TICKER, 3)
      b.trade('t1')
      script.note({ note: 'clock', offset_us: -1500, round_trip_us: 300, step_us: 1000 })
      script.note({ note: 'loss', reason: 'sequence_break', why: 'x', slot: 1, sid: 1 })
      b.delta('0.4200', '5.00')
      script.wait(10)
      b.full(TICKER)
      script.text(1, '{')
      script.wait(10)
      b.full(OTHER)
      script.note({ note: 'loss', reason: 'venue_silent', why: 'x', slot: 1 })
      const again = venueB(script)
      again.connect()
      script.wait(10)
      again.full(TICKER)
      again.full(OTHER)
      again.delta('0.4100', '5.00', OTHER)
    })
    expect(await judge(data, 'venueb')).toEqual([])
  })

  it('gives the same rows and gaps of venue C wherever it was cut', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.connect()
      c.book(['0.40×1'], ['0.60×1'])
      for (let step = 0; step < 6; step++) {
        c.wait(10)
        c.change('BUY', `0.3${step}×1`, ['0.4', '0.6'])
      }
      c.change('BUY', '0.42×1', ['0.45', '0.6'])
      c.wait(10)
      c.rest(['0.45×1'], ['0.60×1'])
      c.wait(10)
      c.change('SELL', '0.62×1', ['0.45', '0.6'])
      c.rest(['0.45×1'], ['0.60×1', '0.62×1'])
      c.wait(10)
      c.book(['0.45×1', '0.2×1'], ['0.60×1', '0.62×1'])
      c.wait(10)
      c.change('SELL', '0.63×1', ['0.45', '0.6'], c.now() - 15)
      c.wait(3000)
      c.rest(['0.45×1'], ['0.60×1', '0.62×1'])
      c.change('SELL', '0.64×1', ['0.45', '0.6'])
    })
    expect(await judge(data, 'venuec')).toEqual([])
  })
})
