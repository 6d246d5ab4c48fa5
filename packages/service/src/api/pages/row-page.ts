import type { Dataset, Gap, Micros } from '@priorbook/sdk/domain'
import type { HeadColumns } from '@priorbook/sdk/tape'
import { toMarketJson, type ReceiptJson, type ValueStyle } from '@priorbook/sdk/wire'
import {
  asKnownAt,
  compareStarts,
  isOnPage,
  Merge,
  printPositions,
  readPositions,
  ReceiptCounts,
  RowLane,
  shiftRows,
  touchesSpan,
  withHeads,
  type PageSpan,
  type ReadRows,
  type RowPart,
  type TimeSpan,
} from '../../rows/index.ts'
import type { InstrumentRef, MarketState } from '../../store/store.ts'
import type { Answer, ApiContext, CursorScope, Format, Meta, Notice } from '../route.ts'
import { answerRows } from './answer-rows.ts'
import { explainEmpty, presentNotices, RECEIPT_LEFT_OUT, windowNotice } from './notices.ts'
import { chooseOutcomes, type Chosen } from './outcome-filter.ts'
import {
  openPage,
  rangeMeta,
  styleOf,
  type Page,
  type PageRange,
  type PageRequest,
} from './page.ts'

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
type RowKind<Stream, Columns, Row extends object> = RowSource<Stream, Columns> & {
  readonly type: 'trade' | 'sample' | 'history'
  readonly dataset: Dataset
  readonly columns: readonly string[]
  readonly toCells?: (row: Row) => Readonly<Record<string, unknown>>
  /** Why the venue has no such rows at all, where it has none. */
  readonly missing: Notice | undefined
  /** Further values that the cursor is bound to. */
  readonly scope: CursorScope
  readonly meta: Meta
  /** All streams of the market; the request may choose among them. */
  readonly streams: readonly Stream[]
  /** The metric of samples. */
  readonly metric?: string
  /** True for rows of a venue's history: the market is shown as it is known now. */
  readonly isPast?: boolean
  /** Why a range has no row; by default because of what was recorded. */
  explainEmpty?(): Promise<Notice>
  /** A further notice about the range before its oldest row, whose time is undefined where it has none. */
  noticeBefore?(range: PageRange, oldest: number | undefined): Promise<Notice | undefined>
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
  const { type, columns } = kind
  const style = styleOf(query)
  const scope = { venue, market, ...kind.scope, outcome, token, knownAt }
  const page = openPage(request, context, scope)
  const isDown = page.order === 'desc'
  const range = rangeMeta(page.range, style)
  if (kind.missing !== undefined) {
    const placed = { list: [], market: record, times: [], isDown, style }
    return answerRows<Row>(request, {
      type,
      rows: [],
      columns,
      meta: { range, market: toMarketJson(state, style) },
      notices: [kind.missing],
      receipt: { rows: 0, gaps: 0, instruments: [] },
      gaps: placed,
    })
  }
  const streams = chooseOutcomes(kind.streams, query)
  const read = await readPage(page, streams, kind, knownAt)
  const { rows, hasMore, receipt } = read
  const last = rows.at(-1)
  const known =
    last === undefined || kind.isPast === true
      ? state
      : await context.store.market(venue, market, last.columns.received[last.row])
  return answerRows(request, {
    type,
    rows: rows.map((part) => kind.toJson(part, streams[part.lane]!, style)),
    columns,
    toCells: kind.toCells,
    meta: { range, market: known === undefined ? null : toMarketJson(known, style), ...kind.meta },
    notices: await noticesOf(context, state, page, kind, read),
    receipt: hasMore ? undefined : await receiptOf(context, streams, kind, receipt, knownAt),
    gaps: {
      list: read.gaps,
      market: record,
      times: rows.map((part) => part.columns.received[part.row]!),
      isDown,
      style,
    },
    nextCursor: hasMore ? page.next(read.positions) : undefined,
  })
}

/** A page of rows as it was read. */
export type ReadPage<Columns> = {
  readonly rows: readonly RowPart<Columns>[]
  readonly hasMore: boolean
  readonly positions: Readonly<Record<string, string | number>>
  /** Those of the page, and all that touch the range. */
  readonly gaps: readonly Gap[]
  readonly allGaps: readonly Gap[]
  /** Undefined where an earlier version of the service began the walk. */
  readonly receipt: ReceiptCounts | undefined
}

/** Where rows of some streams come from. */
export type RowSource<Stream, Columns> = {
  /** The gaps that concern the streams and may touch a span. */
  gapsOf(streams: readonly Stream[], span: TimeSpan): Promise<readonly Gap[]>
  readonly read: ReadRows<Columns>
  /** True where the streams have gaps of their own, whose sequences are those of their rows. */
  readonly hasOwnGaps?: boolean
}

/** Reads a page of some streams, merged by received time, with its gaps. */
export async function readPage<Stream extends InstrumentRef, Columns extends HeadColumns>(
  page: Page,
  streams: readonly Stream[],
  kind: RowSource<Stream, Columns>,
  knownAt: Micros | undefined,
): Promise<ReadPage<Columns>> {
  const { order, limit, from: start, end } = page
  const keys = streams.map(({ key }) => key)
  const passed = readPositions(page.state, keys)
  const receipt = receiptIn(page, keys)
  const damage: Gap[] = []
  const lanes = streams.map(({ venue, key }, lane) => {
    const rows = { venue, key, order, start, end, after: passed.lanes[lane], knownAt }
    const onDamage = (gaps: readonly Gap[]): void => void damage.push(...gaps)
    return new RowLane(kind.read, { ...rows, pageRows: limit }, { index: lane, lane, onDamage })
  })
  const rows = await shiftRows(new Merge(lanes), limit)
  const hasMore = lanes.some(({ isDone }) => !isDone)
  const tail = rows.at(-1)
  const received = tail?.columns.received[tail.row] ?? passed.received
  const listed = await kind.gapsOf(streams, { start, end })
  const allGaps = listed.flatMap((gap) => (knownAt === undefined ? gap : asKnownAt(gap, knownAt)))
  const gaps = choosePageGaps(page, allGaps, damage, {
    isDown: order === 'desc',
    hasMore,
    ...boundsOf(order, passed.received, received),
    positionsOf(gap) {
      // The sequence of a gap is one of observations, except where reading rows of these streams found it.
      const isOfRows = kind.hasOwnGaps === true || damage.includes(gap)
      const lane = isOfRows ? keys.indexOf(gap.key) : -1
      if (lane < 0) return undefined
      return { passed: passed.lanes[lane], reached: lanes[lane]!.position, last: Infinity }
    },
  })
  for (const { lane, ordinal } of rows) receipt?.add(keys[lane]!, ordinal, ordinal)
  if (receipt !== undefined) receipt.gaps += gaps.length
  const positions = {
    ...printPositions({ lanes: lanes.map(({ position }) => position), received }),
    ...(receipt === undefined ? {} : { n: receipt.toText(keys) }),
  }
  return { rows, hasMore, positions, gaps, allGaps, receipt }
}

function receiptIn({ isFirst, state }: Page, keys: readonly string[]): ReceiptCounts | undefined {
  if (isFirst) return new ReceiptCounts()
  return state['n'] === undefined ? undefined : ReceiptCounts.fromText(String(state['n']), keys)
}

async function receiptOf(
  { store }: ApiContext,
  [stream]: readonly InstrumentRef[],
  { type, metric }: { readonly type: 'trade' | 'sample' | 'history'; readonly metric?: string },
  receipt: ReceiptCounts | undefined,
  knownAt: number | undefined,
): Promise<ReceiptJson | undefined> {
  if (receipt === undefined) return undefined
  const { rows, gaps } = receipt
  if (stream === undefined) return { rows, gaps, instruments: [] }
  const kind = type === 'history' ? 'sample' : type
  const stored = { venue: stream.venue, kind, metric, knownAt } as const
  const instruments = await withHeads(store, receipt.instruments(), stored)
  // The part of row ids between venue and sequence.
  const named = instruments.map((one) => ({ ...one, key: `${one.key}/${metric ?? type}` }))
  return { rows, gaps, instruments: named }
}

async function noticesOf(
  context: ApiContext,
  { record }: MarketState,
  page: Page,
  kind: Pick<RowKind<never, HeadColumns, object>, 'dataset' | 'explainEmpty' | 'noticeBefore'>,
  { rows, hasMore, allGaps, receipt }: ReadPage<HeadColumns>,
): Promise<readonly Notice[]> {
  const isLeftOut = receipt === undefined && !hasMore
  const explain = async (): Promise<Notice> => {
    if (kind.explainEmpty === undefined) {
      return explainEmpty(context, record, kind.dataset, allGaps, page.range)
    }
    return windowNotice(page.range) ?? kind.explainEmpty()
  }
  const [first] = rows
  const notice = first === undefined && page.isFirst ? await explain() : windowNotice(page.range)
  const oldest = page.order === 'desc' ? rows.at(-1) : first
  // Newest first, only the last page shows the oldest row.
  const isKnown = page.isFirst && (page.order === 'asc' || !hasMore)
  const before = isKnown
    ? await kind.noticeBefore?.(page.range, oldest?.columns.received[oldest.row])
    : undefined
  return presentNotices(notice, before, isLeftOut ? RECEIPT_LEFT_OUT : undefined)
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

function choosePageGaps(
  { from: start, end }: Page,
  listed: readonly Gap[],
  damage: readonly Gap[],
  span: PageSpan,
): readonly Gap[] {
  const gaps = [...listed, ...damage].filter(
    (gap) => touchesSpan(gap, { start, end }) && isOnPage(gap, span),
  )
  gaps.sort(compareStarts)
  return span.isDown ? gaps.reverse() : gaps
}
