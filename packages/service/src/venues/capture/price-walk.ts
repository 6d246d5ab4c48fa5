import { PriorbookError, toMicros, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import type { CaptureRequest } from './contract.ts'
import { historyBegin, historyMinutes, SETTLE_MICROS, type TradesStep } from './history.ts'
import type { PatientRest } from './patient-rest.ts'
import type { RestCall } from './rest.ts'

/** How a venue is asked for its price history. */
export type PriceWalkOptions = {
  readonly rest: Pick<PatientRest, 'send'>
  readonly now: () => Micros
  /** Max values that one answer is asked for. */
  readonly maxValues: number
  /** The calls for a span of whole seconds, each with what its request says beside the span. */
  readonly callsOf: (
    record: MarketRecord,
    span: PriceSpan,
  ) => readonly (Omit<RestCall, 'request'> & { readonly request: CaptureRequest })[]
}

/** A span [from, to) in whole seconds; `minutes` is the time between two of its values. */
export type PriceSpan = { readonly from: number; readonly to: number; readonly minutes: 1 | 60 }

const SECOND = 1_000_000

/**
 * Requests the price history of a market in spans that one answer holds, from its beginning to its end. Only
 * values of periods that are over are taken, because the venue changes those of the current one.
 */
export async function* walkPrices(
  { rest, now, maxValues, callsOf }: PriceWalkOptions,
  record: MarketRecord,
  since: Micros,
  signal: AbortSignal,
): AsyncGenerator<TradesStep, void, void> {
  const minutes = historyMinutes(record)
  const period = minutes * 60
  const settled = Math.floor((now() - SETTLE_MICROS) / SECOND / period) * period
  const { closeTime, resolvedTime = closeTime } = record
  const last = Math.max(closeTime ?? Infinity, resolvedTime ?? Infinity)
  // The period in which the market ended is the last one.
  const end = Math.min(settled, (Math.floor(last / SECOND / period) + 2) * period)
  const first =
    Math.floor(Math.max(since, historyBegin(record) ?? since) / SECOND / period) * period
  for (let from = first; from < end;) {
    const to = Math.min(end, from + maxValues * period)
    const bounds = { since: from * SECOND, until: to * SECOND }
    let why: string | undefined
    for (const { request, ...call } of callsOf(record, { from, to, minutes })) {
      const answer = await rest.send({ ...call, request: { ...request, ...bounds } }, signal)
      if (!answer.ok) why = `the venue refused its price history: ${answer.why}`
      else if (answer.reading.error !== undefined) {
        // Nothing of it was stored: the next run requests the span again.
        const { message } = answer.reading.error
        const what = `the price history of ${record.marketId} could not be read: ${message}`
        throw new PriorbookError('upstream_failed', what)
      }
    }
    const reached = toMicros(to * SECOND)
    if (why === undefined) yield { reached }
    else yield { reached, missing: { start: toMicros(from * SECOND), end: reached, why } }
    from = to
  }
}
