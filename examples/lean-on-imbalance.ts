import { defineStrategy } from '@priorbook/sdk/backtest'

/**
 * Buys the outcome that the best levels of the book lean to, if the microprice promises more than spread and
 * fee cost, and holds it until the payout. It looks at quotes only, so it is called for a fraction of the books.
 */
export const strategy = defineStrategy((params) => {
  const least = Number(params['least'] ?? 0.8)
  const depth = Number(params['depth'] ?? 3)
  const size = Number(params['size'] ?? 10)
  const most = Number(params['most'] ?? 10)
  return {
    name: 'lean on imbalance',
    onQuote(book, { buy, book: bookOf, exposure, fee, secondsToClose }) {
      const { id } = book.market
      const left = secondsToClose(id)
      if (left === undefined || left < 60) return
      const lean = book.imbalance(depth)
      if (lean === null || Math.abs(lean) < least) return
      const outcome = lean > 0 ? 0 : 1
      const own = bookOf(id, outcome)
      if (own?.microprice === null || own?.bestAsk === null || own === undefined) return
      if (exposure(id).shares[outcome]! >= most) return
      const cost = own.vwap('buy', size)
      const paid = fee({ market: id, outcome, side: 'buy', price: own.bestAsk, size })
      if (cost === null || paid === undefined) return
      const edge = own.microprice - cost - (paid / size) * 10_000
      if (edge > -200) {
        buy({ market: id, outcome, price: own.bestAsk, size, timeInForce: 'IOC' })
      }
    },
  }
})
