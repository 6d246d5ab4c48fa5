import { afterEach, describe, expect, it } from 'vitest'
import { toMicros } from '@priorbook/sdk/domain'
import type { DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { Applier } from './applier.ts'
import {
  createDataFolder,
  differences,
  gapsOf,
  read,
  record,
  START_MS,
  type Script,
} from './scripted.testing.ts'

const QUIET = 'KXTEST15M-26SEP211200-15'
const BUSY = 'KXTEST15M-26SEP211200-30'
const CONDITION = `0x${'ab'.repeat(32)}`
const UP = `1${'0'.repeat(75)}1`
const DOWN = `1${'0'.repeat(75)}2`

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

const iso = (ms: number): string => new Date(START_MS + ms).toISOString()

const LEVELS = { yes_dollars_fp: [['0.4000', '10.00']], no_dollars_fp: [['0.5000', '20.00']] }

/** A quiet book and a busy one on a socket of venue B; `say` sends what the catalogue says of the quiet one. */
function venueB(script: Script) {
  let seq = 0
  const send = (type: string, msg: object): void =>
    script.frame(1, { type, sid: 1, seq: ++seq, msg })
  const full = (ticker: string): void =>
    send('orderbook_snapshot', { market_ticker: ticker, ...LEVELS })
  return {
    connect: () => script.note({ note: 'connected', slot: 1, url: 'ws://b' }),
    full,
    begin(): void {
      this.connect()
      full(QUIET)
      full(BUSY)
    },
    busy: () =>
      send('orderbook_delta', {
        market_ticker: BUSY,
        price_dollars: '0.3000',
        delta_fp: '5.00',
        side: 'yes',
      }),
    lifecycle: () =>
      script.frame(1, {
        type: 'market_lifecycle_v2',
        sid: 2,
        seq: 1,
        msg: { market_ticker: BUSY, event_type: 'activated' },
      }),
    say: (status: string, close?: number) =>
      script.answer(
        { kind: 'market' },
        {
          market: {
            ticker: QUIET,
            event_ticker: 'E',
            status,
            open_time: iso(0),
            ...(close === undefined ? {} : { close_time: iso(close) }),
          },
        },
      ),
  }
}

/** A message of venue C about one token, at the test's own time. */
function venueC(script: Script) {
  let now = 0
  return {
    wait(ms: number): void {
      now += ms
      script.wait(ms)
    },
    connect: () => script.note({ note: 'connected', slot: 1, url: 'ws://c' }),
    book: (token: string) =>
      script.frame(1, {
        event_type: 'book',
        asset_id: token,
        market: CONDITION,
        timestamp: String(START_MS + now),
        hash: 'a'.repeat(40),
        bids: [{ price: '0.4', size: '5' }],
        asks: [{ price: '0.6', size: '5' }],
      }),
    say: (isClosed: boolean, close: number, slug?: string) =>
      script.answer(
        { kind: 'gamma_market' },
        {
          conditionId: CONDITION,
          ...(slug === undefined ? {} : { slug }),
          question: 'Up or down?',
          clobTokenIds: JSON.stringify([UP, DOWN]),
          outcomes: '["Up","Down"]',
          active: true,
          closed: isClosed,
          endDate: iso(close),
        },
      ),
  }
}

describe('a book that stood still until its market closed', () => {
  it('is known until the close', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active', 5000)
      b.begin()
      script.wait(6000)
      b.busy()
      script.wait(1000)
      b.say('closed', 5000)
    })
    expect(await gapsOf(data, 'venueb', QUIET)).toEqual(['market_closed 5000–'])
    const [gap] = await read(data, (store) => store.gaps({ venue: 'venueb', key: QUIET }))
    const close = (START_MS + 5000) * 1000
    expect(gap).toMatchObject({ start: close, sourceStart: close, afterSequence: 1 })
  })

  it('is known until its connection was last heard, if that was before the close', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active', 5000)
      b.begin()
      script.wait(3000)
      b.busy()
      script.wait(1000)
      // A message of another subscription has no number of the books.
      b.lifecycle()
      script.wait(3000)
      b.say('closed', 5000)
    })
    expect(await gapsOf(data, 'venueb', QUIET)).toEqual(['market_closed 3000–'])
    const [gap] = await read(data, (store) => store.gaps({ venue: 'venueb', key: QUIET }))
    expect(gap).not.toHaveProperty('sourceStart')
  })

  it('is known until the message of the end, if that came before the planned close', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active', 50_000)
      b.begin()
      script.wait(2000)
      b.say('determined', 50_000)
      b.busy()
    })
    expect(await gapsOf(data, 'venueb', QUIET)).toEqual(['market_closed 0–'])
    const other = folder()
    await record(other, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active', 50_000)
      b.begin()
      script.wait(2000)
      b.busy()
      b.say('determined', 50_000)
    })
    expect(await gapsOf(other, 'venueb', QUIET)).toEqual(['market_closed 2000–'])
  })

  it.each([
    ['later', 5000, 8000],
    ['earlier', 8000, 5000],
  ])('is known until the newest close, if the venue moved it to be %s', async (_, old, close) => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active', old)
      b.begin()
      script.wait(1000)
      b.say('active', close)
      script.wait(9000)
      b.busy()
      b.say('closed')
    })
    expect(await gapsOf(data, 'venueb', QUIET)).toEqual([`market_closed ${close}–`])
  })

  it('is known until the close, if nothing follows it any more', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.say(false, 5000)
      c.connect()
      c.book(UP)
      c.book(DOWN)
      c.wait(7000)
      c.book(DOWN)
      c.wait(5000)
      script.note({ note: 'loss', reason: 'market_closed', why: 'left', keys: [UP, DOWN] })
    })
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['market_closed 5000–'])
    // It was observed after the close.
    expect(await gapsOf(data, 'venuec', DOWN)).toEqual(['market_closed 7000–'])
  })

  it.each([
    ['is known until then, past the close that was only expected', undefined, 7000],
    ['is known until the close of its round', 'btc-updown-5m-1790000000', 5000],
  ])('if its venue closes it by a message, %s', async (_, slug, end) => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.say(false, 5000, slug)
      c.connect()
      c.book(UP)
      c.wait(7000)
      c.book(DOWN)
      c.wait(3000)
      c.say(true, 5000, slug)
    })
    expect(await gapsOf(data, 'venuec', UP)).toEqual([`market_closed ${end}–`])
    // Of the clock of the venue only the close of a round is known.
    const [gap] = await read(data, (store) => store.gaps({ venue: 'venuec', key: UP }))
    expect(gap?.sourceStart).toBe(slug === undefined ? undefined : (START_MS + end) * 1000)
  })

  it('has no such end where its record has no close', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active')
      b.begin()
      script.wait(2000)
      b.busy()
      script.note({ note: 'loss', reason: 'market_closed', why: 'left', keys: [QUIET] })
    })
    expect(await gapsOf(data, 'venueb', QUIET)).toEqual(['market_closed 0–'])
  })
})

describe('a book that nothing proves to have stood still', () => {
  it('because its connection was lost before the close misses everything since then', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active', 5000)
      b.begin()
      script.wait(3000)
      b.busy()
      script.note({ note: 'loss', reason: 'disconnected', why: 'x', slot: 1 })
      script.note({ note: 'connected', slot: 1, url: 'ws://b' })
      b.full(BUSY)
      script.wait(4000)
      b.busy()
      b.say('closed', 5000)
    })
    expect(await gapsOf(data, 'venueb', QUIET)).toEqual([
      'disconnected 0–7000',
      'market_closed 7000–',
    ])
  })

  it('because it is polled is known until its last poll', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active', 5000)
      b.connect()
      b.full(BUSY)
      for (const ms of [0, 3000]) {
        script.wait(ms)
        const book = { yes_dollars: [['0.4000', '10.00']], no_dollars: [['0.5000', '7.00']] }
        script.answer({ kind: 'orderbook', ticker: QUIET, depth: 0 }, { orderbook_fp: book })
      }
      script.wait(4000)
      b.busy()
      b.say('closed', 5000)
    })
    expect(await gapsOf(data, 'venueb', QUIET)).toEqual(['market_closed 3000–'])
  })

  it('because the rules gave it up shortly before is known until its last row', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const c = venueC(script)
      c.say(false, 5000)
      c.connect()
      c.book(UP)
      c.wait(4000)
      script.note({ note: 'tier', tier: 'polled', why: 'crowded', markets: [CONDITION] })
      c.wait(2000)
      c.book(DOWN)
      c.say(true, 5000)
    })
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['market_closed 0–'])
  })

  it('because the recorder stopped before the close misses everything since then', async () => {
    const data = folder()
    await record(data, 'venueb', (script) => {
      const b = venueB(script)
      b.say('active', 5000)
      b.begin()
      script.wait(3000)
      b.busy()
    })
    await record(
      data,
      'venueb',
      (script) => {
        const b = venueB(script)
        b.connect()
        b.full(BUSY)
        script.wait(4000)
        b.busy()
        b.say('closed', 5000)
      },
      { fresh: false },
    )
    expect(await gapsOf(data, 'venueb', QUIET)).toEqual([
      'recorder_down 0–7000',
      'market_closed 7000–',
    ])
  })
})

describe('a book that a late message opened again', () => {
  it('ends, although the other book of its market was forgotten', async () => {
    const data = folder()
    const resolved = {
      condition_id: CONDITION,
      closed: true,
      tokens: [
        { token_id: UP, outcome: 'Up', winner: true },
        { token_id: DOWN, outcome: 'Down', winner: false },
      ],
    }
    await record(data, 'venuec', async (script) => {
      const c = venueC(script)
      c.say(false, 1000)
      c.connect()
      c.book(UP)
      c.book(DOWN)
      c.wait(2000)
      script.answer({ kind: 'clob_market' }, resolved)
      c.book(DOWN)
      await script.stored()
      for (let step = 0; step < 3; step++) {
        c.wait(6000)
        script.answer(
          { kind: 'clob_market' },
          { ...resolved, condition_id: `0x${'cd'.repeat(32)}` },
        )
        await script.stored()
      }
    })
    const gaps = await gapsOf(data, 'venuec', DOWN)
    expect(gaps).toEqual(['market_closed 0–2000', 'market_closed 2000–'])
    expect(await gapsOf(data, 'venuec', UP)).toEqual(['market_closed 0–'])
  })
})

describe('a record of an end that is applied by another process', () => {
  it.each([false, true])('gives the same bounds (another process: %s)', async (isOther) => {
    const store = openEmbeddedStore({ file: createDataFolder().tape })
    try {
      let applier = new Applier(store, 'venueb')
      let number = 0
      let at = START_MS
      const put = async (kind: 'note' | 'message', value: object, slot = 0): Promise<void> => {
        const bytes = Buffer.from(JSON.stringify(value))
        const received = toMicros(at * 1000)
        await applier.apply({ number: ++number, received, kind, slot, bytes })
      }
      const frame = (seq: number, msg: object): Promise<void> =>
        put('message', { type: 'orderbook_snapshot', sid: 1, seq, msg: { ...msg, ...LEVELS } }, 1)
      const keep = async (): Promise<void> => {
        const batch = applier.drain({ origin: 'emulator', recorder: 'r1' })
        if (batch !== undefined) await store.append(batch)
      }
      const say = async (status: string): Promise<void> => {
        const market = { ticker: QUIET, event_ticker: 'E', status, close_time: iso(5000) }
        await put('note', { note: 'request', request: { kind: 'market' } })
        await put('message', { market })
      }
      await put('note', { note: 'started', version: '1' })
      await put('note', { note: 'connected', slot: 1, url: 'ws://b' })
      await say('active')
      await frame(1, { market_ticker: QUIET })
      await keep()
      at += 4000
      await frame(2, { market_ticker: BUSY })
      await keep()
      if (isOther) applier = new Applier(store, 'venueb')
      at += 4000
      await say('closed')
      await keep()
      const [gap] = await store.gaps({ venue: 'venueb', key: QUIET })
      expect(gap).toMatchObject({ reason: 'market_closed', start: (START_MS + 4000) * 1000 })
    } finally {
      await store.close()
    }
  })
})
