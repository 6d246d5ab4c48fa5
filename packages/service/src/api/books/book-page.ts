import type { Gap, VenueId } from '@priorbook/sdk/domain'
import {
  createBookRenderer,
  DEFAULT_LIMIT,
  INTERVALS,
  timeJson,
  toGapJson,
  type Interval,
  type PageBuffer,
  type ReceiptJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { withHeads } from '../../rows/index.ts'
import type { VenueAddress } from '../markets/addresses.ts'
import {
  emptyRange,
  noticeMeta,
  planWindow,
  RECEIPT_LEFT_OUT,
  SCAN_GOES_ON,
  withoutSourceTime,
} from '../pages/notices.ts'
import { gapsBeside } from '../pages/answer-rows.ts'
import { styleOf } from '../pages/page.ts'
import { findRemoved } from '../pages/removed-rows.ts'
import {
  ROWS_AT,
  type Answer,
  type ApiContext,
  type Beside,
  type CursorScope,
  type Grant,
  type Meta,
  type Notice,
  type RouteRequest,
} from '../route.ts'
import { findTarget, type BookTarget } from './book-target.ts'
import { openWalk, resumeWalk, toCursorState, type Walk, type WalkQuery } from './book-walk.ts'
import { gapsOfPage, toLines } from './page-gaps.ts'
import {
  readBuckets,
  readRows,
  readRowsBySource,
  type PagePart,
  type PageRows,
  type SourceRows,
} from './page-rows.ts'
import { cacheOf, marketText } from './store-cache.ts'

/** The values that all paged book routes read. */
type PageQuery = WalkQuery & {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly order?: 'asc' | 'desc' | undefined
  readonly interval?: Interval | undefined
  readonly number_format?: 'number' | 'string' | undefined
  readonly time_format?: 'iso' | 'epoch_us' | undefined
  readonly outcome?: string | undefined
  readonly token_id?: string | undefined
}

/** A request of a paged book route. */
type BookPageRequest = Pick<RouteRequest<{}, {}>, 'route' | 'format' | 'leasePage'> & {
  readonly path: Readonly<Record<string, string | undefined>>
  readonly query: PageQuery
  readonly grant: Grant
}

/** The differences between the paged book routes. */
type PageKind = {
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

/**
 * The renderer of the process. Rendering never awaits, so pages do not interleave. Bytes that it returns
 * without a page share one buffer: copy them before the next await.
 */
export const RENDERER = createBookRenderer()

/** Answers a page of books. */
export async function answerPage(
  context: ApiContext,
  address: VenueAddress,
  request: BookPageRequest,
  kind: PageKind,
): Promise<Answer> {
  const { query, grant, route } = request
  const { order = 'asc', cursor, known_at: knownAt } = query
  const target = await findTarget(context, address, request)
  const { record, instruments, cache } = target
  const scope = scopeOf(route, address.venue, target, query, kind.scope)
  const walk =
    cursor === undefined
      ? await openWalk(context, grant, target, query)
      : resumeWalk(context, grant, instruments, query, context.cursors.read(scope, cursor))

  const rows = await readPage(context, walk, query)
  // Retention may have removed rows since the request began: the gaps must be at least as new as the rows.
  const fresh = await cacheOf(context.store, address.venue)
  const gaps = await gapsOfPage(fresh, walk, rows, { order, knownAt })
  addToReceipt(walk, rows, gaps)
  const at = Math.min(knownAt ?? Infinity, rows.received ?? walk.end - 1)
  const market = await cache.marketAt(record.marketId, at)
  const isFinal = await isSettled(context, target, walk, query, rows, gaps)
  const style = styleOf(query)
  const notices = await noticesOf(context, target, walk, grant, rows, gaps, style)
  const receipt = rows.hasMore ? undefined : await receiptOf(context, walk, knownAt)
  const { lanes, received } = rows
  const nextCursor = rows.hasMore
    ? context.cursors.sign(scope, toCursorState({ ...walk, lanes, received }))
    : undefined

  // From here on nothing may await: the renderer's bytes are shared between requests.
  const next = { nextCursor, isFinal }
  const beside = (): Beside => ({ notices, receipt, gaps: gapsBeside(record, gaps) })
  if (request.format === 'ndjson') {
    const keys = instruments.map(({ key }) => key)
    const body = toLines(rows.parts, keys, gaps, {
      isDown: order === 'desc',
      render: (parts) => kind.render('ndjson', parts, target),
      style,
      notices,
      receipt,
    })
    return { kind: 'text', contentType: 'application/x-ndjson', body, beside: beside(), ...next }
  }
  if (request.format === 'csv') {
    const body = request.leasePage()
    kind.render('csv', rows.parts, target, body)
    const contentType = 'text/csv; charset=utf-8'
    return { kind: 'text', contentType, body, beside: beside(), ...next }
  }
  const meta: Meta = {
    range: rangeOf(walk, style),
    gaps: gaps.map((gap) => toGapJson(gap, style)),
    market: market === undefined ? null : marketText(market, style),
    ...noticeMeta(...notices),
    ...('excluded' in rows && { rows_without_source_time: rows.excluded }),
    ...(receipt !== undefined && { receipt }),
  }
  const page = request.leasePage(ROWS_AT)
  kind.render('json', rows.parts, target, page)
  const madeOf = isFinal ? contentsOf(rows.parts, target) : undefined
  return { kind: 'data', rows: page, madeOf, count: rows.count, meta, ...next }
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
  walk: Walk,
  query: PageQuery,
): Promise<PageRows | SourceRows> {
  const { limit = DEFAULT_LIMIT, order = 'asc', known_at: knownAt, interval } = query
  const asked = { limit, order, knownAt }
  if (interval !== undefined) {
    return readBuckets(store, walk, { ...asked, interval: INTERVALS[interval] })
  }
  return walk.sourceRange === undefined
    ? readRows(store, walk, asked)
    : readRowsBySource(store, walk, { ...asked, ...walk.sourceRange })
}

function addToReceipt({ lanes, receipt }: Walk, rows: PageRows, gaps: readonly Gap[]): void {
  for (const part of rows.parts) {
    const { key } = lanes[part.lane]!.instrument
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
function contentsOf(parts: readonly PagePart[], { instruments }: BookTarget): string | undefined {
  let text = `${RENDERING} ${JSON.stringify(instruments)} `
  for (const part of parts) {
    if ('row' in part || part.chunk === undefined) return undefined
    text += `${part.chunk}:${part.firstSequence}:${part.from}:${part.to} `
  }
  return text
}

function rangeOf(walk: Walk, style: ValueStyle): NonNullable<Meta['range']> {
  const { shownStart, cutAt, sourceRange } = walk
  const start = Math.max(shownStart, cutAt === undefined ? 0 : walk.start)
  const { sourceEnd = Infinity } = sourceRange ?? {}
  const end = Number.isFinite(sourceEnd) ? sourceEnd : walk.end
  return {
    start_time: shownStart < 0 ? null : timeJson(start, style),
    end_time: timeJson(end, style),
  }
}

/** Rows of the last minute may still be followed by rows or gaps that belong before them. */
const SETTLED_MICROS = 60_000_000

/**
 * True when the page cannot change any more: no gap of it is open, and every instrument has a later row.
 * Received times never decrease, so no other row can then come into the page.
 */
async function isSettled(
  { now }: ApiContext,
  { cache }: BookTarget,
  walk: Walk,
  query: PageQuery,
  rows: PageRows,
  gaps: readonly Gap[],
): Promise<boolean> {
  const isPinned = query.cursor !== undefined || query.end_time === walk.end
  if (!isPinned || walk.cutAt !== undefined || walk.sourceRange !== undefined) return false
  if (rows.count === 0 || gaps.some(({ end }) => end === undefined)) return false
  if (rows.parts.some((part) => 'bucket' in part && part.bucket?.partial === true)) return false
  const isDown = query.order === 'desc'
  const reached = isDown ? walk.received : rows.hasMore ? rows.received : undefined
  const edge = reached === undefined ? walk.end : reached + 1
  if (edge > now() - SETTLED_MICROS) return false
  for (const { instrument } of walk.lanes) {
    const facts = await cache.instrument(instrument.key)
    if (facts === undefined || facts.lastReceived < edge) return false
  }
  return true
}

async function noticesOf(
  { store }: ApiContext,
  { record, cache }: BookTarget,
  walk: Walk,
  grant: Grant,
  rows: PageRows | SourceRows,
  gaps: readonly Gap[],
  style: ValueStyle,
): Promise<Notice[]> {
  const { cutAt } = walk
  const notices: Notice[] = []
  if (cutAt !== undefined) notices.push(planWindow(grant.plan, cutAt, style))
  if ('excluded' in rows && rows.excluded > 0) notices.push(withoutSourceTime(rows.excluded))
  if ('isUnfinished' in rows && rows.isUnfinished) notices.push(SCAN_GOES_ON)
  if (walk.isReceiptPartial && !rows.hasMore) notices.push(RECEIPT_LEFT_OUT)
  const isEmptyWalk = rows.count === 0 && !rows.hasMore && walk.receipt.rows === 0
  if (!isEmptyWalk || (cutAt !== undefined && walk.start >= walk.end)) return notices
  const { key } = walk.lanes[0]?.instrument ?? { key: record.marketId }
  const removed = await findRemoved(store, { venue: record.venue, key })
  notices.push(emptyRange(record, walk, await cache.instrument(key), gaps, removed))
  return notices
}
