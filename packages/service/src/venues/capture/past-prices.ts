import {
  PriorbookError,
  toBackfillKey,
  type Instrument,
  type Micros,
  type Sample,
} from '@priorbook/sdk/domain'
import type { Arrival, CaptureRequest } from './contract.ts'

/** One value of a venue's price history. */
export type PastPrice = { readonly metric: string; readonly time: Micros; readonly value: string }

/**
 * The values of an answer as rows of a venue's history: those of the span that the request says is complete, by
 * the venue's clock. With `areEnds` their times are the ends of periods, and the span has the periods in it.
 */
export function asPastPrices(
  request: CaptureRequest,
  instrument: Instrument,
  prices: readonly PastPrice[],
  at: Arrival,
  areEnds = false,
): Sample[] {
  const since = Number(request['since'])
  const until = Number(request['until'])
  if (!(since < until)) {
    throw new PriorbookError('invalid_message', 'the request does not say which values it is about')
  }
  const key = toBackfillKey(instrument.key)
  return prices
    .filter(({ time }) => (areEnds ? time > since && time <= until : time >= since && time < until))
    .toSorted((a, b) => a.time - b.time)
    .map(({ metric, time, value }) => ({
      kind: 'sample',
      instrument: { ...instrument, key },
      metric,
      value,
      received: time,
      source: at.received,
      journal: at.journal,
    }))
}
