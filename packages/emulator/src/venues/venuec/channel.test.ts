import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { parseScaled } from '@priorbook/sdk/domain'
import type { Book, Payload } from '../../core/upstream.ts'
import { START, type Change } from '../venuea/world.testing.ts'
import { MAX_ASSETS } from './channel.ts'
import {
  bookIn,
  createTestVenue,
  mirrored,
  type TestVenue,
  type WireBook,
} from './venue.testing.ts'

type PriceChange = {
  asset_id: string
  price: string
  size: string
  side: 'BUY' | 'SELL'
  hash: string
  best_bid: string
  best_ask: string
}
type Frame = { event_type: string; price_changes: PriceChange[] } & WireBook

const market = (assets: readonly string[], more: object = {}) => ({
  assets_ids: assets,
  type: 'market',
  ...more,
})

describe('the market channel', () => {
  let venue: TestVenue
  beforeEach(() => {
    venue = createTestVenue()
  })

  it('starts with all books in one frame and sends no acknowledgement', () => {
    const [a, b] = [venue.open(), venue.open()]
    const tokens = [...venue.tokens(a), ...venue.tokens(b)]
    const { wire, say } = venue.connect(market([...tokens, '77']))
    expect(wire.sent).toHaveLength(1)
    expect(wire.sent[0]!.payloads.map((payload) => payload.key)).toEqual(tokens)
    const [books] = wire.take() as [WireBook[]]
    expect(books.map(bookIn)).toEqual([a.book, mirrored(a.book), b.book, mirrored(b.book)])
    expect(books.every(({ event_type }) => event_type === 'book')).toBe(true)
    say(market(tokens))
    expect(wire.sent.splice(0).map(({ text }) => text)).toEqual(['NO NEW ASSETS'])
  })

  it('adds and removes tokens on the same socket', () => {
    const own = venue.open()
    const [up, down] = venue.tokens(own)
    const { wire, say } = venue.connect(market([up]))
    wire.take()
    say({ assets_ids: [down], operation: 'subscribe' })
    expect(wire.take()).toMatchObject([[{ asset_id: down }]])
    say({ assets_ids: [up], operation: 'unsubscribe' })
    venue.world.change(own, [{ side: 'bid', price: 5_100, size: 7_000_000 }])
    expect(wire.take()).toMatchObject([{ price_changes: [{ asset_id: down, side: 'SELL' }] }])
    say({ assets_ids: [up], operation: 'subscribe' })
    expect(wire.take()).toMatchObject([[{ asset_id: up }]])
  })

  it('answers PING, and what it does not understand', () => {
    const { wire, session } = venue.connect()
    for (const text of ['PING', 'hello', '[]', '{"assets_ids":[1],"type":"market"}', '{}']) {
      session.onText(text)
    }
    const wrong = 'INVALID OPERATION'
    expect(wire.sent.map(({ text }) => text)).toEqual(['PONG', wrong, wrong, wrong, wrong])
    expect(wire.sent.every(({ payloads }) => payloads.length === 0)).toBe(true)
  })

  it('gives no books to start from above the limit of tokens', () => {
    const own = venue.open()
    const [up, down] = venue.tokens(own)
    const others = Array.from({ length: MAX_ASSETS - 1 }, (_, index) => String(index))
    const within = venue.connect(market([up, ...others]))
    expect(within.wire.take()).toMatchObject([[{ asset_id: up }]])
    within.say({ assets_ids: [down], operation: 'subscribe' })
    expect(within.wire.take()).toEqual([])
    const { wire } = venue.connect(market([up, down, ...others]))
    expect(wire.take()).toEqual([])
    venue.world.change(own, [{ side: 'bid', price: 5_100, size: 7_000_000 }])
    expect(wire.take()).toHaveLength(1)
    const quiet = venue.connect(market([up], { initial_dump: false }))
    expect(quiet.wire.take()).toEqual([])
  })

  it('shows one change twice, as a bid of one token and as an offer of the other', () => {
    const own = venue.open()
    const [up, down] = venue.tokens(own)
    const { wire } = venue.connect(market([up, down]))
    wire.take()
    venue.world.at += 5
    venue.world.change(own, [{ side: 'ask', price: 5_250, size: 648_100_000 }])
    const [payloads] = wire.sent.map((frame) => frame.payloads)
    expect(payloads).toEqual([
      {
        kind: 'change',
        key: up,
        book: own.book,
        time: venue.world.at,
        levels: [{ side: 'ask', price: 5_250, size: 648_100_000 }],
      },
      {
        kind: 'change',
        key: down,
        book: mirrored(own.book),
        time: venue.world.at,
        levels: [{ side: 'bid', price: 4_750, size: 648_100_000 }],
      },
    ])
    const [frame] = wire.take() as [Frame]
    expect(frame).toMatchObject({ event_type: 'price_change', timestamp: String(venue.world.at) })
    expect(frame.price_changes).toMatchObject([
      { asset_id: up, price: '0.525', size: '648.1', side: 'SELL', best_ask: '0.525' },
      { asset_id: down, price: '0.475', size: '648.1', side: 'BUY', best_bid: '0.475' },
    ])
  })

  it('says 0 and 1 where a side is empty', () => {
    const own = venue.world.list()
    venue.world.phase(own, 'open')
    const [up, down] = venue.tokens(own)
    const { wire } = venue.connect(market([up, down], { custom_feature_enabled: true }))
    wire.take()
    venue.world.change(own, [{ side: 'bid', price: 9_900, size: 1_000_000 }])
    const [frame, ...bests] = wire.take() as [Frame, ...Frame[]]
    expect(frame.price_changes).toMatchObject([
      { asset_id: down, best_bid: '0', best_ask: '0.01' },
      { asset_id: up, best_bid: '0.99', best_ask: '1' },
    ])
    expect(bests).toMatchObject([
      { event_type: 'best_bid_ask', asset_id: up, best_bid: '0.99', best_ask: '1', spread: '0.01' },
      { event_type: 'best_bid_ask', asset_id: down, best_bid: '0', best_ask: '0.01' },
    ])
    venue.world.change(own, [{ side: 'bid', price: 9_800, size: 1_000_000 }])
    expect(wire.take()).toHaveLength(1)
  })

  it('follows a trade with both books, and sends it in the terms of the traded token', () => {
    const own = venue.open()
    const tokens = venue.tokens(own)
    const { wire } = venue.connect(market(tokens))
    wire.take()
    const seen = new Set<string>()
    const ids = new Set<string>()
    for (let trade = 0; trade < 40; trade++) {
      const fill = { price: 5_300, size: 1_000_000 + trade, taker: 'buy' } as const
      venue.world.change(own, [{ side: 'ask', price: 5_300, size: 90_000_000 - trade }], fill)
      const payload = wire.sent[2]!.payloads[0] as Extract<Payload, { kind: 'trade' }>
      const [first, second, last] = wire.take() as [Frame, Frame, Record<string, string>]
      expect([bookIn(first), bookIn(second)]).toEqual([own.book, mirrored(own.book)])
      expect([first.asset_id, second.asset_id]).toEqual(tokens)
      const isUp = last['asset_id'] === tokens[0]
      expect(last).toMatchObject({
        event_type: 'last_trade_price',
        price: isUp ? '0.53' : '0.47',
        side: isUp ? 'BUY' : 'SELL',
        transaction_hash: payload.id,
      })
      expect(payload).toMatchObject({
        kind: 'trade',
        key: last['asset_id'],
        fill: { price: isUp ? 5_300 : 4_700, size: fill.size, taker: isUp ? 'buy' : 'sell' },
      })
      seen.add(payload.key)
      ids.add(payload.id)
    }
    expect(seen).toEqual(new Set(tokens))
    expect(ids.size).toBe(40)
  })

  it('follows a change of the tick with a whole book', () => {
    const own = venue.open()
    const [up, down] = venue.tokens(own)
    const { wire } = venue.connect(market([up, down]))
    wire.take()
    venue.world.tick(own, 10)
    expect(wire.take()).toMatchObject([
      {
        event_type: 'tick_size_change',
        asset_id: up,
        old_tick_size: '0.01',
        new_tick_size: '0.001',
      },
      { event_type: 'book', asset_id: up, tick_size: '0.001' },
      { event_type: 'tick_size_change', asset_id: down },
      { event_type: 'book', asset_id: down },
    ])
  })

  it('announces new markets, not active yet, to every client with custom features', () => {
    const plain = venue.connect(market([]))
    const custom = venue.connect(market([], { custom_feature_enabled: true }))
    const own = venue.world.list()
    expect(plain.wire.sent).toEqual([])
    const { payloads } = custom.wire.sent[0]!
    const [frame] = custom.wire.take() as [{ condition_id: string }]
    expect(frame).toMatchObject({
      event_type: 'new_market',
      active: false,
      assets_ids: venue.tokens(own),
    })
    expect(payloads).toEqual([{ kind: 'market', key: frame.condition_id, phase: 'listed' }])
  })

  it('gives an early subscriber a book to start from when the market opens', () => {
    const own = venue.world.list()
    const { wire } = venue.connect(market(venue.tokens(own)))
    expect(wire.take()).toEqual([[]])
    venue.world.phase(own, 'open')
    expect(wire.take()).toMatchObject([
      { event_type: 'book', bids: [], asks: [] },
      { event_type: 'book', bids: [], asks: [] },
    ])
  })

  it('announces the end of about half of the markets', () => {
    const { wire, say } = venue.connect()
    let told = 0
    for (let round = 0; round < 200; round++) {
      const own = venue.world.list({ openTime: START + round * 300_000 })
      const tokens = venue.tokens(own)
      say(market(tokens, { custom_feature_enabled: true }))
      venue.world.phase(own, 'closed')
      wire.sent.splice(0)
      venue.world.phase(own, 'resolved', { winner: 'tie', endPrice: '1' })
      const frames = wire.take()
      told += frames.length
      for (const frame of frames) {
        expect(frame).toMatchObject({
          event_type: 'market_resolved',
          winning_asset_id: tokens[0],
          winning_outcome: 'Up',
        })
      }
    }
    expect(told).toBeGreaterThan(70)
    expect(told).toBeLessThan(130)
  })

  it('forgets closed clients and accepts one path only', () => {
    const own = venue.open()
    const { wire, session } = venue.connect(market(venue.tokens(own)))
    wire.take()
    session.onClose()
    venue.world.change(own, [{ side: 'bid', price: 5_100, size: 7_000_000 }])
    expect(wire.sent).toEqual([])
    const query = new URLSearchParams()
    const elsewhere = { method: 'GET', path: '/ws/user', query, headers: {}, body: '' }
    expect(venue.upstream.accept(elsewhere, wire)).toMatchObject({ status: 404 })
  })

  it('can be folded into the books of the world, and claims exactly them', () => {
    const price = fc.integer({ min: 1, max: 99 }).map((tick) => tick * 100)
    const size = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5_000_000_000 }))
    const side = fc.constantFrom('bid' as const, 'ask' as const)
    const change: fc.Arbitrary<Change> = fc.record({ side, price, size })
    const step = fc.record({
      changes: fc.uniqueArray(change, {
        minLength: 1,
        maxLength: 6,
        selector: ({ side, price }) => `${side}${price}`,
      }),
      trades: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 0),
      ticks: fc.integer({ min: 0, max: 19 }).map((roll) => roll === 0),
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
        const local = createTestVenue()
        const own = local.open()
        const tokens = local.tokens(own)
        const { wire } = local.connect(market(tokens, { custom_feature_enabled: true }))
        const fold = createFold()
        for (const { changes, trades, ticks } of steps) {
          local.world.at += 3
          const fill = { price: 5_000, size: 1_000, taker: 'sell' } as const
          local.world.change(own, changes, trades ? fill : undefined)
          if (ticks) local.world.tick(own, own.tick === 100 ? 10 : 100)
          for (const { text, payloads } of wire.sent.splice(0)) {
            fold.apply(JSON.parse(text) as Frame | Frame[])
            for (const payload of payloads) {
              if (payload.kind !== 'full' && payload.kind !== 'change') continue
              fold.claimed.set(payload.key, payload.book)
            }
          }
          const real = [own.book, mirrored(own.book)]
          expect(tokens.map((token) => fold.book(token))).toEqual(real)
          expect(tokens.map((token) => fold.claimed.get(token))).toEqual(real)
          const rest = tokens.map(
            (token_id) => local.get('/clob/book', { token_id }).value as WireBook,
          )
          expect(tokens.map((token) => fold.hashes.get(token))).toEqual(
            rest.map(({ hash }) => hash),
          )
          expect(fold.problems).toEqual([])
        }
      }),
      { numRuns: 80 },
    )
  })
})

/** Folds frames as a client does, and notes where best prices disagree with its book. */
function createFold() {
  const books = new Map<string, { BUY: Map<number, number>; SELL: Map<number, number> }>()
  const hashes = new Map<string, string>()
  const claimed = new Map<string, Book>()
  const problems: string[] = []

  function book(token: string): Book {
    const { BUY, SELL } = books.get(token)!
    const levels = (side: Map<number, number>) =>
      [...side].map(([price, size]) => ({ price, size }))
    return {
      bids: levels(BUY).toSorted((a, b) => b.price - a.price),
      asks: levels(SELL).toSorted((a, b) => a.price - b.price),
    }
  }

  function apply(frame: Frame | Frame[]): void {
    if (Array.isArray(frame)) {
      for (const one of frame) apply(one)
    } else if (frame.event_type === 'book') {
      const { bids, asks } = bookIn(frame)
      const side = (levels: Book['bids']) => new Map(levels.map(({ price, size }) => [price, size]))
      books.set(frame.asset_id, { BUY: side(bids), SELL: side(asks) })
      hashes.set(frame.asset_id, frame.hash)
    } else if (frame.event_type === 'price_change') {
      for (const { asset_id, side, price, size, hash } of frame.price_changes) {
        const levels = books.get(asset_id)![side]
        if (size === '0') levels.delete(parseScaled(price, 4))
        else levels.set(parseScaled(price, 4), parseScaled(size, 6))
        hashes.set(asset_id, hash)
      }
      for (const { asset_id, best_bid, best_ask } of frame.price_changes) {
        const { bids, asks } = book(asset_id)
        const own = [bids[0]?.price ?? 0, asks[0]?.price ?? 10_000]
        const said = [parseScaled(best_bid, 4), parseScaled(best_ask, 4)]
        if (own.join() !== said.join()) problems.push(`${asset_id}: ${said.join()}`)
      }
    }
  }

  return { apply, book, hashes, claimed, problems }
}
