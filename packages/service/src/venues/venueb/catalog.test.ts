import { VENUES } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { normalizeCatalogAnswer } from './catalog.ts'
import { codeOf, deepValue } from '../capture/refusals.testing.ts'
import {
  AT,
  EVENT_TICKER,
  eventObject,
  legacyMarketObject,
  marketObject,
  TICKER,
  type Draft,
} from './fixtures.testing.ts'

const read = (answer: unknown) => normalizeCatalogAnswer(answer, AT)
const recordOf = (changes: Draft) => {
  const { events, problems } = read({ market: marketObject(changes) })
  expect(problems).toStrictEqual([])
  return events[0]!.record
}
const codesOf = (answer: unknown) => read(answer).problems.map(({ error }) => error.code)

describe('a market', () => {
  it('becomes a complete record, with all fields of the venue under native', () => {
    const market = marketObject()
    const event = eventObject()
    expect(read({ event, markets: [market] })).toStrictEqual({
      problems: [],
      events: [
        {
          kind: 'market',
          ...AT,
          record: {
            venue: 'venueb',
            marketId: TICKER,
            eventTicker: EVENT_TICKER,
            event: { title: 'Test 15 min', outcome: 'Target Price: $10.50' },
            seriesTicker: 'KXTEST15M',
            window: '15m',
            strike: '10.5',
            title: 'Test price up in next 15 mins?',
            status: 'resolved',
            statusNative: 'finalized',
            createdTime: 1_789_891_200_500_000,
            openTime: 1_790_005_500_000_000,
            closeTime: 1_790_006_400_000_000,
            resolvedTime: 1_790_006_405_459_730,
            resolution: {
              state: 'final',
              source: 'First Source, Second Source',
              reference: {
                feed: 'First Source, Second Source',
                startPrice: '10.5',
                endPrice: '10.62',
              },
              payouts: ['1', '0'],
              times: { settled: 1_790_006_405_459_730 },
            },
            settlement: {
              result: 'yes',
              value: '1',
              settledTime: 1_790_006_405_459_730,
              expirationValue: '10.62',
            },
            winningOutcome: 'Yes',
            volume: '4937.5',
            liquidity: '0',
            outcomes: [
              { label: 'Yes', index: 0 },
              { label: 'No', index: 1 },
            ],
            units: VENUES.venueb.units,
            native: { market, event },
          },
        },
      ],
    })
  })

  it.each([
    ['initialized', 'scheduled', 'none'],
    ['active', 'open', 'none'],
    ['inactive', 'paused', 'none'],
    ['closed', 'closed', 'none'],
    ['determined', 'determined', 'proposed'],
    ['disputed', 'disputed', 'disputed'],
    ['amended', 'determined', 'proposed'],
    ['finalized', 'resolved', 'final'],
  ])('that is %s has status %s and a resolution %s', (statusNative, status, state) => {
    const record = recordOf({ status: statusNative })
    expect(record).toMatchObject({ statusNative, status, resolution: { state } })
  })

  it.each(['sleeping', '__proto__', 'constructor'])(
    'with the unknown status %s keeps it',
    (word) => {
      const record = recordOf({ status: word })
      expect(record.statusNative).toBe(word)
      expect(record).not.toHaveProperty('status')
      expect(record).not.toHaveProperty('resolution')
    },
  )

  it('that ended no, scalar or not at all says so', () => {
    const no = recordOf({ result: 'no', settlement_value_dollars: '0.0000' })
    expect(no.winningOutcome).toBe('No')
    expect(no.resolution?.payouts).toStrictEqual(['0', '1'])
    const scalar = recordOf({ result: 'scalar', settlement_value_dollars: '0.3750' })
    expect(scalar).not.toHaveProperty('winningOutcome')
    expect(scalar.resolution?.payouts).toStrictEqual(['0.375', '0.625'])
    const open = recordOf({
      status: 'active',
      result: '',
      settlement_value_dollars: null,
      settlement_ts: null,
      expiration_value: '',
    })
    expect(open).not.toHaveProperty('winningOutcome')
    expect(open).not.toHaveProperty('resolvedTime')
    expect(open.resolution).toStrictEqual({
      state: 'none',
      reference: { startPrice: '10.5' },
    })
    expect(open.settlement).toStrictEqual({})
  })

  it('has no payouts where the settlement value is not between 0 and 1', () => {
    expect(recordOf({ settlement_value_dollars: '1.5' }).resolution).not.toHaveProperty('payouts')
  })

  it.each(['', null, undefined, '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])(
    'whose close time is %j has none',
    (close_time) => {
      expect(recordOf({ close_time })).not.toHaveProperty('closeTime')
    },
  )

  it('without a title of its own has that of its event', () => {
    const markets = [marketObject({ title: '' })]
    expect(read({ event: eventObject(), markets }).events[0]!.record.title).toBe('Test 15 min')
  })

  it('of the demo exchange of 2024 is read, with its underscores and cents', () => {
    const market = legacyMarketObject({ _result: 'no', _status: 'finalized', _settlement_value: 0 })
    const event = { _event_ticker: 'OLDTEST-30', _series_ticker: 'OLDTEST', _title: 'Old test?' }
    expect(read({ event, markets: [market] }).events[0]!.record).toStrictEqual({
      venue: 'venueb',
      marketId: 'OLDTEST-30-B4.5',
      eventTicker: 'OLDTEST-30',
      event: { title: 'Old test?' },
      seriesTicker: 'OLDTEST',
      title: 'Old test?',
      status: 'resolved',
      statusNative: 'finalized',
      openTime: 1_715_097_600_000_000,
      closeTime: 1_988_118_000_000_000,
      resolution: { state: 'final', payouts: ['0', '1'] },
      settlement: { result: 'no', value: '0' },
      winningOutcome: 'No',
      volume: '39',
      liquidity: '1226.55',
      outcomes: [
        { label: 'Yes', index: 0 },
        { label: 'No', index: 1 },
      ],
      units: VENUES.venueb.units,
      native: { market, event },
    })
  })

  it('keeps keys named __proto__ as data', () => {
    const market: unknown = JSON.parse('{"ticker":"X","__proto__":{"status":"active"}}')
    const event: unknown = JSON.parse('{"event_ticker":"E","__proto__":{"series_ticker":"S"}}')
    const [revision] = read({ event, markets: [market] }).events
    expect(revision!.record).not.toHaveProperty('status')
    expect(revision!.record).not.toHaveProperty('seriesTicker')
    expect(JSON.stringify(revision!.record.native)).toBe(
      '{"market":{"ticker":"X","__proto__":{"status":"active"}},"event":{"event_ticker":"E","__proto__":{"series_ticker":"S"}}}',
    )
  })
})

describe('an answer', () => {
  it('may nest its markets in the event', () => {
    const event = { ...eventObject(), markets: [marketObject()] }
    expect(read({ event })).toStrictEqual(read({ event: eventObject(), markets: [marketObject()] }))
    expect(read({ event, markets: [] }).events).toHaveLength(1)
    expect(read({ events: [event, event] }).events).toHaveLength(2)
  })

  it('may be one market or a page of them', () => {
    const one = read({ market: marketObject() })
    expect(one.events[0]!.record.seriesTicker).toBe('KXTEST15M')
    expect(one.events[0]!.record.native).not.toHaveProperty('event')
    expect(read({ markets: [marketObject()], cursor: '' })).toStrictEqual(one)
    expect(read({ markets: [], cursor: 'abc' })).toStrictEqual({
      events: [],
      problems: [],
      cursor: 'abc',
    })
  })

  it('gets its series from the request where no event names it', () => {
    const answer = { markets: [marketObject()] }
    const { events } = normalizeCatalogAnswer(answer, AT, { seriesTicker: 'KXTEST15M' })
    expect(events[0]!.record.seriesTicker).toBe('KXTEST15M')
  })

  it('does not give its series to a market of another event', () => {
    const markets = [marketObject({ event_ticker: 'OTHER-1' })]
    const { record } = read({ event: eventObject(), markets }).events[0]!
    expect(record.eventTicker).toBe('OTHER-1')
    expect(record.seriesTicker).toBe('OTHER')
  })

  it('keeps its valid markets and reports the malformed ones', () => {
    const markets = [
      marketObject({ ticker: 'A' }),
      'nonsense',
      marketObject({ ticker: '__proto__' }),
      marketObject({ ticker: 'B' }),
      marketObject({ ticker: 'C', open_time: 'soon' }),
      marketObject({ ticker: 'D', volume_fp: 'lots' }),
      marketObject({ ticker: 'E', volume_fp: '1'.repeat(100) }),
      marketObject({ ticker: 'F', status: 5 }),
      marketObject({ ticker: 'G', title: deepValue() }),
      marketObject({ ticker: deepValue() }),
      marketObject({ ticker: 'H', custom_strike: deepValue() }),
    ]
    const { events, problems } = read({ markets })
    expect(events.map(({ record }) => record.marketId)).toStrictEqual(['A', 'B', 'H'])
    expect(problems.map(({ where, error }) => `${where} ${error.code}`)).toStrictEqual([
      'markets[1] invalid_message',
      'markets[2] invalid_id',
      'markets[4] invalid_time',
      'markets[5] invalid_decimal',
      'markets[6] unrepresentable',
      'markets[7] invalid_message',
      'markets[8] invalid_message',
      'markets[9] invalid_id',
    ])
  })

  it('with a malformed event keeps its markets', () => {
    const markets = [marketObject()]
    for (const answer of [{ event: 5, markets }, { event: { markets } }]) {
      const { events, problems } = read(answer)
      expect(events.map(({ record }) => record.eventTicker)).toStrictEqual([EVENT_TICKER])
      expect(problems.map(({ where }) => where)).toStrictEqual(['event'])
    }
  })

  it('with a malformed list of markets has a problem', () => {
    expect(codesOf({ event: eventObject(), markets: 'none' })).toStrictEqual(['invalid_message'])
    expect(codesOf({ events: [eventObject({ markets: 5 }), eventObject()] })).toStrictEqual([
      'invalid_message',
    ])
  })

  it.each([
    undefined,
    null,
    [],
    {},
    { error: 'too many requests' },
    { markets: {} },
    { events: 5 },
  ])('of another shape is refused: %j', (answer) => {
    expect(codeOf(() => read(answer))).toBe('invalid_message')
  })
})
