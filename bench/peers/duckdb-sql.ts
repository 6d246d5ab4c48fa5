import type { RowShape } from './peer.ts'

/** Columns of the table that the Parquet files are written from. */
export function createBooks(table: string): string {
  return `CREATE TABLE ${table} (instrument VARCHAR, sequence BIGINT, received_time TIMESTAMP,
    source_time TIMESTAMP, venue_sid USMALLINT, venue_seq UBIGINT, flags USMALLINT,
    best_bid DOUBLE, best_ask DOUBLE, bid_price DOUBLE[], bid_size DOUBLE[],
    ask_price DOUBLE[], ask_size DOUBLE[])`
}

/** Loads lines of JSON arrays, in the order of the columns. */
export function loadLines(table: string, file: string): string {
  return `INSERT INTO ${table} SELECT json ->> 0, (json ->> 1)::BIGINT,
    make_timestamp((json ->> 2)::BIGINT), make_timestamp((json ->> 3)::BIGINT),
    (json ->> 4)::USMALLINT, (json ->> 5)::UBIGINT, (json ->> 6)::USMALLINT,
    (json ->> 7)::DOUBLE, (json ->> 8)::DOUBLE, (json ->> 9)::DOUBLE[], (json ->> 10)::DOUBLE[],
    (json ->> 11)::DOUBLE[], (json ->> 12)::DOUBLE[]
    FROM read_json_objects('${file}', format = 'newline_delimited')`
}

/**
 * Writes the Parquet file of books. Tried on the recordings: row groups of 2,048 rows 17.7 B a
 * row, of 8,192 rows 16 B and the fastest pages, of 122,880 rows 14.4 B and pages three times as
 * slow; lists of DOUBLE, of scaled integers and of text differ by less than 2 %. Ladders that are
 * one text each take 9 B and two thirds of the time, but cannot be read as numbers any more.
 */
export function writeBooks(table: string, file: string): string {
  return writeParquet(`SELECT * FROM ${table} ORDER BY instrument, sequence`, file)
}

/** Writes the Parquet file of the text variant, whose ladders are finished JSON. */
export function writeTexts(table: string, file: string): string {
  return writeParquet(
    `SELECT instrument, sequence, ${rowText('full')} AS row
      FROM (SELECT *, ${ladderTexts} FROM ${table}) ORDER BY instrument, sequence`,
    file,
  )
}

/** The rows of one market between two sequences; parameters: market, first, last. */
export function page(file: string, shape: RowShape): string {
  return rows(
    `FROM '${file}' WHERE instrument = $1::VARCHAR
      AND sequence BETWEEN $2::BIGINT AND $3::BIGINT ORDER BY sequence`,
    shape,
  )
}

/** The same page from the text variant. */
export function textPage(file: string): string {
  return `SELECT row FROM '${file}' WHERE instrument = $1::VARCHAR
    AND sequence BETWEEN $2::BIGINT AND $3::BIGINT ORDER BY sequence`
}

/** The sequence of the last row at or before a time; parameters: market, microseconds. */
export function lastSequence(file: string): string {
  return `SELECT max(sequence) FROM '${file}'
    WHERE instrument = $1::VARCHAR AND received_time <= make_timestamp($2::BIGINT)`
}

/** The last row of each bucket with its start, age and changes; parameter: market. */
export function sample(file: string, seconds: number): string {
  const bucket = `time_bucket(INTERVAL '${seconds} seconds', received_time, TIMESTAMP '1970-01-01')`
  return `WITH last AS (
      SELECT ${bucket} AS bucket_start, max(sequence) AS sequence, count(*) AS changes
      FROM '${file}' WHERE instrument = $1::VARCHAR GROUP BY 1)
    SELECT rtrim(${rowText('full')}, '}') || '},"bucket_start":"' || ${isoTime('bucket_start')} ||
      '","age_ms":' || (${seconds * 1000} - datediff('millisecond', bucket_start, received_time)) ||
      ',"changes":' || changes || '}'
    FROM (SELECT book.*, bucket_start, changes, ${ladderTexts}
      FROM (FROM '${file}' WHERE instrument = $1::VARCHAR) AS book JOIN last USING (sequence))
    ORDER BY sequence`
}

/** Best bid and ask of every row; parameter: market. */
export function bestPrices(file: string): string {
  return `SELECT best_bid, best_ask FROM '${file}' WHERE instrument = $1::VARCHAR
    ORDER BY sequence`
}

function writeParquet(select: string, file: string): string {
  return `COPY (${select}) TO '${file}'
    (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 9, ROW_GROUP_SIZE 8192,
    PARQUET_VERSION V2)`
}

function rows(from: string, shape: RowShape): string {
  if (shape === 'without_ladders') return `SELECT ${rowText(shape)} ${from}`
  return `SELECT ${rowText(shape)} FROM (SELECT *, ${ladderTexts} ${from})`
}

// A whole DOUBLE prints as 285.0, which canonical JSON writes as 285.
const sizes = (list: string): string =>
  `replace(replace(to_json(${list})::VARCHAR, '.0,', ','), '.0]', ']')`

const ladderTexts = `
  '{"price":' || to_json(bid_price)::VARCHAR || ',"size":' || ${sizes('bid_size')} || '}' AS bids,
  ',"size":' || ${sizes('ask_size')} || '}' AS ask_sizes,
  to_json(list_transform(ask_price, lambda price: round(1 - price, 4)))::VARCHAR AS no_prices`

const isoTime = (time: string): string => `strftime(${time}, '%Y-%m-%dT%H:%M:%S.%fZ')`

// Concatenated, because to_json of a struct would print the whole sizes as 285.0 again.
function rowText(shape: RowShape): string {
  const row = `'{"id":"venueb:' || instrument || ':' || sequence ||
    '","venue":"venueb","market_id":"' || instrument ||
    '","condition_id":null,"event_id":null,"series_ticker":null,"outcome":null,"token_id":null' ||
    ',"source_time":' || coalesce('"' || ${isoTime('source_time')} || '"', 'null') ||
    ',"received_time":"' || ${isoTime('received_time')} || '","sequence":' || sequence ||
    ',"best_bid":' || coalesce(best_bid::VARCHAR, 'null') ||
    ',"best_ask":' || coalesce(best_ask::VARCHAR, 'null') ||
    ',"mid":' || coalesce(round((best_bid + best_ask) / 2, 5)::VARCHAR, 'null') ||
    ',"spread":' || coalesce(round(best_ask - best_bid, 4)::VARCHAR, 'null') ||
    ',"bid_levels":' || len(bid_price) || ',"ask_levels":' || len(ask_price) ||
    ',"flags":' || CASE flags WHEN 0 THEN '[]' ELSE '[' || flags || ']' END ||
    ',"native":{"sid":' || venue_sid || ',"seq":' || venue_seq || '}'`
  if (shape === 'without_ladders') return `${row} || '}'`
  return `${row} || ',"bids":' || bids || ',"asks":{"price":' || to_json(ask_price)::VARCHAR ||
    ask_sizes || ',"yes":' || bids || ',"no":{"price":' || no_prices || ask_sizes || '}'`
}
