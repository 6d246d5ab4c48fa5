import type { Fill, Proposition, World } from '../../core/upstream.ts'
import { toUuid, type Names } from './names.ts'

/** One public trade as the venue keeps it. */
export type Trade = Fill & { readonly id: string; readonly ticker: string; readonly at: number }

/** The newest trades, for GET /markets/trades and for candlesticks. */
export interface Trades {
  note(proposition: Proposition, names: Names, fill: Fill, at: number): Trade
  /** Newest first. */
  list(): readonly Trade[]
}

const KEPT = 20_000

/** Creates an empty list. */
export function createTrades(world: World): Trades {
  let kept: Trade[] = []
  let count = 0
  return {
    note(proposition, { ticker }, fill, at) {
      const id = toUuid(
        world.hex(`venueb/trade/${ticker}/${proposition.version}/${at}/${++count}`, 32),
      )
      const trade = { ...fill, id, ticker, at }
      kept.push(trade)
      if (kept.length > 2 * KEPT) kept = kept.slice(-KEPT)
      return trade
    },
    list: () => kept.toReversed(),
  }
}
