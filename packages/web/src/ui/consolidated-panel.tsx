import type { ConsolidatedJson } from '@priorbook/sdk/client'
import { useEffect, useState } from 'preact/hooks'
import { showPrice } from '../app/show.ts'
import { isSize } from '../model/compare-view.ts'
import { alignDecimals, groupDigits, padDecimal, printDecimal } from '../model/decimal.ts'
import { roundDecimal } from '../model/exact.ts'
import type { CompareSession } from '../session/compare-session.ts'
import { NetPrice } from './net-price.tsx'
import { VenueTag } from './words.tsx'

const TYPING_MS = 300

/** One book over all venues in prices after fees, and the best way to trade a size. */
export function ConsolidatedPanel({ session }: { readonly session: CompareSession }) {
  const shown = session.shown.value
  return (
    <div class="consolidated">
      <div class="net-book">
        {shown === undefined ? <p class="quiet">Loading…</p> : <NetBook prices={shown.prices} />}
      </div>
      <div class="best-way">
        <OrderForm session={session} />
        {shown !== undefined && <BestWay order={shown.prices.order} />}
        {shown?.notices.map((text) => (
          <p key={text} class="quiet">
            {text}
          </p>
        ))}
      </div>
    </div>
  )
}

function NetBook({ prices }: { readonly prices: ConsolidatedJson }) {
  const isEmpty = prices.asks.price.length + prices.bids.price.length === 0
  if (isEmpty) return <p class="quiet">No member has a book at this instant.</p>
  const sizes = alignDecimals(
    [...prices.asks.size, ...prices.bids.size].map((size) =>
      roundDecimal(printDecimal(size), 2, 'down'),
    ),
  )
  return (
    <table class="net-levels">
      <thead>
        <tr>
          <th>Side</th>
          <th class="num">Net price</th>
          <th class="num">Size</th>
          <th>Venue</th>
          <th class="num">Its price</th>
        </tr>
      </thead>
      <tbody>
        <NetSide side="ask" levels={prices.asks} sizes={sizes.slice(0, prices.asks.size.length)} />
        <NetSide side="bid" levels={prices.bids} sizes={sizes.slice(prices.asks.size.length)} />
      </tbody>
    </table>
  )
}

function NetSide(props: {
  readonly side: 'ask' | 'bid'
  readonly levels: ConsolidatedJson['bids']
  /** Its sizes, as they are written. */
  readonly sizes: readonly string[]
}) {
  const { side, levels, sizes } = props
  const rows = levels.net_price.map((net, index) => (
    <tr key={`${side} ${index}`} class={`net-${side}${index === 0 ? ' first' : ''}`}>
      <td>{side}</td>
      <td class={`num ${side}`}>
        <NetPrice price={net} way={side === 'ask' ? 'up' : 'down'} />
      </td>
      <td class="num" title={printDecimal(levels.size[index])}>
        {groupDigits(sizes[index]!)}
      </td>
      <td>
        <VenueTag venue={levels.venue[index]!} />
      </td>
      <td class="num">{showPrice(levels.price[index])}</td>
    </tr>
  ))
  return <>{side === 'ask' ? rows.toReversed() : rows}</>
}

function OrderForm({ session }: { readonly session: CompareSession }) {
  const { value: side } = session.side
  const [text, setText] = useState(session.size.value)
  const isGood = isSize(text)
  useEffect(() => {
    if (!isGood || text === session.size.peek()) return undefined
    const timer = setTimeout(() => session.order(session.side.peek(), text), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <form class="order-form" onSubmit={(event) => event.preventDefault()}>
      <div class="segments" role="group" aria-label="Side">
        {(['buy', 'sell'] as const).map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === side}
            onClick={() => session.order(one, session.size.peek())}
          >
            {one === 'buy' ? 'Buy Yes' : 'Sell Yes'}
          </button>
        ))}
      </div>
      <label>
        <input
          type="text"
          inputMode="decimal"
          value={text}
          maxLength={16}
          aria-invalid={!isGood}
          aria-label="Size in shares"
          onInput={(event) => setText(event.currentTarget.value.trim())}
        />{' '}
        shares
      </label>
      {!isGood && (
        <p class="form-note" role="status">
          A positive number with at most 8 decimals, such as 100.
        </p>
      )}
    </form>
  )
}

function BestWay({ order }: { readonly order: ConsolidatedJson['order'] }) {
  if (order === null) return null
  const isBuy = order.side === 'buy'
  const [paid, word] = isBuy ? (['up', 'bought'] as const) : (['down', 'sold'] as const)
  if (order.parts.length === 0) {
    return <p class="quiet">Nothing can be {word} at this instant.</p>
  }
  return (
    <div class="order" data-side={order.side} data-size={printDecimal(order.size)}>
      <table>
        <thead>
          <tr>
            <th>Where</th>
            <th class="num">Order</th>
            <th class="num">{isBuy ? 'Up to' : 'Down to'}</th>
            <th class="num">Fee</th>
            <th class="num">{isBuy ? 'Pay' : 'Receive'}</th>
          </tr>
        </thead>
        <tbody>
          {order.parts.map((part) => (
            <tr key={`${part.venue} ${part.market_id}`} data-venue={part.venue}>
              <td>
                <VenueTag venue={part.venue} />
              </td>
              <Amount value={part.size} way="up" />
              <td class="num">{showPrice(part.limit_price)}</td>
              <Amount value={part.fee} way="up" />
              <Amount value={part.net_amount} way={paid} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">All</th>
            <Amount value={order.filled_size} way="down" />
            <td />
            <Amount value={order.fee} way="up" />
            <Amount value={order.net_amount} way={paid} />
          </tr>
        </tfoot>
      </table>
      <p>
        {isBuy ? 'One share costs ' : 'One share brings '}
        <strong>
          <NetPrice price={order.average_price} way={paid} />
        </strong>{' '}
        on average, fees included.
      </p>
      {!order.is_complete && (
        <p class="form-note">
          The books hold only {groupDigits(printDecimal(order.filled_size))} of{' '}
          {groupDigits(printDecimal(order.size))} shares.
        </p>
      )}
    </div>
  )
}

// An amount in cents or hundredths, rounded against the trader; the title has all digits.
function Amount(props: { readonly value: string | number; readonly way: 'down' | 'up' }) {
  const exact = printDecimal(props.value)
  return (
    <td class="num" title={exact} data-exact={exact}>
      {groupDigits(padDecimal(roundDecimal(exact, 2, props.way), 2))}
    </td>
  )
}
