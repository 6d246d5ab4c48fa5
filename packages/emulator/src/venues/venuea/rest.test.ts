import { beforeEach, describe, expect, it } from 'vitest'
import type { Proposition, Upstream } from '../../core/upstream.ts'
import { EMULATED_VENUE_A } from './index.ts'
import { CREDENTIALS, signed } from './signed.testing.ts'
import { createTestWorld, ladder, START, type TestWorld } from './world.testing.ts'

type Outcome = {
  name: string
  price: string
  chance: string
  index: number
  tokenId: string
  winner?: boolean
}
type Market = {
  marketId: number
  status: string
  tradingStatus: string
  externalId: string
  outcomes: [Outcome, Outcome]
}
type Topic = {
  marketTopicId: number
  title: string
  status: string
  startDate: number
  endDate: number
  participantCount: number
  tradeVolume: string
  liquidity: string
  variantData: { startPrice: string | null; endPrice: string | null }
  timeline: { marketTopicId: number; startDate: number; endDate: number }[]
  markets: [Market]
}
type Page = {
  marketTopics: Topic[]
  total: number
  offset: number
  limit: number
  hasMore: boolean
}

describe('the routes of venue A', () => {
  let world: TestWorld
  let upstream: Upstream

  beforeEach(() => {
    world = createTestWorld('venuea')
    upstream = EMULATED_VENUE_A.create(world, { speed: 1, credentials: CREDENTIALS })
    world.listen((event) => upstream.onEvent(event))
  })

  function ask(name: string, parameters?: Record<string, string>) {
    const { status, body, payloads = [] } = upstream.answer(signed(world, name, parameters))
    return { status, value: JSON.parse(body) as unknown, payloads }
  }

  function opened(): Proposition {
    const round = world.list()
    world.phase(round, 'open')
    world.change(round, ladder(5_200, 5))
    return round
  }

  const list = (parameters?: Record<string, string>): Page =>
    ask('market/list', parameters).value as Page

  function detailOf(topic: Topic) {
    const { value, payloads } = ask('market/detail', {
      marketTopicId: String(topic.marketTopicId),
    })
    return { topic: value as Topic, payloads }
  }

  it('pages through the list and says whether there is more', () => {
    for (let round = 0; round < 45; round++) world.list({ openTime: START + round * 300_000 })
    expect(list()).toMatchObject({ total: 45, offset: 0, limit: 20, hasMore: true })
    const seen = new Set<number>()
    for (let offset = 0; ; offset += 20) {
      const page = list({ sortBy: 'END_DATE', orderBy: 'ASC', offset: String(offset) })
      for (const { marketTopicId } of page.marketTopics) seen.add(marketTopicId)
      if (!page.hasMore) break
    }
    expect(seen.size).toBe(45)
    const ends = list({ sortBy: 'END_DATE', orderBy: 'ASC', limit: '100' }).marketTopics
    expect(ends.map(({ endDate }) => endDate)).toEqual(
      ends.map(({ endDate }) => endDate).toSorted((a, b) => a - b),
    )
    expect(list({ l1Category: 'sports' })).toMatchObject({ total: 0, hasMore: false })
    expect(ask('market/list', { limit: '101' }).status).toBe(400)
    expect(ask('market/list', { limit: '0' }).status).toBe(400)
    expect(ask('market/list', { sortBy: 'LUCK' }).status).toBe(400)
    expect(ask('market/list', { offset: '-1' }).status).toBe(400)
  })

  it('finds rounds by their words, newest first', () => {
    world.list()
    world.list({ asset: 'ETH' })
    world.list({ openTime: START + 300_000 })
    const found = ask('market/search', { query: 'bitcoin', topK: '5' }).value as Topic[]
    expect(found.map(({ startDate }) => startDate)).toEqual([START + 300_000, START])
    expect(ask('market/search', { query: 'x', topK: '51' }).status).toBe(400)
  })

  it('gives every name once, the same for the same seed', () => {
    for (let round = 0; round < 30; round++) world.list({ openTime: START + round * 300_000 })
    const topics = list({ limit: '100' }).marketTopics
    const names = topics.flatMap(
      ({ marketTopicId, markets: [{ marketId, externalId, outcomes }] }) => [
        String(marketTopicId),
        String(marketId),
        externalId,
        ...outcomes.map(({ tokenId }) => tokenId),
      ],
    )
    expect(new Set(names).size).toBe(30 * 5)
    const again = createTestWorld('venuea')
    const other = EMULATED_VENUE_A.create(again, { speed: 1, credentials: CREDENTIALS })
    for (let round = 0; round < 30; round++) again.list({ openTime: START + round * 300_000 })
    const { body } = other.answer(signed(again, 'market/list', { limit: '100' }))
    expect((JSON.parse(body) as Page).marketTopics).toEqual(topics)
  })

  it('names the neighbouring rounds of the same line', () => {
    world.list({ asset: 'ETH' })
    for (let round = 0; round < 4; round++) world.list({ openTime: START + round * 300_000 })
    const own = list().marketTopics.find(
      ({ startDate, title }) => startDate === START + 300_000 && title.startsWith('Bitcoin'),
    )!
    expect(detailOf(own).topic.timeline.map(({ startDate }) => startDate)).toEqual([
      START,
      START + 600_000,
      START + 900_000,
    ])
  })

  it('shows one ladder through both tokens, best first', () => {
    const round = opened()
    const [{ markets }] = list().marketTopics as [Topic]
    const { marketId, outcomes } = markets[0]
    const books = outcomes.map(({ tokenId }) => {
      const { value, payloads } = ask('order-book', {
        vendor: 'PREDICT_FUN',
        marketId: String(marketId),
        tokenId,
      })
      expect(payloads).toEqual([{ kind: 'full', key: String(marketId), book: round.book }])
      return value as { outcome: string; timestamp: number; bids: Level[]; asks: Level[] }
    })
    type Level = { price: string; size: string }
    expect(books[0]).toMatchObject({ outcome: 'Up', timestamp: world.at })
    expect(books[0]!.bids.slice(0, 2)).toEqual([
      { price: '0.51', size: '12.345678' },
      { price: '0.5', size: '24.691356' },
    ])
    expect(books[1]!.bids[0]).toEqual({ price: '0.47', size: '13.345678' })
    expect(books[1]!.asks[0]).toEqual({ price: '0.49', size: '12.345678' })
    const wrong = { vendor: 'PREDICT_FUN', marketId: String(marketId), tokenId: '1' }
    expect(ask('order-book', wrong).status).toBe(400)
    const topicId = list().marketTopics[0]!.marketTopicId
    expect(ask('order-book', { ...wrong, marketId: String(topicId) }).status).toBe(400)
    expect(ask('order-book', { ...wrong, vendor: 'OTHER' }).status).toBe(400)
  })

  it('tells chance and price apart, and claims what it shows', () => {
    const round = opened()
    world.change(round, [{ side: 'ask', price: 5_300, size: 0 }])
    const { marketTopics } = list()
    const { outcomes, marketId } = marketTopics[0]!.markets[0]
    expect(outcomes.map(({ price }) => price)).toEqual(['0.525', '0.475'])
    expect(outcomes[0].chance).not.toBe(outcomes[0].price)
    const { payloads } = ask('market/list')
    expect(payloads).toEqual([
      { kind: 'market', key: String(marketId), phase: 'open' },
      ...outcomes.flatMap(({ tokenId, price, chance }) => [
        { kind: 'sample', key: tokenId, metric: 'price', value: price },
        { kind: 'sample', key: tokenId, metric: 'chance', value: chance },
      ]),
    ])
  })

  it('knows the last trade only after one', () => {
    const round = opened()
    const [{ markets }] = list().marketTopics as [Topic]
    const { marketId, outcomes } = markets[0]
    const last = () => ask('order-book/last-trade-price', { marketId: String(marketId) })
    expect(last()).toMatchObject({ value: { marketId, lastTradePrice: null }, payloads: [] })
    const fill = { price: 5_300, size: 2_000_000, taker: 'buy' } as const
    world.change(round, [{ side: 'ask', price: 5_300, size: 1_000_000 }], fill)
    expect(last().value).toEqual({ marketId, lastTradePrice: '0.53' })
    expect(last().payloads).toEqual([
      { kind: 'sample', key: outcomes[0].tokenId, metric: 'last_trade', value: '0.53' },
    ])
    const [topic] = list().marketTopics as [Topic]
    expect(topic).toMatchObject({ participantCount: 1, tradeVolume: '2.00' })
    expect(topic.liquidity).toMatch(/^\d+\.\d\d$/)
  })

  it.each([
    ['first', [true, false], ['1', '0']],
    ['second', [false, true], ['0', '1']],
    ['tie', [false, false], ['0.5', '0.5']],
  ] as const)('resolves a round won by the %s outcome', (winner, flags, prices) => {
    const round = world.list()
    const [listed] = list().marketTopics as [Topic]
    expect(detailOf(listed).topic.variantData).toMatchObject({ startPrice: null, endPrice: null })
    expect(listed.markets[0].tradingStatus).toBe('MATCHING_NOT_ENABLED')
    world.phase(round, 'open')
    expect(detailOf(listed).topic.variantData).toMatchObject({ startPrice: '63123.54' })
    world.phase(round, 'closed')
    expect(detailOf(listed).topic.markets[0]).toMatchObject({
      status: 'REGISTERED',
      tradingStatus: 'CLOSED',
    })
    world.phase(round, 'determined', { winner, endPrice: '63200.01' })
    const determined = detailOf(listed).topic
    expect(detailOf(listed).payloads[0]).toMatchObject({ kind: 'market', phase: 'closed' })
    expect(determined.variantData.endPrice).toBe('63200.01')
    expect(determined.status).toBe('REGISTERED')
    expect(determined.markets[0].outcomes[0]).not.toHaveProperty('winner')
    world.phase(round, 'resolved')
    const { topic, payloads } = detailOf(listed)
    expect(topic.status).toBe('RESOLVED')
    const { outcomes, marketId } = topic.markets[0]
    expect(outcomes.map((outcome) => outcome.winner)).toEqual(flags)
    expect(outcomes.map(({ price }) => price)).toEqual(prices)
    expect(outcomes.map(({ chance }) => chance)).toEqual(prices)
    const key = String(marketId)
    expect(payloads[0]).toEqual({ kind: 'market', key, phase: 'resolved', winner })
    expect(list().total).toBe(0)
  })

  it('answers unknown routes without code', () => {
    expect(ask('market/unknown')).toMatchObject({ status: 404, value: { error: 'Not Found' } })
    const post = { ...signed(world, 'category/list'), method: 'POST' }
    expect(upstream.answer(post).status).toBe(405)
    expect(ask('market/detail', { marketTopicId: '1' }).status).toBe(400)
  })

  it('says where it is and what its instruments are called', () => {
    const round = opened()
    const { marketId } = list().marketTopics[0]!.markets[0]
    expect(upstream.keys?.(round)).toEqual([String(marketId)])
    expect(EMULATED_VENUE_A.addresses('http://127.0.0.1:1')).toEqual({
      rest: 'http://127.0.0.1:1/sapi/v1/w3w/wallet/prediction',
      ws: 'ws://127.0.0.1:1/sapi/wss',
      chain: 'http://127.0.0.1:1/chain',
    })
  })
})
