import { FLAGS } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { codeOf, deepValue } from '../capture/refusals.testing.ts'
import { AT, TICKER } from './fixtures.testing.ts'
import { normalizeOrderbookAnswer } from './normalize.ts'

const book = {
  kind: 'snapshot',
  instrument: { venue: 'venueb', market: TICKER, key: TICKER },
  ...AT,
  bids: [{ price: 800, size: 44_400 }],
  asks: [{ price: 1200, size: 196_700 }],
}

describe('an order book answer', () => {
  it.each([
    [
      'the fixed-point form',
      {
        orderbook_fp: { yes_dollars: [['0.0800', '444.00']], no_dollars: [['0.8800', '1967.00']] },
      },
    ],
    [
      'the fixed-point form with its ticker',
      {
        ticker: TICKER,
        orderbook_fp: { yes_dollars: [['0.0800', '444']], no_dollars: [['0.88', '1967']] },
      },
    ],
    ['whole cents', { orderbook: { yes: [[8, 444]], no: [[88, 1967]] } }],
    [
      'cents and dollars side by side',
      {
        orderbook: {
          yes: [[8, 444]],
          no: [[88, 1967]],
          yes_dollars: [['0.0800', 444]],
          no_dollars: [['0.8800', 1967]],
        },
      },
    ],
    ['the demo form', { _yes: [[8, 444]], _no: [[88, 1967]], discriminator: null }],
    ['the demo form per ticker', { [TICKER]: { _yes: [[8, 444]], _no: [[88, 1967]] } }],
  ])('is read in %s, without source time and venue number', (_name, answer) => {
    expect(normalizeOrderbookAnswer(TICKER, answer, AT)).toStrictEqual(book)
  })

  it.each([
    { orderbook_fp: {} },
    { orderbook_fp: { yes_dollars: [], no_dollars: [] } },
    { orderbook: { yes: null, no: null } },
    { _yes: [], _no: [] },
  ])('may be empty: %j', (answer) => {
    const empty = { ...book, bids: [], asks: [] }
    expect(normalizeOrderbookAnswer(TICKER, answer, AT)).toStrictEqual(empty)
  })

  it('is flagged truncated_upstream where a side reaches the requested depth', () => {
    const side = (levels: number) =>
      Array.from({ length: levels }, (_, index) => [`0.${String(index + 1).padStart(4, '0')}`, '1'])
    const flagsOf = (yes: number, no: number, depth?: number) =>
      normalizeOrderbookAnswer(
        TICKER,
        { orderbook_fp: { yes_dollars: side(yes), no_dollars: side(no) } },
        AT,
        depth,
      ).flags
    expect(flagsOf(100, 3, 100)).toBe(FLAGS.truncated_upstream)
    expect(flagsOf(3, 100, 100)).toBe(FLAGS.truncated_upstream)
    expect(flagsOf(99, 99, 100)).toBeUndefined()
    expect(flagsOf(100, 100)).toBeUndefined()
    expect(flagsOf(100, 100, 0)).toBeUndefined()
  })

  it.each([
    ['invalid_message', undefined],
    ['invalid_message', []],
    ['invalid_message', {}],
    ['invalid_message', { error: 'too many requests' }],
    ['invalid_message', { orderbook_fp: null }],
    ['invalid_message', { orderbook_fp: [] }],
    ['invalid_message', { orderbook_fp: { yes_dollars: 'none' } }],
    ['invalid_message', { orderbook_fp: { yes_dollars: [['0.5', '0']] } }],
    ['invalid_message', { orderbook: { no: [[50, -1]] } }],
    ['invalid_message', { ticker: 'OTHER', orderbook_fp: {} }],
    ['invalid_message', { ticker: deepValue(), orderbook_fp: {} }],
    ['invalid_message', { orderbook_fp: deepValue() }],
    ['invalid_decimal', { orderbook_fp: { yes_dollars: [['0,5', '1']] } }],
    ['unrepresentable', { orderbook_fp: { yes_dollars: [['0.5', 1e308]] } }],
  ])('is refused as %s: %#', (code, answer) => {
    expect(codeOf(() => normalizeOrderbookAnswer(TICKER, answer, AT))).toBe(code)
  })

  it('is not found on the prototype of the answer', () => {
    expect(codeOf(() => normalizeOrderbookAnswer('constructor', {}, AT))).toBe('invalid_message')
    expect(codeOf(() => normalizeOrderbookAnswer('__proto__', {}, AT))).toBe('invalid_id')
  })
})
