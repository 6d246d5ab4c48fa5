import { toBackfillKey, type Gap, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import type { TradeColumns } from '@priorbook/sdk/tape'
import {
  Problem,
  timeJson,
  toGapJson,
  type PastTradesCoverageJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { gapsOfKeys, storeGaps, type ReadRows, type TimeSpan } from '../../rows/index.ts'
import { backfilledSpan, tradesFamily, type StoreReader } from '../../store/store.ts'
import type { ApiContext, Meta, Notice } from '../route.ts'
import type { MarketInstrument } from './instruments.ts'

/** How a page of trades from a venue's history is read and explained. */
export type PastTrades = {
  readonly missing: undefined
  readonly isPast: true
  readonly scope: { readonly origin: 'backfill' }
  readonly meta: Meta
  readonly streams: readonly MarketInstrument[]
  readonly read: ReadRows<TradeColumns>
  gapsOf(streams: readonly MarketInstrument[], span: TimeSpan): Promise<readonly Gap[]>
  explainEmpty(): Promise<Notice>
}

/** The trades of a market that were fetched from the venue's history. */
export function pastTradesOf(
  store: StoreReader,
  record: MarketRecord,
  instruments: readonly MarketInstrument[],
): PastTrades {
  return {
    missing: undefined,
    isPast: true,
    scope: { origin: 'backfill' },
    meta: { origin: 'backfill' },
    streams: toPastInstruments(instruments),
    read: (query) => store.trades(query),
    gapsOf: (streams, span) => gapsOfPast(store, record, streams, span),
    explainEmpty: () => explainNoPast(store, record),
  }
}

/** What was fetched of a venue's history has nothing in a range; gaps say what could not be. */
export const NOTHING_FETCHED: Notice = {
  code: 'no_rows_in_range',
  message: 'What was fetched of the venue’s history has nothing in the range.',
}

/** Why a range has no trades of the venue's history. */
export async function explainNoPast(store: StoreReader, record: MarketRecord): Promise<Notice> {
  if ((await fetchedSpan(store, record)) !== undefined) return NOTHING_FETCHED
  const message = 'The trades of this market were not fetched from the venue’s history.'
  return { code: 'not_backfilled', message }
}

/** The streams of the same instruments that come from a venue's history. */
export function toPastInstruments(
  instruments: readonly MarketInstrument[],
): readonly MarketInstrument[] {
  return instruments.map((one) => ({ ...one, key: toBackfillKey(one.key) }))
}

/** What is missing of the history of a market: what the venue did not give, and what was removed. */
export function gapsOfPast(
  store: StoreReader,
  { venue, marketId }: MarketRecord,
  streams: readonly { readonly key: string }[],
  span: TimeSpan,
): Promise<readonly Gap[]> {
  const keys = [toBackfillKey(marketId), ...streams.map(({ key }) => key)]
  return gapsOfKeys(storeGaps(store, venue), keys, span)
}

/** From when to when the trades of a market were fetched; undefined where they were not. */
function fetchedSpan(
  store: StoreReader,
  { venue, marketId }: MarketRecord,
): ReturnType<typeof backfilledSpan> {
  return backfilledSpan(store, venue, tradesFamily(marketId))
}

/** Says that the venue's history has trades of the range from before the first one that was observed. */
export async function findPastTrades(
  store: StoreReader,
  record: MarketRecord,
  instruments: readonly MarketInstrument[],
  { from, end }: { readonly from: number; readonly end: number },
  observed: number | undefined,
): Promise<Notice | undefined> {
  const until = Math.min(end, observed ?? Infinity)
  if (from >= until) return undefined
  let oldest = Infinity
  for (const { venue, key } of toPastInstruments(instruments)) {
    const query = { venue, key, order: 'asc', start: from, end: until, limit: 1 } as const
    const { rows } = await store.trades(query)
    if (rows.count > 0) oldest = Math.min(oldest, rows.received[0]!)
  }
  if (oldest === Infinity) return undefined
  const span = await fetchedSpan(store, record)
  return {
    code: 'backfilled_trades',
    message:
      'The venue’s history has trades of this range that were not observed: origin=backfill serves them.',
    first_time: timeJson(oldest, {}),
    ...(span === undefined ? {} : { fetched_until: timeJson(span.to, {}) }),
  }
}

/** What was fetched of the trades of an instrument, as far as a plan reaches back; null where nothing was. */
export async function toPastTrades(
  { store }: Pick<ApiContext, 'store'>,
  record: MarketRecord,
  instrument: MarketInstrument,
  window: number,
  style: ValueStyle,
): Promise<PastTradesCoverageJson | null> {
  const span = await fetchedSpan(store, record)
  const { venue } = record
  const key = toBackfillKey(instrument.key)
  const timeOf = async (order: 'asc' | 'desc'): Promise<number | undefined> => {
    const { rows } = await store.trades({ venue, key, order, start: window, limit: 1 })
    return rows.count === 0 ? undefined : rows.received[0]
  }
  const [first, last] = [await timeOf('asc'), await timeOf('desc')]
  // A merged tape has the rows and does not know what was requested for them.
  if (first === undefined && (span === undefined || span.to <= window)) return null
  const gaps = await gapsOfPast(store, record, [{ key }], { start: window })
  // Older recorders noted the begin of a round's window, before which it trades already.
  const from = span && Math.max(Math.min(span.from, first ?? span.from), window)
  return {
    fetched_from: timeJson(from, style),
    fetched_until: timeJson(span?.to, style),
    first_time: timeJson(first, style),
    last_time: timeJson(last, style),
    gaps: gaps.map((gap) => toGapJson(gap, style)),
  }
}

/** Rows of a history have no place among what was known at a time. */
export function refuseKnownAt(knownAt: Micros | undefined): void {
  if (knownAt === undefined) return
  const detail =
    'known_at has no meaning for origin=backfill, whose rows have the time of the venue'
  throw new Problem('invalid_parameter', detail, { param: 'known_at' })
}
