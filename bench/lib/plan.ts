import { createRandom } from './random.ts'

/** What the plan has to know of a market: how many rows it has and when. */
export type PlanMarket = {
  readonly ticker: string
  readonly count: number
  readonly firstReceived: number
  readonly lastReceived: number
}

/** A page of rows that lie wholly inside one market: sequence from .. from + rows - 1. */
export type PlannedPage = {
  readonly ticker: string
  readonly from: number
  readonly rows: number
}

/** A question for the book of one market at one microsecond. */
export type PlannedPoint = {
  readonly ticker: string
  readonly atMicros: number
}

/** The reads of a benchmark, equal for every engine that is given the same seed and markets. */
export type Plan = {
  readonly pages100: readonly PlannedPage[]
  readonly pages1000: readonly PlannedPage[]
  readonly points: readonly PlannedPoint[]
  /** The market with most rows: sampling and replay read it whole. */
  readonly densest: PlanMarket
}

/** The seed every benchmark of a report uses, so that all engines answer the same questions. */
export const planSeed = 1

/** Draws the reads of a benchmark: distinct pages, markets weighted by their rows. */
export function makePlan(seed: number, markets: readonly PlanMarket[]): Plan {
  const random = createRandom(seed)
  const densest = markets.reduce((left, right) => (right.count > left.count ? right : left))
  return {
    pages100: drawPages(100, 2000),
    pages1000: drawPages(1000, 500),
    points: Array.from({ length: 2000 }, drawPoint),
    densest,
  }

  /** A uniform draw over all possible first rows is a draw weighted by the rows of a market. */
  function drawPages(rows: number, wanted: number): PlannedPage[] {
    const starts = markets.map(({ count }) => Math.max(0, count - rows + 1))
    const possible = starts.reduce((sum, count) => sum + count, 0)
    const pages = new Map<number, PlannedPage>()
    while (pages.size < Math.min(wanted, possible)) {
      const position = random.integer(0, possible - 1)
      let offset = position
      const index = starts.findIndex((count) => {
        if (offset < count) return true
        offset -= count
        return false
      })
      pages.set(position, { ticker: markets[index]!.ticker, from: offset + 1, rows })
    }
    return [...pages.values()]
  }

  function drawPoint(): PlannedPoint {
    const market = random.pick(markets)
    const atMicros = random.integer(market.firstReceived, market.lastReceived)
    return { ticker: market.ticker, atMicros }
  }
}
