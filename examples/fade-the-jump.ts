import { defineStrategy } from '@priorbook/sdk/backtest'

/**
 * When the mid jumps within some seconds, buys the outcome that became cheap and sells it after a holding
 * time. Each round trip takes twice, so it pays spread and fee twice: a backtest without them would show a
 * profit.
 */
export const strategy = defineStrategy((params) => {
  const jump = Number(params['jump'] ?? 1500)
  const seconds = Number(params['seconds'] ?? 10)
  const hold = Number(params['hold'] ?? 180)
  const size = Number(params['size'] ?? 10)
  type Own = { at: number; mid: number; bought: number; until: number; isBusy: boolean }
  const markets = new Map<string, Own>()
  return {
    name: 'fade the jump',
    onBook(book, { now, buy, sell, position }) {
      const { mid } = book
      const { id, closeTime } = book.market
      if (mid === null || closeTime === undefined || now > closeTime - 60_000_000) return
      let own = markets.get(id)
      if (own === undefined) {
        own = { at: now, mid, bought: -1, until: 0, isBusy: false }
        markets.set(id, own)
      }
      if (own.bought >= 0) {
        if (now < own.until || own.isBusy) return
        const held = position(id).shares[own.bought] ?? 0
        if (held > 0) sell({ market: id, outcome: own.bought, size: held })
        own.isBusy = held > 0
        if (held === 0) own.bought = -1
        return
      }
      if (now - own.at < seconds * 1_000_000) return
      const moved = mid - own.mid
      own.at = now
      own.mid = mid
      if (Math.abs(moved) < jump) return
      own.bought = moved > 0 ? 1 : 0
      own.until = now + hold * 1_000_000
      buy({ market: id, outcome: own.bought, size })
    },
    onOrder(order) {
      const own = markets.get(order.market)
      if (own !== undefined && order.side === 'sell' && order.state !== 'resting') {
        own.isBusy = false
        own.bought = -1
      }
    },
  }
})
