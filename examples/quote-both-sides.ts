import { defineStrategy } from '@priorbook/sdk/backtest'

/**
 * Quotes a bid and an ask at the best prices and moves them with the market, within a position limit. The
 * result depends on the queue: read the bracket of the report, not a single number.
 */
export const strategy = defineStrategy((params) => {
  const size = Number(params['size'] ?? 10)
  const most = Number(params['most'] ?? 50)
  type Quote = { id: number; price: number }
  const quotes = new Map<string, { bid: Quote; ask: Quote }>()
  const none = (): Quote => ({ id: 0, price: 0 })
  return {
    name: 'quote both sides',
    onBook(book, { buy, sell, replace, cancel, position, now }) {
      const { bestBid, bestAsk, market } = book
      const { id, closeTime } = market
      let own = quotes.get(id)
      if (own === undefined) {
        own = { bid: none(), ask: none() }
        quotes.set(id, own)
      }
      const isLate = closeTime !== undefined && now > closeTime - 30_000_000
      if (bestBid === null || bestAsk === null || isLate) {
        for (const quote of [own.bid, own.ask]) {
          if (quote.id !== 0) cancel(quote.id)
          Object.assign(quote, none())
        }
        return
      }
      const { shares } = position(id)
      const net = (shares[0] ?? 0) - (shares[1] ?? 0)
      if (own.bid.price !== bestBid && net < most) {
        const order = { market: id, price: bestBid, size, postOnly: true }
        own.bid.id = own.bid.id === 0 ? buy(order) : replace(own.bid.id, { price: bestBid, size })
        own.bid.price = bestBid
      }
      if (own.ask.price !== bestAsk && net > -most) {
        const order = { market: id, price: bestAsk, size, postOnly: true }
        own.ask.id = own.ask.id === 0 ? sell(order) : replace(own.ask.id, { price: bestAsk, size })
        own.ask.price = bestAsk
      }
    },
    onOrder({ id, market, state }) {
      if (state === 'resting' || state === 'sent') return
      const own = quotes.get(market)
      for (const quote of own === undefined ? [] : [own.bid, own.ask]) {
        if (quote.id === id) Object.assign(quote, none())
      }
    },
  }
})
