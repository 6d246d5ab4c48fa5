import { printMicros, toMicros, VENUES } from '@priorbook/sdk/domain'
import { SCHEMA_VERSION, type FileFormat } from '@priorbook/sdk/wire'
import { explainEmpty, TRADES_NOT_RECONSTRUCTED } from '../pages/notices.ts'
import type { ApiContext, Notice } from '../route.ts'
import { keysOf, type BulkScope } from './scope.ts'

/** The order of rows in every file. */
const SORT_ORDER = ['open_time', 'market_id', 'received_time', 'sequence'] as const

/** The scope of a file as JSON, for the manifest, containers and metadata. */
export function describeScope(scope: BulkScope): Readonly<Record<string, unknown>> {
  const { venue, market, family, dataset, metric, knownAt } = scope
  return {
    schema_version: SCHEMA_VERSION,
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

/** The name of a file: venue, market or family, dataset, days. */
export function fileNameOf(scope: BulkScope, format: FileFormat): string {
  const { venue, market, family, dataset, metric, start, end } = scope
  const whom =
    market === undefined
      ? [family.asset?.toLowerCase(), family.series, family.window]
      : [market.record.marketId]
  const day = print(start).slice(0, 10)
  const lastDay = print(Math.max(start, end - 1)).slice(0, 10)
  const parts = [venue, ...whom, metric ?? dataset, day === lastDay ? day : `${day}_${lastDay}`]
  const name = parts.filter((part) => part !== undefined).join('_')
  // Tickers of old markets contain slashes, which file names cannot.
  return `${name.replaceAll(/[^A-Za-z0-9._-]/g, '-')}.${EXTENSIONS[format]}`
}

/** The content type of each format. */
export const CONTENT_TYPES: Readonly<Record<FileFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
  arrow: 'application/vnd.apache.arrow.stream',
  parquet: 'application/vnd.apache.parquet',
  tape: 'application/vnd.priorbook.tape',
}

const EXTENSIONS: Readonly<Record<FileFormat, string>> = {
  ndjson: 'ndjson',
  csv: 'csv',
  arrow: 'arrows',
  parquet: 'parquet',
  tape: 'pbx',
}

/** Explains why a file has no rows, unless the notices of its scope already do. */
export async function explainNothing(
  context: ApiContext,
  scope: BulkScope,
): Promise<readonly Notice[]> {
  const { venue, dataset, metric, market, start, end, windowStart: window, notices } = scope
  if (dataset === 'trades' && !VENUES[venue].hasTrades) return [TRADES_NOT_RECONSTRUCTED]
  const isSaid = notices.some(({ code }) => code === 'plan_window' || code === 'future_range')
  if (start >= end && isSaid) return []
  if (market === undefined) {
    const message = `No market of the family has ${dataset} in the range.`
    return [{ code: 'no_rows_in_range', message }]
  }
  const { record } = market
  const keys = await keysOf(context, record, dataset, metric)
  const kind = dataset === 'samples' ? 'metrics' : dataset
  const range = { asked: start, window, from: start, end }
  return [await explainEmpty(context, record, kind, keys, range)]
}

function print(time: number): string {
  return printMicros(toMicros(time))
}
