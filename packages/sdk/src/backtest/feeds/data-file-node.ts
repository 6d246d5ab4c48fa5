import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { extname } from 'node:path'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { PriorbookError } from '../../domain/index.ts'
import { splitCells } from '../../wire/index.ts'
import type { DataRow, DataValue } from './data-feed.ts'
import { parseDataTime, TIME_COLUMNS } from './data-time.ts'

/**
 * The rows of a file as a feed reads them: CSV with a header line, NDJSON or Parquet, by the end of its name.
 * `column` has the received time; without it the first of `TIME_COLUMNS` that the file has.
 */
export async function* dataFile(path: string, column?: string): AsyncGenerator<DataRow> {
  const timeOf = createTimeReader(path, column)
  let number = 0
  for await (const values of recordsOf(path)) {
    number++
    const { [timeOf.column(values)]: time, ...rest } = values
    const plain = Object.entries(rest).map(([name, value]) => [name, plainValue(value)] as const)
    yield { time: timeOf.read(time, number), values: Object.fromEntries(plain) }
  }
}

type RawRow = Readonly<Record<string, unknown>>

function recordsOf(path: string): AsyncIterable<RawRow> {
  switch (extname(path).toLowerCase()) {
    case '.csv':
      return csvRecords(path)
    case '.ndjson':
    case '.jsonl':
      return jsonRecords(path)
    case '.parquet':
      return parquetRecords(path)
    default:
      throw new PriorbookError(
        'unsupported_format',
        `${path} is neither .csv, .ndjson, .jsonl nor .parquet`,
      )
  }
}

function createTimeReader(path: string, wanted: string | undefined) {
  let found: string | undefined = wanted
  return {
    column(row: RawRow): string {
      found ??= TIME_COLUMNS.find((name) => name in row)
      if (found !== undefined && found in row) return found
      const detail =
        wanted === undefined
          ? `${path} has none of the columns ${TIME_COLUMNS.join(', ')}: name the one with the received time`
          : `${path} has no column ${wanted}`
      throw new PriorbookError('invalid_argument', detail)
    },
    read(value: unknown, row: number): number {
      const time = parseDataTime(value)
      if (time !== undefined) return time
      const detail = `row ${row} of ${path} has no time in ${found}: ${String(value)}`
      throw new PriorbookError('invalid_time', detail)
    },
  }
}

async function* csvRecords(path: string): AsyncGenerator<RawRow> {
  let names: readonly string[] | undefined
  let number = 0
  for await (const line of linesOf(path)) {
    number++
    if (line === '') continue
    const cells = splitCells(number === 1 ? line.replace(/^\uFEFF/, '') : line)
    if (names === undefined) names = cells
    else if (cells.length !== names.length) {
      const detail = `line ${number} of ${path} has ${cells.length} cells instead of ${names.length}`
      throw new PriorbookError('invalid_line', detail)
    } else yield Object.fromEntries(names.map((name, index) => [name, cellValue(cells[index]!)]))
  }
}

// Numbers with more digits than a double holds stay text.
function cellValue(cell: string): string | number | null {
  if (cell === '') return null
  return /^-?\d{1,15}(\.\d{1,15})?([eE][+-]?\d{1,3})?$/.test(cell) ? Number(cell) : cell
}

async function* jsonRecords(path: string): AsyncGenerator<RawRow> {
  let number = 0
  for await (const line of linesOf(path)) {
    number++
    if (line.trim() === '') continue
    let row: unknown
    try {
      row = JSON.parse(line)
    } catch {
      row = undefined
    }
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      throw new PriorbookError('invalid_line', `line ${number} of ${path} is not a JSON object`)
    }
    yield row as RawRow
  }
}

function linesOf(path: string): AsyncIterable<string> {
  const input = createReadStream(path, { highWaterMark: 1 << 18 })
  return createInterface({ input, crlfDelay: Infinity })
}

// Timestamps as whole microseconds: a Date would cut them to milliseconds.
const PARSERS = {
  timestampFromMilliseconds: (value: bigint) => value * 1000n,
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value / 1000n,
}
const COMPRESSORS = {
  GZIP: (bytes: Uint8Array) => gunzipSync(bytes),
  ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes),
}

// The package has no dependencies; Parquet is read by hyparquet where it is installed.
async function* parquetRecords(path: string): AsyncGenerator<RawRow> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } =
    await import('hyparquet').catch((cause: unknown) => {
      const detail = `${path} needs the package hyparquet: npm install hyparquet`
      throw new PriorbookError('unsupported_format', detail, { cause })
    })
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  let rowStart = 0
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows)
    const options = { file, metadata, compressors: COMPRESSORS, parsers: PARSERS }
    yield* await parquetReadObjects({ ...options, rowStart, rowEnd })
    rowStart = rowEnd
  }
}

function plainValue(value: unknown): DataValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value
  }
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  }
  return value instanceof Date ? value.toISOString() : JSON.stringify(value)
}
