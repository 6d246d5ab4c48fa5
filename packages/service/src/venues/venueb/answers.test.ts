import { FLAGS, VENUES } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import type { CaptureRequest } from '../capture/contract.ts'
import { codeOf, deepValue } from '../capture/refusals.testing.ts'
import {
  AT,
  currentSides,
  deltaMessage,
  EVENT_TICKER,
  eventObject,
  lifecycleMessage,
  marketObject,
  TICKER,
  tradeObject,
  type Draft,
} from './fixtures.testing.ts'
import { createVenueBNormalizer, normalizeVenueB } from './normalize.ts'

const normalizer = createVenueBNormalizer()
const frame = (value: unknown) => normalizer.frame(value, AT)
const answer = (request: CaptureRequest, value: unknown) => normalizer.answer(request, value, AT)
const instrument = { venue: 'venueb', market: TICKER, key: TICKER }
const outcomes = [
  { label: 'Yes', index: 0 },
  { label: 'No', index: 1 },
]

describe('a frame', () => {
  it('of a book gives its events', () => {
    expect(frame(deltaMessage())).toStrictEqual({
      events: normalizeVenueB(deltaMessage(), AT),
      problems: [],
    })
  })

  it.each(['ticker', 'subscribed', 'ok', 'event_lifecycle', 'event_fee_update'])(
    'of type %s gives no event',
    (type) => {
      const said = frame({ type, sid: 2, msg: { market_ticker: TICKER } })
      expect(said).toStrictEqual({ events: [], problems: [] })
    },
  )

  it('that is malformed as a whole is refused', () => {
    expect(codeOf(() => frame('[]'))).toBe('invalid_message')
    expect(codeOf(() => frame({ type: 'never_heard_of' }))).toBe('unknown_event')
  })
})

describe('an unreadable frame', () => {
  it.each([
    [undefined, 'all'],
    [[], 'all'],
    [{ type: 5 }, 'all'],
    [{ type: 'orderbook_delta', msg: { market_ticker: TICKER, side: 'maybe' } }, [TICKER]],
    [{ type: 'orderbook_snapshot', msg: { market_ticker: 'a b' } }, 'all'],
    [{ type: 'orderbook_delta' }, 'all'],
    [{ type: 'trade', msg: {} }, 'none'],
    [{ type: 'never_heard_of' }, 'none'],
  ])('makes suspect what it may have concerned: %j', (value, suspects) => {
    expect(normalizer.suspects?.(value)).toStrictEqual(suspects)
  })
})

describe('market_lifecycle_v2', () => {
  const recordOf = (changes: Draft) => {
    const { events } = frame(lifecycleMessage(changes))
    expect(events).toHaveLength(1)
    const [event] = events
    if (event?.kind !== 'market') throw new Error('no market revision')
    return event.record
  }

  it('is a revision with the fields of the message and nothing else', () => {
    const message = lifecycleMessage()
    expect(frame(message)).toStrictEqual({
      problems: [],
      events: [
        {
          kind: 'market',
          ...AT,
          venueSeq: 17,
          channel: 5,
          record: {
            venue: 'venueb',
            marketId: TICKER,
            title: 'Test price up in next 15 mins?',
            status: 'scheduled',
            statusNative: 'initialized',
            openTime: 1_790_005_500_000_000,
            closeTime: 1_790_006_400_000_000,
            resolution: { state: 'none' },
            outcomes,
            units: VENUES.venueb.units,
            eventTicker: EVENT_TICKER,
            seriesTicker: 'KXTEST15M',
            window: '15m',
            strike: '10.5',
            native: { lifecycle: message['msg'] },
          },
        },
      ],
    })
  })

  it.each([
    ['created', 'scheduled', 'initialized'],
    ['activated', 'open', 'active'],
    ['deactivated', 'paused', 'inactive'],
    ['determined', 'determined', 'determined'],
    ['settled', 'resolved', 'finalized'],
  ])('%s means %s', (event_type, status, statusNative) => {
    expect(recordOf({ event_type })).toMatchObject({ status, statusNative })
  })

  it.each(['close_date_updated', 'metadata_updated', 'price_level_structure_updated', 'new_word'])(
    '%s leaves the status as it was',
    (event_type) => {
      const record = recordOf({ event_type })
      expect(record).not.toHaveProperty('status')
      expect(record).not.toHaveProperty('statusNative')
      expect(record).not.toHaveProperty('resolution')
      expect(record.closeTime).toBe(1_790_006_400_000_000)
    },
  )

  it('keeps the times of determination and settlement apart', () => {
    const bare = { open_ts: null, close_ts: 0, additional_metadata: undefined }
    const determined = recordOf({
      ...bare,
      event_type: 'determined',
      result: 'yes',
      settlement_value: '1.0000',
      determination_ts: 1_790_006_403,
    })
    expect(determined).toMatchObject({
      winningOutcome: 'Yes',
      resolution: {
        state: 'proposed',
        payouts: ['1', '0'],
        times: { determined: 1_790_006_403_000_000 },
      },
      settlement: { result: 'yes', value: '1', determinedTime: 1_790_006_403_000_000 },
    })
    expect(determined).not.toHaveProperty('resolvedTime')
    expect(determined).not.toHaveProperty('closeTime')
    const settled = recordOf({ ...bare, event_type: 'settled', settled_ts: 1_790_006_405 })
    expect(settled).toMatchObject({
      resolvedTime: 1_790_006_405_000_000,
      resolution: { state: 'final', times: { settled: 1_790_006_405_000_000 } },
      settlement: { settledTime: 1_790_006_405_000_000 },
    })
  })

  it('has no time where the venue left it out or Micros cannot hold it', () => {
    for (const open_ts of [undefined, null, 0, -62_135_596_800, 253_402_300_799]) {
      expect(recordOf({ open_ts })).not.toHaveProperty('openTime')
    }
  })

  it.each([
    [{ market_ticker: 'a b' }, 'invalid_id'],
    [{ event_type: 5 }, 'invalid_message'],
    [{ close_ts: 'soon' }, 'invalid_time'],
    [{ close_ts: 1.0000001 }, 'invalid_time'],
    [{ settlement_value: 'much' }, 'invalid_decimal'],
    [{ additional_metadata: 'none' }, 'invalid_message'],
    [{ result: deepValue() }, 'invalid_message'],
  ])('malformed is refused: %#', (changes, code) => {
    expect(codeOf(() => frame(lifecycleMessage(changes)))).toBe(code)
    expect(codeOf(() => frame({ type: 'market_lifecycle_v2' }))).toBe('invalid_message')
  })
})

describe('an answer', () => {
  it('of the catalogue gets its series from the request', () => {
    const request = { kind: 'markets', series: 'KXTEST15M' }
    const { events, problems } = answer(request, { markets: [marketObject(), 5], cursor: 'x' })
    expect(events).toMatchObject([{ kind: 'market', record: { seriesTicker: 'KXTEST15M' } }])
    expect(problems.map(({ where }) => where)).toStrictEqual(['markets[1]'])
    const event = { event: eventObject(), markets: [marketObject()] }
    expect(answer({ kind: 'event' }, event).events).toHaveLength(1)
    const nested = { events: [{ ...eventObject(), markets: [marketObject()] }] }
    expect(answer({ kind: 'events' }, nested).events).toHaveLength(1)
    expect(answer({ kind: 'market' }, { market: marketObject() }).events).toHaveLength(1)
  })

  it('of the catalogue keeps the fees of the series, as the request repeats them', () => {
    const fees = { fee_type: 'quadratic_with_maker_fees', fee_multiplier: 0.5 }
    const request = { kind: 'markets', series: 'KXTEST15M', fees: { ...fees, more: 1 } }
    const [event] = answer(request, { markets: [marketObject()] }).events
    expect(event).toMatchObject({ record: { native: { market: { ticker: TICKER } } } })
    expect(event).toHaveProperty('record.native.series', fees)
    const [without] = answer({ kind: 'markets' }, { markets: [marketObject()] }).events
    expect(without).not.toHaveProperty('record.native.series')
  })

  it('of a series gives no event', () => {
    const nothing = { events: [], problems: [] }
    expect(answer({ kind: 'series' }, { series: { ticker: 'KXTEST15M' } })).toStrictEqual(nothing)
    expect(codeOf(() => answer({ kind: 'series' }, { error: 'x' }))).toBe('invalid_message')
  })

  it('of one order book is flagged where the venue truncated it', () => {
    const value = { orderbook_fp: { yes_dollars: [['0.41', '2.00']] } }
    const { events } = answer({ kind: 'orderbook', ticker: TICKER, depth: 1 }, value)
    expect(events).toStrictEqual([
      {
        kind: 'snapshot',
        instrument,
        ...AT,
        bids: [{ price: 4100, size: 200 }],
        asks: [],
        flags: FLAGS.truncated_upstream,
      },
    ])
    expect(codeOf(() => answer({ kind: 'orderbook' }, value))).toBe('invalid_id')
  })

  it('of many order books keeps the well-formed ones', () => {
    const book = currentSides()
    const orderbooks = [
      { ticker: 'A', orderbook_fp: book },
      { ticker: 'B', orderbook_fp: { yes_dollars: 'none' } },
      7,
      { ticker: 'C', orderbook_fp: {} },
    ]
    const { events, problems } = answer({ kind: 'orderbooks', depth: 0 }, { orderbooks })
    const keys = events.map((event) => (event.kind === 'snapshot' ? event.instrument.key : ''))
    expect(keys).toStrictEqual(['A', 'C'])
    expect(problems.map(({ where }) => where)).toStrictEqual(['orderbooks[1]', 'orderbooks[2]'])
  })

  it('of trades gives them oldest first, without the malformed ones', () => {
    const trades = [
      tradeObject(),
      tradeObject({ trade_id: 'T2', created_time: '2026-09-21T14:13:19Z', taker_side: 'no' }),
      tradeObject({ count_fp: '-1' }),
      tradeObject({ created_time: 'now' }),
      tradeObject({ trade_id: 'T3', created_time: '', taker_side: '' }),
    ]
    const { events, problems } = answer({ kind: 'trades', ticker: TICKER }, { trades, cursor: '' })
    const trade = { kind: 'trade', instrument, ...AT, price: 4150, size: 325 }
    const said = (side: string): object => ({
      taker_side: side,
      yes_price_dollars: '0.4150',
      no_price_dollars: '0.5850',
      count_fp: '3.25',
    })
    expect(events).toStrictEqual([
      { ...trade, tradeId: 'T3', native: said('') },
      {
        ...trade,
        tradeId: 'T2',
        source: 1_789_999_999_000_000,
        taker: 'sell',
        native: said('no'),
      },
      {
        ...trade,
        tradeId: '00000000-0000-4000-8000-0000000000ab',
        source: 1_790_000_000_500_000,
        taker: 'buy',
        native: said('yes'),
      },
    ])
    expect(problems.map(({ where, error }) => `${where} ${error.code}`)).toStrictEqual([
      'trades[2] invalid_message',
      'trades[3] invalid_time',
    ])
    expect(codeOf(() => answer({ kind: 'trades' }, {}))).toBe('invalid_message')
  })

  it('to an unknown request is refused', () => {
    expect(codeOf(() => answer({ kind: 'weather' }, {}))).toBe('unknown_event')
  })
})
