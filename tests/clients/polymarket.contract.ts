import { expect, it } from 'vitest'
import type { Emulator } from '@priorbook/emulator'
import type { Caller } from './caller.ts'
import { lastAnswered, toPlainBook, type Side } from './truth-books.ts'

/** A client of Polymarket over an emulator; both exist once tests run. */
export type PolymarketParts = {
  readonly caller: () => Caller
  readonly emulator: () => Emulator
  /** False for the oldest client, which has no method for histories. */
  readonly hasHistory: boolean
}

type Gamma = {
  readonly conditionId: string
  readonly question: string
  readonly clobTokenIds: string
  readonly outcomes: string
  readonly active: boolean
  readonly acceptingOrders: boolean
  readonly endDate: string
  readonly negRisk: boolean
  readonly orderPriceMinTickSize: number
}
type Token = { readonly token_id: string; readonly outcome: string }
type ClobMarket = {
  readonly condition_id: string
  readonly tokens: readonly Token[]
  readonly question?: string
  readonly neg_risk?: boolean
}
type Page = { readonly data: readonly ClobMarket[]; readonly next_cursor: string }
type Level = { readonly price: string; readonly size: string }
type Book = {
  readonly asset_id: string
  readonly timestamp: string
  readonly hash: string
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
  readonly tick_size: string
  readonly last_trade_price: string
}
type Quote = {
  readonly buy: number
  readonly sell: number
  readonly mid: number
  readonly spread: number
}
type LastTrade = { readonly token_id: string; readonly price: string; readonly side: string }

/** What every official client of Polymarket reads from the emulator. */
export function describePolymarket({ caller, emulator, hasHistory }: PolymarketParts): void {
  const call = <T>(method: string, ...args: unknown[]): Promise<T> => caller().call<T>(method, args)

  it('reads the status and the time', async () => {
    expect(await call('getOk')).toBe('OK')
    const time = await call<number>('getServerTime')
    expect(Math.abs(time - Date.now() / 1000)).toBeLessThan(30)
  })

  it('pages through the catalogue in four forms, and finds the markets that Gamma lists', async () => {
    const forms = {
      getMarkets: () => true,
      getSimplifiedMarkets: () => true,
      getSamplingMarkets: (market: Gamma) => market.acceptingOrders,
      getSamplingSimplifiedMarkets: (market: Gamma) => market.acceptingOrders,
    }
    for (const [method, isIn] of Object.entries(forms)) {
      const before = (await listGamma(emulator())).filter(isIn)
      const { rows, pages } = await readPages(method)
      const after = (await listGamma(emulator())).filter(isIn)
      expect(pages).toBeGreaterThan(1)
      const ids = rows.map(({ condition_id: id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
      // Markets come and go meanwhile.
      const known = new Map([...before, ...after].map((market) => [market.conditionId, market]))
      const lasting = after.filter((one) => before.some((b) => b.conditionId === one.conditionId))
      expect(ids.filter((id) => !known.has(id))).toEqual([])
      // One that goes moves the later ones up, across the end of a page: those are in the next reading.
      const missed = lasting.filter(({ conditionId }) => !ids.includes(conditionId))
      const again = missed.length === 0 ? rows : (await readPages(method)).rows
      const found = new Set(again.map(({ condition_id: id }) => id))
      const listed = missed.length === 0 ? [] : (await listGamma(emulator())).filter(isIn)
      const left = new Set(listed.map(({ conditionId }) => conditionId))
      const isLost = ({ conditionId: id }: Gamma): boolean => left.has(id) && !found.has(id)
      expect(missed.filter(isLost)).toEqual([])
      for (const row of rows) expectSameMarket(row, known.get(row.condition_id)!)
    }
  })

  it('reads one market', async () => {
    const [market] = (await listGamma(emulator())).filter(({ negRisk }) => negRisk)
    const row = await call<ClobMarket>('getMarket', market!.conditionId)
    expect(row.neg_risk).toBe(true)
    expectSameMarket(row, market!)
  })

  it('reads books that are those of the truth log, with the hash that it computes itself', async () => {
    const tokens = await quietTokens(emulator())
    for (const token of tokens.slice(0, 10)) {
      const book = await call<Book>('getOrderBook', token)
      expect(plain(book)).toEqual(lastAnswered(emulator(), token))
      expect(await call('getOrderBookHash', book)).toBe(book.hash)
      const changed = { ...book, bids: [...book.bids, { price: '0.0001', size: '1' }] }
      expect(await call('getOrderBookHash', changed)).not.toBe(book.hash)
    }
    const ids = tokens.slice(0, 200)
    const books = await call<Book[]>(
      'getOrderBooks',
      ids.map((token_id) => ({ token_id })),
    )
    const read = new Set(books.map(({ asset_id: token }) => token))
    expect([...read]).toEqual(ids.filter((token) => read.has(token)))
    // A round may have closed meanwhile.
    expect(read.size).toBeGreaterThan(ids.length * 0.9)
    expect(books.filter(({ bids, asks }) => bids.length > 2 && asks.length > 2)).not.toEqual([])
    for (const book of books) {
      expect(plain(book)).toEqual(lastAnswered(emulator(), book.asset_id))
    }
  })

  it('reads midpoints, prices, spreads and ticks that follow from the book', async () => {
    const tokens = (await quietTokens(emulator())).slice(0, 12)
    let steady = 0
    for (const token of tokens) {
      const [before] = await readBooks(emulator(), [token])
      const mid = await call('getMidpoint', token)
      const spread = await call('getSpread', token)
      const buy = await call('getPrice', token, 'BUY')
      const sell = await call('getPrice', token, 'SELL')
      const tick = await call('getTickSize', token)
      const [after] = await readBooks(emulator(), [token])
      // Nothing follows from a book that changed or closed meanwhile.
      if (before === undefined || before.hash !== after?.hash) continue
      steady++
      const quote = quoteOf(before)
      expect(numbersOf(mid)).toEqual({ mid: expect.closeTo(quote.mid, 8) })
      expect(numbersOf(spread)).toEqual({ spread: expect.closeTo(quote.spread, 8) })
      expect(numbersOf(buy)).toEqual({ price: quote.buy })
      expect(numbersOf(sell)).toEqual({ price: quote.sell })
      expect(String(tick)).toBe(before.tick_size)
    }
    expect(steady).toBeGreaterThan(tokens.length / 2)
  })

  it('reads lists of midpoints, prices and spreads that follow from the books', async () => {
    const tokens = (await quietTokens(emulator())).slice(0, 12)
    const asked = tokens.map((token_id) => ({ token_id }))
    const both = (side: string): object[] => tokens.map((token_id) => ({ token_id, side }))
    type Prices = Record<string, { BUY: string; SELL: string }>
    const before = await booksByToken(tokens)
    const mids = await call<Record<string, string>>('getMidpoints', asked)
    const spreads = await call<Record<string, string>>('getSpreads', asked)
    const prices = await call<Prices>('getPrices', [...both('BUY'), ...both('SELL')])
    const after = await booksByToken(tokens)
    const steady = [...before].filter(([token, { hash }]) => after.get(token)?.hash === hash)
    expect(steady.length).toBeGreaterThan(tokens.length / 2)
    for (const [token, book] of steady) {
      const { mid, spread, buy, sell } = quoteOf(book)
      expect(Number(mids[token])).toBeCloseTo(mid, 8)
      expect(Number(spreads[token])).toBeCloseTo(spread, 8)
      expect(numbersOf(prices[token])).toEqual({ BUY: buy, SELL: sell })
    }
  })

  it('reads whether risk is shared and what the fee is, as Gamma says', async () => {
    const markets = await listGamma(emulator())
    const shared = markets.filter(({ negRisk }) => negRisk).slice(0, 3)
    const alone = markets.filter(({ negRisk }) => !negRisk).slice(0, 3)
    for (const market of [...shared, ...alone]) {
      const [token] = tokensOf(market)
      expect(await call('getNegRisk', token)).toBe(market.negRisk)
      const { taker_base_fee: fee } = await readJson<{ taker_base_fee: number }>(
        `${clobOf(emulator())}/markets/${market.conditionId}`,
      )
      expect(await call('getFeeRateBps', token)).toBe(fee)
    }
  })

  it('reads last trades that are the ends of the price histories', async () => {
    const tokens = await quietTokens(emulator())
    const asked = tokens.slice(0, 200).map((token_id) => ({ token_id }))
    const list = await call<LastTrade[]>('getLastTradesPrices', asked)
    expect(list.length).toBeGreaterThan(asked.length * 0.9)
    // From the quietest to the busiest.
    const all = list.filter(({ side }) => side !== '')
    expect(all.length).toBeGreaterThan(20)
    const traded = all.filter((_, at) => at % Math.floor(all.length / 12) === 0)
    let steady = 0
    let ended = 0
    for (const { token_id: token, ...first } of traded) {
      const single = await call<object>('getLastTradePrice', token)
      const range = { market: token, interval: '1d', fidelity: 1 }
      const { history } = hasHistory
        ? await call<{ history: { t: number; p: number }[] }>('getPricesHistory', range)
        : { history: undefined }
      const [book] = await readBooks(emulator(), [token])
      const own = await readJson<LastTrade>(
        `${clobOf(emulator())}/last-trade-price?token_id=${token}`,
      )
      if (own.price !== first.price || own.side !== first.side) continue
      steady++
      expect(single).toEqual(first)
      // The books of both tokens show one text, the price of either.
      const price = Number(first.price)
      expect([price, 1 - price]).toContainEqual(expect.closeTo(Number(book!.last_trade_price), 8))
      if (history === undefined) continue
      const { p } = history.at(-1)!
      const isTraded = Math.abs(p - price) < 1e-8
      if (isTraded) ended++
      // A market without trades since the start has one point, its midpoint.
      const isMiddle = history.length === 1 && Math.abs(p - quoteOf(book!).mid) < 0.001
      expect([isTraded, isMiddle]).toContain(true)
      expect(history.map(({ t }) => t)).toEqual(history.map(({ t }) => t).sort((a, b) => a - b))
    }
    expect(steady).toBeGreaterThan(0)
    expect(ended > 0).toBe(hasHistory)
  })

  async function booksByToken(tokens: readonly string[]): Promise<Map<string, Book>> {
    const books = await readBooks(emulator(), tokens)
    return new Map(books.map((book) => [book.asset_id, book]))
  }

  async function readPages(method: string): Promise<{ rows: ClobMarket[]; pages: number }> {
    const rows: ClobMarket[] = []
    for (let cursor = 'MA==', pages = 1; ; pages++) {
      const page = await call<Page>(method, cursor)
      rows.push(...page.data)
      cursor = page.next_cursor
      if (cursor === 'LTE=') return { rows, pages }
    }
  }
}

function expectSameMarket(row: ClobMarket, market: Gamma): void {
  const outcomes = JSON.parse(market.outcomes) as string[]
  const tokens = tokensOf(market).map((token_id, at) => ({ token_id, outcome: outcomes[at]! }))
  expect(row.tokens.map(({ token_id, outcome }) => ({ token_id, outcome }))).toEqual(tokens)
  if (row.question === undefined) return
  expect([row.question, row.neg_risk]).toEqual([market.question, market.negRisk])
}

function plain({ bids, asks }: Book): ReturnType<typeof toPlainBook> {
  const side = (levels: readonly Level[]): Side => levels.map(({ price, size }) => [price, size])
  return toPlainBook(side(bids), side(asks))
}

/** The best prices, their middle and what lies between them; a side without orders counts as its bound. */
function quoteOf({ bids, asks }: Book): Quote {
  const buy = Number(bids.at(-1)?.price ?? 0)
  const ask = Number(asks.at(-1)?.price ?? 1)
  return { buy, sell: Number(asks.at(-1)?.price ?? 0), mid: (buy + ask) / 2, spread: ask - buy }
}

function numbersOf(value: unknown): Record<string, number> {
  const entries = Object.entries(value as Record<string, string>)
  return Object.fromEntries(entries.map(([name, text]) => [name, Number(text)]))
}

function tokensOf({ clobTokenIds }: Gamma): string[] {
  return JSON.parse(clobTokenIds) as string[]
}

const clobOf = (emulator: Emulator): string => emulator.addresses.venuec!.clob

async function readJson<T>(url: string, body?: unknown): Promise<T> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  return (await (await fetch(url, init)).json()) as T
}

/** Our own reading of the catalogue: markets that trade or have traded. */
async function listGamma(emulator: Emulator): Promise<Gamma[]> {
  const { gamma } = emulator.addresses.venuec!
  const markets: Gamma[] = []
  for (const closed of [false, true]) {
    for (let offset = 0; ; offset += 100) {
      const query = `closed=${closed}&limit=100&offset=${offset}`
      const page = await readJson<Gamma[]>(`${gamma}/markets?${query}`)
      markets.push(...page)
      if (page.length < 100) break
    }
  }
  return markets.filter(({ active }) => active)
}

function readBooks(emulator: Emulator, tokens: readonly string[]): Promise<Book[]> {
  const asked = tokens.map((token_id) => ({ token_id }))
  return readJson(`${clobOf(emulator)}/books`, asked)
}

const LASTING_MS = 90_000

/** Tokens of markets that stay open and have traded, those with the oldest changes first. */
async function quietTokens(emulator: Emulator): Promise<string[]> {
  // Their books are asked for while others close.
  const lastMs = Date.now() + LASTING_MS
  const open = (await listGamma(emulator)).filter(
    (market) => market.acceptingOrders && Date.parse(market.endDate) > lastMs,
  )
  const tokens = open.flatMap(tokensOf)
  const asked = tokens.map((token_id) => ({ token_id }))
  const trades = await readJson<LastTrade[]>(`${clobOf(emulator)}/last-trades-prices`, asked)
  const traded = new Set(trades.filter(({ side }) => side !== '').map(({ token_id: id }) => id))
  const books = await readBooks(
    emulator,
    tokens.filter((token) => traded.has(token)),
  )
  return books
    .sort((a, b) => Number(a.timestamp) - Number(b.timestamp))
    .map(({ asset_id: token }) => token)
}
