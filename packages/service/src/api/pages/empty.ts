import { floorOf, GAP_REASONS, type Dataset, type MarketRecord } from '@priorbook/sdk/domain'
import { timeJson } from '@priorbook/sdk/wire'
import type { ApiContext, Notice } from '../route.ts'
import { windowNotice, type PageRange } from './page.ts'

/** Explains why a market has no row in a range. */
export async function explainEmpty(
  context: ApiContext,
  record: MarketRecord,
  dataset: Dataset,
  keys: readonly string[],
  range: PageRange,
): Promise<Notice> {
  const { venue, openTime, closeTime } = record
  const { from, end } = range
  const time = (micros: number): unknown => timeJson(micros, {})
  if (end <= range.window) return windowNotice(range)!
  const begins = await captureBegins(context, record, dataset)
  if (begins !== undefined && end <= begins) {
    return {
      code: 'before_capture',
      message: GAP_REASONS.before_capture,
      available_from: time(begins),
    }
  }
  if (openTime !== undefined && end <= openTime) {
    return {
      code: 'market_not_open',
      message: GAP_REASONS.market_not_open,
      open_time: time(openTime),
    }
  }
  if (closeTime !== undefined && from >= closeTime) {
    return {
      code: 'market_closed',
      message: GAP_REASONS.market_closed,
      close_time: time(closeTime),
    }
  }
  for (const key of keys) {
    const gaps = await context.store.gaps({ venue, key, start: from, end })
    const whole = gaps.find((gap) => gap.start <= from && (gap.end ?? Infinity) >= end)
    if (whole === undefined) continue
    return {
      code: whole.reason,
      message: GAP_REASONS[whole.reason],
      gap_start: time(whole.start),
      gap_end: whole.end === undefined ? null : time(whole.end),
    }
  }
  const cut = windowNotice(range)
  if (cut !== undefined) return cut
  return { code: 'no_rows_in_range', message: 'Nothing was recorded in the range.' }
}

/** The later of the document's floor and the start of this installation's capture. */
export async function captureBegins(
  { store }: ApiContext,
  record: Pick<MarketRecord, 'venue' | 'asset' | 'window'>,
  dataset: Dataset,
): Promise<number | undefined> {
  const floor = floorOf(record.venue, dataset, record)
  // The catalogue is backfilled, so it can begin before capture.
  if (dataset === 'catalogue') return floor
  const started = await store.fact(`capture_started:${record.venue}`)
  if (floor === undefined) return started
  return Math.max(floor, started ?? 0)
}

/** The words of the interface document on a reserved trades route. */
export const TRADES_NOT_RECONSTRUCTED: Notice = {
  code: 'trades_not_reconstructed',
  message:
    'No historical fills; BNB Smart Chain fills are being reconstructed; earlier off-chain resting orders cannot be recovered.',
}
