import { defineStrategy } from '@priorbook/sdk/backtest'

// Buys an outcome that a model of your own calls cheap. The model's rows come from a file with the columns
// time (when the row was known), market and chance:
//   priorbook backtest examples/follow-a-model.ts --series KXBTC15M --from … --to … --data model=chances.csv

/** Buys 10 where the model's chance is `edge` ten-thousandths above the best ask, once per market. */
export const strategy = defineStrategy(({ edge = 300 }) => {
  const chances = new Map<string, number>()
  const bought = new Set<string>()
  return {
    name: 'follow a model',
    onData(feed, { values }) {
      const { market, chance } = values
      if (feed === 'model' && typeof market === 'string' && typeof chance === 'number') {
        chances.set(market, chance)
      }
    },
    onBook(book, { buy }) {
      const { id } = book.market
      const chance = chances.get(id)
      if (book.outcome !== 0 || book.bestAsk === null || chance === undefined) return
      if (bought.has(id) || chance * 10_000 < book.bestAsk + Number(edge)) return
      bought.add(id)
      buy({ market: id, price: book.bestAsk, size: 10, timeInForce: 'IOC' })
    },
    onMarketEnd({ id }) {
      chances.delete(id)
    },
  }
})
