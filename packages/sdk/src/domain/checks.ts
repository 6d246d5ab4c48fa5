/** The six checks of the interface document, by the name of their violation. */
export const VIOLATIONS = {
  missing_identity: 'No valid native market identifier or no observation time.',
  price_out_of_bounds: 'A price is not inside (0, 1).',
  unequal_lengths: 'Price and size arrays differ in length.',
  unordered_levels: 'Bids are not descending or asks not ascending.',
  duplicate_price: 'One side holds a price twice.',
  crossed_book: 'The best bid is above the best ask.',
  bad_size: 'A resting size is zero, negative or not a whole number of units.',
} as const

/** The name of one violation. `bad_size` is an addition to the document. */
export type Violation = keyof typeof VIOLATIONS

/** A book as parallel arrays, best first, prices in ticks of 1/`one`. */
export type CheckedBook = {
  readonly id: string
  readonly received: number
  readonly one: number
  readonly bidPrice: ArrayLike<number>
  readonly bidSize: ArrayLike<number>
  readonly askPrice: ArrayLike<number>
  readonly askSize: ArrayLike<number>
}

/** Runs the six checks on one book; a locked book (bid = ask) passes and only gets a flag. */
export function checkBook(book: CheckedBook): Violation | undefined {
  if (book.id === '' || !Number.isSafeInteger(book.received) || book.received <= 0) {
    return 'missing_identity'
  }
  const side =
    checkSide(book.bidPrice, book.bidSize, book.one, -1) ??
    checkSide(book.askPrice, book.askSize, book.one, 1)
  if (side !== undefined) return side
  if (book.bidPrice.length > 0 && book.askPrice.length > 0) {
    if (book.bidPrice[0]! > book.askPrice[0]!) return 'crossed_book'
  }
  return undefined
}

function checkSide(
  price: ArrayLike<number>,
  size: ArrayLike<number>,
  one: number,
  direction: 1 | -1,
): Violation | undefined {
  if (price.length !== size.length) return 'unequal_lengths'
  for (let index = 0; index < price.length; index++) {
    const ticks = price[index]!
    if (!(ticks > 0 && ticks < one)) return 'price_out_of_bounds'
    const units = size[index]!
    if (!(units > 0 && Number.isSafeInteger(units))) return 'bad_size'
    if (index === 0) continue
    const step = (ticks - price[index - 1]!) * direction
    if (step === 0) return 'duplicate_price'
    if (step < 0) return 'unordered_levels'
  }
  return undefined
}
