import { decimalText, PriorbookError, canonicalDecimal, type Sample } from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest, MessageProblem } from '../capture/contract.ts'
import { decimalOf, readArray, readObject, readUnixTime } from '../capture/fields.ts'
import { asPastPrices, toPastPrice, type PastPrice } from '../capture/past-prices.ts'
import { readInstrument } from './fields.ts'

/** Reads GET /prices-history of the book interface: the price of one token at times. */
export function normalizePricesHistory(
  request: CaptureRequest,
  answer: unknown,
  at: Arrival,
): { readonly events: readonly Sample[]; readonly problems: readonly MessageProblem[] } {
  const instrument = readInstrument(request['condition_id'], request['token_id'])
  const list = readArray(readObject(answer, 'the price history')['history'], 'history')
  const problems: MessageProblem[] = []
  const prices = list.flatMap((value, index): readonly PastPrice[] => {
    try {
      const point = readObject(value, 'a point')
      const text = canonicalDecimal(decimalText(decimalOf(point['p'], 'p')))
      return [toPastPrice('price', readUnixTime(point['t'], 't', 1), text)]
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      problems.push({ where: `history[${index}]`, error })
      return []
    }
  })
  return { events: asPastPrices(request, instrument, prices, at), problems }
}
