import { printMicros, toMicros } from '@priorbook/sdk/domain'
import type { BulkFormat } from './params.ts'
import type { BulkScope } from './scope.ts'

/** The order of rows in every file. */
export const SORT_ORDER = ['open_time', 'market_id', 'received_time', 'sequence'] as const

/** What a file holds, in the names of the wire: in the manifest, in containers and in metadata. */
export function describeScope(scope: BulkScope): Readonly<Record<string, unknown>> {
  const { venue, market, family, dataset, metric, knownAt } = scope
  return {
    schema_version: '3.0',
    venue,
    market_id: market?.record.marketId ?? null,
    family:
      market === undefined
        ? {
            asset: family.asset ?? null,
            series: family.series ?? null,
            window: family.window ?? null,
          }
        : null,
    dataset,
    metric: metric ?? null,
    range: { start_time: print(scope.start), end_time: print(scope.end) },
    known_at: knownAt === undefined ? null : print(knownAt),
    sort_order: SORT_ORDER,
  }
}

/** How the file of a download is called: what, of whom, when. */
export function fileNameOf(scope: BulkScope, format: BulkFormat): string {
  const { venue, market, family, dataset, metric, start, end } = scope
  const whom =
    market === undefined
      ? [family.asset?.toLowerCase(), family.series, family.window]
      : [market.record.marketId]
  const day = print(start).slice(0, 10)
  const lastDay = print(Math.max(start, end - 1)).slice(0, 10)
  const parts = [venue, ...whom, metric ?? dataset, day === lastDay ? day : `${day}_${lastDay}`]
  const name = parts.filter((part) => part !== undefined).join('_')
  // Tickers of old markets hold slashes, which no file name may.
  return `${name.replaceAll(/[^A-Za-z0-9._-]/g, '-')}.${EXTENSIONS[format]}`
}

/** The content type of each format. */
export const CONTENT_TYPES: Readonly<Record<BulkFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
  arrow: 'application/vnd.apache.arrow.stream',
  parquet: 'application/vnd.apache.parquet',
  tape: 'application/vnd.priorbook.tape',
}

const EXTENSIONS: Readonly<Record<BulkFormat, string>> = {
  ndjson: 'ndjson',
  csv: 'csv',
  arrow: 'arrows',
  parquet: 'parquet',
  tape: 'pbx',
}

function print(time: number): string {
  return printMicros(toMicros(time))
}
