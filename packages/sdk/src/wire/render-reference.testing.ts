import { FLAGS, flagNames, VENUES } from '../domain/index.ts'
import { ABSENT, type BookRun } from '../tape/index.ts'
import type { BookContext, BookPageOptions, BookPart } from './page.ts'

/** A number as its exact text: its digits never pass through a double. */
type Exact = { readonly digits: string }
type Value = null | string | number | Exact | Value[] | { readonly [key: string]: Value }
/** One row as an object. */
export type ReferenceRow = { readonly [key: string]: Value }

/** Rows as objects, folded with maps: what the renderer must say, made in the plainest way. */
export function referenceRows(
  parts: readonly BookPart[],
  contexts: readonly BookContext[],
  options: BookPageOptions,
): ReferenceRow[] {
  const rows = parts.flatMap((part) => {
    const context = contexts[part.lane ?? 0]!
    if ('row' in part) {
      const run = {
        columns: part.columns,
        firstSequence: part.sequence - part.row,
        from: part.row,
        to: part.row + 1,
      }
      return rowsOf(run, context, options, part.bucket)
    }
    return rowsOf(part, context, options, undefined)
  })
  return options.order === 'desc' ? rows.toReversed() : rows
}

/** The JSON text of a value. */
export function referenceJson(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(referenceJson).join(',')}]`
  if (isExact(value)) return value.digits
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(
      ([key, member]) => `${JSON.stringify(key)}:${referenceJson(member)}`,
    )
    return `{${members.join(',')}}`
  }
  return JSON.stringify(value)
}

/** The cells that a CSV reader must find for a row. */
export function referenceCells(row: ReferenceRow, columns: readonly string[]): string[] {
  const flat: Record<string, Value> = {}
  for (const [key, value] of Object.entries(row)) {
    if (value !== null && typeof value === 'object' && !Array.isArray(value) && !isExact(value)) {
      for (const [inner, member] of Object.entries(value)) flat[`${key}_${inner}`] = member
    } else flat[key] = value
  }
  return columns.map((column) => {
    const value = flat[column] ?? null
    if (value === null) return ''
    if (column === 'flags') return (value as string[]).join('|')
    return typeof value === 'string' ? value : referenceJson(value)
  })
}

function rowsOf(
  run: BookRun,
  context: BookContext,
  options: BookPageOptions,
  bucket: BookPartBucket,
): ReferenceRow[] {
  const { columns } = run
  const rows: ReferenceRow[] = []
  let book = new Map<number, number>()
  columns.baseKey.forEach((key, index) => book.set(key, columns.baseSize[index]!))
  for (let row = 0; row < run.to; row++) {
    if ((columns.flags[row]! & FLAGS.restart) !== 0) book = new Map()
    for (let index = columns.changeStart(row); index < columns.changeEnd[row]!; index++) {
      book.set(columns.key[index]!, columns.size[index]!)
    }
    if (row >= run.from) rows.push(rowOf(run, row, book, context, options, bucket))
  }
  return rows
}

function rowOf(
  run: BookRun,
  row: number,
  book: ReadonlyMap<number, number>,
  context: BookContext,
  options: BookPageOptions,
  bucket: BookPartBucket,
): ReferenceRow {
  const { columns } = run
  const decimals = columns.priceDecimals
  const { sizeDecimals } = VENUES[context.venue]
  const number = (units: number | bigint, places: number): Value => {
    const digits = exactDecimal(BigInt(units), places)
    return options.numberFormat === 'string' ? digits : { digits }
  }
  const time = (micros: number): Value =>
    micros === ABSENT ? null : options.timeFormat === 'epoch_us' ? micros : isoMicros(micros)

  const levels = [...book].filter(([, size]) => size > 0)
  const bids = levels
    .filter(([key]) => key % 2 === 0)
    .map(([key, size]) => [key / 2, size] as const)
  const asks = levels
    .filter(([key]) => key % 2 === 1)
    .map(([key, size]) => [(key - 1) / 2, size] as const)
  bids.sort((a, b) => b[0] - a[0])
  asks.sort((a, b) => a[0] - b[0])
  const bid = bids[0]?.[0]
  const ask = asks[0]?.[0]
  const isB = VENUES[context.venue].hasYesNoLadders
  const depth = options.depth ?? 1e9
  const served = isB ? Math.min(100, depth) : depth
  const isCut = isB && depth > 100 && Math.max(bids.length, asks.length) > 100
  const side = (list: readonly (readonly [number, number])[], isNo = false): Value => ({
    price: list
      .slice(0, served)
      .map(([ticks]) => number(isNo ? 10 ** decimals - ticks : ticks, decimals)),
    size: list.slice(0, served).map(([, size]) => number(size, sizeDecimals)),
  })
  const sequence = run.firstSequence + row
  const channel = columns.channel[row]!
  return {
    id: `${context.venue}:${context.key}:${sequence}`,
    venue: context.venue,
    market_id: context.marketId,
    condition_id: context.conditionId ?? null,
    event_id: context.eventId ?? null,
    series_ticker: context.seriesTicker ?? null,
    outcome: context.outcome ?? null,
    token_id: context.tokenId ?? null,
    source_time: time(columns.source[row]!),
    received_time: time(columns.received[row]!),
    sequence,
    ...(bucket && {
      bucket_start: time(bucket.start),
      bucket_end: time(bucket.end),
      age_ms: { digits: exactDecimal(BigInt(Math.round(bucket.ageMs * 1000)), 3) },
      observations: bucket.observations,
      changes: bucket.changes,
    }),
    best_bid: bid === undefined ? null : number(bid, decimals),
    best_ask: ask === undefined ? null : number(ask, decimals),
    mid: bid === undefined || ask === undefined ? null : number((bid + ask) * 5, decimals + 1),
    spread: bid === undefined || ask === undefined ? null : number(ask - bid, decimals),
    bid_levels: bids.length,
    ask_levels: asks.length,
    flags: [
      ...flagNames(columns.flags[row]!),
      ...(isCut && options.ladders ? ['truncated'] : []),
      ...(bucket?.partial === true ? ['partial'] : []),
    ],
    native: {
      ...(channel % 65_536 > 0 && { sid: channel % 65_536 }),
      ...(channel >= 65_536 && { connection: Math.floor(channel / 65_536) }),
      ...(columns.venueSeq[row] !== ABSENT && { seq: columns.venueSeq[row]! }),
    },
    ...(options.ladders && { bids: side(bids), asks: side(asks) }),
    ...(options.ladders && isB && { yes: side(bids), no: side(asks, true) }),
  }
}

type BookPartBucket = Extract<BookPart, { readonly row: number }>['bucket']

function isExact(value: Value): value is Exact {
  return value !== null && typeof value === 'object' && 'digits' in value
}

function exactDecimal(units: bigint, places: number): string {
  const sign = units < 0n ? '-' : ''
  const digits = String(units < 0n ? -units : units).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

function isoMicros(micros: number): string {
  const whole = BigInt(micros)
  const fraction = String(whole % 1_000_000n).padStart(6, '0')
  return `${new Date(Number(whole / 1_000_000n) * 1000).toISOString().slice(0, 19)}.${fraction}Z`
}
