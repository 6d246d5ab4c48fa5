import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { REFERENCE_MARKET, toMicros } from '@priorbook/sdk/domain'
import { printSampleValue } from '@priorbook/sdk/tape'
import type { DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { Applier } from './applier.ts'
import {
  booksOf,
  createDataFolder,
  createFeed,
  differences,
  read,
  record,
  START_MS,
  type Script,
} from './scripted.testing.ts'

const CHAINLINK = 'reference/chainlink/BTC'
const ETHER = 'reference/chainlink/ETH'
const EXCHANGE = 'reference/exchange/BTC'
const UP = `1${'0'.repeat(75)}1`
let used: DataFolder | undefined

// Whatever a test recorded, the journal gives the same rows and gaps again.
afterEach(async () => {
  if (used !== undefined) expect(await differences(used)).toEqual([])
  used = undefined
})

function folder(): DataFolder {
  used = createDataFolder()
  return used
}

const TOPICS = { 248: 'crypto_prices_chainlink', 249: 'crypto_prices' } as const

/** Messages of one price socket of venue C. */
function feed(script: Script, slot: keyof typeof TOPICS) {
  let ms = START_MS
  return {
    connect: () => script.note({ note: 'connected', slot, url: 'ws://rtds' }),
    price: (value: number, asset = 'btc') => {
      ms += 1000
      script.wait(1000)
      const symbol = slot === 248 ? `${asset}/usd` : `${asset}usdt`
      const payload = { symbol, timestamp: ms - 800, value }
      script.frame(slot, { topic: TOPICS[slot], type: 'update', timestamp: ms, payload })
    },
    lose: (reason: 'disconnected' | 'venue_silent', why: string) =>
      script.note({ note: 'loss', reason, why, slot }),
  }
}

const BOOK = {
  event_type: 'book',
  asset_id: UP,
  market: `0x${'ab'.repeat(32)}`,
  bids: [{ price: '0.40', size: '10' }],
  asks: [{ price: '0.60', size: '10' }],
  timestamp: String(START_MS),
}

function bookOf(script: Script): void {
  script.frame(1, BOOK)
}

/** A price of the exchange. */
function priceOf(value: string, symbol = 'btcusdt'): object {
  const payload = { symbol, timestamp: START_MS, value }
  return { topic: 'crypto_prices', type: 'update', payload }
}

async function pricesOf(data: DataFolder, key: string): Promise<string[]> {
  return read(data, async (store) => {
    const query = { venue: 'venuec', key, metric: 'price', order: 'asc', limit: 100 } as const
    const { rows } = await store.samples(query)
    return Array.from({ length: rows.count }, (_, row) => printSampleValue(rows, row))
  })
}

async function spansOf(data: DataFolder, key: string): Promise<string[]> {
  const gaps = await read(data, (store) => store.gaps({ venue: 'venuec', key }))
  return gaps.map(({ reason, start, end, afterSequence }) => {
    const seconds = (time: number): number => (time / 1000 - START_MS) / 1000
    return `${reason} after ${afterSequence}: ${seconds(start)}–${end === undefined ? '' : seconds(end)}`
  })
}

describe('a series of reference prices', () => {
  it('is one stream for each feed and asset, and makes no market', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const [oracle, exchange] = [feed(script, 248), feed(script, 249)]
      oracle.connect()
      exchange.connect()
      oracle.price(64_000.123_456_789)
      oracle.price(3400.5, 'eth')
      exchange.price(64_001)
    })
    expect(await pricesOf(data, CHAINLINK)).toEqual(['64000.123456789'])
    expect(await pricesOf(data, ETHER)).toEqual(['3400.5'])
    expect(await pricesOf(data, EXCHANGE)).toEqual(['64001'])
    const [series, markets] = await read(data, async (store) => [
      await store.series('venuec', REFERENCE_MARKET),
      await store.markets({ limit: 10 }),
    ])
    expect(series.map(({ instrument }) => instrument.key)).toEqual([CHAINLINK, ETHER, EXCHANGE])
    expect(markets.markets).toEqual([])
  })

  it('has a gap from its last price on when its own socket is lost, and books have none', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const [oracle, exchange] = [feed(script, 248), feed(script, 249)]
      script.note({ note: 'connected', slot: 1, url: 'ws://c' })
      bookOf(script)
      oracle.connect()
      exchange.connect()
      oracle.price(1)
      oracle.price(2)
      exchange.price(3)
      oracle.lose('disconnected', 'closed with code 1006')
      exchange.price(4)
      oracle.connect()
      oracle.price(5)
      exchange.price(6)
    })
    expect(await spansOf(data, CHAINLINK)).toEqual([
      'disconnected after 2: 2–5',
      'recorder_down after 3: 5–',
    ])
    expect(await spansOf(data, EXCHANGE)).toEqual(['recorder_down after 3: 6–'])
    expect(await spansOf(data, UP)).toEqual(['recorder_down after 1: 0–'])
  })

  it('is silent alone where only its own prices are missing', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const oracle = feed(script, 248)
      oracle.connect()
      oracle.price(1)
      oracle.price(2, 'eth')
      const why = 'no price for 6000 ms'
      script.note({ note: 'loss', reason: 'venue_silent', why, keys: [ETHER] })
      oracle.price(3)
      oracle.price(4, 'eth')
    })
    expect(await spansOf(data, ETHER)).toEqual([
      'venue_silent after 1: 2–4',
      'recorder_down after 2: 4–',
    ])
    expect(await spansOf(data, CHAINLINK)).toEqual(['recorder_down after 2: 3–'])
  })

  it('has a gap where a message is malformed: its own, or that of the feed', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const [oracle, exchange] = [feed(script, 248), feed(script, 249)]
      script.note({ note: 'connected', slot: 1, url: 'ws://c' })
      bookOf(script)
      oracle.connect()
      exchange.connect()
      oracle.price(1)
      oracle.price(2, 'eth')
      exchange.price(3)
      oracle.price(-5)
      oracle.price(6)
      script.text(248, '<html>502</html>')
      oracle.price(7)
      oracle.price(8, 'eth')
    })
    expect(await spansOf(data, CHAINLINK)).toEqual([
      'rejected after 1: 1–5',
      'rejected after 2: 5–6',
      'recorder_down after 3: 6–',
    ])
    expect(await spansOf(data, ETHER)).toEqual([
      'rejected after 1: 2–7',
      'recorder_down after 2: 7–',
    ])
    expect(await spansOf(data, EXCHANGE)).toEqual(['recorder_down after 1: 3–'])
    expect(await spansOf(data, UP)).toEqual(['recorder_down after 1: 0–'])
    const refused = await read(data, (store) => store.quarantine({ limit: 10 }))
    expect(refused.map(({ code }) => code)).toEqual(['invalid_message', 'invalid_line'])
  })

  it('closes no book, whatever fails in a message of its socket', async () => {
    const store = openEmbeddedStore({ file: createDataFolder().tape })
    onTestFinished(() => store.close())
    const applier = new Applier(store, 'venuec')
    const put = createFeed(() => applier)
    await put('note', { note: 'connected', slot: 1, url: 'ws://c' })
    await put('note', { note: 'connected', slot: 249, url: 'ws://rtds' })
    await put('message', BOOK, 1)
    await put('message', priceOf('5'), 249)
    await put('message', priceOf('1e-0'), 249)
    const reading = {
      get events(): never[] {
        throw new RangeError('a failure of our own')
      },
      problems: [],
    }
    await applier.apply({
      number: 6,
      received: toMicros(START_MS * 1000 + 9000),
      kind: 'message',
      slot: 249,
      bytes: Buffer.from('{}'),
      reading,
    })
    expect(applier.openBooks().map(({ key }) => key)).toEqual([UP])
    const batch = applier.drain({ origin: 'emulator', recorder: 'r1' })
    expect(batch?.gaps?.map(({ key, reason }) => [key, reason])).toEqual([[EXCHANGE, 'rejected']])
    expect(batch?.quarantine).toHaveLength(2)
  })

  it('is all that its socket brings, and comes over no other', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const exchange = feed(script, 249)
      script.note({ note: 'connected', slot: 1, url: 'ws://c' })
      bookOf(script)
      exchange.connect()
      exchange.price(1)
      script.frame(249, { ...BOOK, bids: [{ price: '0.01', size: '1' }] })
      script.frame(249, [{ ...BOOK, bids: [{ price: '0.02', size: '1' }] }, { event_type: 'book' }])
      script.frame(1, priceOf('7'))
      script.wait(1000)
      script.note({ note: 'loss', reason: 'disconnected', why: 'gone', slot: 1 })
    })
    expect(await booksOf(data, 'venuec', UP)).toHaveLength(1)
    expect(await pricesOf(data, EXCHANGE)).toEqual(['1'])
    expect(await spansOf(data, UP)).toEqual(['disconnected after 1: 0–'])
    expect(await spansOf(data, EXCHANGE)).toEqual(['rejected after 1: 1–'])
    const refused = await read(data, (store) => store.quarantine({ limit: 10 }))
    expect(refused).toHaveLength(3)
  })

  it('has a gap where a recorded message of it is refused', async () => {
    const store = openEmbeddedStore({ file: createDataFolder().tape })
    onTestFinished(() => store.close())
    const applier = new Applier(store, 'venuec')
    const put = createFeed(() => applier)
    await put('message', { event: priceOf('5') })
    await put('message', { event: priceOf('6', 'ethusdt') })
    await put('message', { event: priceOf('-7') })
    await put('message', { event: priceOf('8') })
    const batch = applier.drain({ origin: 'import', recorder: 'r1' })
    expect(batch?.gaps?.map(({ key, reason, end }) => [key, reason, end !== undefined])).toEqual([
      [EXCHANGE, 'rejected', false],
      [EXCHANGE, 'rejected', true],
    ])
    expect(batch?.samples).toHaveLength(3)
  })

  it('goes on with its numbers after retention removed every price', async () => {
    const data = createDataFolder()
    await record(data, 'venuec', (script) => {
      const oracle = feed(script, 248)
      oracle.connect()
      oracle.price(1)
      oracle.price(2)
    })
    const store = openEmbeddedStore({ file: data.tape })
    await store.seal()
    await store.retain((START_MS + 3_600_000) * 1000)
    await store.close()
    await record(
      data,
      'venuec',
      (script) => {
        const oracle = feed(script, 248)
        oracle.connect()
        oracle.price(3)
        oracle.lose('disconnected', 'gone')
      },
      { fresh: false },
    )
    expect(await pricesOf(data, CHAINLINK)).toEqual(['3'])
    const spans = await spansOf(data, CHAINLINK)
    expect(spans.filter((span) => !span.startsWith('retention'))).toEqual([
      'recorder_down after 2: 2–3',
      'disconnected after 3: 3–',
    ])
  })

  it('goes on after a restart, with the recorder’s absence as its gap', async () => {
    const data = folder()
    await record(data, 'venuec', (script) => {
      const oracle = feed(script, 248)
      oracle.connect()
      oracle.price(1)
    })
    await record(
      data,
      'venuec',
      (script) => {
        const oracle = feed(script, 248)
        oracle.connect()
        oracle.price(2)
        oracle.price(3)
      },
      { fresh: false },
    )
    expect(await pricesOf(data, CHAINLINK)).toEqual(['1', '2', '3'])
    expect(await spansOf(data, CHAINLINK)).toEqual([
      'recorder_down after 1: 1–2',
      'recorder_down after 3: 3–',
    ])
  })
})
