import { PriorbookError, type Level, type Side } from '@priorbook/sdk/domain'
import { readArray, readObject, show, wrong, type NativeObject } from '../capture/fields.ts'
import { readPrice, readShares } from './fields.ts'

/** The two ladders of a token, in the order sent (the venue sends the worst first). */
export type NativeLadders = { readonly bids: readonly Level[]; readonly asks: readonly Level[] }

/** One level with the side it stands on. */
export type SidedLevel = Level & { readonly side: Side }

/** Reads both ladders; a side that is null is empty, but a book that names neither side is none. */
export function parseLadders(book: NativeObject): NativeLadders {
  // `buys` and `sells` are the names of the channel's first documentation.
  const bids = book['bids'] ?? book['buys']
  const asks = book['asks'] ?? book['sells']
  if (isAbsent(bids) && isAbsent(asks)) throw wrong('the book', undefined, 'two ladders')
  return { bids: parseSide(bids, 'bids'), asks: parseSide(asks, 'asks') }
}

/**
 * Applies changes with absolute sizes to a full book, in order. A price that a side holds twice is
 * left for the row checks to find.
 */
export function foldChanges(book: NativeLadders, changes: readonly SidedLevel[]): NativeLadders {
  const bids = [...book.bids]
  const asks = [...book.asks]
  for (const { side, price, size } of changes) {
    const levels = side === 'bid' ? bids : asks
    const index = levels.findIndex((level) => level.price === price)
    if (index < 0) {
      if (size > 0) levels.push({ price, size })
    } else if (size > 0) levels[index] = { price, size }
    else levels.splice(index, 1)
  }
  return { bids, asks }
}

const EMPTY: readonly Level[] = []

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function parseSide(value: unknown, name: string): readonly Level[] {
  if (isAbsent(value)) return EMPTY
  return readArray(value, name).map((one) => {
    const level = readObject(one, `a level of ${name}`)
    const price = readPrice(level['price'], `a price of ${name}`)
    const size = readShares(level['size'], `a size of ${name}`)
    if (size === 0) {
      throw new PriorbookError(
        'invalid_message',
        `${name} holds size 0 at ${show(level['price'])}; a resting size is above zero`,
      )
    }
    return { price, size }
  })
}
