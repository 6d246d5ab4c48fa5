import type { BookRun } from '@priorbook/sdk/tape'
import { VENUES, type Gap, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { timeJson, toGapJson } from '@priorbook/sdk/wire'
import { ROWS_AT, type Answer, type Beside, type Notice, type RouteRequest } from '../route.ts'
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
export type OneBookQuery = {
  readonly depth?: number | undefined
  readonly number_format?: 'number' | 'string' | undefined
  readonly time_format?: 'iso' | 'epoch_us' | undefined
}

/**
 * Answers with one book, or with a list of one book per token where the venue has books per token. Missing
 * books are left out and explained by notices; without any book `data` is null.
 */
export async function answerBooks(
  venue: VenueId,
  target: BookTarget,
  books: readonly OneBook[],
  request: Pick<RouteRequest<{}, {}>, 'format' | 'leasePage'> & { readonly query: OneBookQuery },
  more: {
    /** The requested instant; absent for the newest book. */
    readonly at?: Micros | undefined
    readonly knownAt: number
    readonly isFinal: boolean
  },
): Promise<Answer> {
  const { query, format } = request
  const style = styleOf(query)
  const parts: RunPart[] = []
  const notices: Notice[] = []
  const hidden: Gap[] = []
  let newest = 0
  for (const [lane, { run, notice, gap }] of books.entries()) {
    if (notice !== undefined) notices.push(notice)
    if (gap !== undefined) hidden.push(gap)
    if (run === undefined) continue
    parts.push({ ...run, lane })
    newest = Math.max(newest, run.columns.received[run.from]!)
  }
  const instruments = books.map(({ instrument }) => instrument)
  const known = parts.length === 0 ? more.knownAt : Math.min(newest, more.knownAt)
  const market = await target.cache.marketAt(target.record.marketId, known)
  const options = { ladders: true, depth: query.depth, ...style }
  const { isFinal } = more
  const gaps = hidden.map((gap) => toGapJson(gap, style))
  const beside: Beside = { notices, gaps: gapsBeside(target.record, hidden) }

  if (format === 'csv') {
    const body = request.leasePage()
    RENDERER.renderCsv(parts, instruments, options, body)
    return { kind: 'text', contentType: CSV, body, beside, isFinal }
  }
  if (format === 'ndjson') {
    const body = RENDERER.renderNdjson(parts, instruments, options)
    const lines = [
      ...gaps.map((gap) => JSON.stringify({ type: 'gap', ...gap })),
      ...endLines(notices, undefined),
    ]
    const whole = Buffer.concat([body, Buffer.from(lines.map((line) => `${line}\n`).join(''))])
    return { kind: 'text', contentType: NDJSON, body: whole, beside, isFinal }
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
