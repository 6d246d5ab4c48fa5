import { cellText, type GapJson } from '@priorbook/sdk/wire'
import type { Answer, Meta, RouteRequest } from '../route.ts'

/** A page of rows, whatever its format. */
export type RowAnswer<Row extends object> = {
  /** The `type` of NDJSON lines. */
  readonly type: string
  readonly rows: readonly Row[]
  /** The columns of CSV; values that are lists or objects become JSON text. */
  readonly columns: readonly (keyof Row & string)[]
  readonly meta: Meta
  readonly gaps?: readonly GapJson[]
  readonly nextCursor?: string | undefined
  readonly isFinal?: boolean
}

/** Writes a page of rows in the requested format. */
export function answerRows<Row extends object>(
  request: { readonly format: RouteRequest<{}, {}>['format'] },
  page: RowAnswer<Row>,
): Answer {
  const { rows, gaps, nextCursor, isFinal = false } = page
  switch (request.format) {
    case 'ndjson': {
      const lines = rows.map((row) => JSON.stringify({ type: page.type, ...row }))
      const holes = (gaps ?? []).map((gap) => JSON.stringify({ type: 'gap', ...gap }))
      const body = [...lines, ...holes].map((line) => `${line}\n`).join('')
      return { kind: 'text', contentType: 'application/x-ndjson', body, nextCursor, isFinal }
    }
    case 'csv': {
      const { columns } = page
      const lines = rows.map((row) => columns.map((name) => cellText(row[name])).join(','))
      const body = [columns.join(','), ...lines].map((line) => `${line}\n`).join('')
      return { kind: 'text', contentType: 'text/csv; charset=utf-8', body, nextCursor, isFinal }
    }
    default: {
      const meta = gaps === undefined ? page.meta : { ...page.meta, gaps }
      return { kind: 'data', data: rows, count: rows.length, meta, nextCursor, isFinal }
    }
  }
}
