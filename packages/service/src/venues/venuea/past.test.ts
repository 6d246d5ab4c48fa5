import {
  DATASET_FLOORS,
  fromMillis,
  parseMicros,
  type Json,
  type MarketRevision,
} from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { createVenueANormalizer } from './normalize.ts'
import { catalogueFloor, isComplete, pastDetailCall, pastListCall, readNeighbours } from './past.ts'
import { roundObject } from './upstream.testing.ts'

const MINUTE = 60_000
const NOW = Date.now()
const normalizer = createVenueANormalizer()
const at = { received: fromMillis(NOW), journal: 7 }
const scope = { asset: 'BTC', start: fromMillis(NOW - 60 * MINUTE), end: fromMillis(NOW) }

type Draft = { [key: string]: Json }

function past(id: number, changes: { topic?: Draft; market?: Draft } = {}): Draft {
  const outcomes = [
    { name: 'Up', index: 0, tokenId: `${id}01`, price: '1', chance: '1', winner: true },
    { name: 'Down', index: 1, tokenId: `${id}02`, price: '0', chance: '0', winner: false },
  ]
  return roundObject(id, 0, 0, {
    topic: {
      publishedAt: NOW - 60 * MINUTE,
      startDate: NOW - 30 * MINUTE,
      endDate: NOW - 15 * MINUTE,
      variantData: { startPrice: '60000.5', endPrice: '60001', priceFeedSymbol: 'BTCUSDT' },
      timeline: [{ marketTopicId: id + 1, startDate: NOW - 15 * MINUTE, endDate: NOW }],
      ...changes.topic,
    },
    market: {
      status: 'RESOLVED',
      tradingStatus: 'CLOSED',
      tradeVolume: '12.50',
      liquidity: '3.10',
      outcomes,
      ...changes.market,
    },
  })
}

const detail = (value: unknown) =>
  normalizer.answer(pastDetailCall(scope, '5').request, value, at).events as MarketRevision[]
const list = (...marketTopics: Draft[]) =>
  normalizer.answer(pastListCall(scope, 0).request, { marketTopics }, at).events as MarketRevision[]

describe('the details of a past round', () => {
  it('give a revision of its market and no samples', () => {
    const [revision, ...more] = detail(past(5))
    expect(more).toEqual([])
    expect(revision).toMatchObject({ kind: 'market', ...at })
    expect(revision!.record).toMatchObject({
      marketId: '1005',
      topicId: '5',
      status: 'resolved',
      winningOutcome: 'Up',
      volume: '12.5',
      liquidity: '3.1',
      resolution: {
        state: 'final',
        payouts: ['1', '0'],
        reference: { startPrice: '60000.5', endPrice: '60001' },
      },
    })
  })

  it('give the same record after other rounds were listed', () => {
    const later = past(5, { topic: { timeline: [] } })
    expect(JSON.stringify(detail(later))).toBe(JSON.stringify(detail(past(5))))
    expect(detail(past(5))[0]!.record.native).toMatchObject({
      topic: { variantData: { endPrice: '60001' } },
      market: { marketId: 1005 },
    })
  })

  it.each<[string, Draft]>([
    ['of another coin', { symbol: 'ETHUSDT' }],
    ['before the start', { startDate: NOW - 61 * MINUTE, endDate: NOW - 46 * MINUTE }],
    ['after the end', { startDate: NOW - MINUTE, endDate: NOW + MINUTE }],
    ['without times', { startDate: null, endDate: null }],
  ])('are left out for a round %s', (_, topic) => {
    expect(detail(past(5, { topic }))).toEqual([])
  })

  it('report their malformed parts', () => {
    const value = past(5, { market: { marketId: { deep: [] } } })
    const { events, problems } = normalizer.answer(pastDetailCall(scope, '5').request, value, at)
    expect(events).toEqual([])
    expect(problems).toHaveLength(1)
    expect(() => detail({ code: -1 })).toThrow('topic')
  })
})

describe('a page of the list', () => {
  it('gives past rounds of the coin, without fields that would replace those of the details', () => {
    const revisions = list(
      past(5),
      past(6, { topic: { symbol: 'BNBUSDT' } }),
      past(7, { topic: { endDate: NOW + 1 } }),
    )
    expect(revisions.map(({ record }) => record.marketId)).toEqual(['1005'])
    expect(revisions[0]!.record.native).toEqual({})
  })
})

describe('a round is complete', () => {
  const record = (changes: Parameters<typeof past>[1]) => detail(past(5, changes))[0]!.record
  it('with its result and the details about reference prices', () => {
    expect(isComplete(record({}))).toBe(true)
    const unsaid = { variantData: { startPrice: '1', endPrice: null } }
    expect(isComplete(record({ topic: unsaid }))).toBe(true)
    expect(isComplete(record({ market: { status: 'REMOVED' } }))).toBe(true)
  })

  it('not from the list alone, nor before its resolution', () => {
    expect(isComplete(list(past(5, { topic: { variantData: null } }))[0]!.record)).toBe(false)
    expect(isComplete(record({ topic: { variantData: null } }))).toBe(false)
    const open = { status: 'REGISTERED', outcomes: [] }
    expect(isComplete(record({ market: open }))).toBe(false)
  })
})

describe('neighbours', () => {
  const own = { startDate: 1000, endDate: 1300 }
  it('are the rounds of the same length that the timeline names', () => {
    const timeline = [
      { marketTopicId: 1, startDate: 700, endDate: 1000 },
      { marketTopicId: '2', endDate: 700 },
      { marketTopicId: 3, startDate: 100, endDate: 1000 },
      { marketTopicId: {}, startDate: 700, endDate: 1000 },
      { startDate: 700, endDate: 1000 },
      { marketTopicId: 4, startDate: 'x', endDate: 'y' },
      null,
    ]
    expect(readNeighbours({ ...own, timeline })).toEqual([
      { topicId: '1', startMs: 700, endMs: 1000 },
      { topicId: '2', startMs: 400, endMs: 700 },
    ])
  })

  it('are empty without a timeline', () => {
    expect(readNeighbours(own)).toEqual([])
    expect(readNeighbours({ timeline: [{ marketTopicId: 1, endDate: 5 }] })).toEqual([])
  })
})

describe('the floors', () => {
  it('are those of the interface document', () => {
    expect(catalogueFloor('BTC')).toBe(parseMicros('2026-05-05T00:00:00Z'))
    expect(catalogueFloor('ETH')).toBe(parseMicros('2026-06-29T00:00:00Z'))
    expect(catalogueFloor('BNB')).toBe(catalogueFloor('ETH'))
    expect(catalogueFloor('SOL')).toBeUndefined()
    const floors = DATASET_FLOORS.filter(({ venue }) => venue === 'venuea')
    const inferred = floors.filter(({ yearInferred }) => yearInferred)
    expect(inferred.map(({ dataset }) => dataset)).toEqual(['metrics', 'books', 'books'])
  })
})
