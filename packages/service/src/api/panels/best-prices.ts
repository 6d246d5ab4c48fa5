import { printScaled, VENUES, type VenueId } from '@priorbook/sdk/domain'
import { applyRows, Ladder, levelKey, loadBase, type BookRun } from '@priorbook/sdk/tape'
import { decimalJson, type DecimalJson, type ValueStyle } from '@priorbook/sdk/wire'

/** The best prices of a book with their sizes; null where a side is empty. */
export type BestPrices = {
  readonly best_bid: DecimalJson | null
  readonly bid_size: DecimalJson | null
  readonly best_ask: DecimalJson | null
  readonly ask_size: DecimalJson | null
  readonly mid: DecimalJson | null
}

/** The best prices where there is no book. */
export const NO_PRICES: BestPrices = {
  best_bid: null,
  bid_size: null,
  best_ask: null,
  ask_size: null,
  mid: null,
}

/** Reads best prices of many books; books of the same ticks share one ladder, which is large. */
export class BestPriceReader {
  private readonly ladders = new Map<number, Ladder>()
  private readonly style: ValueStyle

  constructor(style: ValueStyle) {
    this.style = style
  }

  /** The best prices after the last row of a run. */
  read(venue: VenueId, { columns, to }: BookRun): BestPrices {
    const { priceDecimals } = columns
    const ladder = this.ladders.get(priceDecimals) ?? new Ladder(priceDecimals)
    loadBase(ladder, columns)
    applyRows(ladder, columns, 0, to)
    const { bestBid: bid, bestAsk: ask, one, decimals } = ladder
    // A row with a finer price than its chunk began with makes the ladder finer.
    if (decimals === priceDecimals) this.ladders.set(priceDecimals, ladder)
    const print = (units: number, places: number): DecimalJson | null =>
      decimalJson(printScaled(units, places), this.style)
    const { sizeDecimals } = VENUES[venue]
    const [hasBid, hasAsk] = [bid !== 0, ask !== one]
    return {
      best_bid: hasBid ? print(bid, decimals) : null,
      bid_size: hasBid ? print(ladder.sizeAt(levelKey('bid', bid)), sizeDecimals) : null,
      best_ask: hasAsk ? print(ask, decimals) : null,
      ask_size: hasAsk ? print(ladder.sizeAt(levelKey('ask', ask)), sizeDecimals) : null,
      mid: hasBid && hasAsk ? print((bid + ask) * 5, decimals + 1) : null,
    }
  }
}
