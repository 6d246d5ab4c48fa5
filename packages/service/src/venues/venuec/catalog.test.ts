import { toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { codeOf } from '../capture/refusals.testing.ts'
import {
  AT,
  clobMarket,
  DOWN,
  gammaMarket,
  MARKET,
  resolvedFields,
  SLUG,
  UP,
  type Draft,
} from './fixtures.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'

const normalizer = createVenueCNormalizer()
const ask = (kind: string, value: unknown, received: Micros = AT.received) =>
  normalizer.answer({ kind }, value, { ...AT, received })

function recordOf(kind: string, value: unknown, received?: Micros): MarketRecord {
  const { events, problems } = ask(kind, value, received)
  expect(problems).toStrictEqual([])
  const [event] = events
  if (events.length !== 1 || event?.kind !== 'market') throw new Error('not one revision')
  return event.record
}

const gamma = (changes: Draft = {}, received?: Micros) =>
  recordOf('gamma_market', gammaMarket(changes), received)
const clob = (changes: Draft = {}) => recordOf('clob_market', clobMarket(changes))
const at = (text: string) => toMicros(Date.parse(text) * 1000)
const outcomes = [
  { label: 'Up', index: 0, tokenId: UP },
  { label: 'Down', index: 1, tokenId: DOWN },
]

describe('a market of Gamma', () => {
  it('becomes a record with every identifier', () => {
    const market = gammaMarket()
    expect(recordOf('gamma_market', market)).toStrictEqual({
      venue: 'venuec',
      marketId: MARKET,
      title: market['question'],
      question: market['question'],
      status: 'open',
      statusNative: 'active accepting_orders',
      openTime: at('2026-09-21T14:10:00Z'),
      closeTime: at('2026-09-21T14:15:00Z'),
      createdTime: toMicros(1_789_913_345_044_029),
      resolution: { state: 'none', source: 'https://example.com/btc-usd' },
      volume: '30335.869374999984',
      liquidity: '120.5',
      outcomes,
      units: {
        priceUnit: 'USDC per share',
        sizeUnit: 'shares',
        volumeUnit: 'USDC',
        collateral: 'USDC',
      },
      eventId: '260654',
      event: { slug: 'btc-updown-5m-1789999800' },
      conditionId: MARKET,
      questionId: market['questionID'],
      gammaMarketId: '2458626',
      slug: SLUG,
      asset: 'BTC',
      window: '5m',
      native: { gamma: market },
    })
  })

  it.each([
    ['resolved', 'final', {}, ['0', '1'], 'Down'],
    ['resolved', 'final', { outcomePrices: '["1", "0"]' }, ['1', '0'], 'Up'],
    ['resolved', 'final', { outcomePrices: '["0.50", "0.5"]' }, ['0.5', '0.5'], undefined],
    ['resolved', 'final', { outcomePrices: '["0", "0"]' }, undefined, undefined],
    ['resolved', 'final', { outcomePrices: '["0.9995", "0.0005"]' }, undefined, undefined],
    ['resolved', 'final', { outcomePrices: '["1"]' }, undefined, undefined],
    ['resolved', 'final', { outcomePrices: null }, undefined, undefined],
    ['resolved', 'final', { acceptingOrders: true }, ['0', '1'], 'Down'],
    ['determined', 'proposed', { umaResolutionStatus: 'proposed' }, undefined, undefined],
    ['disputed', 'disputed', { umaResolutionStatus: 'disputed' }, undefined, undefined],
    ['closed', 'none', { umaResolutionStatus: undefined }, undefined, undefined],
    ['closed', 'none', { umaResolutionStatus: null, acceptingOrders: true }, undefined, undefined],
  ])('that closed is %s, %s with %j', (status, state, changes, payouts, winner) => {
    const record = gamma({ ...resolvedFields(), ...changes })
    expect(record.status).toBe(status)
    expect(record.resolution?.state).toBe(state)
    expect(record.resolution?.payouts).toStrictEqual(payouts)
    expect(record.winningOutcome).toBe(winner)
    const settled = state === 'final' ? at('2026-09-21T14:15:16Z') : undefined
    expect(record.resolvedTime).toBe(settled)
    expect(record.resolution?.times?.settled).toBe(settled)
  })

  it.each([
    ['open', {}, '2026-09-21T14:20:00Z'],
    ['scheduled', { active: false, acceptingOrders: false }, '2026-09-20T14:10:00Z'],
    ['scheduled', { acceptingOrders: false }, '2026-09-20T14:10:00Z'],
    [
      'scheduled',
      { acceptingOrders: false, acceptingOrdersTimestamp: null },
      '2026-09-21T14:12:00Z',
    ],
    ['paused', { acceptingOrders: false }, '2026-09-21T14:12:00Z'],
    ['closed', { acceptingOrders: false }, '2026-09-21T14:15:00Z'],
    ['closed', { archived: true }, '2026-09-21T14:12:00Z'],
    [undefined, { acceptingOrders: undefined }, '2026-09-21T14:12:00Z'],
    [undefined, { closed: undefined }, '2026-09-21T14:12:00Z'],
  ])('that has not closed is %s with %j at %s', (status, changes, time) => {
    const record = gamma(changes, at(time))
    expect(record.status).toBe(status)
    expect(record.winningOutcome).toBeUndefined()
  })

  it('does not read prices as payouts while it trades', () => {
    const record = gamma({ outcomePrices: '["1", "0"]', umaResolutionStatus: 'resolved' })
    expect(record.status).toBe('open')
    expect(record.resolution?.payouts).toBeUndefined()
  })

  it.each([
    [{ eventStartTime: undefined }, '2026-09-21T14:10:00Z'],
    [{ slug: 'chelsea-vs-porto' }, '2026-09-20T14:10:58.730402Z'],
    [{ slug: 'chelsea-vs-porto', startDate: undefined }, '2026-09-21T14:10:00Z'],
    [
      { eventStartTime: undefined, slug: 'will-it-rain', startDate: undefined },
      '2026-09-21T14:10:00Z',
    ],
    [
      { eventStartTime: undefined, slug: 'will-it-rain', events: [] },
      '2026-09-20T14:10:58.730402Z',
    ],
  ])('finds when it opens with %j', (changes, time) => {
    expect(gamma(changes).openTime).toBe(at(time) + (time.endsWith('402Z') ? 402 : 0))
  })

  it('omits values that a record cannot hold, and keeps them in native', () => {
    const record = gamma({ endDate: '9999-01-01T00:00:00Z', volume: 1e-7, liquidity: undefined })
    expect(record).not.toHaveProperty('closeTime')
    expect(record).not.toHaveProperty('volume')
    expect(record).not.toHaveProperty('liquidity')
    expect(record.native).toMatchObject({ gamma: { endDate: '9999-01-01T00:00:00Z' } })
  })

  it('accepts lists that are not strings, unknown tokens and missing labels', () => {
    expect(gamma({ outcomes: ['Up', 'Down'], clobTokenIds: [UP, DOWN] }).outcomes).toStrictEqual(
      outcomes,
    )
    expect(gamma({ clobTokenIds: undefined }).outcomes).toStrictEqual([
      { label: 'Up', index: 0 },
      { label: 'Down', index: 1 },
    ])
    expect(gamma({ outcomes: undefined }).outcomes).toStrictEqual([])
  })

  it.each([
    ['invalid_id', { conditionId: '' }],
    ['invalid_id', { conditionId: undefined }],
    ['invalid_message', { outcomes: '["Up"' }],
    ['invalid_message', { outcomes: '{}' }],
    ['invalid_message', { outcomes: '[5, 6]' }],
    ['invalid_message', { outcomes: ' '.repeat(100_000) }],
    ['invalid_id', { clobTokenIds: '[5, 6]' }],
    ['invalid_time', { endDate: 'soon' }],
    ['invalid_time', { endDate: 5 }],
    ['invalid_message', { closed: 'yes' }],
    ['invalid_decimal', { volume: 'much' }],
    ['unrepresentable', { volume: '9'.repeat(100) }],
    ['invalid_message', { events: 5 }],
  ])('is refused with %s when it says %j', (code, changes) => {
    expect(codeOf(() => ask('gamma_market', gammaMarket(changes)))).toBe(code)
  })
})

describe('answers of several markets', () => {
  it('are read market by market', () => {
    const { events, problems } = ask('gamma_markets', [gammaMarket(), { conditionId: 5 }, null])
    expect(events).toHaveLength(1)
    expect(problems.map(({ where, error }) => [where, error.code])).toStrictEqual([
      ['[1]', 'invalid_id'],
      ['[2]', 'invalid_message'],
    ])
  })

  it.each([
    ['gamma_event', (event: Draft): unknown => event, '.markets[1]'],
    ['gamma_events', (event: Draft): unknown => [event], '[0].markets[1]'],
    ['gamma_events', (event: Draft): unknown => ({ events: [event] }), 'events[0].markets[1]'],
  ])('of %s know their event: %#', (kind, wrap, where) => {
    const event = { id: '99', slug: 'an-event', startTime: '2026-09-21T14:00:00Z' }
    const unknown = { events: undefined, eventStartTime: undefined, startDate: undefined }
    const market = gammaMarket({ ...unknown, slug: 'a' })
    const { events, problems } = ask(kind, wrap({ ...event, markets: [market, 5] }))
    expect(problems).toMatchObject([{ where }])
    expect(events).toMatchObject([
      { record: { eventId: '99', openTime: at('2026-09-21T14:00:00Z'), native: { event } } },
    ])
  })

  it('are refused where they are not markets', () => {
    expect(codeOf(() => ask('gamma_markets', 'none'))).toBe('invalid_message')
    expect(codeOf(() => ask('gamma_events', { events: 5 }))).toBe('invalid_message')
    expect(codeOf(() => ask('clob_markets', []))).toBe('invalid_message')
    expect(codeOf(() => ask('clob_markets', { data: {} }))).toBe('invalid_message')
  })

  it('of CLOB are pages', () => {
    const { events, problems } = ask('clob_markets', { data: [clobMarket(), 5], next_cursor: 'x' })
    expect(events).toHaveLength(1)
    expect(problems).toMatchObject([{ where: 'data[1]' }])
  })
})

describe('a market of CLOB', () => {
  it('has no close time and, without a winner, no resolution', () => {
    const record = clob()
    expect(record).toMatchObject({
      marketId: MARKET,
      status: 'open',
      slug: SLUG,
      asset: 'BTC',
      openTime: at('2026-09-21T14:10:00Z'),
      outcomes,
      native: { clob: clobMarket() },
    })
    expect(record).not.toHaveProperty('closeTime')
    expect(record).not.toHaveProperty('resolution')
    expect(clob({ closed: true })).toMatchObject({ status: 'closed' })
    expect(clob({ closed: true })).not.toHaveProperty('resolution')
  })

  it('is resolved when it is closed and names one winner, even if it accepts orders', () => {
    const tokens = [
      { token_id: UP, outcome: 'Up', price: 1, winner: true },
      { token_id: DOWN, outcome: 'Down', price: 0, winner: false },
    ]
    expect(clob({ closed: true, accepting_orders: true, tokens })).toMatchObject({
      status: 'resolved',
      statusNative: 'active accepting_orders closed resolved',
      winningOutcome: 'Up',
      resolution: { state: 'final', payouts: ['1', '0'] },
    })
    expect(clob({ tokens })).toMatchObject({ status: 'open' })
    expect(clob({ tokens })).not.toHaveProperty('winningOutcome')
  })

  it('has no outcomes while its tokens are empty', () => {
    const tokens = [{ token_id: '', outcome: '', price: 0, winner: false }]
    expect(clob({ tokens }).outcomes).toStrictEqual([])
    expect(clob({ tokens: null }).outcomes).toStrictEqual([])
  })

  it('is read in the compact form', () => {
    const compactForm = {
      c: MARKET,
      t: [
        { t: UP, o: 'Up' },
        { t: DOWN, o: 'Down' },
      ],
      mts: 0.01,
      ao: true,
    }
    const record = recordOf('clob_market', compactForm)
    expect(record).toMatchObject({ marketId: MARKET, outcomes, native: { clob_info: compactForm } })
    expect(record).not.toHaveProperty('status')
  })

  it.each([
    ['invalid_id', { condition_id: 5 }],
    ['invalid_message', { tokens: 5 }],
    ['invalid_message', { tokens: [5] }],
    ['invalid_message', { tokens: [{ winner: 'yes' }] }],
    ['invalid_message', { market_slug: 5 }],
  ])('is refused with %s when it says %j', (code, changes) => {
    expect(codeOf(() => ask('clob_market', clobMarket(changes)))).toBe(code)
  })
})
