import { cpSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
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

const BOOKS = 5
const tickers = Array.from({ length: BOOKS }, (_, index) => `KXMANY-26SEP21-${index}`)

function connect(script: Script): void {
  script.note({ note: 'connected', slot: 1, url: 'ws://b' })
}

function list(script: Script, ticker: string, status = 'active'): void {
  const market = { ticker, event_ticker: 'E', status, open_time: '2026-09-21T00:00:00Z' }
  script.answer({ kind: 'market', ticker }, { market })
}

function full(script: Script, seq: number, ticker: string): void {
  script.frame(1, {
    type: 'orderbook_snapshot',
    sid: 1,
    seq,
    msg: {
      market_ticker: ticker,
      yes_dollars_fp: [['0.4000', `${seq}.00`]],
      no_dollars_fp: [['0.5000', '20.00']],
    },
  })
}

function change(script: Script, seq: number, ticker: string): void {
  script.frame(1, {
    type: 'orderbook_delta',
    sid: 1,
    seq,
    msg: { market_ticker: ticker, price_dollars: '0.3000', delta_fp: '1.00', side: 'yes' },
  })
}

function trade(script: Script, id: number, ticker: string): void {
  script.frame(1, {
    type: 'trade',
    sid: 4,
    seq: id,
    msg: {
      trade_id: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
      market_ticker: ticker,
      yes_price_dollars: '0.4000',
      no_price_dollars: '0.6000',
      count_fp: '1.00',
      taker_side: 'yes',
      ts_ms: START_MS + id,
    },
  })
}

/** Lists markets on a first connection, each with a full book; those have the sequences from 1 on. */
function openBooks(script: Script, markets: readonly string[]): void {
  connect(script)
  for (const [index, ticker] of markets.entries()) {
    list(script, ticker)
    script.wait(10)
    full(script, index + 1, ticker)
  }
}

/** Gives markets that were listed before full books again, on a connection a second later. */
function openAgain(script: Script, markets: readonly string[]): void {
  script.wait(1000)
  connect(script)
  for (const [index, ticker] of markets.entries()) full(script, index + 1, ticker)
}

it('reads records and gaps of all books at once when it starts, and none with their messages', async () => {
  const data = createDataFolder()
  await record(data, 'venueb', (script) => {
    openBooks(script, tickers)
    // More rows than a start reads at once, none of them a full book.
    for (let row = 1; row <= 80; row++) {
      script.wait(10)
      change(script, BOOKS + row, tickers[0]!)
    }
  })
  const asked: string[] = []
  const pages: unknown[] = []
  const onAsked = (name: string, [query]: readonly unknown[]): void => {
    const isOfOne = name === 'gaps' && (query as { key?: string }).key !== undefined
    asked.push(isOfOne ? 'gaps of a book' : name)
    if (name === 'books') pages.push(query)
  }
  await record(
    data,
    'venueb',
    async (script) => {
      openAgain(script, tickers)
      await script.stored()
    },
    { fresh: false, onAsked },
  )
  expect(asked).not.toContain('market')
  expect(asked).not.toContain('gaps of a book')
  // One page a book: the last full book of one that is in a gap is not looked for.
  expect(pages).toHaveLength(BOOKS)

  expect(await gapsOf(data, 'venueb', tickers[0]!)).toEqual([
    'before_capture -51200000–10',
    'recorder_down 850–1850',
    'recorder_down 1850–',
  ])
  expect(await gapsOf(data, 'venueb', tickers[4]!)).toEqual([
    'before_capture -51200000–50',
    'recorder_down 50–1850',
    'recorder_down 1850–',
  ])
  expect((await booksOf(data, 'venueb', tickers[4]!)).length).toBe(2)
  expect(await differences(data)).toEqual([])
})

it('reads the gap of a book that ended since the start from the store', async () => {
  const data = createDataFolder()
  const [ticker] = tickers
  await record(data, 'venueb', (script) => {
    openBooks(script, [ticker!])
  })
  await record(
    data,
    'venueb',
    async (script) => {
      openAgain(script, [ticker!])
      await script.stored()
      script.wait(10)
      list(script, ticker!, 'finalized')
      // Stored, the ended book is forgotten; a late message loads it again.
      await script.stored()
      script.wait(10)
      full(script, 2, ticker!)
      await script.stored()
    },
    { fresh: false },
  )
  const gaps = await gapsOf(data, 'venueb', ticker!)
  expect(gaps.filter((gap) => gap.endsWith('–'))).toHaveLength(1)
  expect(gaps.slice(0, 3)).toEqual([
    'before_capture -51200000–10',
    'recorder_down 10–1010',
    'market_closed 1010–1030',
  ])
  expect(await differences(data)).toEqual([])
})

it('starts where a gap of another book is damaged', async () => {
  const data = createDataFolder()
  await record(data, 'venueb', (script) => {
    openBooks(script, tickers)
  })
  const database = new DatabaseSync(data.tape)
  const damage = "UPDATE gap SET start = start + 1 WHERE key = ? AND reason = 'before_capture'"
  expect(database.prepare(damage).run(tickers[4]!).changes).toBe(1)
  database.close()
  await record(
    data,
    'venueb',
    async (script) => {
      openAgain(script, [tickers[0]!])
      await script.stored()
    },
    { fresh: false },
  )
  expect(await read(data, (store) => store.quarantine({ limit: 10 }))).toEqual([])
  expect((await gapsOf(data, 'venueb', tickers[0]!)).slice(0, 2)).toEqual([
    'before_capture -51200000–10',
    'recorder_down 10–1050',
  ])
})

it('reads the trades of a book with its next trade, and knows them by their ids', async () => {
  const data = createDataFolder()
  const [ticker] = tickers
  await record(data, 'venueb', (script) => {
    openBooks(script, tickers)
    for (const id of [1, 2]) trade(script, id, ticker!)
  })
  const pages: unknown[] = []
  const onAsked = (name: string, [query]: readonly unknown[]): void => {
    if (name === 'trades' && (query as { limit: number }).limit > 1) pages.push(query)
  }
  let beforeTrades = 0
  await record(
    data,
    'venueb',
    async (script) => {
      openAgain(script, tickers)
      await script.stored()
      beforeTrades = pages.length
      // The venue sends one again, and a new one.
      for (const id of [2, 3]) trade(script, id, ticker!)
      await script.stored()
    },
    { fresh: false, onAsked },
  )
  expect(beforeTrades).toBe(0)
  expect(pages).toHaveLength(1)
  const query = { venue: 'venueb', key: ticker!, order: 'asc', limit: 10 } as const
  const { rows } = await read(data, (store) => store.trades(query))
  const ids = Array.from({ length: rows.count }, (_, at) => Number(rows.tradeId[at]!.slice(-1)))
  expect(ids).toEqual([1, 2, 3])
  expect(await differences(data)).toEqual([])
})

it('knows after a start that a trade came after the last book, and our clock was set back', async () => {
  const data = createDataFolder()
  const [ticker] = tickers
  await record(data, 'venueb', (script) => {
    openBooks(script, [ticker!])
    script.wait(20_000)
    trade(script, 1, ticker!)
  })
  await record(
    data,
    'venueb',
    async (script) => {
      script.wait(-19_000)
      connect(script)
      full(script, 1, ticker!)
      // Longer than a silence, but the trade was received later by our clock.
      script.wait(10_000)
      change(script, 2, ticker!)
      await script.stored()
    },
    { fresh: false },
  )
  const gaps = await gapsOf(data, 'venueb', ticker!)
  expect(gaps.map((gap) => gap.split(' ')[0])).not.toContain('venue_silent')
  expect(await differences(data)).toEqual([])
})

it('looks for no last full book of a book that a killed recorder left open', async () => {
  const data = createDataFolder()
  const copy = createDataFolder()
  await record(data, 'venueb', async (script) => {
    openBooks(script, tickers)
    for (let row = 1; row <= 80; row++) {
      script.wait(10)
      change(script, BOOKS + row, tickers[0]!)
    }
    await script.stored()
    // As a kill would leave it.
    cpSync(data.path, copy.path, { recursive: true })
  })
  const pages: unknown[] = []
  const onAsked = (name: string, [query]: readonly unknown[]): void => {
    if (name === 'books') pages.push(query)
  }
  await record(
    copy,
    'venueb',
    async (script) => {
      openAgain(script, tickers)
      change(script, BOOKS + 1, tickers[0]!)
      await script.stored()
    },
    { fresh: false, onAsked },
  )
  expect(pages).toHaveLength(BOOKS)
  expect((await gapsOf(copy, 'venueb', tickers[0]!)).slice(1)).toEqual([
    'recorder_down 850–1850',
    'recorder_down 1850–',
  ])
  expect(await differences(copy)).toEqual([])
})
