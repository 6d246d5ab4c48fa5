import { printMicros, printScaled, VENUES, type Micros } from '../domain/index.ts'
import { ABSENT, type BookRun } from '../tape/index.ts'
import { connectionOf, subscriptionOf } from './json-values.ts'
import {
  CHANGES_NDJSON_DIALECT,
  CSV_COLUMNS,
  CSV_DIALECT,
  encodeText,
  JSON_DIALECT,
  type Dialect,
} from './dialect.ts'
import type { BookContext, BookPageOptions } from './page.ts'

/** The columns of changed levels in CSV; the last three are lists as JSON text. */
export const CHANGES_CSV_COLUMNS = [
  ...CSV_COLUMNS.slice(0, CSV_COLUMNS.indexOf('sequence') + 1),
  'flags',
  'native_sid',
  'native_connection',
  'native_seq',
  'side',
  'price',
  'size',
] as const

/** How rows of changed levels are written. */
export type ChangesOptions = Pick<
  BookPageOptions,
  'numberFormat' | 'timeFormat' | 'order' | 'header'
> & { readonly format: 'json' | 'ndjson' | 'csv' }

const DIALECTS: Readonly<Record<ChangesOptions['format'], Dialect>> = {
  json: JSON_DIALECT,
  ndjson: CHANGES_NDJSON_DIALECT,
  csv: CSV_DIALECT,
}

/**
 * Renders observations as what they changed: side, price and new size of each level, 0 where it is gone.
 * The book of a row flagged `restart` starts from nothing, so that its changes are the whole book.
 */
export function renderChanges(
  parts: Iterable<BookRun & { readonly lane?: number | undefined }>,
  contexts: readonly BookContext[],
  options: ChangesOptions,
): Uint8Array {
  const dialect = DIALECTS[options.format]
  const heads = contexts.map((context) => ({
    beforeSequence: dialect.beforeSequence(context),
    beforeSourceTime: dialect.beforeSourceTime(context),
    sizeDecimals: VENUES[context.venue].sizeDecimals,
  }))
  const text = {
    null: decode(dialect.null),
    received: decode(dialect.receivedTime),
    sequence: decode(dialect.sequence),
    seq: decode(dialect.seq),
    seqAlone: decode(dialect.seqAlone),
    noSeq: decode(dialect.noSeq),
    nativeEnd: decode(dialect.nativeEnd),
  }
  const isCsv = options.format === 'csv'
  const isText = options.numberFormat === 'string'
  const quote = isCsv ? '""' : '"'
  const number = (units: number, decimals: number): string =>
    isText ? quote + printScaled(units, decimals) + quote : printScaled(units, decimals)
  const time = (micros: number): string => {
    if (micros === ABSENT) return text.null
    if (options.timeFormat === 'epoch_us') return String(micros)
    return isCsv ? printMicros(micros as Micros) : `"${printMicros(micros as Micros)}"`
  }
  const words = [`${quote}bid${quote}`, `${quote}ask${quote}`] as const

  const rows: string[] = []
  for (const { columns, firstSequence, from, to, lane } of parts) {
    const head = heads[lane ?? 0]!
    for (let row = from; row < to; row++) {
      const sequence = firstSequence + row
      const sides: string[] = []
      const prices: string[] = []
      const sizes: string[] = []
      for (let index = columns.changeStart(row); index < columns.changeEnd[row]!; index++) {
        const key = columns.key[index]!
        sides.push(words[(key & 1) as 0 | 1])
        prices.push(number(key >>> 1, columns.priceDecimals))
        sizes.push(number(columns.size[index]!, head.sizeDecimals))
      }
      const channel = columns.channel[row]!
      const native = dialect.channel(subscriptionOf(channel), connectionOf(channel))
      const venueSeq = columns.venueSeq[row]!
      const seq =
        venueSeq === ABSENT ? text.noSeq : (native === '' ? text.seqAlone : text.seq) + venueSeq
      rows.push(
        `${head.beforeSequence}${sequence}${head.beforeSourceTime}${time(columns.source[row]!)}` +
          `${text.received}${time(columns.received[row]!)}${text.sequence}${sequence}` +
          `${dialect.flags(columns.flags[row]!)}${native}${seq}${text.nativeEnd}` +
          toLevels(isCsv, sides, prices, sizes),
      )
    }
  }
  if (options.order === 'desc') rows.reverse()
  if (dialect.isJoined) return encodeText(rows.join(','))
  const header = isCsv && options.header !== false ? `${CHANGES_CSV_COLUMNS.join(',')}\n` : ''
  return encodeText(header + rows.map((row) => `${row}\n`).join(''))
}

function toLevels(
  isCsv: boolean,
  sides: readonly string[],
  prices: readonly string[],
  sizes: readonly string[],
): string {
  return isCsv
    ? `,"[${sides.join(',')}]","[${prices.join(',')}]","[${sizes.join(',')}]"`
    : `,"changes":{"side":[${sides.join(',')}],"price":[${prices.join(',')}],"size":[${sizes.join(',')}]}}`
}

const decoder = new TextDecoder()

function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}
