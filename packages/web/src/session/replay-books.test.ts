import { OrderBook, type ReplayMessage } from '@priorbook/sdk/client'
import type { TradeJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { toBook } from '../model/book.ts'
import { MAX_TRADES, ReplayBooks } from './replay-books.ts'

const HEAD = {
  venue: 'venueb',
  market_id: 'M',
  token_id: null,
  received_time: 1_786_410_915_904_001,
  source_time: null,
} as const
const WHOLE = {
  ...HEAD,
  id: 'venueb:M:1',
  sequence: 1,
  bids: { price: ['0.48', '0.4'], size: ['12.5', '3'] },
  asks: { price: ['0.5'], size: ['7'] },
} as const

type BookMessage = Extract<ReplayMessage, { readonly type: 'snapshot' | 'update' }>

function snapshot(): ReplayMessage {
  const head = { type: 'snapshot', key: 'M', sequence: 1, previous_sequence: null }
  return { ...head, row: WHOLE } as unknown as ReplayMessage
}

function update(sequence: number, price: string, size: string, flags: string[] = []): BookMessage {
  const changes = { side: ['bid' as const], price: [price], size: [size] }
  return {
    type: 'update',
    key: 'M',
    sequence,
    previous_sequence: sequence - 1,
    row: { ...HEAD, id: `venueb:M:${sequence}`, sequence, flags, changes },
  } as unknown as BookMessage
}

function gap(scope: string, end: number | null): ReplayMessage {
  const one = { scope, key: 'M', start_time: HEAD.received_time, end_time: end }
  return { type: 'gap', gap: one } as unknown as ReplayMessage
}

function trade(id: string): ReplayMessage {
  return { type: 'trade', row: { id, received_time: 1 } as TradeJson } as unknown as ReplayMessage
}

describe('the books of a replay', () => {
  it('gives the last book of many rows, equal to the SDK’s', () => {
    const books = new ReplayBooks()
    const order = OrderBook.from(WHOLE)
    books.apply(snapshot())
    expect(books.changes()?.time).toBeUndefined()
    for (const message of [update(2, '0.485', '0.01'), update(3, '0.4', '0')]) {
      books.apply(message)
      order.apply(message)
    }
    expect(books.changes()).toEqual({
      books: [['M', toBook(order)]],
      trades: [],
      time: HEAD.received_time,
    })
    expect(toBook(order)!.sequence).toBe(3)
    expect(books.changes()).toBeUndefined()
  })

  it('removes books where a gap opens, until a whole one comes', () => {
    for (const scope of ['instrument', 'venue']) {
      const books = new ReplayBooks()
      books.apply(snapshot())
      books.apply(gap(scope, null))
      expect(books.changes()?.books).toEqual([['M', undefined]])
      books.apply(update(2, '0.3', '1'))
      books.apply(gap(scope, HEAD.received_time + 1))
      expect(books.changes()).toBeUndefined()
      books.apply(update(3, '0.3', '1', ['restart']))
      expect(books.changes()?.books[0]?.[1]?.bids.units).toEqual(Float64Array.of(100))
    }
  })

  it('keeps the newest executions, newest first', () => {
    const books = new ReplayBooks()
    for (let count = 0; count < 5 * MAX_TRADES; count++) books.apply(trade(`t${count}`))
    const trades = books.changes()!.trades.map(({ id }) => id)
    expect(trades).toHaveLength(MAX_TRADES)
    expect([trades[0], trades.at(-1)]).toEqual([`t${5 * MAX_TRADES - 1}`, `t${4 * MAX_TRADES}`])
  })
})
