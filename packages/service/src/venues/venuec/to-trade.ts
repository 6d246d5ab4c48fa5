import { printScaled, VENUES, type Trade } from '@priorbook/sdk/domain'
import type { Arrival } from '../capture/contract.ts'
import type { NativeTrade } from './native.ts'

const { priceDecimals, sizeDecimals } = VENUES.venuec

/**
 * The trade of a message of the market channel, or of a row of the data service. Trades have no id. One
 * transaction can contain several, and old trades name none, so that all fields together are the id; it is the
 * same for a trade that is delivered twice.
 */
export function toTrade(message: NativeTrade, at: Arrival): Trade {
  const { instrument, price, size, side, transaction, said, time } = message
  const words = [
    ...(transaction === undefined ? [] : [transaction]),
    instrument.key,
    printScaled(price, priceDecimals),
    printScaled(size, sizeDecimals),
    ...(side === undefined ? [] : [side]),
    ...(time === undefined ? [] : [String(time / 1000)]),
  ]
  const trade: { -readonly [Key in keyof Trade]: Trade[Key] } = {
    kind: 'trade',
    instrument,
    tradeId: words.join('-'),
    price,
    size,
    received: at.received,
    journal: at.journal,
  }
  if (time !== undefined) trade.source = time
  if (side !== undefined) trade.taker = side === 'BUY' ? 'buy' : 'sell'
  if (said !== undefined) trade.native = said
  return trade
}
