import type { BookRun } from '@priorbook/sdk/tape'
import { VENUES, type Gap, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { timeJson, toGapJson } from '@priorbook/sdk/wire'
import { ROWS_AT, type Answer, type Beside, type Notice, type RouteRequest } from '../route.ts'
import type { MarketState } from '../../store/store.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import type { BookTarget } from './book-target.ts'
import type { RunPart } from '../../rows/index.ts'
import { endLines, gapsBeside } from '../pages/answer-rows.ts'
import { noticeMeta } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import { RENDERER } from './book-page.ts'
import { marketText } from './store-cache.ts'

/** The book of one instrument, or the reason that there is none. */
export type OneBook = {
  readonly instrument: MarketInstrument
  readonly run?: BookRun | undefined
  readonly notice?: Notice | undefined
  /** The gap that hides the book, or the one that is open since the book. */
  readonly gap?: Gap | undefined
}

/** The values that the routes of single books read. */
type OneBookQuery = {
  readonly depth?: number | undefined
  readonly number_format?: 'number' | 'string' | undefined
  readonly time_format?: 'iso' | 'epoch_us' | undefined
}

type OneBookRequest = Pick<RouteRequest<{}, {}>, 'format' | 'leasePage'> & {
  readonly query: OneBookQuery
}

/**
 * Answers with one book, or with a list of one book per token where the venue has books per token. Missing
 * books are left out and explained by notices; without any book `data` is null.
 */
export function answerBooks(
  venue: VenueId,
  target: BookTarget,
  books: readonly OneBook[],
  request: OneBookRequest,
  more: {
    /** The requested instant; absent for the newest book. */
    readonly at?: Micros | undefined
    readonly knownAt: number
    readonly isFinal: boolean
  },
): Answer | Promise<Answer> {
  const { knownAt } = more
  let newest = 0
  for (const { run } of books) {
    if (run !== undefined) newest = Math.max(newest, run.columns.received[run.from]!)
  }
  const known = newest === 0 ? knownAt : Math.min(newest, knownAt)
  const market = target.cache.marketAt(target.record.marketId, known)
  const answer = (one: MarketState | undefined): Answer =>
    renderBooks(venue, target, books, request, { ...more, market: one })
  return market instanceof Promise ? market.then(answer) : answer(market)
}

function renderBooks(
  venue: VenueId,
  target: BookTarget,
  books: readonly OneBook[],
  request: OneBookRequest,
  more: {
    readonly at?: Micros | undefined
    readonly isFinal: boolean
    /** The market as known at the newest of the books. */
    readonly market: MarketState | undefined
  },
): Answer {
  const { query, format } = request
  const { market, isFinal } = more
  const style = styleOf(query)
  const parts: RunPart[] = []
  const notices: Notice[] = []
  const hidden: Gap[] = []
  for (const [lane, { run, notice, gap }] of books.entries()) {
    if (notice !== undefined) notices.push(notice)
    if (gap !== undefined) hidden.push(gap)
    if (run !== undefined) parts.push({ ...run, lane })
  }
  const instruments = books.map(({ instrument }) => instrument)
  const options = { ladders: true, depth: query.depth, ...style }
  const gaps = hidden.map((gap) => toGapJson(gap, style))
  const beside = (): Beside => ({ notices, gaps: gapsBeside(target.record, hidden) })

  if (format === 'csv') {
    const body = request.leasePage()
    RENDERER.renderCsv(parts, instruments, options, body)
    return { kind: 'text', contentType: CSV, body, beside: beside(), isFinal }
  }
  if (format === 'ndjson') {
    const body = RENDERER.renderNdjson(parts, instruments, options)
    const lines = [
      ...gaps.map((gap) => JSON.stringify({ type: 'gap', ...gap })),
      ...endLines(notices, undefined),
    ]
    const whole = Buffer.concat([body, Buffer.from(lines.map((line) => `${line}\n`).join(''))])
    return { kind: 'text', contentType: NDJSON, body: whole, beside: beside(), isFinal }
  }
  const at = timeJson(more.at, style)
  const rows = parts.length === 0 ? undefined : request.leasePage(ROWS_AT)
  if (rows !== undefined) RENDERER.renderJsonRows(parts, instruments, options, rows)
  return {
    kind: 'data',
    ...(rows === undefined ? { data: null } : { rows, isOne: VENUES[venue].booksPer === 'market' }),
    count: parts.length,
    meta: {
      range: { start_time: at, end_time: at },
      gaps,
      market: market === undefined ? null : marketText(market, style),
      ...noticeMeta(...notices),
    },
    isFinal,
  }
}

const CSV = 'text/csv; charset=utf-8'
const NDJSON = 'application/x-ndjson'
