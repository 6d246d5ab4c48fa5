import { beforeEach, describe, expect, it } from 'vitest'
import { START } from '../venuea/world.testing.ts'
import { createTestVenue, type TestVenue } from './venue.testing.ts'

type Market = {
  id: string
  slug: string
  conditionId: string
  question: string
  active: boolean
  closed: boolean
  acceptingOrders: boolean
  outcomes: string
  outcomePrices: string
  clobTokenIds: string
  endDate: string
  closedTime?: string
  umaResolutionStatus?: string
  bestBid?: number
  bestAsk: number
  volume: string
  volumeNum: number
}

describe('Gamma', () => {
  let venue: TestVenue
  beforeEach(() => {
    venue = createTestVenue()
  })

  const markets = (query?: Record<string, string> | [string, string][]): Market[] =>
    venue.get('/gamma/markets', query).value as Market[]

  function listMany(count: number): void {
    for (let round = 0; round < count; round++) {
      venue.world.list({ openTime: START + round * 300_000 })
    }
  }

  it('silently caps the limit at 100 and refuses a far offset', () => {
    listMany(230)
    expect(markets()).toHaveLength(20)
    expect(markets({ limit: '500' })).toHaveLength(100)
    expect(markets({ limit: '500', offset: '200' })).toHaveLength(30)
    const far = venue.get('/gamma/markets', { offset: '10001' })
    expect(far).toMatchObject({ status: 422, value: { type: 'validation error' } })
    expect(venue.get('/gamma/markets', { offset: '10000' }).status).toBe(200)
    expect(venue.get('/gamma/markets', { limit: 'many' }).status).toBe(422)
  })

  it('filters by names, repeated ones too', () => {
    listMany(5)
    const [a, b, c] = markets() as [Market, Market, Market]
    expect(markets({ slug: a.slug })).toEqual([a])
    const ids: [string, string][] = [
      ['condition_ids', b.conditionId],
      ['condition_ids', c.conditionId],
    ]
    expect(markets(ids)).toEqual([b, c])
    const [, down] = JSON.parse(c.clobTokenIds) as [string, string]
    expect(markets({ clob_token_ids: down })).toEqual([c])
    expect(markets({ condition_ids: '0x0' })).toEqual([])
    expect(a.slug).toBe(`btc-updown-5m-${START / 1000}`)
    expect(a.question).toBe('Bitcoin Up or Down - August 25, 8:00AM-8:05AM ET')
  })

  it('filters by times and flags', () => {
    listMany(5)
    const iso = (ms: number): string => new Date(ms).toISOString()
    const ends = { end_date_min: iso(START + 600_000), end_date_max: iso(START + 1_200_000) }
    expect(markets(ends).map(({ endDate }) => Date.parse(endDate) - START)).toEqual([
      600_000, 900_000, 1_200_000,
    ])
    expect(markets({ start_date_min: iso(venue.world.at) })).toHaveLength(5)
    expect(markets({ start_date_max: iso(venue.world.at - 1) })).toHaveLength(0)
    expect(venue.get('/gamma/markets', { end_date_min: 'soon' }).status).toBe(422)
    expect(markets({ active: 'true' })).toHaveLength(0)
    venue.world.phase(venue.world.propositions('venuec')[3]!, 'open')
    expect(markets({ active: 'true' })).toHaveLength(1)
    expect(markets({ active: 'false' })).toHaveLength(4)
    expect(venue.get('/gamma/markets', { active: 'maybe' }).status).toBe(422)
  })

  it('hides closed markets unless asked for them, also by name', () => {
    const market = venue.open()
    const [{ conditionId }] = markets() as [Market]
    venue.world.phase(market, 'closed')
    expect(markets()).toEqual([])
    expect(markets({ condition_ids: conditionId })).toEqual([])
    expect(markets({ condition_ids: conditionId, closed: 'true' })).toHaveLength(1)
    expect(venue.get('/gamma/events').value).toHaveLength(1)
  })

  it('orders by fields of the JSON and by nothing else', () => {
    listMany(3)
    const ends = markets({ order: 'endDate', ascending: 'false' }).map(({ endDate }) => endDate)
    expect(ends).toEqual(ends.toSorted().toReversed())
    expect(ends[0]).toBe(new Date(START + 900_000).toISOString().replace('.000', ''))
    const wrong = venue.get('/gamma/markets', { order: 'end_date' })
    expect(wrong.status).toBe(422)
    expect(wrong.value).toEqual({ type: 'validation error', error: 'order fields are not valid' })
  })

  it('shows one market by id and by slug', () => {
    venue.open()
    const [market] = markets() as [Market]
    expect(venue.get(`/gamma/markets/${market.id}`).value).toEqual(market)
    expect(venue.get(`/gamma/markets/slug/${market.slug}`).value).toEqual(market)
    expect(venue.get('/gamma/markets/1').status).toBe(404)
    expect(venue.get('/gamma/markets/slug/nothing').status).toBe(404)
    expect(venue.get('/gamma/nothing').status).toBe(404)
    const { value } = venue.get('/gamma/events')
    expect(value).toMatchObject([{ slug: market.slug, markets: [{ id: market.id }] }])
    expect(venue.get('/gamma/markets').bucket).toBe('gamma_markets')
  })

  it('shows an open market with its quotes and JSON inside of texts', () => {
    const market = venue.open()
    const fill = { price: 5_300, size: 2_500_000, taker: 'buy' } as const
    venue.world.change(market, [{ side: 'ask', price: 5_300, size: 1_000_000 }], fill)
    const { value, payloads } = venue.get('/gamma/markets')
    const [shown] = value as [Market]
    expect(shown).toMatchObject({
      outcomes: '["Up", "Down"]',
      outcomePrices: '["0.52", "0.48"]',
      active: true,
      closed: false,
      acceptingOrders: true,
      bestBid: 0.51,
      bestAsk: 0.53,
      spread: 0.02,
      lastTradePrice: 0.53,
      volume: '2.5',
      volumeNum: 2.5,
      orderPriceMinTickSize: 0.01,
    })
    expect(shown.clobTokenIds).toBe(`["${venue.tokens(market).join('", "')}"]`)
    expect(payloads).toEqual([{ kind: 'market', key: shown.conditionId, phase: 'open' }])
    venue.world.change(market, [
      ...market.book.bids.map(({ price }) => ({ side: 'bid' as const, price, size: 0 })),
      ...market.book.asks.map(({ price }) => ({ side: 'ask' as const, price, size: 0 })),
    ])
    const [empty] = markets() as [Market]
    expect(empty).toMatchObject({ bestAsk: 1, spread: 1 })
    expect(empty).not.toHaveProperty('bestBid')
  })

  it.each([
    ['first', '["1", "0"]', 'first'],
    ['second', '["0", "1"]', 'second'],
    ['tie', '["1", "0"]', 'first'],
  ] as const)('closes, proposes and resolves a market won by the %s', (winner, prices, shown) => {
    const market = venue.open()
    const [{ id }] = markets() as [Market]
    const show = () => {
      const { value, payloads } = venue.get(`/gamma/markets/${id}`)
      return { ...(value as Market), claim: payloads[0] }
    }
    venue.world.at = market.closeTime + 16_000
    venue.world.phase(market, 'closed')
    expect(show()).toMatchObject({
      closed: true,
      active: true,
      acceptingOrders: false,
      closedTime: '2026-08-25 12:05:16+00',
      claim: { phase: 'closed' },
    })
    expect(show()).not.toHaveProperty('umaResolutionStatus')
    venue.world.phase(market, 'determined', { winner, endPrice: '1' })
    expect(show()).toMatchObject({
      umaResolutionStatus: 'proposed',
      claim: { phase: 'determined' },
    })
    expect(show().claim).not.toHaveProperty('winner')
    expect(show().outcomePrices).not.toBe(prices)
    venue.world.phase(market, 'disputed')
    expect(show()).toMatchObject({ umaResolutionStatus: 'disputed' })
    venue.world.phase(market, 'resolved')
    expect(show()).toMatchObject({
      umaResolutionStatus: 'resolved',
      umaEndDate: '2026-08-25T12:05:16Z',
      outcomePrices: prices,
      claim: { phase: 'resolved', winner: shown },
    })
  })
})
