import {
  floorOf,
  GAP_REASONS,
  VENUES,
  type Dataset,
  type Gap,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import { timeJson, type ValueStyle } from '@priorbook/sdk/wire'
import type { ApiContext, Meta, Notice } from '../route.ts'
import { firstRowTime } from './first-row.ts'
import type { PageRange } from './page.ts'
import { findRemoved } from './removed-rows.ts'
import {
  captureFact,
  feedFacts,
  REMOVED_MARKETS,
  type SearchCorrection,
} from '../../store/store.ts'

/** `meta.notice`: absent, one notice, or a list. */
export function noticeMeta(...notices: readonly (Notice | undefined)[]): Pick<Meta, 'notice'> {
  const given = presentNotices(...notices)
  if (given.length === 0) return {}
  return { notice: given.length === 1 ? given[0]! : given }
}

/** The notices among values that may be absent. */
export function presentNotices(...notices: readonly (Notice | undefined)[]): readonly Notice[] {
  return notices.filter((notice) => notice !== undefined)
}

/** The notice of an instant that lies in the future. */
export const IN_FUTURE: Notice = {
  code: 'in_the_future',
  message: 'The instant has not come yet.',
}

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

/** Why a whole range holds no row; `removed` is the gap in place of rows that retention removed. */
export function emptyRange(
  record: MarketRecord,
  range: { readonly start: number; readonly end: number },
  facts: { readonly firstReceived: number; readonly lastReceived: number } | undefined,
  gaps: readonly Gap[],
  removed: Gap | undefined,
): Notice {
  const { openTime, closeTime } = record
  const around = gaps.find(
    (gap) => gap.start <= range.start && (gap.end === undefined || gap.end >= range.end),
  )
  if (around !== undefined) return because(around.reason)
  if (gaps.some(({ reason }) => reason === 'retention')) return because('retention')
  const first = Math.min(facts?.firstReceived ?? Infinity, removed?.start ?? Infinity)
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

/** Retention removed records of markets that may belong to a list; absent where it did not. */
export async function removedMarkets(
  { store }: ApiContext,
  venues: readonly VenueId[],
  from: number,
): Promise<Notice | undefined> {
  let count = 0
  let before = 0
  for (const venue of venues) {
    const until = (await store.fact(REMOVED_MARKETS.before(venue))) ?? 0
    if (until <= from) continue
    before = Math.max(before, until)
    count += (await store.fact(REMOVED_MARKETS.count(venue))) ?? 0
  }
  if (count === 0) return undefined
  return {
    code: 'markets_removed',
    message: 'Retention removed the records of markets that ended before removed_before.',
    removed_markets: count,
    removed_before: timeJson(before, {}),
  }
}

/** Retention removed the versions of a record before the first that is left. */
export function removedRevisions(first: number): Notice {
  return { ...because('retention'), first_revision: first }
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

/** The notice that the plan's window cuts the range; undefined where it does not. */
export function windowNotice({ asked, window, end }: PageRange): Notice | undefined {
  const isCut = window > 0 && ((asked !== undefined && asked < window) || end <= window)
  if (!isCut) return undefined
  return {
    code: 'plan_window',
    message: 'The plan of the key does not reach back to the start of the range.',
    window_start: timeJson(window, {}),
  }
}

/** Explains why a market has no row in a range; `gaps` are those that touch it. */
export async function explainEmpty(
  context: ApiContext,
  record: MarketRecord,
  dataset: Dataset,
  gaps: readonly Gap[],
  range: PageRange,
): Promise<Notice> {
  const { openTime, closeTime } = record
  const { from, end } = range
  const time = (micros: number): unknown => timeJson(micros, {})
  if (end <= range.window) return windowNotice(range)!
  const { begins: stored, isImported } = await readCaptureStart(context, record, dataset)
  const begins = stored && Math.min(stored, await firstRemoved(context, record))
  const isUnopened = openTime !== undefined && end <= openTime
  // Imported rows begin with their market.
  if (begins !== undefined && end <= begins && !(isUnopened && isImported)) {
    return { ...because('before_capture'), available_from: time(begins) }
  }
  if (isUnopened) return { ...because('market_not_open'), open_time: time(openTime) }
  if (closeTime !== undefined && from >= closeTime) {
    return { ...because('market_closed'), close_time: time(closeTime) }
  }
  const whole =
    gaps.find((gap) => gap.start <= from && (gap.end ?? Infinity) >= end) ??
    gaps.find(({ reason }) => reason === 'retention')
  if (whole !== undefined) {
    const { reason, start, end: until } = whole
    return {
      ...because(reason),
      gap_start: time(start),
      gap_end: until === undefined ? null : time(until),
    }
  }
  const cut = windowNotice(range)
  if (cut !== undefined) return cut
  return { code: 'no_rows_in_range', message: 'Nothing was recorded in the range.' }
}

// When the first row of a market was received that retention removed; Infinity where it removed none.
async function firstRemoved(
  { store }: ApiContext,
  { venue, marketId, outcomes }: MarketRecord,
): Promise<number> {
  let first = Infinity
  const keys = [marketId, ...outcomes.flatMap(({ tokenId }) => tokenId ?? [])]
  for (const key of new Set(keys)) {
    first = Math.min(first, (await findRemoved(store, { venue, key }))?.start ?? Infinity)
  }
  return first
}

/**
 * Where the data of this installation begin: with its first row or the start of its capture, whichever
 * was first, and not before the documented floor unless it holds older rows.
 */
export async function captureBegins(
  context: ApiContext,
  record: CapturedMarket,
  dataset: Dataset,
): Promise<number | undefined> {
  return (await readCaptureStart(context, record, dataset)).begins
}

type CapturedMarket = Pick<MarketRecord, 'venue' | 'asset' | 'window'>

/** Also tells whether the data were imported: without a recorder and without a documented floor. */
async function readCaptureStart(
  { store }: ApiContext,
  record: CapturedMarket,
  dataset: Dataset,
): Promise<{ readonly begins: number | undefined; readonly isImported: boolean }> {
  const floor = floorOf(record.venue, dataset, record)
  // The catalogue is backfilled, so it can begin before capture.
  if (dataset === 'catalogue') return { begins: floor, isImported: false }
  const { venue, asset, window } = record
  const isFeed = dataset === 'trades' && VENUES[venue].tradesKey !== undefined
  const started = await store.fact(isFeed ? feedFacts(venue).started : captureFact(venue))
  const isImported = floor === undefined && started === undefined
  const first = await firstRowTime(store, venue, dataset, {
    ...(asset === undefined ? {} : { assets: [asset] }),
    ...(window === undefined ? {} : { windows: [window] }),
  })
  if (started === undefined && first === undefined) return { begins: floor, isImported }
  const own = Math.min(started ?? Infinity, first ?? Infinity)
  const isOwn = floor === undefined || (own < floor && first === own)
  return { begins: isOwn ? own : Math.max(floor, own), isImported }
}

/** Why a page of a search is empty; undefined where it is not. */
export function searchNotice(
  what: 'market' | 'event' | 'contract',
  count: number,
  hasMore: boolean,
): Notice | undefined {
  if (count > 0) return undefined
  return hasMore
    ? { code: 'search_goes_on', message: 'Nothing was found so far; the cursor goes on.' }
    : {
        code: `no_${what}s`,
        message: `No recorded ${what} matches the filters and the range.`,
      }
}

/**
 * The words of a search that were mistyped; undefined where none was. The corrected spelling is a recorded word,
 * which a plan may hide: it is shown only if `mayTell`, that is if the page has rows or the plan hides nothing.
 */
export function correctionNotice(
  what: 'market' | 'event',
  corrections: readonly SearchCorrection[],
  mayTell: boolean,
): Notice | undefined {
  if (corrections.length === 0 || !mayTell) return undefined
  const words = corrections.map(({ word, meant }) => `${word}: ${meant.join(', ')}`)
  const message = `No ${what} has these words; similar ones are looked for: ${words.join('; ')}.`
  return { code: 'search_corrected', message }
}

/** Why the trades of a venue are empty where no endpoint of its chain was ever read. */
export const TRADES_NOT_RECONSTRUCTED: Notice = {
  code: 'trades_not_reconstructed',
  message:
    'No historical fills: this installation has not reconstructed BNB Smart Chain fills, which needs an endpoint of the chain; earlier off-chain resting orders cannot be recovered.',
}
