import { GAP_REASONS, type Gap, type MarketRecord } from '@priorbook/sdk/domain'
import { timeJson, type ValueStyle } from '@priorbook/sdk/wire'
import type { Notice } from '../route.ts'

/** The plan excludes rows received before a time. */
export function planWindow(plan: string, window: number, style: ValueStyle): Notice {
  return {
    code: 'plan_window',
    message: `The plan ${plan} reaches back to window_start; what was received before is left out.`,
    window_start: timeJson(window, style),
  }
}

/** Rows without a source time cannot be found by it. */
export function withoutSourceTime(count: number): Notice {
  return {
    code: 'rows_without_source_time',
    message: 'Rows without a source time are left out of a range by clock=source.',
    rows: count,
  }
}

/** A page is short because the scan reached its limit of rows. */
export const SCAN_GOES_ON: Notice = {
  code: 'scan_unfinished',
  message: 'Many rows outside the range were looked at; the cursor goes on from there.',
}

/** The walk began with an earlier version of the service, which counted its rows in another way. */
export const RECEIPT_LEFT_OUT: Notice = {
  code: 'receipt_left_out',
  message:
    'An earlier version of the service served the first pages of this walk, so it has no receipt.',
}

/** Why a whole range holds no row. */
export function emptyRange(
  record: MarketRecord,
  range: { readonly start: number; readonly end: number },
  facts: { readonly firstReceived: number; readonly lastReceived: number } | undefined,
  gaps: readonly Gap[],
): Notice {
  const { openTime, closeTime } = record
  const around = gaps.find(
    (gap) => gap.start <= range.start && (gap.end === undefined || gap.end >= range.end),
  )
  if (around !== undefined) return because(around.reason)
  const first = facts?.firstReceived ?? Infinity
  if (range.end <= first) {
    if (openTime !== undefined && range.end <= openTime) return because('market_not_open')
    return because('before_capture')
  }
  const isAfter = range.start > (facts?.lastReceived ?? Infinity)
  if (isAfter && closeTime !== undefined && range.start >= closeTime)
    return because('market_closed')
  return { code: 'no_rows_in_range', message: 'Nothing was observed in this range.' }
}

/** A notice with the code and the sentence of a gap's reason. */
export function because(reason: keyof typeof GAP_REASONS): Notice {
  return { code: reason, message: GAP_REASONS[reason] }
}

/** The newest recorded book is served although a gap is open since. */
export function openGap(gap: Gap, tokenId: string | undefined, style: ValueStyle): Notice {
  return {
    code: 'open_gap',
    message: `This is the newest recorded book; nothing was observed after it. ${GAP_REASONS[gap.reason]}`,
    reason: gap.reason,
    start_time: timeJson(gap.start, style),
    ...(tokenId !== undefined && { token_id: tokenId }),
  }
}
