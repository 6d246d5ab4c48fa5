import { sweep, type Strategy } from '../../packages/sdk/src/backtest/index.ts'
import { replayFiles } from '../../packages/sdk/src/replay/replay-node.ts'
import { rssMb } from './measure.ts'

/** One measured run. */
export type BacktestJob = {
  readonly files: readonly string[]
  readonly kind: 'idle' | 'active'
  readonly cells: number
}

/** What it took. */
export type BacktestTimes = {
  readonly seconds: number
  /** Of the one thread that runs it: what a core of its own would need. */
  readonly cpuSeconds: number
  readonly firstEventMs: number
  readonly rssMb: number
  readonly orders: number
  readonly fills: number
}

const job = JSON.parse(process.argv[2]!) as BacktestJob
let firstEventMs = Number.NaN
let peak = 0
const begun = performance.now()
const cpuBegun = process.threadCpuUsage()
const results = await sweep({
  events: replayFiles(job.files),
  queue: 'proportional',
  cash: '100000',
  keep: 10_000,
  explain: 100,
  params: Array.from({ length: job.cells }, (_, index) => ({
    edge: 100 + (index % 6) * 100,
    every: 4 + Math.floor(index / 6),
  })),
  strategy: (params) => {
    const strategy =
      job.kind === 'idle' ? idle() : active(Number(params['edge']), Number(params['every']))
    return {
      ...strategy,
      onStart() {
        if (Number.isNaN(firstEventMs)) firstEventMs = performance.now() - begun
      },
    }
  },
  onProgress() {
    peak = Math.max(peak, rssMb())
  },
})
const seconds = (performance.now() - begun) / 1000
const cpu = process.threadCpuUsage(cpuBegun)
const { report } = results[0]!
const times: BacktestTimes = {
  seconds,
  cpuSeconds: (cpu.user + cpu.system) / 1e6,
  firstEventMs,
  rssMb: Math.max(peak, rssMb()),
  orders: report.orders.sent,
  fills: report.fills.count,
}
console.log(JSON.stringify(times))

/** Looks at the best prices and does nothing. */
function idle(): Strategy {
  let wide = 0
  return {
    onBook(book) {
      const { bestBid, bestAsk } = book
      if (bestBid !== null && bestAsk !== null && bestAsk - bestBid > 500) wide++
    },
    onEnd({ log }) {
      log(`${wide} wide books`)
    },
  }
}

/** Quotes both sides a little behind the best price and takes when the mid has jumped. */
function active(edge: number, every: number): Strategy {
  type Quotes = {
    bid: number
    bidPrice: number
    ask: number
    askPrice: number
    mid: number
    moves: number
  }
  const quotes = new Map<string, Quotes>()
  return {
    onBook(book, { buy, sell, replace }) {
      const { bestBid, bestAsk } = book
      if (bestBid === null || bestAsk === null) return
      const market = book.market.id
      let own = quotes.get(market)
      if (own === undefined) {
        own = { bid: 0, bidPrice: 0, ask: 0, askPrice: 0, mid: (bestBid + bestAsk) / 2, moves: 0 }
        quotes.set(market, own)
      }
      const bidPrice = bestBid - edge + 100
      const askPrice = bestAsk + edge - 100
      if (bidPrice !== own.bidPrice && bidPrice > 100) {
        own.moves++
        if (own.moves % every === 0) {
          own.bidPrice = bidPrice
          own.bid =
            own.bid === 0
              ? buy({ market, price: bidPrice, size: 5, postOnly: true })
              : replace(own.bid, { price: bidPrice, size: 5 })
        }
      }
      if (askPrice !== own.askPrice && askPrice < 9900) {
        own.moves++
        if (own.moves % every === 0) {
          own.askPrice = askPrice
          own.ask =
            own.ask === 0
              ? sell({ market, price: askPrice, size: 5, postOnly: true })
              : replace(own.ask, { price: askPrice, size: 5 })
        }
      }
      const mid = (bestBid + bestAsk) / 2
      if (mid - own.mid > 600) {
        own.mid = mid
        buy({ market, size: 2 })
      } else if (own.mid - mid > 600) {
        own.mid = mid
        sell({ market, size: 2 })
      }
    },
    onOrder(order) {
      if (order.state === 'resting' || order.state === 'sent') return
      const own = quotes.get(order.market)
      if (own === undefined) return
      if (order.id === own.bid) own.bid = own.bidPrice = 0
      if (order.id === own.ask) own.ask = own.askPrice = 0
    },
  }
}
