import { OrderBook } from '@priorbook/sdk/client'
import { describe, expect, it } from 'vitest'
import { complementOf, quoteOf, toBook, type Book, type Levels } from './book.ts'
import { printTicks } from './decimal.ts'

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

function printed({ decimals, sizeDecimals }: Book, { ticks, units }: Levels): string[][] {
  return Array.from(ticks, (tick, index) => [
    printTicks(tick, decimals),
    printTicks(units[index]!, sizeDecimals),
  ])
}

describe('a book of the page', () => {
  const book = toBook(OrderBook.from(row))!

  it('keeps every digit', () => {
    expect(printed(book, book.bids)).toEqual([
      ['0.48', '12.5'],
      ['0.4', '3'],
    ])
    expect(printed(book, book.asks)).toEqual([
      ['0.491', '0.01'],
      ['0.5', '9007199254740.99'],
    ])
    expect(book).toMatchObject({ sequence: 3, received: 1_786_410_915_904_001, source: undefined })
  })

  it('quotes exactly, also half ticks', () => {
    expect(quoteOf(book)).toEqual({ bid: '0.48', ask: '0.491', mid: '0.4855', spread: '0.011' })
    const empty = { ...book, asks: { ticks: new Int32Array(), units: new Float64Array() } }
    expect(quoteOf(empty)).toEqual({
      bid: '0.48',
      ask: undefined,
      mid: undefined,
      spread: undefined,
    })
  })

  it('converts to the other outcome and back', () => {
    const other = complementOf(book)
    expect(quoteOf(other)).toMatchObject({ bid: '0.509', ask: '0.52' })
    expect(other.bids.units).toEqual(book.asks.units)
    expect(complementOf(other)).toEqual(book)
  })

  it('is undefined while the SDK’s book is stale', () => {
    const order = OrderBook.from(row)
    order.clear()
    expect(toBook(order)).toBeUndefined()
  })
})
