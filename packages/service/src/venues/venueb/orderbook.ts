import { FLAGS, type BookSnapshot } from '@priorbook/sdk/domain'
import { readObject, wrong, type NativeObject } from '../capture/fields.ts'
import { readInstrument } from './fields.ts'
import { parseBook, toAsks } from './levels.ts'
import type { Arrival } from '../capture/contract.ts'

/**
 * Turns an answer of GET /markets/{ticker}/orderbook, or one item of GET /markets/orderbooks, into
 * a full book. The answer has neither time nor number: the observation is known by ours alone.
 * `depth` is the limit that was asked for (0 or absent: all levels); a side that reaches it may go
 * on, and the book is flagged.
 */
export function normalizeOrderbookAnswer(
  ticker: string,
  answer: unknown,
  at: Arrival,
  depth = 0,
): BookSnapshot {
  const instrument = readInstrument(ticker)
  const object = readObject(answer, 'the order book answer')
  const said = object['ticker'] ?? ticker
  if (said !== ticker) throw wrong('the ticker of the answer', said, ticker)
  const book = parseBook(bookOf(object, ticker))
  const snapshot = {
    kind: 'snapshot' as const,
    instrument,
    bids: book.yes,
    asks: toAsks(book.no),
    received: at.received,
    journal: at.journal,
  }
  const cut = depth > 0 && (book.yes.length >= depth || book.no.length >= depth)
  return cut ? { ...snapshot, flags: FLAGS.truncated_upstream } : snapshot
}

// Current: {orderbook_fp}. Until spring 2026: {orderbook}. Demo exchange of 2024: {_yes, _no}, alone
// or under its ticker. hasOwn, because `constructor` is a lawful ticker and a name of every object.
function bookOf(answer: NativeObject, ticker: string): NativeObject {
  for (const name of ['orderbook_fp', 'orderbook', ticker]) {
    if (Object.hasOwn(answer, name)) return readObject(answer[name], name)
  }
  if (Object.hasOwn(answer, '_yes') || Object.hasOwn(answer, '_no')) return answer
  throw wrong('the answer', answer, 'an order book')
}
