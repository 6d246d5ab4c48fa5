import { flagNames } from '../domain/index.ts'
import { quoteCell } from './json-values.ts'
import type { BookContext } from './page.ts'

/** Flags of a served row that the tape does not know, above the bits of the tape. */
export const TRUNCATED = 1 << 16
/** See `BucketFacts.partial`. */
export const PARTIAL = 1 << 17

const encoder = new TextEncoder()

/** The bytes of a text. */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

/** The fixed text of a book row in one format; values go between the parts. */
export type Dialect = {
  /** The first line of a file, where the format has one. */
  readonly header: Uint8Array
  readonly separator: number
  /** True where the last row has no separator. */
  readonly isJoined: boolean
  readonly null: Uint8Array
  /** Quotes around decimals of the row and of its ladders with `number_format=string`. */
  readonly quotes: number
  readonly listQuotes: number
  readonly isTimeQuoted: boolean
  readonly receivedTime: Uint8Array
  readonly sequence: Uint8Array
  readonly noBucket: Uint8Array
  readonly bucketStart: Uint8Array
  readonly bucketEnd: Uint8Array
  readonly ageMs: Uint8Array
  readonly observations: Uint8Array
  readonly changes: Uint8Array
  readonly bestBid: Uint8Array
  readonly bestAsk: Uint8Array
  readonly mid: Uint8Array
  readonly spread: Uint8Array
  readonly bidLevels: Uint8Array
  readonly askLevels: Uint8Array
  readonly seq: Uint8Array
  /** Instead of `seq` where it is the first member. */
  readonly seqAlone: Uint8Array
  /** Instead of `seq` and its number where there is none. */
  readonly noSeq: Uint8Array
  readonly nativeEnd: Uint8Array
  /** Ladders: the text before a side's prices, between prices and sizes, and at the end of a row. */
  readonly bids: Uint8Array
  readonly sizes: Uint8Array
  readonly asks: Uint8Array
  readonly yes: Uint8Array
  readonly no: Uint8Array
  readonly end: Uint8Array
  readonly endWithoutNative: Uint8Array
  readonly endWithoutLadders: Uint8Array
  /** The text of `id` up to the sequence, and from there to the source time. */
  beforeSequence(context: BookContext): string
  beforeSourceTime(context: BookContext): string
  /** The flags with all text between `ask_levels` and the native numbers. */
  flags(bits: number): string
  /** The venue's number of the subscription and our number of the connection, each absent when 0. */
  channel(sid: number, connection: number): string
}

/** The columns of ladders, in their order. */
export const LADDER_COLUMNS = [
  'bids_price',
  'bids_size',
  'asks_price',
  'asks_size',
  'yes_price',
  'yes_size',
  'no_price',
  'no_size',
] as const

/** The columns of a CSV file: one set for all venues and options, empty where not applicable. */
export const CSV_COLUMNS = [
  'id',
  'venue',
  'market_id',
  'condition_id',
  'event_id',
  'series_ticker',
  'outcome',
  'token_id',
  'source_time',
  'received_time',
  'sequence',
  'bucket_start',
  'bucket_end',
  'age_ms',
  'observations',
  'changes',
  'best_bid',
  'best_ask',
  'mid',
  'spread',
  'bid_levels',
  'ask_levels',
  'flags',
  'native_sid',
  'native_connection',
  'native_seq',
  ...LADDER_COLUMNS,
] as const

/** Rows as JSON objects, joined by commas, without the array around them. */
export const JSON_DIALECT: Dialect = jsonDialect(',', true, '{')

/** One JSON object per line; each begins with its type. */
export const NDJSON_DIALECT: Dialect = jsonDialect('\n', false, '{"type":"book",')

/** The same for rows of changed levels. */
export const CHANGES_NDJSON_DIALECT: Dialect = jsonDialect('\n', false, '{"type":"changes",')

/** RFC 4180 cells; a line ends with a line feed alone, which shells and all CSV readers accept. */
export const CSV_DIALECT: Dialect = {
  header: encodeText(`${CSV_COLUMNS.join(',')}\n`),
  separator: '\n'.charCodeAt(0),
  isJoined: false,
  null: encodeText(''),
  quotes: 0,
  listQuotes: 2,
  isTimeQuoted: false,
  receivedTime: encodeText(','),
  sequence: encodeText(','),
  noBucket: encodeText(',,,,,'),
  bucketStart: encodeText(','),
  bucketEnd: encodeText(','),
  ageMs: encodeText(','),
  observations: encodeText(','),
  changes: encodeText(','),
  bestBid: encodeText(','),
  bestAsk: encodeText(','),
  mid: encodeText(','),
  spread: encodeText(','),
  bidLevels: encodeText(','),
  askLevels: encodeText(','),
  seq: encodeText(','),
  seqAlone: encodeText(','),
  noSeq: encodeText(','),
  nativeEnd: encodeText(''),
  bids: encodeText(',"['),
  sizes: encodeText(']","['),
  asks: encodeText(']","['),
  yes: encodeText(']","['),
  no: encodeText(']","['),
  end: encodeText(']"'),
  endWithoutNative: encodeText(']",,,,'),
  endWithoutLadders: encodeText(',,,,,,,,'),
  beforeSequence: ({ venue, key }) => openCell(`${venue}:${key}:`),
  beforeSourceTime: (context) => {
    const idEnd = openCell(context.key).startsWith('"') ? '"' : ''
    return `${idEnd},${belongings(context)
      .map((value = '') => quoteCell(value))
      .join(',')},`
  },
  flags: (bits) => `,${servedFlags(bits).join('|')},`,
  channel: (sid, connection) => `${sid || ''},${connection || ''}`,
}

function jsonDialect(separator: string, isJoined: boolean, open: string): Dialect {
  const key = (name: string): Uint8Array => encodeText(`,"${name}":`)
  return {
    header: encodeText(''),
    separator: separator.charCodeAt(0),
    isJoined,
    null: encodeText('null'),
    quotes: 1,
    listQuotes: 1,
    isTimeQuoted: true,
    receivedTime: key('received_time'),
    sequence: key('sequence'),
    noBucket: encodeText(''),
    bucketStart: key('bucket_start'),
    bucketEnd: key('bucket_end'),
    ageMs: key('age_ms'),
    observations: key('observations'),
    changes: key('changes'),
    bestBid: key('best_bid'),
    bestAsk: key('best_ask'),
    mid: key('mid'),
    spread: key('spread'),
    bidLevels: key('bid_levels'),
    askLevels: key('ask_levels'),
    seq: key('seq'),
    seqAlone: encodeText('"seq":'),
    noSeq: encodeText(''),
    nativeEnd: encodeText('}'),
    bids: encodeText(',"bids":{"price":['),
    sizes: encodeText('],"size":['),
    asks: encodeText(']},"asks":{"price":['),
    yes: encodeText(']},"yes":{"price":['),
    no: encodeText(']},"no":{"price":['),
    end: encodeText(']}}'),
    endWithoutNative: encodeText(']}}'),
    endWithoutLadders: encodeText('}'),
    beforeSequence: ({ venue, key }) =>
      `${open}"id":${JSON.stringify(`${venue}:${key}:`).slice(0, -1)}`,
    beforeSourceTime: (context) => {
      const values = belongings(context).map((value) => JSON.stringify(value ?? null))
      const names = CSV_COLUMNS.slice(1, 1 + values.length)
      return `",${names.map((name, index) => `"${name}":${values[index]}`).join(',')},"source_time":`
    },
    flags: (bits) => `,"flags":${JSON.stringify(servedFlags(bits))},"native":{`,
    channel: (sid, connection) =>
      [
        ...(sid === 0 ? [] : [`"sid":${sid}`]),
        ...(connection === 0 ? [] : [`"connection":${connection}`]),
      ].join(','),
  }
}

/** The values from `venue` to `token_id`. */
function belongings(context: BookContext): (string | undefined)[] {
  const { venue, marketId, conditionId, eventId, seriesTicker, outcome, tokenId } = context
  return [venue, marketId, conditionId, eventId, seriesTicker, outcome, tokenId]
}

function servedFlags(bits: number): string[] {
  const names: string[] = flagNames(bits & 0xffff)
  if ((bits & TRUNCATED) !== 0) names.push('truncated')
  if ((bits & PARTIAL) !== 0) names.push('partial')
  return names
}

// A cell whose text goes on: its closing quote, if any, comes later.
function openCell(value: string): string {
  const cell = quoteCell(value)
  return cell === value ? cell : cell.slice(0, -1)
}
