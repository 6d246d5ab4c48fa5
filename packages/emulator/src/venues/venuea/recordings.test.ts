import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EMULATED_VENUE_A } from './index.ts'
import { shapeDifferences } from './shape.testing.ts'
import { CREDENTIALS, handshake, signed } from './signed.testing.ts'
import { createTestWire, createTestWorld, ladder, START } from './world.testing.ts'

/** Documented and recorded answers, found through PRIORBOOK_RECORDINGS and never committed. */
const root = process.env['PRIORBOOK_RECORDINGS']
const folder = join(resolve(root ?? '.'), 'venuea/binance')

if (root === undefined) {
  console.warn('shapes of venue A skipped: set PRIORBOOK_RECORDINGS to the folder of recordings')
}

describe.skipIf(root === undefined)('the shapes of venue A', () => {
  const world = createTestWorld('venuea')
  const upstream = EMULATED_VENUE_A.create(world, { speed: 1, credentials: CREDENTIALS })
  world.listen((event) => upstream.onEvent(event))
  const before = world.list({ openTime: START - 300_000 })
  const round = world.list()
  world.phase(before, 'open')
  world.phase(round, 'open')
  world.change(round, ladder(5_250, 20, 10))
  const fill = { price: 5_260, size: 123_000, taker: 'buy' } as const
  world.change(round, [{ side: 'ask', price: 5_260, size: 17_000 }], fill)
  const marketId = upstream.keys(round)[0]!
  world.phase(before, 'determined', { winner: 'first', endPrice: '63200.01' })

  const ask = (name: string, parameters?: Record<string, string>): unknown =>
    JSON.parse(upstream.answer(signed(world, name, parameters)).body)
  const read = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), 'utf8'))

  type Topic = { marketTopicId: number; markets: { marketId: number; outcomes: Token[] }[] }
  type Token = { tokenId: string }
  const { marketTopics } = ask('market/list') as { marketTopics: Topic[] }
  const topic = marketTopics.find((one) => String(one.markets[0]!.marketId) === marketId)!
  const tokenId = topic.markets[0]!.outcomes[0]!.tokenId
  type Documented = { variantData: { endPrice: string | null }; markets: unknown[] }
  const readDetail = (): Documented => read('doc_examples/market_detail.json') as Documented

  it('lists categories as documented', () => {
    const shown = [ask('category/list')]
    expect(shapeDifferences(shown, [read('doc_examples/category_list.json')])).toEqual([])
  })

  it('shows a topic as documented', () => {
    const topics = marketTopics.map(({ marketTopicId }) =>
      ask('market/detail', { marketTopicId: String(marketTopicId) }),
    )
    expect(topics).toHaveLength(2)
    // The end price is null until the round has one.
    const documented = readDetail()
    const running = readDetail()
    running.variantData.endPrice = null
    const differences = shapeDifferences(topics, [documented, running], { anyText: true })
    expect(differences).toEqual([])
  })

  it('lists and finds topics with the documented fields, their markets as in the detail', () => {
    const full = JSON.stringify(readDetail().markets[0])
    for (const [name, file, parameters] of [
      ['market/list', 'market_list', undefined],
      ['market/search', 'market_search', { query: 'bitcoin' }],
    ] as const) {
      // The examples leave the markets out.
      const example = JSON.stringify(read(`doc_examples/${file}.json`)).replaceAll('{}', full)
      const shown = [ask(name, parameters)]
      expect(shapeDifferences(shown, [JSON.parse(example)], { anyText: true })).toEqual([])
    }
  })

  it('shows a book like the recorded one', () => {
    const book = ask('order-book', { vendor: 'PREDICT_FUN', marketId, tokenId })
    const recorded = read('recorded/order_book_5992559_yes_2026-07-29.json')
    expect(shapeDifferences([book], [recorded])).toEqual([])
    for (const value of [book, recorded]) {
      const { bids, asks } = value as Record<'bids' | 'asks', { price: string }[]>
      expect(Number(bids[0]!.price)).toBeGreaterThan(Number(bids[1]!.price))
      expect(Number(asks[0]!.price)).toBeLessThan(Number(asks[1]!.price))
    }
  })

  it('shows the last trade like the recorded one', () => {
    const last = ask('order-book/last-trade-price', { marketId })
    expect(shapeDifferences([last], [read('recorded/last_trade_price_2860.json')])).toEqual([])
  })

  it('pushes what the documentation of the socket shows', () => {
    const wire = createTestWire()
    upstream.accept(handshake(world, `web3_prediction_orderbook_${marketId}`), wire)
    const [frame] = wire.take() as [{ type: string; topic: string; data: string }]
    expect(Object.keys(frame)).toEqual(['type', 'topic', 'data'])
    expect(Object.keys(JSON.parse(frame.data) as object)).toEqual([
      'msgType',
      'marketId',
      'updateTimestampMs',
      'asks',
      'bids',
    ])
    expect(JSON.stringify(frame).length).toBeLessThan(4_096)
  })
})
