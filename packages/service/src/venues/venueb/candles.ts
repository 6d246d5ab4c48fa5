import { PriorbookError, type Sample } from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest, MessageProblem } from '../capture/contract.ts'
import {
  isObject,
  readArray,
  readObject,
  readUnixTime,
  type NativeObject,
} from '../capture/fields.ts'
import { asPastPrices, toPastPrice, type PastPrice } from '../capture/past-prices.ts'
import { decimal, readInstrument } from './fields.ts'

/** What of a candlestick is kept, by the metric that it becomes: its object, and the field of it. */
const PARTS: readonly (readonly [metric: string, object: string | undefined, field: string])[] = [
  ['open', 'price', 'open_dollars'],
  ['high', 'price', 'high_dollars'],
  ['low', 'price', 'low_dollars'],
  ['close', 'price', 'close_dollars'],
  ['bid', 'yes_bid', 'close_dollars'],
  ['ask', 'yes_ask', 'close_dollars'],
  ['volume', undefined, 'volume_fp'],
  ['open_interest', undefined, 'open_interest_fp'],
]

/**
 * Reads candlesticks: one value for each part, at the end of its period. A part that the venue does not give,
 * such as a price of a period without trades, has none.
 */
export function normalizeCandles(
  request: CaptureRequest,
  answer: unknown,
  at: Arrival,
): { readonly events: readonly Sample[]; readonly problems: readonly MessageProblem[] } {
  const instrument = readInstrument(request['ticker'])
  const list = readArray(readObject(answer, 'the candlesticks')['candlesticks'], 'candlesticks')
  const problems: MessageProblem[] = []
  const prices = list.flatMap((value, index): readonly PastPrice[] => {
    try {
      return readCandle(readObject(value, 'a candlestick'))
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where: `candlesticks[${index}]`, error })
      return []
    }
  })
  return { events: asPastPrices(request, instrument, prices, at, true), problems }
}

function readCandle(candle: NativeObject): readonly PastPrice[] {
  const time = readUnixTime(candle['end_period_ts'], 'end_period_ts', 1)
  return PARTS.flatMap(([metric, object, field]) => {
    const part = object === undefined ? candle : candle[object]
    const value = isObject(part) ? valueOf(part, field) : undefined
    return value === undefined ? [] : [toPastPrice(metric, time, value)]
  })
}

// The archive has the same texts under names without a unit. A number under such a name is one of cents, which
// older answers had beside the text.
function valueOf(part: NativeObject, field: string): string | undefined {
  const bare = field.slice(0, field.lastIndexOf('_'))
  return decimal(part, part[field] === undefined && typeof part[bare] === 'string' ? bare : field)
}
