import { hashReport, sweep, type Strategy } from '../../packages/sdk/src/backtest/index.ts'
import { replayFiles } from '../../packages/sdk/src/replay/replay-node.ts'
import { rssMb } from './measure.ts'

/** One measured run. */
export type BacktestJob = {
  readonly files: readonly string[]
  /** `default` is the active strategy as it is run without options: three models, explanations kept. */
  readonly kind: 'idle' | 'active' | 'default' | 'quote'
  readonly cells: number
  /** Only every nth set of parameters, for a sweep that several processes share. */
  readonly part?: { readonly part: number; readonly of: number }
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
  /** The SHA-256 of all reports. */
  readonly hash: string
}

const job = JSON.parse(process.argv[2]!) as BacktestJob
const { part = 0, of = 1 } = job.part ?? {}
const cells = [...Array.from({ length: job.cells }).keys()].filter((index) => index % of === part)
let firstEventMs = Number.NaN
let peak = 0
const begun = performance.now()
const cpuBegun = process.threadCpuUsage()
const results = await sweep({
  events: replayFiles(job.files),
  cash: '100000',
  ...(job.kind === 'default' ? {} : { queue: 'proportional', keep: 10_000, explain: 100 }),
  // A sweep divides the limits: the same for each run, whatever part of them this process has.
  ...(job.cells === 1 ? {} : { keep: 300 * cells.length, explain: 3 * cells.length }),
  params: cells.map((index) => ({
    edge: 100 + (index % 6) * 100,
    every: 4 + Math.floor(index / 6),
  })),
  strategy: (params) => {
    const strategy = create(job.kind, Number(params['edge']), Number(params['every']))
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
// Reports are built when they are read.
const reports = results.map((result) => result.report)
const seconds = (performance.now() - begun) / 1000
const cpu = process.threadCpuUsage(cpuBegun)
const report = reports[0]!
const hashes = await Promise.all(
  results.flatMap(({ reports }) => reports.map((each) => hashReport(each))),
)
const times: BacktestTimes = {
  seconds,
  cpuSeconds: (cpu.user + cpu.system) / 1e6,
  firstEventMs,
  rssMb: Math.max(peak, rssMb()),
  orders: report.orders.sent,
  fills: report.fills.count,
  hash: hashes.join(' '),
}
console.log(JSON.stringify(times))

function create(kind: BacktestJob['kind'], edge: number, every: number): Strategy {
  if (kind === 'idle') return idle()
  return kind === 'quote' ? taker() : active(edge, every)
}

/** Takes whenever the mid has moved by six cents since its last order, looking at quotes only. */
function taker(): Strategy {
  const mids = new Map<string, number>()
  return {
    onQuote(book, { buy, sell }) {
      const { mid } = book
      if (mid === null) return
      const market = book.market.id
      const last = mids.get(market)
      if (last === undefined || Math.abs(mid - last) > 600) {
        mids.set(market, mid)
        if (last === undefined) return
        if (mid > last) buy({ market, size: 2 })
        else sell({ market, size: 2 })
      }
    },
  }
}

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
