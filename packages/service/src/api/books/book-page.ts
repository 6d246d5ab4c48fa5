import type { Gap, Micros, VenueId } from '@priorbook/sdk/domain'
import {
  timeJson,
  toGapJson,
  type PageBuffer,
  type ReceiptJson,
  type ValueStyle,
  DEFAULT_LIMIT,
  INTERVALS,
  type Interval,
} from '@priorbook/sdk/wire'
import { withHeads } from '../../rows/index.ts'
import { ROWS_AT } from '../http/page-pool.ts'
import type {
  Answer,
  ApiContext,
  CursorScope,
  Grant,
  Meta,
  Notice,
  RouteRequest,
} from '../route.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import { findTarget, type BookTarget } from './book-target.ts'
import {
  emptyRange,
  planWindow,
  RECEIPT_LEFT_OUT,
  SCAN_GOES_ON,
  withoutSourceTime,
} from './notices.ts'
import { toLines } from './page-body.ts'
import { gapsOfPage } from './page-gaps.ts'
import {
  readBuckets,
  readRows,
  readRowsBySource,
  type PagePart,
  type PageRows,
  type SourceRows,
} from './page-rows.ts'
import { openWalk, resumeWalk, toCursorState, type OpenedWalk, type Walk } from './walk.ts'

/** The values that all paged book routes read. */
type PageQuery = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly order?: 'asc' | 'desc' | undefined
  readonly start_time?: Micros | undefined
  readonly end_time?: Micros | undefined
  readonly clock?: 'received' | 'source' | undefined
  readonly interval?: Interval | undefined
  readonly known_at?: Micros | undefined
  readonly number_format?: 'number' | 'string' | undefined
  readonly time_format?: 'iso' | 'epoch_us' | undefined
  readonly outcome?: string | undefined
  readonly token_id?: string | undefined
}

/** A request of a paged book route. */
export type PageRequest = Pick<RouteRequest<{}, {}>, 'route' | 'format' | 'leasePage'> & {
  readonly path: Readonly<Record<string, string | undefined>>
  readonly query: PageQuery
  readonly grant: Grant
}

/** The differences between the paged book routes. */
export type PageKind = {
  /** Further values that the cursor is bound to. */
  readonly scope: CursorScope
  /**
   * Renders rows in the requested order, appended to a page if one is given; parts are oldest first. The
   * returned bytes are valid until the next await.
   */
  render(
    format: 'json' | 'ndjson' | 'csv',
    parts: readonly PagePart[],
    target: BookTarget,
    page?: PageBuffer,
  ): Uint8Array
}

/** Answers a page of books. */
export async function answerPage(
  context: ApiContext,
  address: VenueAddress,
  request: PageRequest,
  kind: PageKind,
): Promise<Answer> {
  const { query, grant, route } = request
  const { order = 'asc', cursor } = query
  const target = await findTarget(context, address, request)
  const { record, instruments } = target
  const scope = scopeOf(route, address.venue, target, query, kind.scope)
  const asked = {
    startTime: query.start_time,
    endTime: query.end_time,
    clock: query.clock ?? 'received',
    knownAt: query.known_at,
  } as const
  const opened =
    cursor === undefined
      ? await openWalk(context, grant, target, asked)
      : resumeWalk(context, grant, instruments, asked, context.cursors.read(scope, cursor))
  const { walk } = opened

  const rows = await readPage(context, opened, query)
  const gaps = await gapsOfPage(target.known, walk, rows, {
    order,
    knownAt: query.known_at,
    source: opened.source,
  })
  addToReceipt(walk, rows, gaps)
  const at = Math.min(query.known_at ?? Infinity, rows.received ?? walk.end - 1)
  const market = await target.known.marketAt(record.marketId, at)
  const isFinal = await isSettled(context, target, opened, request, rows, gaps)
  const style = { numberFormat: query.number_format, timeFormat: query.time_format }
  const notices = await noticesOf(target, opened, grant, rows, gaps, style)
  const receipt = rows.hasMore ? undefined : await receiptOf(context, walk, query.known_at)
  const nextCursor = rows.hasMore
    ? context.cursors.sign(scope, toCursorState({ ...walk, ...pick(rows) }))
    : undefined

  return renderPage(request, kind, {
    target,
    opened,
    rows,
    gaps,
    market,
    notices,
    receipt,
    style,
    next: { nextCursor, isFinal },
  })
}

/** Everything that stands on a page, read and ready to be rendered. */
type ReadPage = {
  readonly target: BookTarget
  readonly opened: OpenedWalk
  readonly rows: PageRows | SourceRows
  readonly gaps: readonly Gap[]
  readonly market: Awaited<ReturnType<BookTarget['known']['marketAt']>>
  readonly notices: readonly Notice[]
  readonly receipt: ReceiptJson | undefined
  readonly style: ValueStyle
  readonly next: { readonly nextCursor: string | undefined; readonly isFinal: boolean }
}

// Nothing here may await: the renderer's bytes are shared between requests.
function renderPage(request: PageRequest, kind: PageKind, page: ReadPage): Answer {
  const { target, rows, gaps, market, notices, receipt, style, next } = page
  if (request.format === 'ndjson') {
    const keys = target.instruments.map(({ key }) => key)
    const body = toLines(rows.parts, keys, gaps, {
      isDown: request.query.order === 'desc',
      render: (parts) => kind.render('ndjson', parts, target),
      toGapLine: (gap) => toGapJson(gap, style),
      notices,
      receipt,
    })
    return { kind: 'text', contentType: 'application/x-ndjson', body, ...next }
  }
  if (request.format === 'csv') {
    const body = request.leasePage()
    kind.render('csv', rows.parts, target, body)
    return { kind: 'text', contentType: 'text/csv; charset=utf-8', body, ...next }
  }
  const meta: Meta = {
    range: rangeOf(page.opened, style),
    gaps: gaps.map((gap) => toGapJson(gap, style)),
    market: market === undefined ? null : target.memory.marketText(market, style),
    ...(notices.length > 0 && { notice: notices.length === 1 ? notices[0]! : notices }),
    ...('excluded' in rows && { rows_without_source_time: rows.excluded }),
    ...(receipt !== undefined && { receipt }),
  }
  const buffer = request.leasePage(ROWS_AT)
  kind.render('json', rows.parts, target, buffer)
  return {
    kind: 'data',
    rows: buffer,
    madeOf: next.isFinal ? madeOf(rows.parts, target) : undefined,
    count: rows.count,
    meta,
    ...next,
  }
}

function rangeOf(
  opened: OpenedWalk,
  style: Parameters<typeof timeJson>[1],
): NonNullable<Meta['range']> {
  return {
    start_time: opened.walk.shownStart < 0 ? null : timeJson(shownStart(opened), style),
    end_time: timeJson(shownEnd(opened), style),
  }
}

// Everything that decides the rows of a walk, their order and their fields. The size of pages and their
// format may change during a walk.
function scopeOf(
  route: string,
  venue: VenueId,
  { record, instruments }: BookTarget,
  query: PageQuery,
  more: CursorScope,
): CursorScope {
  return {
    route,
    venue,
    market: record.marketId,
    books: instruments.map(({ key }) => key).join(' '),
    order: query.order ?? 'asc',
    start: query.start_time,
    end: query.end_time,
    clock: query.clock ?? 'received',
    interval: query.interval,
    known: query.known_at,
    ...more,
  }
}

function readPage(
  { store }: ApiContext,
  { walk, source }: OpenedWalk,
  query: PageQuery,
): Promise<PageRows | SourceRows> {
  const { limit = DEFAULT_LIMIT, order = 'asc', known_at: knownAt, interval } = query
  const asked = { limit, order, knownAt }
  if (interval !== undefined) {
    return readBuckets(store, walk, { ...asked, interval: INTERVALS[interval] })
  }
  return source === undefined
    ? readRows(store, walk, asked)
    : readRowsBySource(store, walk, { ...asked, ...source })
}

function addToReceipt({ lanes, receipt }: Walk, rows: PageRows, gaps: readonly Gap[]): void {
  for (const part of rows.parts) {
    const { key } = lanes[part.source]!.instrument
    if ('row' in part) receipt.add(key, part.sequence, part.sequence)
    else receipt.add(key, part.firstSequence + part.from, part.firstSequence + part.to - 1)
  }
  receipt.gaps += gaps.length
}

async function receiptOf(
  { store }: ApiContext,
  { lanes, receipt, isReceiptPartial }: Walk,
  knownAt: number | undefined,
): Promise<ReceiptJson | undefined> {
  if (isReceiptPartial) return undefined
  const { rows, gaps } = receipt
  const { venue } = lanes[0]!.instrument
  const stream = { venue, kind: 'book', knownAt } as const
  return { rows, gaps, instruments: await withHeads(store, receipt.instruments(), stream) }
}

// Increase it when the rendering of rows changes: entity tags are made of it.
const RENDERING = 1

// The chunks of the rows, the rows in them and their instruments, for the entity tag; undefined where some
// rows are not in a chunk.
function madeOf(
  parts: readonly PagePart[],
  { instruments }: Pick<BookTarget, 'instruments'>,
): string | undefined {
  let text = `${RENDERING} ${JSON.stringify(instruments)} `
  for (const part of parts) {
    if ('row' in part || part.chunk === undefined) return undefined
    text += `${part.chunk}:${part.firstSequence}:${part.from}:${part.to} `
  }
  return text
}

function pick({ lanes, received }: PageRows): Pick<Walk, 'lanes' | 'received'> {
  return { lanes, received }
}

function shownStart({ walk, cutAt }: OpenedWalk): number {
  return Math.max(walk.shownStart, cutAt === undefined ? 0 : walk.start)
}

function shownEnd({ walk, source }: OpenedWalk): number {
  return source !== undefined && Number.isFinite(source.sourceEnd) ? source.sourceEnd : walk.end
}

/** Rows of the last minute may still be followed by rows or gaps that belong before them. */
const SETTLED_MICROS = 60_000_000

/**
 * True when the page cannot change any more: no gap of it is open, and every instrument has a later row.
 * Received times never decrease, so no other row can then come into the page.
 */
async function isSettled(
  { now }: ApiContext,
  { known }: BookTarget,
  { walk, source, cutAt }: OpenedWalk,
  { query }: PageRequest,
  rows: PageRows,
  gaps: readonly Gap[],
): Promise<boolean> {
  const isPinned = query.cursor !== undefined || query.end_time === walk.end
  if (!isPinned || cutAt !== undefined || source !== undefined) return false
  if (rows.count === 0 || gaps.some(({ end }) => end === undefined)) return false
  if (rows.parts.some((part) => 'bucket' in part && part.bucket?.partial === true)) return false
  const isDown = query.order === 'desc'
  const reached = isDown ? walk.received : rows.hasMore ? rows.received : undefined
  const edge = reached === undefined ? walk.end : reached + 1
  if (edge > now() - SETTLED_MICROS) return false
  for (const { instrument } of walk.lanes) {
    const facts = await known.instrument(instrument.key)
    if (facts === undefined || facts.lastReceived < edge) return false
  }
  return true
}

async function noticesOf(
  { record, known }: BookTarget,
  { walk, cutAt }: OpenedWalk,
  grant: Grant,
  rows: PageRows | SourceRows,
  gaps: readonly Gap[],
  style: ValueStyle,
): Promise<Notice[]> {
  const notices: Notice[] = []
  if (cutAt !== undefined) notices.push(planWindow(grant.plan, cutAt, style))
  if ('excluded' in rows && rows.excluded > 0) notices.push(withoutSourceTime(rows.excluded))
  if ('isUnfinished' in rows && rows.isUnfinished) notices.push(SCAN_GOES_ON)
  if (walk.isReceiptPartial && !rows.hasMore) notices.push(RECEIPT_LEFT_OUT)
  const isEmptyWalk = rows.count === 0 && !rows.hasMore && walk.receipt.rows === 0
  if (!isEmptyWalk || (cutAt !== undefined && walk.start >= walk.end)) return notices
  const { key } = walk.lanes[0]?.instrument ?? { key: record.marketId }
  const facts = await known.instrument(key)
  notices.push(emptyRange(record, walk, facts, gaps))
  return notices
}
