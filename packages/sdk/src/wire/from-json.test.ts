import { expect, test } from 'vitest'
import { VENUES, type Gap, type MarketRecord, type Micros } from '../domain/index.ts'
import { fromGapJson, fromMarketJson, parseExactJson, toGapJson, toMarketJson } from './index.ts'

const AT = 1_786_000_000_123_456 as Micros
const base = {
  title: 'Up?',
  status: 'resolved',
  statusNative: 'SETTLED',
  openTime: AT,
  closeTime: (AT + 1) as Micros,
  resolvedTime: (AT + 2) as Micros,
  createdTime: (AT - 5) as Micros,
  resolution: {
    state: 'final',
    source: 'oracle',
    reference: { feed: 'BTC', startPrice: '64012.5', endPrice: '64012.12345678' },
    payouts: ['1', '0'],
    times: { determined: AT, settled: AT },
  },
  winningOutcome: 'Up',
  volume: '12345678901234567890.123456',
  liquidity: '0.0000001',
  native: { number: 0.1, tiny: 1e-9, list: [1, null, 'x'], deep: { a: true } },
} as const

const records: MarketRecord[] = [
  {
    ...base,
    venue: 'venuea',
    marketId: '5001',
    outcomes: [{ label: 'Up', index: 0, tokenId: '71', externalId: 'e' }],
    units: VENUES.venuea.units,
    topicId: 't',
    conditionId: '0xaa',
    questionId: 'q',
    question: 'Up?',
    asset: 'BTC',
    window: '15m',
    participantCount: 12,
    chain: 'bnb',
    exchangeContract: '0xbb',
    exchange: { isNegRisk: false, isYieldBearing: true, resolverAddress: '0xcc' },
  },
  {
    ...base,
    venue: 'venueb',
    marketId: 'KX-1',
    outcomes: [{ label: 'Yes', index: 0 }],
    units: VENUES.venueb.units,
    seriesTicker: 'KX',
    eventTicker: 'KX-E',
    settlement: { result: 'yes', value: '1', determinedTime: AT, expirationValue: '64012' },
  },
  {
    venue: 'venuec',
    marketId: '0xc0ffee',
    outcomes: [],
    units: VENUES.venuec.units,
    conditionId: '0xc0ffee',
    eventId: '9',
    gammaMarketId: '77',
    slug: 'btc-up',
    native: {},
  },
]

test.each([{}, { numberFormat: 'string' }, { timeFormat: 'epoch_us' }] as const)(
  'a market record comes back from the wire to the last digit, written as %o',
  (style) => {
    for (const record of records) {
      const text = JSON.stringify(toMarketJson({ record, knownAt: AT }, style))
      expect(fromMarketJson(parseExactJson(text))).toEqual({ record, knownAt: AT })
    }
  },
)

test('a gap comes back from the wire', () => {
  const gap: Gap = {
    venue: 'venuec',
    scope: 'venue',
    key: '',
    reason: 'recorder_down',
    start: AT,
    end: (AT + 9) as Micros,
    sourceStart: (AT - 1) as Micros,
    sourceEnd: (AT + 8) as Micros,
    afterSequence: 3,
    detail: 'why',
    journal: 0,
  }
  expect(fromGapJson(parseExactJson(JSON.stringify(toGapJson(gap))))).toEqual(gap)
  const { end: _end, sourceStart: _start, sourceEnd: _sourceEnd, detail: _detail, ...open } = gap
  expect(fromGapJson(JSON.parse(JSON.stringify(toGapJson(open))))).toEqual(open)
})

test('what is no market and no gap is refused', () => {
  const market = toMarketJson({ record: records[1]!, knownAt: AT })
  const gap = { venue: 'venueb', scope: 'venue', reason: 'quota', start_time: 1, after_sequence: 0 }
  expect(fromGapJson(gap)).toMatchObject({ start: 1, key: '' })
  for (const wrong of [
    null,
    [],
    'x',
    { ...gap, venue: 'venuez' },
    { ...gap, reason: 'toString' },
    { ...gap, start_time: 'yesterday' },
    { ...gap, after_sequence: -1 },
  ]) {
    expect(() => fromGapJson(wrong)).toThrow(expect.objectContaining({ name: 'PriorbookError' }))
  }
  for (const wrong of [
    7,
    { ...market, venue: 'x' },
    { ...market, revision_time: null },
    { ...market, outcomes: 'Yes' },
    { ...market, outcomes: [{ label: 1 }] },
    { ...market, title: 5 },
    { ...market, volume: {} },
  ]) {
    expect(() => fromMarketJson(wrong)).toThrow(expect.objectContaining({ name: 'PriorbookError' }))
  }
})
