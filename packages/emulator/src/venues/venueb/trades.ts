import type { Fill, Proposition, World } from '../../core/upstream.ts'
import { toUuid, type Names } from './names.ts'

/** One public trade as the venue keeps it. */
export type Trade = Fill & { readonly id: string; readonly ticker: string; readonly at: number }

/** The newest trades, for GET /markets/trades and for candlesticks. */
export interface Trades {
  note(proposition: Proposition, names: Names, fill: Fill, at: number): Trade
  /** Newest first, of all markets or of one. */
  list(ticker?: string): readonly Trade[]
}

/** Trades that are kept of all markets, and of each. */
const KEPT = 20_000

/** Creates an empty list. */
export function createTrades(world: World): Trades {
  let kept: Trade[] = []
  const markets = new Map<string, Trade[]>()
  let count = 0
  return {
    note(proposition, { ticker }, fill, at) {
      const id = toUuid(
        world.hex(`venueb/trade/${ticker}/${proposition.version}/${at}/${++count}`, 32),
      )
      const trade = { ...fill, id, ticker, at }
      kept.push(trade)
      if (kept.length > 2 * KEPT) kept = kept.slice(-KEPT)
      const own = markets.get(ticker) ?? []
      own.push(trade)
      markets.set(ticker, own.length > 2 * KEPT ? own.slice(-KEPT) : own)
      return trade
    },
    list: (ticker) => (ticker === undefined ? kept : (markets.get(ticker) ?? [])).toReversed(),
  }
}
