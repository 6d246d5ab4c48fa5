import { parseScaled, printScaled, VENUES, type VenueId } from '@priorbook/sdk/domain'
import {
  decimalJson,
  type EventMarketJson,
  type EventSumsJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'

/**
 * Adds up the best prices of markets, exactly. Only an open market whose newest book is followed by no gap
 * counts: of any other the price now is not known.
 */
export function sumPrices(
  venue: VenueId,
  markets: readonly EventMarketJson[],
  style: ValueStyle,
): EventSumsJson {
  const { priceDecimals } = VENUES[venue]
  const sums = { best_bid: { units: 0, count: 0 }, best_ask: { units: 0, count: 0 } }
  const leftOut: { market_id: string; reason: EventSumsJson['left_out'][number]['reason'] }[] = []
  for (const market of markets) {
    const reason = reasonOf(market)
    if (reason !== undefined) {
      leftOut.push({ market_id: market.market_id, reason })
      continue
    }
    for (const side of ['best_bid', 'best_ask'] as const) {
      const price = market[side]
      if (price === null) {
        leftOut.push({ market_id: market.market_id, reason: MISSING[side] })
        continue
      }
      sums[side].units += parseScaled(String(price), priceDecimals)
      sums[side].count++
    }
  }
  const total = ({ units, count }: { units: number; count: number }) =>
    count === 0 ? null : decimalJson(printScaled(units, priceDecimals), style)
  return {
    best_bid: total(sums.best_bid),
    best_ask: total(sums.best_ask),
    bid_count: sums.best_bid.count,
    ask_count: sums.best_ask.count,
    left_out: leftOut,
  }
}

const MISSING = { best_bid: 'no_bid', best_ask: 'no_ask' } as const

function reasonOf({
  status,
  quote_time: time,
  has_open_gap: hasGap,
}: EventMarketJson): 'not_open' | 'no_book' | 'open_gap' | undefined {
  if (status !== 'open') return 'not_open'
  if (time === null) return 'no_book'
  return hasGap ? 'open_gap' : undefined
}
