import type { EventWithMarketsJson } from '@priorbook/sdk/wire'
import { showPrice } from '../app/show.ts'
import { outcomeName } from '../model/event-lines.ts'
import { Facts } from './words.tsx'

const REASONS = {
  not_open: 'not open',
  no_book: 'no book was recorded',
  open_gap: 'nothing was recorded since its newest book',
  no_bid: 'no bid',
  no_ask: 'no ask',
} as const

/** The sum of best prices, with what it leaves out. */
export function EventSums({ event }: { readonly event: EventWithMarketsJson }) {
  const { sums, markets } = event
  if (sums === null) {
    return <p>The event has too many markets to add up their prices here.</p>
  }
  const names = new Map(markets.map((market) => [market.market_id, outcomeName(market)]))
  const { bid_count: bids, ask_count: asks, left_out: leftOut } = sums
  return (
    <>
      <Facts
        class="facts"
        facts={[
          [`Best bids of ${bids} of ${markets.length}`, showPrice(sums.best_bid)],
          [`Best asks of ${asks} of ${markets.length}`, showPrice(sums.best_ask)],
        ]}
      />
      {leftOut.length > 0 && (
        <details class="left-out">
          <summary>
            {leftOut.length === 1 ? 'One price is' : `${leftOut.length} prices are`} not in the sums
          </summary>
          <ul>
            {leftOut.map(({ market_id: id, reason }) => (
              <li key={`${id} ${reason}`}>
                {names.get(id) ?? id}: {REASONS[reason]}
              </li>
            ))}
          </ul>
        </details>
      )}
      <p class="quiet">
        Only open books without a gap are added up; nothing is put in the place of a price that is
        not known. Fees, sizes and outcomes that the venue has not listed are not in the sums.
      </p>
    </>
  )
}
