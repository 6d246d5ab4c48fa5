import { toMicros } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { codeOf, deepValue } from '../capture/refusals.testing.ts'
import {
  AT,
  currentSides,
  deltaMessage,
  snapshotMessage,
  TICKER,
  tradeMessage,
  type Draft,
} from './fixtures.testing.ts'
import { parseMessage } from './native.ts'
import { normalizeVenueB, VENUEB_NORMALIZER_VERSION } from './normalize.ts'

const instrument = { venue: 'venueb', market: TICKER, key: TICKER }
const normalize = (message: unknown) => normalizeVenueB(message, AT)
const codeFor = (message: unknown) => codeOf(() => normalize(message))

it('has a version', () => {
  expect(VENUEB_NORMALIZER_VERSION).toBe(6)
})

describe('orderbook_snapshot', () => {
  const bids = [
    { price: 100, size: 100_000 },
    { price: 4150, size: 1234 },
  ]
  const asks = [
    { price: 9800, size: 700 },
    { price: 4300, size: 1 },
  ]
  const event = { kind: 'snapshot', instrument, ...AT, venueSeq: 41, channel: 3 }

  it('gives yes levels as bids and no levels as asks at 1 − price, in the order sent', () => {
    expect(normalize(snapshotMessage())).toStrictEqual([{ ...event, bids, asks }])
  })

  it('reads the names without _fp', () => {
    const { yes_dollars_fp: yes_dollars, no_dollars_fp: no_dollars } = currentSides()
    expect(normalize(snapshotMessage({ yes_dollars, no_dollars }))).toStrictEqual([
      { ...event, bids, asks },
    ])
  })

  it('reads whole cents and whole counts', () => {
    const sides = { yes: [[8, 444]], no: [[88, 1967]] }
    expect(normalize(snapshotMessage(sides))).toStrictEqual([
      { ...event, bids: [{ price: 800, size: 44_400 }], asks: [{ price: 1200, size: 196_700 }] },
    ])
  })

  it('prefers dollars to cents where both are sent', () => {
    const sides = { yes: [[8, 444]], yes_dollars: [['0.0850', 444]] }
    expect(normalize(snapshotMessage(sides))).toStrictEqual([
      { ...event, bids: [{ price: 850, size: 44_400 }], asks: [] },
    ])
  })

  it.each([
    ['missing', {}],
    ['null', { yes_dollars_fp: null, no_dollars_fp: null, yes: null, no: null }],
    ['[]', { yes_dollars_fp: [], no_dollars_fp: [] }],
  ])('takes sides that are %s as empty', (_name, sides) => {
    expect(normalize(snapshotMessage(sides))).toStrictEqual([{ ...event, bids: [], asks: [] }])
  })

  it('keeps prices outside (0, 1), duplicates and crossed books for the row checks', () => {
    const no_dollars_fp = [
      ['1.5000', '1.00'],
      ['1.5000', '2.00'],
    ]
    const [snapshot] = normalize(snapshotMessage({ no_dollars_fp }))
    expect(snapshot).toMatchObject({ asks: [{ price: -5000 }, { price: -5000 }] })
  })

  it.each([
    ['invalid_decimal', [['cheap', '1.00']]],
    ['invalid_decimal', [['0.4100', 'many']]],
    ['invalid_decimal', [[['0.4100'], '1.00']]],
    ['invalid_decimal', [['0.4100', {}]]],
    ['invalid_message', [[null, '1.00']]],
    ['unrepresentable', [['0.41001', '1.00']]],
    ['unrepresentable', [['0.4100', '1.001']]],
    ['unrepresentable', [['0.4100', '1e308']]],
    ['unrepresentable', [['0.4100', 1e308]]],
    ['unrepresentable', [['0.4100', '9'.repeat(400)]]],
    ['invalid_message', [['0.4100', '-1.00']]],
    ['invalid_message', [['0.4100', '0.00']]],
    ['invalid_message', [['0.4100']]],
    ['invalid_message', [['0.4100', '1.00', '2.00']]],
    ['invalid_message', ['0.4100']],
    ['invalid_message', { 0: ['0.4100', '1.00'] }],
    ['invalid_message', 'none'],
    ['invalid_message', deepValue()],
  ])('refuses as %s the levels %#', (code, yes_dollars_fp) => {
    expect(codeFor(snapshotMessage({ yes_dollars_fp }))).toBe(code)
  })

  it.each([[[['8', 444]]], [[[8.5, 444]]], [[[true, 444]]]])('refuses %j as cents', (yes) => {
    expect(codeFor(snapshotMessage({ yes }))).toBe('invalid_decimal')
  })

  it('names the malformed level and its market', () => {
    const sides = { no_dollars_fp: [['0.4100', '-1.00']] }
    expect(() => normalize(snapshotMessage(sides))).toThrow(
      `orderbook_snapshot of "${TICKER}": no_dollars_fp holds size "-1.00" at "0.4100"`,
    )
  })
})

describe('orderbook_delta', () => {
  const source = toMicros(1_790_000_000_123_456)
  const event = { kind: 'change', instrument, signed: true, ...AT, venueSeq: 42, channel: 3 }
  const bid = { price: 4100, size: -5450, side: 'bid' }

  it('gives a signed change of a bid for yes', () => {
    expect(normalize(deltaMessage())).toStrictEqual([{ ...event, source, changes: [bid] }])
  })

  it('gives a signed change of an ask at 1 − price for no', () => {
    const ask = { price: 5900, size: 200, side: 'ask' }
    expect(normalize(deltaMessage({ side: 'no', delta_fp: '2.00' }))).toStrictEqual([
      { ...event, source, changes: [ask] },
    ])
  })

  it('reads cents and whole counts', () => {
    const old = { price_dollars: undefined, delta_fp: undefined, price: 41, delta: -54 }
    expect(normalize(deltaMessage(old))).toStrictEqual([
      { ...event, source, changes: [{ ...bid, size: -5400 }] },
    ])
  })

  it('falls back to ts_ms, whether ts is missing or the zero time', () => {
    for (const ts of [undefined, null, '', '0001-01-01T00:00:00Z']) {
      expect(normalize(deltaMessage({ ts }))).toStrictEqual([
        { ...event, source: 1_790_000_000_123_000, changes: [bid] },
      ])
    }
  })

  it('has no source time where the venue gave none', () => {
    expect(normalize(deltaMessage({ ts: undefined, ts_ms: undefined }))).toStrictEqual([
      { ...event, changes: [bid] },
    ])
  })

  it.each([
    ['invalid_decimal', { price_dollars: '4I' }],
    ['invalid_decimal', { price_dollars: '' }],
    ['invalid_decimal', { price_dollars: deepValue() }],
    ['invalid_decimal', { price_dollars: undefined, price: '41' }],
    ['invalid_decimal', { delta_fp: true }],
    ['invalid_decimal', { delta_fp: 'NaN' }],
    ['unrepresentable', { delta_fp: '1e308' }],
    ['unrepresentable', { price_dollars: '0.00001' }],
    ['invalid_message', { price_dollars: undefined }],
    ['invalid_message', { delta_fp: undefined }],
    ['invalid_message', { side: undefined }],
    ['invalid_message', { side: 'YES' }],
    ['invalid_message', { side: '__proto__' }],
    ['invalid_message', { side: 'constructor' }],
    ['invalid_message', { side: deepValue() }],
    ['invalid_time', { ts: 'yesterday' }],
    ['invalid_time', { ts: '2026-02-30T00:00:00Z' }],
    ['invalid_time', { ts: 1_790_000_000 }],
    ['invalid_time', { ts: deepValue() }],
    ['invalid_time', { ts: undefined, ts_ms: '1790000000123' }],
    ['invalid_time', { ts: undefined, ts_ms: -1 }],
    ['invalid_time', { ts: undefined, ts_ms: 1e308 }],
    ['invalid_id', { market_ticker: undefined }],
    ['invalid_id', { market_ticker: '' }],
    ['invalid_id', { market_ticker: 5 }],
    ['invalid_id', { market_ticker: '__proto__' }],
    ['invalid_id', { market_ticker: 'A B' }],
    ['invalid_id', { market_ticker: 'A'.repeat(201) }],
    ['invalid_id', { market_ticker: deepValue() }],
  ])('refuses as %s the fields %#', (code, changes) => {
    expect(codeFor(deltaMessage(changes))).toBe(code)
  })

  it.each(['sid', 'seq'])('refuses a %s that is missing or not a whole number', (name) => {
    for (const value of [undefined, null, '3', -1, 1.5, 2 ** 53]) {
      expect(codeFor({ ...deltaMessage(), [name]: value })).toBe('invalid_message')
    }
  })

  it('accepts a market called constructor', () => {
    const [change] = normalize(deltaMessage({ market_ticker: 'constructor' }))
    expect(change).toMatchObject({ instrument: { market: 'constructor', key: 'constructor' } })
  })
})

describe('trade', () => {
  const event = {
    kind: 'trade',
    instrument,
    ...AT,
    tradeId: '00000000-0000-4000-8000-0000000000aa',
    price: 4150,
    size: 325,
    source: 1_790_000_000_123_000,
    venueSeq: 9,
    channel: 4,
    taker: 'sell',
    native: {
      taker_side: 'no',
      taker_outcome_side: 'no',
      taker_book_side: 'ask',
      is_block_trade: false,
      yes_price_dollars: '0.4150',
      no_price_dollars: '0.5850',
      count_fp: '3.25',
    },
  }

  it('gives the yes price, the size and what the taker did with yes', () => {
    expect(normalize(tradeMessage())).toStrictEqual([event])
    const yes = { taker_side: 'yes', taker_outcome_side: 'yes', taker_book_side: 'bid' }
    const native = { ...event.native, ...yes }
    expect(normalize(tradeMessage(yes))).toStrictEqual([{ ...event, taker: 'buy', native }])
  })

  it.each<[string, Draft, 'buy' | 'sell' | undefined]>([
    ['the outcome side', { taker_outcome_side: 'yes' }, 'buy'],
    ['the old side', { taker_side: 'no' }, 'sell'],
    ['the book side', { taker_book_side: 'bid' }, 'buy'],
    ['the book side', { taker_book_side: 'ask' }, 'sell'],
    ['nothing', {}, undefined],
    ['nothing', { taker_outcome_side: null, taker_side: '', taker_book_side: '' }, undefined],
  ])('knows the taker by %s alone', (_name, said, taker) => {
    const silent = {
      taker_side: undefined,
      taker_outcome_side: undefined,
      taker_book_side: undefined,
    }
    const [trade] = normalize(tradeMessage({ ...silent, ...said }))
    expect(trade).toHaveProperty('kind', 'trade')
    expect(trade !== undefined && 'taker' in trade ? trade.taker : undefined).toBe(taker)
  })

  it('reads cents, whole counts and seconds, and needs no seq', () => {
    const old = {
      yes_price_dollars: undefined,
      no_price_dollars: undefined,
      count_fp: undefined,
      ts_ms: undefined,
      yes_price: 41,
      no_price: 59,
      count: 3,
    }
    const { seq: _seq, ...message } = tradeMessage(old)
    const { venueSeq: _venueSeq, ...expected } = event
    const { taker_side, taker_outcome_side, taker_book_side, is_block_trade } = event.native
    const sides = { taker_side, taker_outcome_side, taker_book_side, is_block_trade }
    const native = { ...sides, yes_price: 41, no_price: 59, count: 3 }
    expect(normalize(message)).toStrictEqual([
      { ...expected, price: 4100, size: 300, source: 1_790_000_000_000_000, native },
    ])
  })

  it('keeps what the message said, and nothing that it did not', () => {
    const [block] = normalize(tradeMessage({ is_block_trade: true }))
    expect(block).toHaveProperty('native.is_block_trade', true)
    const silent = { taker_side: undefined, taker_outcome_side: undefined }
    const said = { is_block_trade: undefined, taker_book_side: 'ask', count_fp: '3.10' }
    const [trade] = normalize(tradeMessage({ ...silent, ...said }))
    expect(trade).toMatchObject({ taker: 'sell' })
    expect(trade).toHaveProperty('native', {
      taker_book_side: 'ask',
      yes_price_dollars: '0.4150',
      no_price_dollars: '0.5850',
      count_fp: '3.10',
    })
  })

  it.each([
    ['invalid_message', { no_price_dollars: '0.5800' }],
    ['invalid_message', { no_price_dollars: undefined }],
    ['invalid_message', { count_fp: '0.00' }],
    ['invalid_message', { count_fp: '-1.00' }],
    ['invalid_message', { taker_outcome_side: 'maybe' }],
    ['invalid_message', { taker_outcome_side: '__proto__' }],
    ['invalid_message', { is_block_trade: 'yes' }],
    ['invalid_decimal', { yes_price_dollars: 'half' }],
    ['unrepresentable', { count_fp: '1e308' }],
    ['invalid_time', { ts_ms: 'now' }],
    ['invalid_time', { ts_ms: undefined, ts: '1790000000' }],
    ['invalid_id', { trade_id: undefined }],
    ['invalid_id', { trade_id: '' }],
    ['invalid_id', { trade_id: '__proto__' }],
    ['invalid_id', { market_ticker: null }],
  ])('refuses as %s the fields %#', (code, changes) => {
    expect(codeFor(tradeMessage(changes))).toBe(code)
  })
})

describe('other messages', () => {
  it.each([
    { id: 1, type: 'subscribed', msg: { channel: 'orderbook_delta', sid: 3 } },
    { id: 2, type: 'ok', sid: 3, seq: 44, msg: { market_tickers: [TICKER] } },
    { id: 3, type: 'ok', msg: [{ channel: 'trade', sid: 4 }] },
    { type: 'unsubscribed', sid: 3, seq: 45 },
    { type: 'error', msg: { code: 8, msg: 'Unknown channel name' } },
    { type: 'error', sid: 3, seq: 46, msg: { code: 25, msg: 'Subscription buffer overflow' } },
    { type: 'ticker', sid: 5, msg: { market_ticker: TICKER, price_dollars: '0.4100' } },
    { type: 'market_lifecycle_v2', sid: 6, seq: 1, msg: { market_ticker: TICKER } },
    { type: 'event_lifecycle', sid: 6, seq: 2, msg: { event_ticker: 'X' } },
    { type: 'pyth_value', sid: 7, seq: 1, msg: deepValue() },
    { type: 'ok', sid: '__proto__', seq: {} },
  ])('says nothing of a book for $type', (message) => {
    expect(normalize(message)).toStrictEqual([])
  })

  it('keeps the seq of a control message, which counts in its subscription', () => {
    expect(parseMessage({ type: 'ok', sid: 3, seq: 44 })).toStrictEqual({
      type: 'control',
      name: 'ok',
      sid: 3,
      seq: 44,
    })
  })

  it.each(['orderbook_delta_v3', '', '__proto__', 'constructor', 'toString'])(
    'refuses the unknown type %j',
    (type) => {
      expect(codeFor({ type, sid: 1, seq: 1, msg: {} })).toBe('unknown_event')
    },
  )

  it.each([undefined, null, 5, 'text', [], [deltaMessage()], {}, { type: 5 }, { type: null }])(
    'refuses the message %#',
    (message) => {
      expect(codeFor(message)).toBe('invalid_message')
    },
  )

  it.each(['orderbook_snapshot', 'orderbook_delta', 'trade'])(
    'refuses a %s without msg',
    (type) => {
      for (const msg of [undefined, null, 'text', [], 5]) {
        expect(codeFor({ type, sid: 1, seq: 1, msg })).toBe('invalid_message')
      }
    },
  )

  it('is not fooled by own keys named __proto__', () => {
    const message: unknown = JSON.parse(
      `{"type":"orderbook_delta","sid":1,"seq":1,"msg":{"__proto__":{"side":"yes"},"market_ticker":"X","price_dollars":"0.5","delta_fp":"1"}}`,
    )
    expect(codeFor(message)).toBe('invalid_message')
    expect(Object.prototype).not.toHaveProperty('side')
  })
})
