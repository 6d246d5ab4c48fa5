import { defineStrategy } from '@priorbook/sdk/backtest'

/**
 * Buys the favourite in the last minutes of a market, when its price is high enough to look safe, and
 * holds it until the payout. With few markets and binary payouts, read the confidence band of the report.
 */
export const strategy = defineStrategy((params) => {
  const least = Number(params['least'] ?? 8000)
  const minutes = Number(params['minutes'] ?? 5)
  const size = Number(params['size'] ?? 20)
  const done = new Set<string>()
  return {
    name: 'late favourite',
    onBook(book, { buy, forecast, now }) {
      const { id, closeTime } = book.market
      if (closeTime === undefined || now < closeTime - minutes * 60_000_000 || done.has(id)) return
      const { mid, bestAsk, bestBid } = book
      if (mid === null || bestAsk === null || bestBid === null) return
      // No costs the complement of the best bid for Yes.
      const yes = bestAsk
      const no = 10_000 - bestBid
      if (mid >= least && yes < 9900) {
        done.add(id)
        forecast(id, yes / 10_000)
        buy({ market: id, outcome: 0, price: yes, size, timeInForce: 'IOC' })
      } else if (mid <= 10_000 - least && no < 9900) {
        done.add(id)
        forecast(id, 1 - no / 10_000)
        buy({ market: id, outcome: 1, price: no, size, timeInForce: 'IOC' })
      }
    },
  }
})
