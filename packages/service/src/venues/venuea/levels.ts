import { parsePrice, parseSize, PriorbookError, VENUES, type Level } from '@priorbook/sdk/domain'
import { decimalOf, readArray, show, wrong, type NativeObject } from '../capture/fields.ts'

/** The ladder of outcome 0, best first on the wire and kept in the order sent. */
export type NativeLadder = { readonly bids: readonly Level[]; readonly asks: readonly Level[] }

const { priceDecimals, sizeDecimals } = VENUES.venuea

/**
 * Reads both sides of a book. Levels are `{price, size}` (Binance REST) or `[price, size]` (sockets,
 * Predict.fun), of strings or numbers. A side may be [] or null, but it must be named: an error
 * answer names neither and is no empty book.
 */
export function parseLadder(book: NativeObject): NativeLadder {
  return { bids: parseSide(book, 'bids'), asks: parseSide(book, 'asks') }
}

const EMPTY: readonly Level[] = []

function parseSide(book: NativeObject, name: 'bids' | 'asks'): readonly Level[] {
  const side = book[name]
  if (side === null) return EMPTY
  const levels: Level[] = []
  for (const level of readArray(side, name)) levels.push(parseLevel(level, name))
  return levels
}

function parseLevel(value: unknown, name: string): Level {
  let price: unknown
  let size: unknown
  if (Array.isArray(value)) {
    if (value.length !== 2) throw wrong(`a level of ${name}`, value, '[price, size]')
    price = value[0]
    size = value[1]
  } else if (typeof value === 'object' && value !== null) {
    price = (value as NativeObject)['price']
    size = (value as NativeObject)['size']
  } else {
    throw wrong(`a level of ${name}`, value, 'a price and a size')
  }
  const level = {
    price: parsePrice(decimalOf(price, `a price of ${name}`), priceDecimals),
    size: parseSize(decimalOf(size, `a size of ${name}`), sizeDecimals),
  }
  if (level.size > 0) return level
  throw new PriorbookError(
    'invalid_message',
    `${name} holds size ${show(size)} at ${show(price)}; a resting size is above zero`,
  )
}
