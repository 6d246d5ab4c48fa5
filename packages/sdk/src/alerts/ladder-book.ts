import { VENUES, type VenueId } from '../domain/index.ts'
import type { Ladder } from '../tape/index.ts'
import { toUnits } from './units.ts'
import type { AlertBook } from './value.ts'

/** A ladder of a venue as rules see it. */
export function toAlertBook(ladder: Ladder, venue: VenueId): AlertBook {
  const { decimals, one, bestBid, bestAsk } = ladder
  const { sizeDecimals } = VENUES[venue]
  return {
    bid: bestBid === 0 ? undefined : toUnits(bestBid, decimals),
    ask: bestAsk === one ? undefined : toUnits(bestAsk, decimals),
    depth(side, within) {
      const { price, size } = side === 'bid' ? ladder.bids() : ladder.asks()
      const [best = 0] = price
      let sum = 0n
      for (const [at, ticks] of price.entries()) {
        const distance = toUnits(Math.abs(ticks - best), decimals)
        if (within !== undefined && distance > within) break
        sum += toUnits(size[at]!, sizeDecimals)
      }
      return sum
    },
  }
}
