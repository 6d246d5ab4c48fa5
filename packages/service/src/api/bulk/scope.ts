import {
  DAY_MICROS,
  REFERENCE_METRIC,
  VENUES,
  isLastStatus,
  printMicros,
  toMicros,
  type Gap,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '@priorbook/sdk/domain'
import {
  DOCUMENTED_DAYS,
  Problem,
  SCHEMA_VERSION,
  type FileDataset,
  type FileFormat,
  type ParamValues,
  type SCOPE_PARAMS,
  type SampleMetric,
  HISTORY_METRICS,
  SAMPLE_METRICS,
  type HistoryMetric,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import { gapKeysOf, gapsOfKeys, storeGaps } from '../../rows/index.ts'
import { findFamily, type Family } from '../markets/family.ts'
import { findNamedMarket } from '../markets/find.ts'
import { instrumentsOf, sampleSeriesOf, type MarketInstrument } from '../markets/instruments.ts'
import { explainNoPast, refuseKnownAt, toPastInstruments } from '../markets/past-trades.ts'
import { explainNoPrices } from '../markets/past-prices.ts'
import { findReferences, type ReferenceSeries } from '../markets/references.ts'
import { gapsOfSeries } from '../markets/series-gaps.ts'
import { explainNoTrades, gapsOfTrades } from '../markets/trade-source.ts'
import { explainEmpty, planWindow } from '../pages/notices.ts'
import type { ApiContext, Grant, Notice } from '../route.ts'

const { download: MAX_DAYS } = DOCUMENTED_DAYS

// Rows are stored within seconds of being received: a range that ended this long ago gets no more rows.
const SETTLED_MICROS = 60_000_000

/** The content of a download: plan, range and parameters are checked, no row is read yet. */
export type BulkScope = {
  readonly venue: VenueId
  readonly market?: MarketState
  /** The markets of a venue that share asset or series, and window; the venue alone for one market. */
  readonly family: Family
  readonly dataset: FileDataset
  readonly metric?: SampleMetric | HistoryMetric
  /** Present for trades and prices of the venue's history, whose times are the venue's. */
  readonly origin?: 'backfill'
  /** The series of reference prices; present for that dataset, which has no markets. */
  readonly references?: readonly ReferenceSeries[]
  readonly feed?: string
  /** Received times [start, end) that are served. */
  readonly start: number
  readonly end: number
  readonly knownAt?: number
  /** The start of the plan's window: no row before it is sent, not even inside a whole chunk. */
  readonly windowStart: number
  readonly ladders: boolean
  readonly depth?: number
  readonly style: ValueStyle
  /** True when the range lies in the past: no row can be added to it any more. */
  readonly isFinal: boolean
  readonly notices: readonly Notice[]
  /** What the plan includes; a family can contain other markets. */
  readonly grant: Grant
}

/** The values of the parameters that choose the content. */
export type ScopeQuery = ParamValues<typeof SCOPE_PARAMS>

/**
 * Checks plan, family and range; throws a `Problem` for anything invalid. Files that have other datasets beside the one
 * of the query name them: the whole of a market is then the span of them all.
 */
export async function resolveScope(
  query: ScopeQuery,
  grant: Grant,
  context: ApiContext,
  others: readonly FileDataset[] = [],
): Promise<BulkScope> {
  const { venue } = query
  grant.requireVenue(venue)
  const dataset = query.dataset ?? 'books'
  if (dataset === 'reference') return resolveReferences(query, grant, context)
  if (query.feed !== undefined) {
    const detail = `feed belongs to dataset=reference, not to ${dataset}`
    throw new Problem('invalid_parameter', detail, { param: 'feed' })
  }
  const metric = metricOf(query, dataset)
  const origin = originOf(query, dataset)
  const market =
    query.market_id === undefined
      ? undefined
      : await findOne(context, venue, query.market_id, query, grant)
  const family = market === undefined ? await checkFamily(context, query, grant) : { venue }
  const range = await resolveRange(query, market, grant, context, others)
  return {
    venue,
    family,
    dataset,
    ...range,
    grant,
    ladders: query.include_orderbook ?? true,
    style: { numberFormat: query.number_format, timeFormat: query.time_format },
    ...(market === undefined ? {} : { market }),
    ...(metric === undefined ? {} : { metric }),
    ...originMember(origin),
    ...(query.depth === undefined ? {} : { depth: query.depth }),
    ...(query.known_at === undefined ? {} : { knownAt: query.known_at }),
  }
}

// Parameters of markets, which reference prices do not belong to.
const OF_MARKETS = [
  'market_id',
  'series',
  'window',
  'metric',
  'origin',
  'include_orderbook',
  'depth',
] as const

async function resolveReferences(
  query: ScopeQuery,
  grant: Grant,
  context: ApiContext,
): Promise<BulkScope> {
  const { venue, asset, feed } = query
  const unfit = OF_MARKETS.find((name) => query[name] !== undefined)
  if (unfit !== undefined || asset === undefined) {
    const param = unfit ?? 'asset'
    const detail =
      unfit === undefined ? 'asset is not given' : `${unfit} has no meaning for dataset=reference`
    throw new Problem('invalid_parameter', detail, { param })
  }
  const found = await findReferences(context, grant, asset, feed)
  const range = await resolveRange(query, undefined, grant, context)
  return {
    venue,
    family: { venue, asset: found.asset },
    dataset: 'reference',
    metric: REFERENCE_METRIC,
    references: found.series.filter((one) => one.venue === venue),
    ...(feed === undefined ? {} : { feed }),
    ...range,
    grant,
    ladders: false,
    style: { numberFormat: query.number_format, timeFormat: query.time_format },
    ...(query.known_at === undefined ? {} : { knownAt: query.known_at }),
  }
}

function metricOf({ metric }: ScopeQuery, dataset: FileDataset): BulkScope['metric'] {
  const metrics = dataset in METRICS ? METRICS[dataset as keyof typeof METRICS] : []
  if (metric === undefined ? metrics.length === 0 : metrics.includes(metric)) return metric
  const detail =
    metrics.length === 0
      ? `metric belongs to dataset=samples and dataset=history, not to ${dataset}`
      : metric === undefined
        ? `dataset=${dataset} is downloaded one metric at a time`
        : `${metric} is not a metric of dataset=${dataset}: ${metrics.join(', ')}`
  throw new Problem('invalid_parameter', detail, { param: 'metric' })
}

/** The datasets of which one metric at a time is downloaded. */
const METRICS: Readonly<Record<'samples' | 'history', readonly string[]>> = {
  samples: SAMPLE_METRICS,
  history: HISTORY_METRICS,
}

function originOf(query: ScopeQuery, dataset: FileDataset): 'backfill' | undefined {
  if (dataset === 'history' && query.origin !== 'observed') {
    refuseKnownAt(query.known_at)
    return 'backfill'
  }
  if (query.origin !== undefined && dataset !== 'trades') {
    const detail = `origin belongs to dataset=trades, not to ${dataset}`
    throw new Problem('invalid_parameter', detail, { param: 'origin' })
  }
  if (query.origin !== 'backfill') return undefined
  refuseKnownAt(query.known_at)
  return 'backfill'
}

function originMember(origin: 'backfill' | undefined): { readonly origin?: 'backfill' } {
  return origin === undefined ? {} : { origin }
}

async function findOne(
  context: ApiContext,
  venue: VenueId,
  id: string,
  query: ScopeQuery,
  grant: Grant,
): Promise<MarketState> {
  for (const param of ['asset', 'series', 'window'] as const) {
    if (query[param] === undefined) continue
    const detail = `${param} names a family and market_id one market: give one of the two`
    throw new Problem('invalid_parameter', detail, { param })
  }
  return findNamedMarket(context, grant, venue, id)
}

async function checkFamily(context: ApiContext, query: ScopeQuery, grant: Grant): Promise<Family> {
  const { venue, series, asset } = query
  const param = VENUES[venue].familyKey
  const needed = param === 'series' ? (series ?? asset) : asset
  if (needed === undefined) {
    throw new Problem('invalid_parameter', `neither market_id nor ${param} is given`, {
      param,
      hint: `One market: market_id. A family: ${param}, and window for one length of rounds.`,
    })
  }
  return findFamily(context, grant, query)
}

type Range = Pick<BulkScope, 'start' | 'end' | 'windowStart' | 'isFinal' | 'notices'>

async function resolveRange(
  query: ScopeQuery,
  market: MarketState | undefined,
  grant: Grant,
  context: ApiContext,
  others: readonly FileDataset[] = [],
): Promise<Range> {
  const now = context.now()
  const asked = askedRange(query)
  if (asked.start === undefined && market === undefined) {
    throw new Problem('invalid_parameter', 'a family needs a day or a start_time', {
      param: 'day',
      hint: 'Such as day=2026-08-11.',
    })
  }
  const windowStart = grant.windowStart(now)
  const notices: Notice[] = context.notice === undefined ? [] : [context.notice]
  const span =
    market === undefined
      ? undefined
      : await spanOfAll(context, market.record, [
          {
            dataset: query.dataset ?? 'books',
            ...(query.metric === undefined ? {} : { metric: query.metric }),
            ...originMember(originOf(query, query.dataset ?? 'books')),
          },
          ...others.map((dataset) => ({ dataset })),
        ])
  const lasting = asked.end ?? endOf(market, span)
  const first = asked.start ?? span?.first ?? Math.min(now, lasting ?? now)
  // Without a range the whole market is downloaded, up to its last row.
  const last = lasting ?? Math.min(now, span?.last ?? now)
  const start = Math.max(first, windowStart)
  if (Math.min(last, now) - start > MAX_DAYS * DAY_MICROS)
    grant.requireFeature('bulk_beyond_31_days')
  if (first < windowStart) {
    notices.push(planWindow(grant.plan, windowStart, {}))
  }
  if (first >= now && asked.start !== undefined) {
    notices.push({ code: 'future_range', message: 'The range has not begun yet.' })
  }
  const end = Math.max(start, Math.min(lasting ?? now, now))
  return { start, end, windowStart, isFinal: (lasting ?? now) <= now - SETTLED_MICROS, notices }
}

/**
 * Where the whole life of a market ends that has its final status: after its last row and its close. The
 * time of the request is no part of it, so that every download has the same bytes.
 */
function endOf(
  market: MarketState | undefined,
  span: { readonly last: number } | undefined,
): number | undefined {
  if (market === undefined || !isLastStatus(market.record.status ?? '')) return undefined
  const { record, knownAt } = market
  const { closeTime = Infinity } = record
  // Ends are exclusive, and the gap of the closed market begins with its close.
  if (closeTime <= knownAt) return Math.max(span?.last ?? 0, closeTime + 1)
  return span?.last ?? knownAt
}

function askedRange(query: ScopeQuery): { start?: Micros; end?: Micros } {
  const { day, start_time: start, end_time: end } = query
  if (day !== undefined) {
    if (start !== undefined || end !== undefined) {
      const param = start === undefined ? 'end_time' : 'start_time'
      throw new Problem('invalid_parameter', `day and ${param} are both given`, { param })
    }
    return { start: day, end: toMicros(day + DAY_MICROS) }
  }
  if (start !== undefined && end !== undefined && start >= end) {
    throw new Problem('invalid_range', 'end_time is not after start_time', { param: 'end_time' })
  }
  return { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) }
}

function print(time: number): string {
  return printMicros(toMicros(time))
}

/** What of a market is meant. */
export type RowsOfScope = Pick<BulkScope, 'dataset' | 'metric' | 'origin'>

/** The streams of the books, trades or price history of a market that a download holds. */
export async function streamsOf(
  context: ApiContext,
  record: MarketRecord,
  { origin }: RowsOfScope,
): Promise<readonly MarketInstrument[]> {
  const instruments = await instrumentsOf(context, record)
  return origin === undefined ? instruments : toPastInstruments(instruments)
}

/** The keys under which the rows of a dataset of one market are stored. */
export async function keysOf(
  context: ApiContext,
  record: MarketRecord,
  rows: RowsOfScope,
): Promise<readonly string[]> {
  const named: readonly { readonly key: string }[] =
    rows.dataset === 'samples'
      ? sampleSeriesOf(record, rows.metric as SampleMetric)
      : await streamsOf(context, record, rows)
  return named.map(({ key }) => key)
}

/** The received times [first, last) between which any of some datasets of a market has rows. */
async function spanOfAll(
  context: ApiContext,
  record: MarketRecord,
  scopes: readonly RowsOfScope[],
): Promise<{ first: number; last: number } | undefined> {
  const times: number[] = []
  for (const scope of scopes) times.push(...(await edgesOf(context, record, scope)))
  return times.length === 0
    ? undefined
    : { first: Math.min(...times), last: Math.max(...times) + 1 }
}

/** The received times of the first and the last row of every stream of a dataset. */
async function edgesOf(
  context: ApiContext,
  record: MarketRecord,
  scope: RowsOfScope,
): Promise<readonly number[]> {
  const { store } = context
  const { venue } = record
  const { dataset, metric } = scope
  const times: number[] = []
  for (const key of await keysOf(context, record, scope)) {
    if (dataset === 'books') {
      const facts = await store.instrument({ venue, key })
      if (facts !== undefined) times.push(facts.firstReceived, facts.lastReceived)
      continue
    }
    for (const order of ['asc', 'desc'] as const) {
      const query = { venue, key, order, limit: 1 }
      const { rows } =
        dataset === 'trades'
          ? await store.trades(query)
          : await store.samples({ ...query, metric: metric! })
      if (rows.count > 0) times.push(rows.received[0]!)
    }
  }
  return times
}

/** The order of rows in every file. */
const SORT_ORDER = ['open_time', 'market_id', 'received_time', 'sequence'] as const
const PAST_ORDER = ['open_time', 'market_id', 'source_time', 'sequence'] as const

/** The scope of a file as JSON, for the manifest, containers and metadata. */
export function describeScope(scope: BulkScope): Readonly<Record<string, unknown>> {
  const { venue, market, family, dataset, metric, origin, feed, knownAt } = scope
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
    ...(origin !== undefined && { origin }),
    ...(dataset === 'reference' && { feed: feed ?? null }),
    range: { start_time: print(scope.start), end_time: print(scope.end) },
    known_at: knownAt === undefined ? null : print(knownAt),
    sort_order: origin === undefined ? SORT_ORDER : PAST_ORDER,
  }
}

/** The name of a file: venue, market or family, dataset, days. */
export function fileNameOf(scope: BulkScope, format: FileFormat): string {
  const { venue, market, family, dataset, metric, origin, feed, start, end } = scope
  const whom =
    market === undefined
      ? [family.asset?.toLowerCase(), family.series, family.window]
      : [market.record.marketId]
  const day = print(start).slice(0, 10)
  const lastDay = print(Math.max(start, end - 1)).slice(0, 10)
  const named = dataset === 'history' ? ['history', metric] : [metric ?? dataset, origin]
  const what = dataset === 'reference' ? ['reference', feed] : named
  const parts = [venue, ...whom, ...what, day === lastDay ? day : `${day}_${lastDay}`]
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
  const { venue, dataset, market, start, end, windowStart: window, notices } = scope
  const isObserved = dataset === 'trades' && scope.origin === undefined
  const none = isObserved ? await explainNoTrades(context.store, venue) : undefined
  if (none !== undefined) return [none]
  const isSaid = notices.some(({ code }) => code === 'plan_window' || code === 'future_range')
  if (start >= end && isSaid) return []
  if (market === undefined) {
    const message =
      dataset === 'reference'
        ? 'No reference prices of the asset were received in the range.'
        : `No market of the family has ${dataset} in the range.`
    return [{ code: 'no_rows_in_range', message }]
  }
  const { record } = market
  if (dataset === 'history') return [await explainNoPrices(context.store, record)]
  if (scope.origin !== undefined) return [await explainNoPast(context.store, record)]
  const kind = dataset === 'books' || dataset === 'trades' ? dataset : 'metrics'
  const range = { asked: start, window, from: start, end }
  const gaps = await gapsOfScope(context, scope, record)
  return [await explainEmpty(context, record, kind, gaps, range)]
}

async function gapsOfScope(
  context: ApiContext,
  { venue, dataset, metric, start, end }: BulkScope,
  record: MarketRecord,
): Promise<readonly Gap[]> {
  const span = { start, end }
  if (dataset === 'samples') {
    return gapsOfSeries(context, record, sampleSeriesOf(record, metric as SampleMetric), span)
  }
  const { store } = context
  const instruments = await instrumentsOf(context, record)
  return dataset === 'trades'
    ? gapsOfTrades(store, record, instruments, span)
    : gapsOfKeys(storeGaps(store, venue), gapKeysOf(instruments), span)
}
