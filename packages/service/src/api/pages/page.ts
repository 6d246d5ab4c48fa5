import type { Micros } from '@priorbook/sdk/domain'
import { DEFAULT_LIMIT, Problem, timeJson, type ValueStyle } from '@priorbook/sdk/wire'
import type { ApiContext, CursorScope, CursorState, Format, Grant, Meta } from '../route.ts'

/** The part of a request that chooses range and page. */
export type PageRequest = {
  readonly route: string
  readonly grant: Grant
  readonly query: {
    readonly limit?: number | undefined
    readonly cursor?: string | undefined
    readonly order?: 'asc' | 'desc' | undefined
    readonly start_time?: Micros | undefined
    readonly end_time?: Micros | undefined
  }
}

/** The position of a walk and its range. */
export type Page = {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** Inclusive: `start_time`, or the start of the plan's window where that is later. */
  readonly from: number
  /** Exclusive: `end_time`, else `defaultEnd`, pinned by the first page. */
  readonly end: number
  readonly range: PageRange
  readonly isFirst: boolean
  /** The state of the previous page; empty on the first page. */
  readonly state: CursorState
  /** Signs the cursor of the next page. */
  next(state: CursorState): string
}

/** The requested range and what the plan allows of it. */
export type PageRange = {
  readonly asked: number | undefined
  readonly window: number
  readonly from: number
  readonly end: number
}

/**
 * Reads range and cursor of a paged request. `filters` are all other values that a cursor is bound to;
 * `limit` may change during a walk.
 */
export function openPage(
  request: PageRequest,
  context: ApiContext,
  filters: CursorScope,
  defaultEnd?: number,
): Page {
  const { query, grant, route } = request
  const { limit = DEFAULT_LIMIT, order = 'asc', start_time: start, end_time: end } = query
  if (start !== undefined && end !== undefined && start >= end) {
    throw new Problem('invalid_range', 'start_time is not before end_time', {
      param: 'end_time',
      hint: 'start_time is inclusive, end_time exclusive.',
    })
  }
  const scope: CursorScope = { ...filters, route, order, start, end }
  const state = query.cursor === undefined ? {} : context.cursors.read(scope, query.cursor)
  const now = context.now()
  const pinned = (state['end'] as number | undefined) ?? end ?? defaultEnd ?? now
  const window = grant.windowStart(now)
  const from = Math.max(start ?? 0, window)
  return {
    limit,
    order,
    from,
    end: pinned,
    range: { asked: start, window, from, end: pinned },
    isFirst: query.cursor === undefined,
    state,
    next: (more) =>
      context.cursors.sign(scope, end === undefined ? { ...more, end: pinned } : more),
  }
}

/** The end of a range that has none: lists of markets also show what opens later. */
export const NO_END = Number.MAX_SAFE_INTEGER

/** `meta.range`: the range that was served. */
export function rangeMeta({ from, end }: PageRange, style: ValueStyle): NonNullable<Meta['range']> {
  const print = (time: number): string | number | null => {
    const isOpen = time === 0 || time >= NO_END
    return isOpen ? null : timeJson(time, style)
  }
  return { start_time: print(from), end_time: print(end) }
}

/** The values of rows in files of columns: text for decimals, microseconds for times. */
export const FILE_STYLE = { numberFormat: 'string', timeFormat: 'epoch_us' } as const

type StyleQuery = {
  readonly number_format?: 'number' | 'string' | undefined
  readonly time_format?: 'iso' | 'epoch_us' | undefined
}

/** How the values of an answer are written. */
export function styleOf(query: StyleQuery): ValueStyle {
  return { numberFormat: query.number_format, timeFormat: query.time_format }
}

/** The same of a route that also answers with columns, whose values have types instead of a style. */
export function tableStyle(request: {
  readonly query: StyleQuery
  readonly format: Format
}): ValueStyle {
  const { query, format } = request
  if (format !== 'arrow') return styleOf(query)
  const names = ['number_format', 'time_format'] as const
  const param = names.find((name) => query[name] !== undefined)
  if (param === undefined) return FILE_STYLE
  throw new Problem('invalid_parameter', `${param} has no meaning for format=${format}`, { param })
}
