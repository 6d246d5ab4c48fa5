import type { Dataset, Gap } from '@priorbook/sdk/domain'
import type { HeadColumns } from '@priorbook/sdk/tape'
import { toGapJson, toMarketJson, type GapJson, type ValueStyle } from '@priorbook/sdk/wire'
import {
  compareStarts,
  gapsOfKeys,
  isOnPage,
  Merge,
  printPositions,
  readPositions,
  RowLane,
  shiftRows,
  storeGaps,
  touchesSpan,
  type PageSpan,
  type ReadRows,
  type RowPart,
} from '../../rows/index.ts'
import type { InstrumentRef, MarketState } from '../../store/store.ts'
import type { ApiContext, Meta } from '../route.ts'
import { explainEmpty } from './empty.ts'
import { noticeMeta, rangeMeta, windowNotice, type Page } from './page.ts'

/** Which trades or samples a page covers. */
export type RowStreams<Columns> = {
  readonly dataset: Dataset
  readonly streams: readonly InstrumentRef[]
  /** The keys of gaps that concern the streams. */
  readonly gapKeys: readonly string[]
  readonly read: ReadRows<Columns>
  readonly knownAt: number | undefined
  readonly style: ValueStyle
}

/** A page of trades or samples with its gaps, its notices and its cursor. */
export type RowPage<Columns> = {
  /** `source` is the index of the stream. */
  readonly rows: readonly RowPart<Columns>[]
  readonly meta: Meta
  readonly gaps: readonly GapJson[]
  readonly nextCursor: string | undefined
}

/** Reads the next rows of several streams by received time, stream and sequence. */
export async function readRowPage<Columns extends HeadColumns>(
  context: ApiContext,
  state: MarketState,
  page: Page,
  asked: RowStreams<Columns>,
): Promise<RowPage<Columns>> {
  const { streams, read, knownAt, style, dataset, gapKeys } = asked
  const { order, limit, from: start, end } = page
  const passed = readPositions(
    page.state,
    streams.map(({ key }) => key),
  )
  const damage: Gap[] = []
  const lanes = streams.map(({ venue, key }, source) => {
    const rows = { venue, key, order, start, end, after: passed.lanes[source], knownAt }
    const onDamage = (gaps: readonly Gap[]): void => void damage.push(...gaps)
    return new RowLane(read, { ...rows, pageRows: limit }, { index: source, source, onDamage })
  })
  const rows = await shiftRows(new Merge(lanes), limit)
  const hasMore = lanes.some(({ isDone }) => !isDone)
  const tail = rows.at(-1)
  const last = tail?.columns.received[tail.row]
  const received = last ?? passed.received
  const gaps = await gapsOf(context, state, page, gapKeys, damage, {
    isDown: order === 'desc',
    hasMore,
    ...boundsOf(order, passed.received, received),
    positionsOf(gap) {
      // The sequence of a gap is one of observations, except where reading rows of these streams found it.
      const source = damage.includes(gap) ? streams.findIndex(({ key }) => key === gap.key) : -1
      if (source < 0) return undefined
      return { passed: passed.lanes[source], reached: lanes[source]!.position, last: Infinity }
    },
  })
  const { venue, marketId } = state.record
  const notice =
    rows.length === 0 && page.isFirst
      ? await explainEmpty(context, state.record, dataset, gapKeys, page.range)
      : windowNotice(page.range)
  const known = last === undefined ? state : await context.store.market(venue, marketId, last)
  const positions = { lanes: lanes.map(({ position }) => position), received }
  return {
    rows,
    meta: {
      range: rangeMeta(page.range, style),
      market: known === undefined ? null : toMarketJson(known, style),
      ...noticeMeta(notice),
    },
    gaps: gaps.map((gap) => toGapJson(gap, style)),
    nextCursor: hasMore ? page.next(printPositions(positions)) : undefined,
  }
}

// Ascending, a gap that begins with the last row of a page stands on that page.
function boundsOf(
  order: 'asc' | 'desc',
  passed: number | undefined,
  reached: number | undefined,
): Pick<PageSpan, 'passed' | 'reached'> {
  if (order === 'desc') return { passed, reached }
  const after = (time: number | undefined): number | undefined =>
    time === undefined ? undefined : time + 1
  return { passed: after(passed), reached: after(reached) }
}

async function gapsOf(
  { store }: ApiContext,
  { record }: MarketState,
  page: Page,
  keys: readonly string[],
  damage: readonly Gap[],
  span: PageSpan,
): Promise<readonly Gap[]> {
  const range = { start: page.from, end: page.end }
  const listed = await gapsOfKeys(storeGaps(store, record.venue), keys, range)
  const gaps = [...listed, ...damage].filter(
    (gap) => touchesSpan(gap, range) && isOnPage(gap, span),
  )
  gaps.sort(compareStarts)
  return span.isDown ? gaps.reverse() : gaps
}
