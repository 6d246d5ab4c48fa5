import { VENUES, type Gap, type GapReason, type MarketRecord } from '@priorbook/sdk/domain'
import { gapKeysOf, gapsOfKeys, storeGaps, VENUE_KEY, type TimeSpan } from '../../rows/index.ts'
import {
  BACKFILL_EXTENT,
  feedFacts,
  type DatasetExtent,
  type StoreReader,
} from '../../store/store.ts'
import { TRADES_NOT_RECONSTRUCTED } from '../pages/notices.ts'
import type { Notice } from '../route.ts'
import type { MarketInstrument } from './instruments.ts'

/** Why a venue has no trades at all; undefined where it has some, or will have. */
export async function explainNoTrades(
  store: StoreReader,
  venue: MarketRecord['venue'],
): Promise<Notice | undefined> {
  if (VENUES[venue].hasTrades) return undefined
  if ((await store.fact(feedFacts(venue).started)) !== undefined) return undefined
  // Downloaded files have trades, but not the facts of a recorder.
  const extents = await store.extents(venue)
  return extents.some(isObserved) ? undefined : TRADES_NOT_RECONSTRUCTED
}

function isObserved({ kind, metric }: DatasetExtent): boolean {
  return kind === 'trade' && metric !== BACKFILL_EXTENT
}

/**
 * The gaps of the trades of a market. Trades that arrive with the books have the gaps of the books. A
 * feed of its own has gaps of its own; of the books' gaps it shares those that removed stored rows.
 */
export async function gapsOfTrades(
  store: StoreReader,
  record: MarketRecord,
  instruments: readonly MarketInstrument[],
  span: TimeSpan,
): Promise<Gap[]> {
  const { venue } = record
  const { tradesKey } = VENUES[venue]
  const read = storeGaps(store, venue)
  const books = await gapsOfKeys(read, gapKeysOf(instruments), span)
  if (tradesKey === undefined) return books
  const own = await gapsOfKeys(read, [tradesKey], span)
  return keepTradeGaps(record, [...books, ...own])
}

/** Of the gaps of a market and its venue, those that its trades have, where trades are a feed of their own. */
export function keepTradeGaps(record: MarketRecord, gaps: readonly Gap[]): Gap[] {
  const { tradesKey } = VENUES[record.venue]
  if (tradesKey === undefined) return [...gaps]
  return gaps.filter((gap) => {
    if (gap.key === tradesKey) return isWhileTrading(gap, record)
    return gap.key === VENUE_KEY || REMOVED.has(gap.reason)
  })
}

const REMOVED: ReadonlySet<GapReason> = new Set(['retention', 'corrupt'])

/** Whether a gap of the feed concerns a market: it traded then, by the time of the chain where it is known. */
export function isWhileTrading(gap: Gap, record: MarketRecord): boolean {
  const [openTime, closeTime] = [record.openTime ?? 0, record.closeTime ?? Infinity]
  const start = gap.sourceStart ?? gap.start
  const end = gap.sourceEnd ?? gap.end ?? Infinity
  return start < closeTime && end > openTime
}
