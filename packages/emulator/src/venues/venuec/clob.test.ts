import { beforeEach, describe, expect, it } from 'vitest'
import { ladder, START } from '../venuea/world.testing.ts'
import { EMULATED_VENUE_C } from './index.ts'
import {
  bookIn,
  createTestVenue,
  mirrored,
  type TestVenue,
  type WireBook,
} from './venue.testing.ts'

type ClobMarket = {
  condition_id: string
  closed: boolean
  enable_order_book: boolean
  tokens: { token_id: string; outcome: string; price: number; winner: boolean }[]
}
type Page = { data: ClobMarket[]; next_cursor: string; limit: number; count: number }

describe('the order books over REST', () => {
  let venue: TestVenue
  beforeEach(() => {
    venue = createTestVenue()
  })

  it('shows mirror books, worst first, and claims each in its own terms', () => {
    const market = venue.open()
    const [up, down] = venue.tokens(market)
    const answers = [up, down].map((token_id) => venue.get('/clob/book', { token_id }))
    const books = answers.map(({ value }) => value as WireBook)
    expect(books.map(bookIn)).toEqual([market.book, mirrored(market.book)])
    expect(answers.map(({ payloads }) => payloads)).toEqual([
      [{ kind: 'full', key: up, book: market.book, time: Number(books[0]!.timestamp) }],
      [{ kind: 'full', key: down, book: mirrored(market.book), time: Number(books[1]!.timestamp) }],
    ])
    expect(books[0]).toMatchObject({
      timestamp: String(venue.world.at),
      tick_size: '0.01',
      min_order_size: '5',
      neg_risk: false,
      last_trade_price: '',
    })
    expect(books[0]!.bids.at(-1)).toEqual({ price: '0.51', size: '12.345678' })
    expect(books[0]!.asks.at(-1)).toEqual({ price: '0.53', size: '13.345678' })
    expect(books[0]!.hash).toMatch(/^[0-9a-f]{40}$/)
    expect(books[0]!.hash).not.toBe(books[1]!.hash)
  })

  it('has one hash for one content and time', () => {
    const market = venue.open()
    const [token_id] = venue.tokens(market)
    const hash = (): string => (venue.get('/clob/book', { token_id }).value as WireBook).hash
    const first = hash()
    expect(hash()).toBe(first)
    venue.world.change(market, [{ side: 'bid', price: 4_000, size: 1 }])
    expect(hash()).not.toBe(first)
    venue.world.change(market, [{ side: 'bid', price: 4_000, size: 0 }])
    expect(hash()).toBe(first)
    venue.world.at += 1_000
    venue.world.change(market, [{ side: 'bid', price: 4_000, size: 1 }])
    venue.world.change(market, [{ side: 'bid', price: 4_000, size: 0 }])
    expect(hash()).not.toBe(first)
  })

  it('writes the last trade with three decimals at least', () => {
    const market = venue.open()
    const [token_id] = venue.tokens(market)
    const last = () => venue.get('/clob/book', { token_id }).value
    const fill = { price: 5_300, size: 1_000_000, taker: 'buy' } as const
    venue.world.change(market, [{ side: 'ask', price: 5_300, size: 0 }], fill)
    expect(last()).toMatchObject({ last_trade_price: '0.530' })
    venue.world.change(market, [], { ...fill, price: 305 })
    expect(last()).toMatchObject({ last_trade_price: '0.0305' })
  })

  it('gives many books at once and leaves out what it does not know', () => {
    const markets = [venue.open(), venue.open()]
    const tokens = markets.flatMap((market) => venue.tokens(market))
    const request = [...tokens, '123'].map((token_id) => ({ token_id }))
    const { value, payloads, bucket } = venue.post('/clob/books', JSON.stringify(request))
    expect((value as WireBook[]).map(({ asset_id }) => asset_id)).toEqual(tokens)
    expect(payloads.map((payload) => payload.key)).toEqual(tokens)
    expect(bucket).toBe('books')
    expect(venue.post('/clob/books', 'nothing').status).toBe(400)
    expect(venue.post('/clob/books', '[1]').status).toBe(400)
    expect(venue.get('/clob/books').status).toBe(405)
  })

  it('does not know a new market for a while, and has no book of a closed one', () => {
    const market = venue.world.list()
    const [token_id] = venue.tokens(market)
    const status = () => venue.get('/clob/book', { token_id }).status
    expect(venue.get('/clob/book', { token_id }).value).toEqual({
      error: 'No orderbook exists for the requested token id',
    })
    const [{ conditionId }] = venue.get('/gamma/markets').value as [{ conditionId: string }]
    expect(venue.get(`/clob/markets/${conditionId}`).status).toBe(404)
    venue.world.at += 59_999
    expect(status()).toBe(404)
    venue.world.at += 1
    expect(status()).toBe(200)
    expect(venue.get(`/clob/markets/${conditionId}`).status).toBe(200)
    venue.world.phase(market, 'open')
    expect(status()).toBe(200)
    venue.world.phase(market, 'closed')
    expect(status()).toBe(404)
    expect(venue.get('/clob/book').status).toBe(400)
    const fast = createTestVenue(60)
    const soon = fast.world.list()
    fast.world.at += 1_000
    expect(fast.get('/clob/book', { token_id: fast.tokens(soon)[0] }).status).toBe(200)
  })

  it('walks through its markets by cursor', () => {
    for (let round = 0; round < 250; round++) {
      venue.world.phase(venue.world.list({ openTime: START + round * 300_000 }), 'open')
    }
    venue.world.list()
    const pages: Page[] = []
    for (let cursor = ''; cursor !== 'LTE='; cursor = pages.at(-1)!.next_cursor) {
      pages.push(venue.get('/clob/markets', { next_cursor: cursor }).value as Page)
    }
    expect(pages.map(({ count }) => count)).toEqual([100, 100, 50])
    expect(pages[0]).toMatchObject({ next_cursor: 'MTAw', limit: 100 })
    const ids = pages.flatMap(({ data }) => data.map(({ condition_id }) => condition_id))
    expect(new Set(ids).size).toBe(250)
    expect(venue.get('/clob/markets', { next_cursor: 'LTE=' }).status).toBe(400)
  })

  it('names the winner when a market is resolved, Up in a tie', () => {
    const market = venue.open()
    const { data } = venue.get('/clob/markets').value as Page
    const path = `/clob/markets/${data[0]!.condition_id}`
    const show = () => venue.get(path)
    const winners = () => (show().value as ClobMarket).tokens.map(({ winner }) => winner)
    venue.world.phase(market, 'closed')
    venue.world.phase(market, 'determined', { winner: 'tie', endPrice: '1' })
    expect(winners()).toEqual([false, false])
    expect(show().payloads).toMatchObject([{ phase: 'closed' }])
    venue.world.phase(market, 'resolved')
    expect(winners()).toEqual([true, false])
    expect(show().value).toMatchObject({ closed: true, enable_order_book: false })
    expect(show().payloads).toMatchObject([{ phase: 'resolved', winner: 'first' }])
  })

  it('tells time, ticks and the short form', () => {
    const market = venue.open()
    const [token_id, down] = venue.tokens(market)
    expect(venue.get('/clob/time').value).toBe(Math.floor(venue.world.at / 1000))
    expect(venue.get('/clob/tick-size', { token_id }).value).toEqual({ minimum_tick_size: 0.01 })
    venue.world.change(market, ladder(9_700, 2))
    venue.world.tick(market, 10)
    expect(venue.get('/clob/tick-size', { token_id }).value).toEqual({ minimum_tick_size: 0.001 })
    const { data } = venue.get('/clob/markets').value as Page
    const id = data[0]!.condition_id
    expect(venue.get(`/clob/clob-markets/${id}`).value).toMatchObject({
      c: id,
      mts: 0.001,
      t: [
        { t: token_id, o: 'Up' },
        { t: down, o: 'Down' },
      ],
    })
    expect(venue.get('/clob/clob-markets/0x1').status).toBe(404)
    expect(venue.get('/clob/tick-size').status).toBe(404)
    expect(venue.get('/clob/nothing').status).toBe(404)
    expect(venue.get('/nothing').status).toBe(404)
    expect(venue.post('/clob/time', '').status).toBe(405)
  })

  it('bills every answer to a quota that exists', () => {
    const market = venue.open()
    const [token_id] = venue.tokens(market)
    const answers = [
      venue.get('/gamma/markets'),
      venue.get('/gamma/events'),
      venue.get('/gamma/markets/1'),
      venue.get('/clob/book', { token_id }),
      venue.post('/clob/books', '[]'),
      venue.get('/clob/markets'),
      venue.get('/clob/tick-size', { token_id }),
      venue.get('/nothing'),
    ]
    for (const { bucket } of answers) expect(venue.upstream.quotas).toHaveProperty(bucket!)
  })

  it('says where its five parts are', () => {
    expect(EMULATED_VENUE_C.addresses('http://127.0.0.1:1')).toEqual({
      gamma: 'http://127.0.0.1:1/gamma',
      clob: 'http://127.0.0.1:1/clob',
      data: 'http://127.0.0.1:1/data',
      ws: 'ws://127.0.0.1:1/ws/market',
      rtds: 'ws://127.0.0.1:1/rtds',
    })
  })
})
