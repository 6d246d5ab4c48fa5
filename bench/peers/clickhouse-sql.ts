import type { PlannedPage, PlannedPoint } from '../lib/plan.ts'
import type { RowShape } from './peer.ts'

/** Settings of the session; the old analyzer answers a page in 6.4 ms, the new one in 7.6 ms. */
export const settings: readonly string[] = [
  'allow_suspicious_codecs = 1',
  'enable_analyzer = 0',
  'max_threads = 1',
  'use_uncompressed_cache = 1',
  'use_query_cache = 0',
  "date_time_output_format = 'iso'",
]

const ladder = 'Tuple(price Array(Decimal32(4)), size Array(Decimal32(2)))'

/**
 * The table of books. Tried on the recordings, bytes a row in all: T64 on arrays 33.8, Delta on
 * prices 13.0, ZSTD(3) 12.1, ZSTD(9) 10.1; with these codecs for times and Decimal32 sizes,
 * ZSTD(12) 8.3 and ZSTD(19) 7.9, but that takes twelve times as long to merge. Compressed blocks
 * of 1 MB save 1 % and take a page from 6 to 19 ms; compact parts cost 20 % for 10 % of the time.
 */
export function createBooks(table: string, extraSettings: readonly string[]): string {
  return `CREATE TABLE ${table} (
    instrument LowCardinality(String) CODEC(ZSTD(3)),
    sequence UInt64 CODEC(Delta, ZSTD(3)),
    received_time DateTime64(6, 'UTC') CODEC(GCD, Delta, ZSTD(9)),
    source_time Nullable(DateTime64(6, 'UTC')) CODEC(Delta, T64, ZSTD(9)),
    native Tuple(sid UInt16, seq UInt64) CODEC(Delta, ZSTD(3)),
    flags UInt16 CODEC(ZSTD(3)),
    best_bid Nullable(Decimal32(4)) CODEC(ZSTD(9)),
    best_ask Nullable(Decimal32(4)) CODEC(ZSTD(9)),
    bids ${ladder} CODEC(ZSTD(12)),
    asks ${ladder} CODEC(ZSTD(12)),
    INDEX received received_time TYPE minmax GRANULARITY 1
  ) ENGINE = MergeTree ORDER BY (instrument, sequence)
  SETTINGS ${['index_granularity = 512', ...extraSettings].join(', ')}`
}

/** The table of the text variant: the key and the finished JSON of a row. */
export function createTexts(table: string): string {
  return `CREATE TABLE ${table} (
    instrument LowCardinality(String) CODEC(ZSTD(3)),
    sequence UInt64 CODEC(Delta, ZSTD(3)),
    received_time DateTime64(6, 'UTC') CODEC(GCD, Delta, ZSTD(9)),
    row String CODEC(ZSTD(9))
  ) ENGINE = MergeTree ORDER BY (instrument, sequence)
  SETTINGS index_granularity = 1024`
}

/** Renders every book into the table of the text variant. */
export function fillTexts(texts: string, books: string): string {
  // The keys of the JSON are the names of the arguments, so the columns get their names inside.
  return `INSERT INTO ${texts} SELECT market_id, sequence, received_time,
    formatRowNoNewline('JSONEachRow', id, venue, market_id, condition_id, event_id, series_ticker,
      outcome, token_id, source_time, received_time, sequence, best_bid, best_ask, mid, spread,
      bid_levels, ask_levels, flags, native, bids, asks, yes, no)
    FROM (SELECT ${columns('full')} FROM ${books})`
}

/** Bytes of the active parts of one table. */
export function sizeOnDisk(database: string, table: string): string {
  return `SELECT sum(bytes_on_disk) FROM system.parts
    WHERE database = '${database}' AND table = '${table}' AND active`
}

/** A page of rows as the service would answer it; its plan needs none of the optimizations. */
export function page(table: string, wanted: PlannedPage, shape: RowShape): string {
  return `SELECT ${columns(shape)} FROM ${table} PREWHERE ${inPage(wanted)} ORDER BY sequence
    SETTINGS query_plan_enable_optimizations = 0`
}

/** The same page from the table of the text variant. */
export function textPage(table: string, wanted: PlannedPage): string {
  return `SELECT row FROM ${table} PREWHERE ${inPage(wanted)} ORDER BY sequence`
}

/** The last row at or before a time; a subquery on the index is faster than a reverse scan. */
export function asOf(table: string, point: PlannedPoint): string {
  const market = `instrument = '${point.ticker}'`
  const at = `fromUnixTimestamp64Micro(${point.atMicros}, 'UTC')`
  return `SELECT ${columns('full')} FROM ${table} PREWHERE ${market} AND sequence = (
    SELECT max(sequence) FROM ${table} WHERE ${market} AND received_time <= ${at})`
}

/** The last row of a market. */
export function latest(table: string, ticker: string): string {
  return `SELECT ${columns('full')} FROM ${table} WHERE instrument = '${ticker}'
    ORDER BY sequence DESC LIMIT 1`
}

/** The last row of each bucket; sequences have no holes, so their distance counts the changes. */
export function sample(table: string, ticker: string, seconds: number): string {
  const market = `instrument = '${ticker}'`
  const bucket = `toStartOfInterval(received_time, INTERVAL ${seconds} SECOND)`
  return `SELECT *, sequence - lagInFrame(sequence, 1, 0) OVER (ORDER BY sequence) AS changes
    FROM (
      SELECT toDateTime64(${bucket}, 6, 'UTC') AS bucket_start,
        ${seconds * 1000} - dateDiff('millisecond', bucket_start, received_time) AS age_ms,
        ${columns('full')}
      FROM ${table} PREWHERE ${market} AND sequence IN (
        SELECT max(sequence) FROM ${table} WHERE ${market} GROUP BY ${bucket})
    ) ORDER BY sequence`
}

/** Best bid and ask of every row of a market. */
export function bestPrices(table: string, ticker: string): string {
  return `SELECT best_bid, best_ask FROM ${table}
    WHERE instrument = '${ticker}' ORDER BY sequence`
}

function inPage({ ticker, from, rows }: PlannedPage): string {
  return `instrument = '${ticker}' AND sequence BETWEEN ${from} AND ${from + rows - 1}`
}

function columns(shape: RowShape): string {
  const row = `concat('venueb:', instrument, ':', toString(sequence)) AS id,
    'venueb' AS venue, instrument AS market_id, NULL AS condition_id, NULL AS event_id,
    NULL AS series_ticker, NULL AS outcome, NULL AS token_id, source_time, received_time,
    sequence, best_bid, best_ask, (best_bid + best_ask) * toDecimal32(0.5, 1) AS mid,
    best_ask - best_bid AS spread, length(bids.price) AS bid_levels,
    length(asks.price) AS ask_levels, bitmaskToArray(flags) AS flags, native`
  if (shape === 'without_ladders') return row
  return `${row}, bids, asks, bids AS yes,
    CAST((arrayMap(price -> toDecimal32(1, 4) - price, asks.price), asks.size), '${ladder}') AS no`
}
