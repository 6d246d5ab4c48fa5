import { describe, expect, it } from 'vitest'
import { codeOf, deepValue } from '../capture/refusals.testing.ts'
import {
  AT,
  BOOK_REQUEST,
  bookFrame,
  bookObject,
  LAST_TRADE_REQUEST,
  MARKET_ID,
  predictBook,
  UP_TOKEN,
} from './fixtures.testing.ts'
import { createVenueANormalizer } from './normalize.ts'

const normalizer = createVenueANormalizer()
const market = String(MARKET_ID)
const instrument = { venue: 'venuea', market, key: market }
const frameCode = (value: unknown) => codeOf(() => normalizer.frame(value, AT))
const bookCode = (value: unknown, request: object = {}) =>
  codeOf(() => normalizer.answer({ ...BOOK_REQUEST, ...request }, value, AT))

describe('a frame of the Binance socket', () => {
  it('is the whole book of outcome 0, with the venue time', () => {
    const snapshot = {
      kind: 'snapshot',
      instrument,
      bids: [{ price: 310_000, size: 80_000_000_000 }],
      asks: [
        { price: 320_000, size: 50_000_000_000 },
        { price: 330_000, size: 120_050_000_000 },
      ],
      ...AT,
      source: 1_790_000_000_123_000,
    }
    expect(normalizer.frame(bookFrame(), AT)).toStrictEqual({ events: [snapshot], problems: [] })
    const all = bookFrame({}, { topic: 'web3_prediction_orderbook_data' })
    expect(normalizer.frame(all, AT)).toStrictEqual({ events: [snapshot], problems: [] })
  })

  it('may have an empty side and no time', () => {
    const frame = bookFrame({ bids: [], asks: null, updateTimestampMs: undefined })
    const empty = { kind: 'snapshot', instrument, bids: [], asks: [], ...AT }
    expect(normalizer.frame(frame, AT).events).toStrictEqual([empty])
  })

  it.each([
    { type: 'COMMAND', data: 'SUCCESS', subType: 'SUBSCRIBE', code: '00000000' },
    { type: 'PONG' },
    { type: 'R', requestId: 1, success: true },
    { type: 'M', topic: 'heartbeat', data: 1 },
    { type: 'M', topic: 'polymarketChance/1', data: {} },
  ])('that is known and holds no book says nothing: %j', (frame) => {
    expect(normalizer.frame(frame, AT)).toStrictEqual({ events: [], problems: [] })
  })

  it.each([
    ['unknown_event', { type: 'NEWS' }],
    ['unknown_event', { type: 'TOPIC', topic: 'com_announcement_en', data: '{}' }],
    ['unknown_event', { type: 'M', topic: 'weather/1', data: {} }],
    ['unknown_event', bookFrame({ msgType: 'trade' })],
    ['invalid_message', undefined],
    ['invalid_message', []],
    ['invalid_message', {}],
    ['invalid_message', { type: 'TOPIC', data: '{}' }],
    ['invalid_message', bookFrame({}, { data: '{"msgType":' })],
    ['invalid_message', bookFrame({}, { data: '5' })],
    ['invalid_message', bookFrame({ marketId: 5 })],
    ['invalid_message', bookFrame({ bids: undefined })],
    ['invalid_message', bookFrame({ bids: [['0.5', '0']] })],
    ['invalid_message', bookFrame({ bids: [['0.5', '-1']] })],
    ['invalid_message', bookFrame({ bids: [['0.5']] })],
    ['invalid_message', bookFrame({ bids: ['0.5'] })],
    ['invalid_id', bookFrame({ marketId: -1 })],
    ['invalid_id', bookFrame({ marketId: null })],
    ['invalid_decimal', bookFrame({ bids: [['half', '1']] })],
    ['invalid_time', bookFrame({ updateTimestampMs: 'soon' })],
    ['unrepresentable', bookFrame({ bids: [['0.1234567', '1']] })],
    ['unrepresentable', bookFrame({ bids: [['0.5', '0.000000001']] })],
    ['unrepresentable', bookFrame({ bids: [['0.5', '90071993']] })],
  ])('is refused as %s: %#', (code, frame) => {
    expect(frameCode(frame)).toBe(code)
  })

  it('nested deeper than the stack is refused', () => {
    expect(
      frameCode({ type: 'TOPIC', topic: `web3_prediction_orderbook_1`, data: deepValue() }),
    ).toBe('invalid_message')
  })
})

describe('a frame of Predict.fun', () => {
  it('is the whole book, of numbers', () => {
    const frame = { type: 'M', topic: 'predictOrderbook/777', data: predictBook() }
    expect(normalizer.frame(frame, AT).events).toStrictEqual([
      {
        kind: 'snapshot',
        instrument: { venue: 'venuea', market: '777', key: '777' },
        bids: [
          { price: 420_000, size: 2_025_000_000 },
          { price: 380_000, size: 600_000_000 },
        ],
        asks: [{ price: 830_000, size: 1_250_000_000 }],
        ...AT,
        source: 1_774_000_000_500_000,
      },
    ])
    const answer = { success: true, data: predictBook() }
    expect(normalizer.answer({ kind: 'predict_book', market_id: '777' }, answer, AT)).toStrictEqual(
      normalizer.frame(frame, AT),
    )
  })

  it('of another market than its topic is refused', () => {
    expect(frameCode({ type: 'M', topic: 'predictOrderbook/778', data: predictBook() })).toBe(
      'invalid_message',
    )
  })
})

describe('an answer with a book', () => {
  it('is the whole book of outcome 0, sizes to 8 decimals', () => {
    expect(normalizer.answer(BOOK_REQUEST, bookObject(), AT)).toStrictEqual({
      events: [
        {
          kind: 'snapshot',
          instrument,
          bids: [
            { price: 510_000, size: 500_000_000_000 },
            { price: 500_000, size: 1 },
          ],
          asks: [{ price: 520_000, size: 123_412_345_678 }],
          ...AT,
          source: 1_790_000_000_123_000,
        },
      ],
      problems: [],
    })
  })

  it('is refused for another outcome, an error or anything that is not a book', () => {
    expect(bookCode(bookObject(), { outcome_index: 1 })).toBe('invalid_message')
    expect(bookCode(bookObject({ tokenId: '5' }))).toBe('invalid_message')
    expect(bookCode({ code: -1121, msg: 'Invalid symbol.' })).toBe('invalid_message')
    expect(bookCode(bookObject({ asks: undefined }))).toBe('invalid_message')
    expect(bookCode(bookObject({ bids: [{ price: '0.5', size: '0.0' }] }))).toBe('invalid_message')
    expect(bookCode(bookObject({ bids: [{ price: '0.5' }] }))).toBe('invalid_message')
    expect(bookCode(bookObject(), { market_id: 'a b' })).toBe('invalid_id')
  })
})

describe('an answer with the last trade', () => {
  const read = (value: unknown) => normalizer.answer(LAST_TRADE_REQUEST, value, AT)

  it('is one sample without a venue time', () => {
    const sample = {
      kind: 'sample',
      instrument: { venue: 'venuea', market, key: UP_TOKEN },
      metric: 'last_trade',
      value: '0.5',
      ...AT,
    }
    expect(read({ marketId: MARKET_ID, lastTradePrice: '0.50' }).events).toStrictEqual([sample])
    expect(read({ marketId: MARKET_ID, lastTradePrice: 0.5 }).events).toStrictEqual([sample])
  })

  it('gives nothing before the first trade', () => {
    expect(read({ marketId: MARKET_ID, lastTradePrice: null }).events).toStrictEqual([])
  })

  it('is refused where it is malformed', () => {
    expect(codeOf(() => read({ marketId: 1, lastTradePrice: '0.5' }))).toBe('invalid_message')
    expect(codeOf(() => read({ marketId: MARKET_ID, lastTradePrice: 'x' }))).toBe('invalid_decimal')
    expect(codeOf(() => read({ marketId: MARKET_ID, lastTradePrice: '0.123456789' }))).toBe(
      'unrepresentable',
    )
    expect(codeOf(() => read([]))).toBe('invalid_message')
  })
})

it('an answer to an unknown request is refused', () => {
  expect(codeOf(() => normalizer.answer({ kind: 'weather' }, {}, AT))).toBe('unknown_event')
  expect(normalizer.answer({ kind: 'categories' }, { categories: [] }, AT).events).toStrictEqual([])
})
