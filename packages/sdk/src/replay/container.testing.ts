import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Gap, MarketRecord, Micros, VenueId } from '../domain/index.ts'
import { printMicros, VENUES } from '../domain/index.ts'
import {
  ABSENT,
  BookColumns,
  BookEncoder,
  encodeSamples,
  encodeTrades,
  Ladder,
  NO_HASH,
  SampleColumns,
  TradeColumns,
  type RowHead,
} from '../tape/index.ts'
import { createNodePlatform } from '../tape/platform-node.ts'
import { toGapJson, toMarketJson } from '../wire/index.ts'
import type { ReplayEvent } from './event.ts'

const platform = createNodePlatform()
const encoder = new BookEncoder()

/** Builds containers from frames, as the server does. */
export class ContainerMaker {
  private readonly parts: Uint8Array[] = [Buffer.from([0x50, 0x42, 0x58, 0x31, 1])]

  /** Without `records` it has only the newest record of a market, as files of older versions. */
  constructor(start: number, end: number, records?: 'all') {
    const range = { start_time: printTime(start), end_time: printTime(end) }
    this.frame('H', Buffer.from(JSON.stringify({ range, records })))
  }

  frame(letter: string, payload: Uint8Array): this {
    const head = Buffer.alloc(5)
    head[0] = letter.charCodeAt(0)
    head.writeUInt32LE(payload.length, 1)
    this.parts.push(head, payload)
    return this
  }

  market(record: MarketRecord, knownAt: number): this {
    return this.frame('M', Buffer.from(JSON.stringify(toMarketJson({ record, knownAt }))))
  }

  gap(gap: Gap): this {
    return this.frame('G', Buffer.from(JSON.stringify(toGapJson(gap))))
  }

  finish(): Buffer {
    const before = Buffer.concat(this.parts)
    const sha256 = createHash('sha256').update(before).digest('hex')
    const receipt = Buffer.from(JSON.stringify({ sha256 }))
    this.frame('E', receipt)
    const check = Buffer.alloc(4)
    check.writeUInt32LE(crc32(receipt))
    return Buffer.concat([...this.parts, check])
  }
}

/** One row of a test: when, and for books which levels changed to what. */
export type TestRow = {
  readonly received: number
  readonly keys?: readonly number[]
  readonly sizes?: readonly number[]
  readonly flags?: number
}

/** A book chunk of rows [from, to) of a stream whose rows are all given. */
export function bookChunk(
  venue: VenueId,
  key: string,
  rows: readonly TestRow[],
  from = 0,
  to: number = rows.length,
  previousHash: Uint8Array = NO_HASH,
): Uint8Array {
  const columns = new BookColumns(2)
  const ladder = new Ladder()
  for (const row of rows.slice(0, from)) applyTestRow(ladder, row)
  const keys = ladder.keys()
  const base = { key: keys, size: keys.map((each) => ladder.sizeAt(each)) }
  for (const row of rows.slice(from, to)) columns.push(headOf(row), row.keys ?? [], row.sizes ?? [])
  const identity = { ...identityOf(venue, key, from), previousHash, changesBefore: 0 }
  return encoder.encode(columns, 0, to - from, base, identity, platform).bytes
}

/** A trade chunk; prices and sizes follow from the number. */
export function tradeChunk(venue: VenueId, key: string, rows: readonly TestRow[]): Uint8Array {
  const columns = new TradeColumns()
  for (const [index, row] of rows.entries()) {
    columns.push(headOf(row), `t${index + 1}`, 100 + index, 1000 + index, index % 3)
  }
  return encodeTrades(columns, 0, rows.length, identityOf(venue, key, 0), platform).bytes
}

/** A sample chunk; values follow from the number. */
export function sampleChunk(venue: VenueId, key: string, rows: readonly TestRow[]): Uint8Array {
  const columns = new SampleColumns()
  for (const [index, row] of rows.entries()) columns.push(headOf(row), index * 1_000_000)
  const identity = { ...identityOf(venue, key, 0), metric: 'chance' }
  return encodeSamples(columns, 0, rows.length, identity, platform).bytes
}

/** Applies a row of a test to a ladder. */
export function applyTestRow(ladder: Ladder, row: TestRow): void {
  if (((row.flags ?? 0) & 64) !== 0) ladder.clear()
  for (const [index, key] of (row.keys ?? []).entries()) ladder.apply(key, row.sizes![index]!)
}

/**
 * An event as text, with the book at the time of the event and without its changed levels: a
 * message that repeats a size changes nothing, and only the tape has it.
 */
export function lineOf(event: ReplayEvent): string {
  switch (event.kind) {
    case 'book': {
      const { at, instrument, sequence, source, flags, ladder } = event
      const scale = 10 ** (VENUES[instrument.venue].priceDecimals - ladder.decimals)
      const side = (levels: { price: number[]; size: number[] }): string =>
        levels.price.map((price, index) => `${price * scale}x${levels.size[index]}`).join(' ')
      const book = `${side(ladder.bids())} | ${side(ladder.asks())}`
      const name = Object.entries(instrument)
        .map(([field, value]) => `${field}=${value ?? ''}`)
        .sort()
        .join()
      return `${at} book ${name} ${sequence} ${source} ${flags} : ${book}`
    }
    case 'trade': {
      const { instrument, ...rest } = event
      return `${event.at} trade ${instrument.venue}:${instrument.key} ${JSON.stringify(rest)}`
    }
    case 'sample': {
      const { instrument, ...rest } = event
      return `${event.at} sample ${instrument.venue}:${instrument.key} ${JSON.stringify(rest)}`
    }
    case 'reference':
      return `${event.at} reference ${JSON.stringify(event)}`
    case 'market':
      return `${event.at} market ${JSON.stringify(event.record)}`
    case 'gap':
      return `${event.at} gap ${event.edge} ${JSON.stringify({ ...event.gap, journal: 0 })}`
  }
}

function headOf({ received, flags = 0 }: TestRow): RowHead {
  return { received, source: ABSENT, venueSeq: ABSENT, channel: ABSENT, journal: 1, flags }
}

function identityOf(venue: VenueId, key: string, from: number) {
  const maker = { origin: 'import', recorder: 'r', normalizer: 1, previousHash: NO_HASH } as const
  return { venue, market: key, key, ...maker, first: from + 1 }
}

function printTime(time: number): string | null {
  return Number.isFinite(time) ? printMicros(time as Micros) : null
}
