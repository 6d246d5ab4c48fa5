import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { isVenueId, parseMicros, PriorbookError, type VenueId } from '../../domain/index.ts'
import { toLevel, type BookUpdate, type OwnLevel } from './book-update.ts'
import { OwnBook, type TopText } from './own-book.ts'
import { readVenueMessage } from './venues/index.ts'

/** A book that a capture shows. */
export type OwnRow = {
  readonly venue: VenueId
  readonly marketId: string
  readonly key: string
  /** When the capture received it, in microseconds; the venue's time where it says nothing. */
  readonly time: number
  readonly top: TopText
  /** True where the message had the whole book. */
  readonly isFull: boolean
  /** False before the first whole book. */
  readonly isKnown: boolean
  readonly line: number
}

/** What a capture held beside books. */
export type CaptureCounts = {
  lines: number
  bytes: number
  /** Lines without a book: other messages, gaps, receipts. */
  other: number
  /** Lines that could not be read, and the first of them. */
  unreadable: number
  firstUnreadable?: { readonly line: number; readonly detail: string }
  /** Books that were timed by the venue's clock, because the line has no received time. */
  venueTimed: number
}

/** Counts before the first line. */
export function noCapture(): CaptureCounts {
  return { lines: 0, bytes: 0, other: 0, unreadable: 0, venueTimed: 0 }
}

/** How a capture is read. */
export type CaptureOptions = {
  readonly path: string
  readonly depth: number
  readonly signal: AbortSignal
  readonly counts: CaptureCounts
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads a capture line by line and yields the book after every message about one. Memory is bounded by the
 * number of instruments.
 */
export async function* readCapture(options: CaptureOptions): AsyncGenerator<OwnRow> {
  const { path, depth, signal, counts } = options
  const input = createReadStream(path, { highWaterMark: 1 << 20, signal })
  const books = new Map<string, OwnBook>()
  let clock = 0
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    counts.lines++
    counts.bytes += text.length + 1
    if (text.trim() === '') continue
    let read: ReadLine | undefined
    try {
      read = readLine(JSON.parse(text))
    } catch (error) {
      counts.unreadable++
      const detail = error instanceof Error ? error.message : String(error)
      counts.firstUnreadable ??= { line: counts.lines, detail }
      continue
    }
    if (read === undefined) {
      counts.other++
      continue
    }
    for (const update of read.updates) {
      if (read.received === undefined) counts.venueTimed++
      clock = read.received ?? update.time ?? clock
      const series = `${update.venue}:${update.key}`
      let book = books.get(series)
      if (book === undefined) books.set(series, (book = new OwnBook()))
      book.apply(update)
      const { venue, marketId, key } = update
      const isFull = update.kind === 'full'
      const row = { venue, marketId, key, time: clock, isFull, line: counts.lines }
      yield { ...row, top: book.top(depth), isKnown: book.isKnown }
    }
  }
}

type ReadLine = { readonly received?: number; readonly updates: readonly BookUpdate[] }

/** Reads a line: one of our rows, a message of a venue, or such a message with its received time. */
function readLine(value: unknown): ReadLine | undefined {
  if (Array.isArray(value)) return { updates: value.flatMap((one) => updatesOf(one) ?? []) }
  if (typeof value !== 'object' || value === null) throw new TypeError('the line is not an object')
  const line = value as Fields
  const received = timeIn(line, RECEIVED)
  const inner = MESSAGES.map((name) => line[name]).find((one) => one !== undefined)
  if (received !== undefined && inner !== undefined && line['topic'] === undefined) {
    const message: unknown = typeof inner === 'string' ? JSON.parse(inner) : inner
    const list: readonly unknown[] = Array.isArray(message) ? message : [message]
    const updates = list.flatMap((one) => updatesOf(one) ?? [])
    return updates.length === 0 ? undefined : { received, updates }
  }
  const row = rowOf(line)
  if (row !== undefined) return { updates: [row], ...(received !== undefined && { received }) }
  const updates = updatesOf(line)
  return updates === undefined ? undefined : { updates }
}

const RECEIVED = ['received', 'received_time', 'received_at', 'recv_ms', 'recv_ts', 'ts_recv']
const MESSAGES = ['message', 'event', 'frame', 'payload', 'raw']

function updatesOf(value: unknown): readonly BookUpdate[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return readVenueMessage(value as Fields)
}

/** One of our own rows with ladders. */
function rowOf(line: Fields): BookUpdate | undefined {
  const { venue, market_id: marketId, id, type = 'book' } = line
  if (!isVenueId(venue) || type !== 'book' || typeof id !== 'string') return undefined
  const bids = sideOf(line['bids'])
  const asks = sideOf(line['asks'])
  if (bids === undefined || asks === undefined) return undefined
  const key = id.slice(venue.length + 1, id.lastIndexOf(':'))
  return { kind: 'full', venue, marketId: String(marketId), key, bids, asks }
}

function sideOf(side: unknown): OwnLevel[] | undefined {
  const { price, size } = (side ?? {}) as { readonly price?: unknown; readonly size?: unknown }
  if (!Array.isArray(price) || !Array.isArray(size)) return undefined
  return price.map((one: unknown, index) => toLevel(one, size[index]))
}

function timeIn(line: Fields, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = line[name]
    if (typeof value !== 'string' && typeof value !== 'number') continue
    const text = String(value)
    if (/^\d{16}$/.test(text)) return Number(text)
    if (/^\d{13}(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
    if (/^\d{10}(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * 1_000_000)
    try {
      return parseMicros(text)
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      throw new TypeError(`${name} is not a time: ${text.slice(0, 40)}`, { cause: error })
    }
  }
  return undefined
}
