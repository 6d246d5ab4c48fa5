import { VENUES } from '@priorbook/sdk/domain'
import type { TradeJson } from '@priorbook/sdk/wire'
import { prices, showClock, showPrice } from '../app/show.ts'
import { groupDigits, printDecimal } from '../model/decimal.ts'
import { microsOf } from '../model/time.ts'
import type { MarketSession } from '../session/market-session.ts'

const SHOWN = 14

/** The newest executions at or before the instant. */
export function TradeList({ session }: { readonly session: MarketSession }) {
  const { hasTrades, label } = VENUES[session.ref.venue]
  const trades = session.isLive.value ? session.trades.value : session.pastTrades.value
  if (trades.length === 0) {
    return (
      <p class="quiet">
        {hasTrades
          ? 'No execution up to this instant.'
          : `${label} publishes no executions, and none was read from its chain up to this instant; its last trade is a sample above.`}
      </p>
    )
  }
  return (
    <ol class="trades">
      {trades.slice(0, SHOWN).map((trade) => (
        <TradeRow key={trade.id} trade={trade} />
      ))}
    </ol>
  )
}

function TradeRow({ trade }: { readonly trade: TradeJson }) {
  const { taker_side: side, outcome } = trade
  return (
    <li>
      <span class="quiet">{showClock(microsOf(trade.received_time))}</span>
      <span class={side === 'buy' ? 'buy' : 'sell'}>
        <span aria-hidden="true">{side === 'buy' ? '▲' : side === 'sell' ? '▼' : '·'}</span>{' '}
        {side ?? 'trade'} {outcome ?? ''}
      </span>
      <span class="price">{tradePrice(trade)}</span>
      <span class="size">{groupDigits(printDecimal(trade.size))}</span>
    </li>
  )
}

function tradePrice({ price }: TradeJson): string {
  return prices.value === 'cents' ? showPrice(price) : printDecimal(price)
}
