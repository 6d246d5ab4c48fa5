import type { ApiCall } from './snippet.ts'
import type { Range } from './range.ts'

/** The formats of files, the ones that most programs open first. */
export const FILE_FORMATS = ['csv', 'ndjson', 'parquet', 'arrow', 'tape'] as const

/** What a panel gives as a file: all rows of a dataset in a span, not only those that are drawn. */
export type ExportScope = {
  readonly params: Readonly<Record<string, string>>
  /** Metrics of which a file has one. */
  readonly metrics?: readonly string[]
  /** The span that the charts show. */
  readonly shown: Range | undefined
  /** Everything recorded. */
  readonly all: Range | undefined
}

/** Parameters of a download; text has every digit, and times that people can read. */
export function toDownloadParams(
  { params }: ExportScope,
  format: (typeof FILE_FORMATS)[number],
  { from, to }: Range,
) {
  const isText = format === 'csv' || format === 'ndjson'
  return {
    ...params,
    start_time: Math.round(from),
    // The last instant of a span belongs to it.
    end_time: Math.round(to) + 1,
    ...(isText ? { number_format: 'string', time_format: 'iso' } : {}),
  }
}

// The routes whose answers are rows, which can also be tables.
const ROWS =
  /\/(gaps|coverage|days|markets|events|contracts|spreads|revisions|snapshots|orderbook|trades|timeseries|changes)$/
// Lists that a page shows a screen at a time; a file has as many rows as one answer can.
const LISTS = /\/(markets|events|contracts)$/

/** The most rows of a file that is one answer. */
export const MAX_ANSWER_ROWS = 1000

/** True where a request is a list, of which the page shows the first rows. */
export function isList({ url }: ApiCall): boolean {
  return LISTS.test(new URL(url).pathname)
}

/** A request without one of its parameters. */
export function withoutParam({ url, code }: ApiCall, name: string): ApiCall {
  const address = new URL(url)
  address.searchParams.delete(name)
  return { url: address.href, code }
}

/** The formats of a panel's own request. */
export function formatsOf({ url }: ApiCall): readonly string[] {
  return ROWS.test(new URL(url).pathname) ? ['json', 'csv', 'ndjson'] : ['json']
}

/** The address of a panel's own request in a format, with the name of its file. */
export function toAnswerFile({ url }: ApiCall, format: string): { url: string; name: string } {
  const address = new URL(url)
  const words = address.pathname.split('/').filter((word) => !/^(v3|demo|markets)$/.test(word))
  address.searchParams.delete('time_format')
  if (isList({ url, code: '' })) address.searchParams.set('limit', String(MAX_ANSWER_ROWS))
  if (format !== 'json') address.searchParams.set('format', format)
  const name = words.map((word) => decodeURIComponent(word).slice(0, 40)).join('-')
  return { url: address.href, name: `priorbook-${name || 'markets'}.${format}` }
}

/** The formats whose pages can be put one below the other. */
export const JOINED_FORMATS = ['csv', 'ndjson'] as const

/** The address of the first page of a request in one of them, with as many rows as a page can have. */
export function toFirstPage(call: ApiCall, format: (typeof JOINED_FORMATS)[number]): string {
  const address = new URL(toAnswerFile(call, format).url)
  address.searchParams.set('limit', String(MAX_ANSWER_ROWS))
  return address.href
}

/** The address of the next page, which an answer names in its header `Link`; undefined after the last. */
export function nextPageOf(url: string, link: string | null): string | undefined {
  const [, next] = /<([^>]+)>; rel="next"/.exec(link ?? '') ?? []
  return next === undefined ? undefined : new URL(next, url).href
}
