import { hasTradingEnded, type VenueId } from '@priorbook/sdk/domain'
import type { EventMarketJson } from '@priorbook/sdk/wire'
import { showPrice } from '../app/show.ts'
import { printDecimal, printShort } from '../model/decimal.ts'
import { outcomeName, priceOf } from '../model/event-lines.ts'
import { printPlace } from '../model/place.ts'
import { LineKey } from './event-chart.tsx'
import { StatusWord } from './words.tsx'
import { ScrollBox } from './scroll-box.tsx'
import { SortHead, useOrder } from './sort-head.tsx'

const FIGURES = ['Bid', 'Ask', 'Spread', 'Last', 'Volume'] as const
type Column = 'Outcome' | 'Status' | (typeof FIGURES)[number]

const MEMBERS = {
  Bid: 'best_bid',
  Ask: 'best_ask',
  Spread: 'spread',
  Last: 'last_price',
  Volume: 'volume',
} as const

// Only for the order of rows.
function keyOf(market: EventMarketJson, column: Column): string | number | undefined {
  if (column === 'Outcome') return outcomeName(market)
  if (column === 'Status') return market.status ?? undefined
  const value = market[MEMBERS[column]]
  return value === null ? undefined : Number(printDecimal(value))
}

/** Every outcome of an event with its prices, the highest price first. */
export function EventTable(props: {
  readonly venue: VenueId
  readonly markets: readonly EventMarketJson[]
  /** The ids of the markets with a line in the chart, in the order of their lines. */
  readonly drawn: readonly string[]
}) {
  const { venue, drawn } = props
  const byPrice = props.markets.toSorted((a, b) => (priceOf(b) ?? -1) - (priceOf(a) ?? -1))
  const { sorted: markets, head } = useOrder(byPrice, keyOf)
  return (
    <ScrollBox label="Outcomes" class="event-scroll">
      <table class="event-table">
        <thead>
          <tr>
            <SortHead {...head('Outcome')} />
            <SortHead {...head('Status')} />
            {FIGURES.map((name) => (
              <SortHead key={name} {...head(name)} class="num" />
            ))}
          </tr>
        </thead>
        <tbody>
          {markets.map((market) => (
            <OutcomeRow
              key={market.market_id}
              venue={venue}
              market={market}
              line={drawn.indexOf(market.market_id)}
            />
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function OutcomeRow(props: {
  readonly venue: VenueId
  readonly market: EventMarketJson
  readonly line: number
}) {
  const { venue, market, line } = props
  const { market_id: marketId, volume, winning_outcome: winner } = market
  // The last book of a market that has ended offers nothing any more.
  const isOver = hasTradingEnded(market.status)
  const quoted = (price: EventMarketJson['best_bid']): string => showPrice(isOver ? null : price)
  return (
    <tr>
      <td class="outcome">
        <span class="outcome-name">
          {line >= 0 ? <LineKey index={line} /> : <i class="line-key none" aria-hidden="true" />}
          <a href={printPlace({ page: 'market', venue, marketId, time: undefined })}>
            {outcomeName(market)}
          </a>
        </span>
      </td>
      <td>
        <StatusWord status={market.status} />
        {market.has_open_gap && (
          <span class="gap-word">
            {' '}
            <span class="hatch-key" aria-hidden="true" /> gap
          </span>
        )}
        {winner !== null && <span class="quiet"> {winner}</span>}
      </td>
      <td class="num bid">{quoted(market.best_bid)}</td>
      <td class="num ask">{quoted(market.best_ask)}</td>
      <td class="num">{quoted(market.spread)}</td>
      <td class="num">{showPrice(market.last_price)}</td>
      <td class="num">{volume === null ? '–' : printShort(printDecimal(volume))}</td>
    </tr>
  )
}
