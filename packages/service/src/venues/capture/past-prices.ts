import {
  PriorbookError,
  toBackfillKey,
  type Instrument,
  type Micros,
  type Sample,
} from '@priorbook/sdk/domain'
import { HEAD_LIMIT, parseSampleValue } from '@priorbook/sdk/tape'
import type { Arrival, CaptureRequest } from './contract.ts'
import { spanOf } from './past-trades.ts'

/** One value of a venue's price history. */
export type PastPrice = { readonly metric: string; readonly time: Micros; readonly value: string }

/** Refuses a value that the tape cannot hold, or whose step from any other value it cannot hold. */
export function checkSampleValue(metric: string, value: string): void {
  if (Math.abs(parseSampleValue(value).value) >= HEAD_LIMIT) {
    throw new PriorbookError('unrepresentable', `${metric} of ${value} is too large`)
  }
}

/** One value of a history; throws where the tape cannot hold it, so that the others of its answer are kept. */
export function toPastPrice(metric: string, time: Micros, value: string): PastPrice {
  checkSampleValue(metric, value)
  return { metric, time, value }
}

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
  const { since, until } = spanOf(request, 'values')
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
