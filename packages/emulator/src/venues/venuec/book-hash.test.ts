import { describe, expect, it } from 'vitest'
import { summaryHash, type BookSummary } from './book-hash.ts'
import { createTestVenue } from './venue.testing.ts'

// Made with the official client, PyPI package py-clob-client 0.34.6:
// generate_orderbook_summary_hash(parse_raw_orderbook_summary(book)).
const MADE_BY_CLIENT: readonly BookSummary[] = [
  {
    market: `0x${'ab'.repeat(32)}`,
    asset_id: '7284500116634818571466663536094708408544258559474',
    timestamp: '1787654321000',
    hash: '3b1effaf60351f6aea43b08e437b20e93eb2f586',
    bids: [
      { price: '0.48', size: '30' },
      { price: '0.5', size: '97895.02' },
    ],
    asks: [
      { price: '0.99', size: '1.234567' },
      { price: '0.52', size: '210' },
    ],
    min_order_size: '5',
    tick_size: '0.01',
    neg_risk: false,
    last_trade_price: '0.510',
  },
  {
    market: `0x${'0f'.repeat(32)}`,
    asset_id: '1',
    timestamp: '1787654321999',
    hash: 'fd649be21545a2ae5b77b3870de546720b56b198',
    bids: [],
    asks: [{ price: '0.004', size: '12' }],
    min_order_size: '5',
    tick_size: '0.001',
    neg_risk: true,
    last_trade_price: '',
  },
]

describe('the hash of a book', () => {
  it('is that of the official client', () => {
    for (const book of MADE_BY_CLIENT) expect(summaryHash(book)).toBe(book.hash)
  })

  it('covers every answer, and the frames of the same moment carry the same one', () => {
    const venue = createTestVenue()
    const market = venue.open()
    const tokens = venue.tokens(market)
    const { wire } = venue.connect({ assets_ids: tokens, type: 'market' })
    const [first] = wire.take() as [BookSummary[]]
    const rest = (token_id: string): BookSummary =>
      venue.get('/clob/book', { token_id }).value as BookSummary
    for (const [index, token] of tokens.entries()) {
      expect(summaryHash(rest(token))).toBe(rest(token).hash)
      expect(first[index]!.hash).toBe(rest(token).hash)
    }
    venue.world.at += 1_000
    venue.world.change(market, [{ side: 'bid', price: 4_000, size: 5_000_000 }])
    const [change] = wire.take() as [{ price_changes: { asset_id: string; hash: string }[] }]
    for (const { asset_id, hash } of change.price_changes) {
      expect(hash).toBe(rest(asset_id).hash)
      expect(hash).toBe(summaryHash(rest(asset_id)))
    }
  })

  it('changes with the tick of the market', () => {
    const venue = createTestVenue()
    const market = venue.open()
    const [token_id] = venue.tokens(market)
    const hash = (): string =>
      (venue.get('/clob/book', { token_id }).value as { hash: string }).hash
    const before = hash()
    venue.world.tick(market, 10)
    expect(hash()).not.toBe(before)
  })
})
