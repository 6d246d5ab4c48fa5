import { isBackfillKey, isTradesGap, type Gap, type VenueId } from '@priorbook/sdk/domain'
import {
  MEDIA_TYPES,
  rowCell,
  toGapJson,
  type JsonSchema,
  type ReceiptJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { GapQueue } from '../../rows/index.ts'
import type { Answer, Beside, CursorState, Format, Meta, Notice } from '../route.ts'
import { toArrowPage } from './arrow-page.ts'
import { noticeMeta, RECEIPT_LEFT_OUT } from './notices.ts'
import type { Page } from './page.ts'

/** A page of rows, whatever its format. */
export type RowAnswer<Row extends object> = {
  /** The `type` of NDJSON lines. */
  readonly type: string
  readonly rows: readonly Row[]
  /** The columns of CSV; values that are lists or objects become JSON text. */
  readonly columns: readonly string[]
  /** A row by the columns of CSV, where they are not the members of the row. */
  readonly toCells?: ((row: Row) => Readonly<Record<string, unknown>>) | undefined
  /** The schema of a row, of routes that also answer with Arrow; rows are then those of `tableStyle`. */
  readonly schema?: JsonSchema
  /** All of `meta` but gaps, notices and receipt. */
  readonly meta: Meta
  readonly notices: readonly Notice[]
  readonly receipt?: ReceiptJson | undefined
  readonly gaps?: PlacedGaps
  readonly nextCursor?: string | undefined
}

/** The gaps of a page, and what places them among its rows. */
type PlacedGaps = {
  /** In the order of the walk. */
  readonly list: readonly Gap[]
  readonly market: MarketName
  /** The received time of each row. */
  readonly times: readonly number[]
  readonly isDown: boolean
  readonly style: ValueStyle
}

/** What the gaps of a page are of: a market, or a key of a venue; without either all of the venue. */
type MarketName = {
  readonly venue: VenueId
  readonly marketId?: string | undefined
  readonly key?: string | undefined
}

/** Writes a page of rows in the requested format. */
export function answerRows<Row extends object>(
  request: { readonly format: Format },
  page: RowAnswer<Row>,
): Answer {
  const { rows, columns, toCells, gaps, notices, receipt, nextCursor } = page
  const beside: Beside = {
    notices,
    receipt,
    ...(gaps === undefined ? {} : { gaps: gapsBeside(gaps.market, gaps.list) }),
  }
  switch (request.format) {
    case 'ndjson': {
      const lines = [...placeGaps(page), ...endLines(notices, receipt)]
      const body = lines.map((line) => `${line}\n`).join('')
      return { kind: 'text', contentType: 'application/x-ndjson', body, beside, nextCursor }
    }
    case 'csv': {
      const lines = rows.map((row) => {
        const cells = toCells?.(row) ?? (row as Readonly<Record<string, unknown>>)
        return columns.map((name) => rowCell(name, cells[name])).join(',')
      })
      const body = [columns.join(','), ...lines].map((line) => `${line}\n`).join('')
      return { kind: 'text', contentType: 'text/csv; charset=utf-8', body, beside, nextCursor }
    }
    case 'arrow': {
      if (page.schema === undefined) throw new Error(`rows of ${page.type} have no schema`)
      const body = toArrowPage(rows, page.schema)
      return { kind: 'text', contentType: MEDIA_TYPES.arrow[0], body, beside, nextCursor }
    }
    default: {
      const meta: Meta = {
        ...page.meta,
        ...(gaps !== undefined && { gaps: gaps.list.map((gap) => toGapJson(gap, gaps.style)) }),
        ...noticeMeta(...notices),
        ...(receipt !== undefined && { receipt }),
      }
      return { kind: 'data', data: rows, count: rows.length, meta, nextCursor }
    }
  }
}

/** A page of a list: `page` and `next` instead of cursor and receipt, which are made here. */
export type ListAnswer<Row extends object> = Omit<RowAnswer<Row>, 'receipt' | 'nextCursor'> & {
  readonly page: Page
  /** The position after the page; undefined at the end of the walk. */
  readonly next: CursorState | undefined
}

/** Writes a page of a list, whose receipt counts the rows of the walk. */
export function answerList<Row extends object>(
  request: { readonly format: Format },
  { page, next, ...answer }: ListAnswer<Row>,
): Answer {
  const before = page.isFirst ? 0 : page.state['n']
  const rows = Number(before) + answer.rows.length
  if (next !== undefined) {
    const state = before === undefined ? next : { ...next, n: rows }
    return answerRows(request, { ...answer, nextCursor: page.next(state) })
  }
  if (before === undefined) {
    return answerRows(request, { ...answer, notices: [...answer.notices, RECEIPT_LEFT_OUT] })
  }
  return answerRows(request, { ...answer, receipt: { rows, gaps: 0 } })
}

/**
 * How many gaps a page has, and the queries of `/v3/gaps` that list them: one for what was observed of the
 * market, and one for each key that the list of a market leaves out unless it is named.
 */
export function gapsBeside(of: MarketName, list: readonly Gap[]): NonNullable<Beside['gaps']> {
  const byKey = new Map<string | undefined, Gap[]>()
  for (const gap of list) {
    const key = isBackfillKey(gap.key) || isTradesGap(gap) ? gap.key : of.key
    const known = byKey.get(key)
    if (known === undefined) byKey.set(key, [gap])
    else known.push(gap)
  }
  const queries = [...byKey].map(([key, gaps]) => gapsQuery({ ...of, key }, gaps))
  return { count: list.length, queries }
}

function gapsQuery({ venue, marketId, key }: MarketName, gaps: readonly Gap[]): string {
  // A gap of no length ends where it begins, and the list has gaps that end after its start.
  const from = gaps.map(({ start, end }) => (start === end ? start - 1 : start))
  const starts = gaps.map(({ start }) => start)
  const query = new URLSearchParams({
    venue,
    ...(marketId !== undefined && { market: marketId }),
    ...(key !== undefined && { key }),
    start_time: microsText(Math.min(...from)),
    end_time: microsText(Math.max(...starts) + 1),
    limit: '1000',
    format: 'csv',
  })
  return query.toString()
}

// Times as 16 digits are microseconds on every route.
function microsText(time: number): string {
  return String(time).padStart(16, '0')
}

/** The lines that end a page of NDJSON: notices, and the receipt of a walk. */
export function endLines(
  notices: readonly Notice[],
  receipt: ReceiptJson | undefined,
): readonly string[] {
  const lines = notices.map((notice) => JSON.stringify({ type: 'notice', ...notice }))
  if (receipt !== undefined) lines.push(JSON.stringify({ type: 'receipt', ...receipt }))
  return lines
}

function placeGaps<Row extends object>({ type, rows, gaps }: RowAnswer<Row>): readonly string[] {
  const lines = rows.map((row) => JSON.stringify({ type, ...row }))
  if (gaps === undefined || gaps.list.length === 0) return lines
  const { list, times, isDown, style } = gaps
  const queue = new GapQueue(list)
  const placed: string[] = []
  const place = (gap: Gap): void => {
    placed.push(JSON.stringify({ type: 'gap', ...toGapJson(gap, style) }))
  }
  for (let step = 0; step < lines.length; step++) {
    const row = isDown ? lines.length - 1 - step : step
    while (queue.isBefore(times[row]!, '', 0)) place(queue.shift()!)
    placed.push(lines[row]!)
  }
  for (let gap = queue.shift(); gap !== undefined; gap = queue.shift()) place(gap)
  return isDown ? placed.reverse() : placed
}
