import type { Gap, GapReason, MarketRecord } from '@priorbook/sdk/domain'
import { distinctGaps, gapKeysOf, gapsOfKeys, storeGaps, type TimeSpan } from '../../rows/index.ts'
import type { StoreReader } from '../../store/store.ts'
import type { SampleContext } from '@priorbook/sdk/wire'
import type { ApiContext } from '../route.ts'
import { instrumentsOf } from './instruments.ts'

/**
 * The gaps of series of one metric of a market. Series have no watchdogs of their own, so these are gaps
 * of the market's books and of its venue, with the bounds that they have there: those whose reason
 * concerns everything of a market, and losses of the venue in which no sample arrived either.
 */
export async function gapsOfSeries(
  context: ApiContext,
  record: MarketRecord,
  series: readonly SampleContext[],
  span: TimeSpan,
): Promise<Gap[]> {
  const { venue, marketId } = record
  const books = gapKeysOf(await instrumentsOf(context, record))
  const keys = [...series.map(({ key }) => key), ...books, marketId]
  const listed = await gapsOfKeys(storeGaps(context.store, venue), keys, span)
  return keepSeriesGaps(context.store, distinctGaps(listed), series)
}

/** Of the gaps of a market, those that series of it have too. */
export async function keepSeriesGaps(
  store: StoreReader,
  gaps: readonly Gap[],
  series: readonly SampleContext[],
): Promise<Gap[]> {
  const kept: Gap[] = []
  for (const gap of gaps) {
    const concerns = CONCERNS[gap.reason]
    if (gap.scope === 'venue' || series.some(({ key }) => key === gap.key)) kept.push(gap)
    else if (concerns === 'everything') kept.push(gap)
    else if (concerns === 'the venue' && !(await hasSample(store, gap, series))) kept.push(gap)
  }
  return kept
}

const CONCERNS: Readonly<Record<GapReason, 'everything' | 'the venue' | 'the book'>> = {
  before_capture: 'everything',
  market_not_open: 'everything',
  market_closed: 'everything',
  recorder_down: 'everything',
  late_discovery: 'everything',
  not_selected: 'everything',
  disk_full: 'everything',
  venue_silent: 'the venue',
  disconnected: 'the venue',
  quota: 'the venue',
  retention: 'the venue',
  sequence_break: 'the book',
  book_reset: 'the book',
  rejected: 'the book',
  corrupt: 'the book',
  unavailable: 'the book',
  reorganized: 'the book',
}

async function hasSample(
  store: StoreReader,
  { venue, start, end }: Gap,
  series: readonly SampleContext[],
): Promise<boolean> {
  for (const { key, metric } of series) {
    const range = { start: start + 1, end: end ?? Number.MAX_SAFE_INTEGER }
    const { ordinals } = await store.samples({
      venue,
      key,
      metric,
      order: 'asc',
      limit: 1,
      ...range,
    })
    if (ordinals.length > 0) return true
  }
  return false
}
