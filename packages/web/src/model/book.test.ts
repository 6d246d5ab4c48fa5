import { OrderBook } from '@priorbook/sdk/client'
import { describe, expect, it } from 'vitest'
import { complementOf, quoteOf, toBook } from './book.ts'

const row = {
  venue: 'venueb',
  market_id: 'M',
  token_id: null,
  sequence: 3,
  received_time: 1_786_410_915_904_001,
  source_time: null,
  bids: { price: ['0.48', '0.4'], size: ['12.5', '3'] },
  asks: { price: ['0.491', '0.5'], size: ['0.01', '9007199254740.99'] },
} as const

describe('a book for the eye', () => {
  const book = toBook(OrderBook.from(row))!

  it('keeps every digit', () => {
    expect(book.bids).toEqual({ ticks: [4800, 4000], size: ['12.5', '3'] })
    expect(book.asks).toEqual({ ticks: [4910, 5000], size: ['0.01', '9007199254740.99'] })
    expect(book).toMatchObject({ sequence: 3, received: 1_786_410_915_904_001, source: undefined })
  })

  it('quotes exactly, halves of ticks too', () => {
    expect(quoteOf(book)).toEqual({ bid: '0.48', ask: '0.491', mid: '0.4855', spread: '0.011' })
    const empty = { ...book, asks: { ticks: [], size: [] } }
    expect(quoteOf(empty)).toEqual({
      bid: '0.48',
      ask: undefined,
      mid: undefined,
      spread: undefined,
    })
  })

  it('turns into the other outcome and back', () => {
    const other = complementOf(book)
    expect(quoteOf(other)).toMatchObject({ bid: '0.509', ask: '0.52' })
    expect(other.bids.size).toEqual(book.asks.size)
    expect(complementOf(other)).toEqual(book)
  })

  it('is none while the book is stale', () => {
    const order = OrderBook.from(row)
    order.clear()
    expect(toBook(order)).toBeUndefined()
  })
})
