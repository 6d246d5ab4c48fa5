import { FLAGS, printScaled, VENUES, type Micros, type Trade } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { createVenueANormalizer } from '../normalize.ts'
import { EXCHANGE, hashOf, rawFill, timeOf, type FillFacts } from './chain.testing.ts'
import { CHAIN_LOGS, CHAIN_LOST, printCheckpoint, printLogs, printReorganized } from './requests.ts'

const { priceDecimals, sizeDecimals } = VENUES.venuea
const AT = { received: 1_790_000_200_000_000 as Micros, journal: 9 }
const NEXT = { ordinal: 4, block: 110, hash: 5, time: timeOf(110) }

function requestOf(more: object = {}, decimals = 18) {
  const context = {
    from: 91,
    to: 110,
    exchanges: [EXCHANGE],
    decimals,
    tokens: new Map([
      ['7', { market: '81', outcome: 0 }],
      ['8', { market: '81', outcome: 1 }],
    ]),
    times: new Map([[100, timeOf(100)]]),
    moved: new Set<string>(),
  }
  return { ...printLogs(CHAIN_LOGS, context), checkpoint: printCheckpoint(NEXT), ...more }
}

function read(result: unknown, request = requestOf(), at = AT) {
  return createVenueANormalizer().answer(request, { jsonrpc: '2.0', id: 1, result }, at)
}

function tradeOf(facts: FillFacts, decimals = 18): Trade {
  const { events, problems } = read([rawFill(facts)], requestOf({}, decimals))
  expect(problems).toEqual([])
  expect(events).toHaveLength(1)
  return events[0] as Trade
}

function shown({ price, size, taker, flags }: Trade) {
  return {
    price: printScaled(price, priceDecimals),
    size: printScaled(size, sizeDecimals),
    taker,
    isRounded: ((flags ?? 0) & FLAGS.rounded) !== 0,
  }
}

const E18 = 10n ** 18n

describe('an event of a resting order', () => {
  it('is a trade of its market, with the time and number of its block', () => {
    expect(tradeOf({})).toMatchObject({
      kind: 'trade',
      instrument: { venue: 'venuea', market: '81', key: '81' },
      tradeId: `${hashOf(1)}-3`,
      source: timeOf(100),
      venueSeq: 100,
      received: AT.received,
      journal: 9,
    })
  })

  it.each([
    ['a bid for Up was hit', { gives: 0n, gets: 7n, gave: 52n, got: 100n }, '0.52', 'sell'],
    ['an offer of Up was lifted', { gives: 7n, gets: 0n, gave: 100n, got: 52n }, '0.52', 'buy'],
    ['a bid for Down was hit', { gives: 0n, gets: 8n, gave: 47n, got: 100n }, '0.53', 'buy'],
    ['an offer of Down was lifted', { gives: 8n, gets: 0n, gave: 100n, got: 47n }, '0.53', 'sell'],
  ] as const)('%s', (_, { gives, gets, gave, got }, price, taker) => {
    const trade = tradeOf({ gives, gets, gave: gave * E18, got: got * E18 })
    expect(shown(trade)).toEqual({ price, size: '100', taker, isRounded: false })
  })

  it('keeps a price that integer division moved by less than one unit', () => {
    const got = 33n * E18 + 333n * 10n ** 10n
    const gave = (got * 57n) / 100n
    expect(shown(tradeOf({ gave, got }))).toMatchObject({ price: '0.57', isRounded: false })
  })

  it('flags a price and a size that do not fit, and rounds them to the nearest', () => {
    const third = tradeOf({ gave: E18, got: 3n * E18 })
    expect(shown(third)).toMatchObject({ isRounded: true })
    expect(Number(shown(third).price)).toBeCloseTo(1 / 3, priceDecimals)
    const dusty = tradeOf({ gave: E18 / 2n, got: E18 + 100n })
    expect(shown(dusty)).toMatchObject({ size: '1', isRounded: true })
  })

  it('reads amounts of six decimals', () => {
    const trade = tradeOf({ gave: 520_000n, got: 1_000_000n }, 6)
    expect(shown(trade)).toMatchObject({ price: '0.52', size: '1', isRounded: false })
  })
})

describe('an answer', () => {
  it('counts a match once: the sum of the taker is not a trade, a repeated event is one', () => {
    const logs = [rawFill({}), rawFill({}), rawFill({ index: 4, taker: EXCHANGE })]
    expect(read(logs).events.map((event) => event.kind)).toEqual(['trade'])
  })

  it('skips other tokens and events that were taken back', () => {
    const logs = [rawFill({ gets: 99n }), { ...rawFill({}), removed: true }]
    expect(read(logs)).toMatchObject({ events: [], problems: [] })
  })

  it('reports events that cannot be read and keeps the others', () => {
    const logs = [
      { ...rawFill({}), data: '0x12' },
      rawFill({ index: 5 }),
      { ...rawFill({ index: 6 }), address: `0x${'c'.repeat(40)}` },
      rawFill({ index: 7, block: 90 }),
      rawFill({ index: 8, got: 0n }),
      17,
    ]
    const { events, problems } = read(logs)
    expect(events).toHaveLength(1)
    const codes = problems.map(({ where, error }) => `${where} ${error.code}`)
    expect(codes).toEqual([
      'result[0] invalid_message',
      'result[2] invalid_message',
      'result[3] invalid_message',
      'result[4] unrepresentable',
      'result[5] invalid_message',
    ])
  })

  it('moves the position, unless nothing could be written', () => {
    expect(read([]).feed).toMatchObject({
      source: timeOf(110),
      facts: { 'chain:venuea:newest': 4, 'chain:venuea:block:4': 110, 'chain:venuea:hash:4': 5 },
    })
    expect(read([], requestOf(), { ...AT, journal: 0 }).feed?.facts).toEqual({})
  })

  it('says which blocks were replaced or refused', () => {
    const reorganized = printReorganized({
      from: 95,
      to: 99,
      received: 1_790_000_100_000_000,
      sourceStart: timeOf(94),
      sourceEnd: timeOf(99),
      removed: [`${hashOf(2)}-1`],
    })
    expect(read([], requestOf({ reorganized })).events).toMatchObject([
      {
        kind: 'gap',
        gap: {
          key: 'chain',
          reason: 'reorganized',
          start: 1_790_000_100_000_000,
          end: AT.received,
          sourceStart: timeOf(94),
          sourceEnd: timeOf(99),
          detail: expect.stringContaining(`blocks 95 to 99`) as string,
        },
      },
    ])
    const lost = {
      kind: CHAIN_LOST,
      from: 91,
      to: 110,
      received: 1_790_000_100_000_000,
      source_start: timeOf(90),
      checkpoint: printCheckpoint(NEXT),
    }
    const refusal = { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'pruned' } }
    expect(createVenueANormalizer().answer(lost, refusal, AT)).toMatchObject({
      events: [
        { gap: { reason: 'unavailable', detail: 'blocks 91 to 110 could not be read: pruned' } },
      ],
      feed: { source: timeOf(110) },
    })
  })
})
