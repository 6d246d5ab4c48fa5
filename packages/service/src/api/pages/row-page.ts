import type { Dataset, Gap, Micros, VenueId } from '@priorbook/sdk/domain'
import type { HeadColumns } from '@priorbook/sdk/tape'
import { toGapJson, toMarketJson, type ValueStyle } from '@priorbook/sdk/wire'
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
import type { Answer, ApiContext, CursorScope, Format, Meta, Notice } from '../route.ts'
import { explainEmpty, noticeMeta, windowNotice } from './notices.ts'
import { chooseOutcomes, type Chosen } from './outcome-filter.ts'
import { openPage, rangeMeta, styleOf, answerRows, type Page, type PageRequest } from './page.ts'

/** A request of a route of trades or samples. */
type RowPageRequest = PageRequest & {
  readonly path: Readonly<Record<string, string | undefined>>
  readonly format: Format
  readonly query: {
    readonly outcome?: string | undefined
    readonly token_id?: string | undefined
    readonly known_at?: Micros | undefined
    readonly number_format?: 'number' | 'string' | undefined
    readonly time_format?: 'iso' | 'epoch_us' | undefined
  }
}

/** The differences between the routes of trades and of samples. */
type RowKind<Stream, Columns, Row extends object> = {
  readonly type: 'trade' | 'sample'
  readonly dataset: Dataset
  readonly columns: readonly (keyof Row & string)[]
  /** Why the venue has no such rows at all, where it has none. */
  readonly missing: Notice | undefined
  /** Further values that the cursor is bound to. */
  readonly scope: CursorScope
  readonly meta: Meta
  /** All streams of the market; the request may choose among them. */
  readonly streams: readonly Stream[]
  /** The keys of gaps that concern the streams. */
  gapKeysOf(streams: readonly Stream[]): readonly string[]
  readonly read: ReadRows<Columns>
  toJson(part: RowPart<Columns>, stream: Stream, style: ValueStyle): Row
}

/** Answers a page of trades or samples: several streams by received time, stream and sequence. */
export async function answerRowPage<
  Stream extends InstrumentRef & Chosen,
  Columns extends HeadColumns,
  Row extends object,
>(
  context: ApiContext,
  request: RowPageRequest,
  state: MarketState,
  kind: RowKind<Stream, Columns, Row>,
): Promise<Answer> {
  const { query } = request
  const { record } = state
  const { venue, marketId: market } = record
  const { outcome, token_id: token, known_at: knownAt } = query
  const { type, columns, dataset } = kind
  const style = styleOf(query)
  const scope = { venue, market, ...kind.scope, outcome, token, knownAt }
  const page = openPage(request, context, scope)
  if (kind.missing !== undefined) {
    const range = rangeMeta(page.range, style)
    const meta = { range, market: toMarketJson(state, style), ...noticeMeta(kind.missing) }
    return answerRows<Row>(request, { type, rows: [], columns, meta, gaps: [] })
  }
  const streams = chooseOutcomes(kind.streams, query)
  const gapKeys = kind.gapKeysOf(streams)
  const { order, limit, from: start, end } = page
  const keys = streams.map(({ key }) => key)
  const passed = readPositions(page.state, keys)
  const damage: Gap[] = []
  const lanes = streams.map(({ key }, lane) => {
    const rows = { venue, key, order, start, end, after: passed.lanes[lane], knownAt }
    const onDamage = (gaps: readonly Gap[]): void => void damage.push(...gaps)
    return new RowLane(kind.read, { ...rows, pageRows: limit }, { index: lane, lane, onDamage })
  })
  const rows = await shiftRows(new Merge(lanes), limit)
  const hasMore = lanes.some(({ isDone }) => !isDone)
  const tail = rows.at(-1)
  const last = tail?.columns.received[tail.row]
  const received = last ?? passed.received
  const gaps = await gapsOf(context, venue, page, gapKeys, damage, {
    isDown: order === 'desc',
    hasMore,
    ...boundsOf(order, passed.received, received),
    positionsOf(gap) {
      // The sequence of a gap is one of observations, except where reading rows of these streams found it.
      const lane = damage.includes(gap) ? keys.indexOf(gap.key) : -1
      if (lane < 0) return undefined
      return { passed: passed.lanes[lane], reached: lanes[lane]!.position, last: Infinity }
    },
  })
  const notice =
    rows.length === 0 && page.isFirst
      ? await explainEmpty(context, record, dataset, gapKeys, page.range)
      : windowNotice(page.range)
  const known = last === undefined ? state : await context.store.market(venue, market, last)
  const positions = { lanes: lanes.map(({ position }) => position), received }
  return answerRows(request, {
    type,
    rows: rows.map((part) => kind.toJson(part, streams[part.lane]!, style)),
    columns,
    meta: {
      range: rangeMeta(page.range, style),
      market: known === undefined ? null : toMarketJson(known, style),
      ...noticeMeta(notice),
      ...kind.meta,
    },
    gaps: gaps.map((gap) => toGapJson(gap, style)),
    nextCursor: hasMore ? page.next(printPositions(positions)) : undefined,
  })
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
  venue: VenueId,
  page: Page,
  keys: readonly string[],
  damage: readonly Gap[],
  span: PageSpan,
): Promise<readonly Gap[]> {
  const range = { start: page.from, end: page.end }
  const listed = await gapsOfKeys(storeGaps(store, venue), keys, range)
  const gaps = [...listed, ...damage].filter(
    (gap) => touchesSpan(gap, range) && isOnPage(gap, span),
  )
  gaps.sort(compareStarts)
  return span.isDown ? gaps.reverse() : gaps
}
