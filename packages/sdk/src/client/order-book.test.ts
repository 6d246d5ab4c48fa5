import { describe, expect, it } from 'vitest'
import { OrderBook, type ChangedRow, type FullRow } from './order-book.ts'

const HEAD = {
  venue: 'venueb',
  market_id: 'M-1',
  token_id: null,
  received_time: '2026-08-05T12:00:00.000000Z',
  source_time: null,
} as const

function full(sequence: number, bids: [string, string][], asks: [string, string][]): FullRow {
  const side = (levels: [string, string][]) => ({
    price: levels.map(([price]) => price),
    size: levels.map(([, size]) => size),
  })
  return { ...HEAD, sequence, bids: side(bids), asks: side(asks) }
}

function changed(
  sequence: number,
  levels: readonly ['bid' | 'ask', string, string][],
  flags: readonly string[] = [],
): ChangedRow {
  return {
    ...HEAD,
    sequence,
    flags,
    changes: {
      side: levels.map(([side]) => side),
      price: levels.map(([, price]) => price),
      size: levels.map(([, , size]) => size),
    },
  }
}

const update = (row: ChangedRow, previous: number) =>
  ({
    type: 'update',
    key: 'M-1',
    sequence: row.sequence,
    previous_sequence: previous,
    row: { ...row, id: `venueb:M-1:${row.sequence}` },
  }) as unknown as Parameters<OrderBook['apply']>[0]

describe('an order book', () => {
  it('holds a whole book exactly, best first', () => {
    const book = OrderBook.from(
      full(
        1,
        [
          ['0.5', '10'],
          ['0.48', '2.5'],
        ],
        [['0.53', '7']],
      ),
    )
    expect(book.best).toEqual({
      bid: { price: '0.5', size: '10' },
      ask: { price: '0.53', size: '7' },
    })
    expect([book.mid, book.spread, book.bidLevels, book.askLevels]).toEqual(['0.515', '0.03', 2, 1])
    expect(book.bids(1)).toEqual([{ price: '0.5', size: '10' }])
    expect(book.depth('bid')).toBe('12.5')
    expect(book.sizeAt('bid', '0.48')).toBe('2.5')
    expect(book.sizeAt('bid', '0.481')).toBe('0')
    expect(book.isStale).toBe(false)
  })

  it('takes prices finer than a cent after it began in cents', () => {
    const book = OrderBook.from(full(1, [['0.5', '10']], [['0.53', '7']]))
    expect(
      book.apply(
        update(
          changed(2, [
            ['bid', '0.5001', '3'],
            ['ask', '0.53', '0'],
          ]),
          1,
        ),
      ),
    ).toBe(true)
    expect(book.bids()).toEqual([
      { price: '0.5001', size: '3' },
      { price: '0.5', size: '10' },
    ])
    expect([book.asks(), book.mid, book.spread]).toEqual([[], undefined, undefined])
  })

  it('is stale after a hole, until a whole book comes', () => {
    const book = OrderBook.from(full(1, [['0.5', '10']], [['0.53', '7']]))
    expect(book.apply(update(changed(4, [['bid', '0.49', '1']]), 3))).toBe(false)
    expect([book.isStale, book.sequence]).toEqual([true, 1])
    expect(book.apply(update(changed(5, [['bid', '0.49', '1']]), 4))).toBe(false)
    expect(book.apply(update(changed(6, [['bid', '0.4', '1']], ['restart']), 5))).toBe(true)
    expect([book.isStale, book.bids()]).toEqual([false, [{ price: '0.4', size: '1' }]])
  })

  it('leaves old messages alone', () => {
    const book = OrderBook.from(full(7, [['0.5', '10']], []))
    expect(book.apply(update(changed(7, [['bid', '0.5', '1']]), 6))).toBe(false)
    expect(book.sizeAt('bid', 0.5)).toBe('10')
  })

  it('refuses rows of another venue and levels that are none', () => {
    const book = new OrderBook('venuec')
    const row = full(1, [['0.5', '1']], [])
    expect(() => book.applyRow(row)).toThrow(/venueb/)
    expect(() => OrderBook.from(full(1, [['1.2', '1']], []))).toThrow(/is none/)
    expect(() => OrderBook.from(full(1, [['0.5', 'x']], []))).toThrow(/decimal/)
    expect(() => OrderBook.from(full(1, [['0.50001', '1']], []))).toThrow(/decimals/)
  })

  it('prints itself in the words of the wire', () => {
    const book = OrderBook.from(full(3, [['0.5', '10']], [['0.53', '7']]))
    expect(JSON.parse(JSON.stringify(book))).toMatchObject({
      venue: 'venueb',
      market_id: 'M-1',
      sequence: 3,
      best_bid: '0.5',
      mid: '0.515',
      bids: { price: ['0.5'], size: ['10'] },
      asks: { price: ['0.53'], size: ['7'] },
    })
  })
})
