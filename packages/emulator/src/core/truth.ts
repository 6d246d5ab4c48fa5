import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { VenueId } from '@priorbook/sdk/domain'
import type { ActiveFault } from '../faults/fault-box.ts'
import type { FaultKind } from '../faults/fault.ts'
import type { Book, Fill, Level, Payload, Phase } from './upstream.ts'

/** How a frame was delivered. All but `dropped` and `stalled` were put on the wire. */
export type Delivery =
  | 'sent'
  | 'dropped'
  | 'stalled'
  | 'duplicated'
  | 'reordered'
  | 'delayed'
  | 'malformed'
  | 'oversized'

/** What happened upstream: `at` is our wall clock in microseconds. */
export type TruthEvent =
  | {
      readonly type: 'frame'
      readonly venue: VenueId
      readonly connection: string
      readonly delivered: Delivery
      readonly bytes: number
      /** The text, or the first 16 hex digits of its SHA-256, by option. */
      readonly text?: string
      readonly hash?: string
      /** How a malformed frame was spoiled. */
      readonly variant?: string
      /** When a frame was held back to be reordered; its successors may have been sent before it. */
      readonly held?: number
      /** The contents of the frame before any fault. */
      readonly payloads: readonly Payload[]
    }
  | {
      readonly type: 'answer'
      readonly venue: VenueId
      readonly request: string
      readonly path: string
      readonly status: number
      readonly cost: number
      readonly bucket: string
      readonly fault?: FaultKind
      /** When it was created: its payloads are of that moment, however late it was sent. */
      readonly made: number
      readonly bytes: number
      readonly text?: string
      readonly hash?: string
      readonly payloads: readonly Payload[]
    }
  /** The client disconnected before it read this answer. */
  | { readonly type: 'untaken'; readonly venue: VenueId; readonly request: string }
  | {
      readonly type: 'connection'
      readonly venue: VenueId
      readonly connection: string
      readonly state: 'opened' | 'closed' | 'refused'
      /** The close code, or the HTTP status of a refusal. */
      readonly code?: number
    }
  | {
      readonly type: 'fault'
      readonly venue: VenueId
      readonly state: 'begun' | 'ended'
      readonly fault: Omit<ActiveFault, 'struck'>
      readonly struck: number
    }
  | {
      readonly type: 'market'
      readonly venue: VenueId
      readonly index: number
      readonly keys: readonly string[]
      readonly phase: Phase
      readonly winner?: string
      /** What a round is about; absent for other markets. Times are those of all venues, in milliseconds. */
      readonly round?: {
        readonly asset: string
        readonly window: string
        readonly opens: number
        readonly closes: number
        /** A fixed price to compare with; absent: the price at the start. */
        readonly strike?: string
        /** The prices that decided it, as far as they are known: of that time, or the average of the seconds before. */
        readonly start_price?: string
        readonly end_price?: string
        readonly average_seconds?: number
      }
    }

  /** A trade happened, whether a client heard of it or not; `fill` is in the terms of the first outcome. */
  | {
      readonly type: 'fill'
      readonly venue: VenueId
      readonly keys: readonly string[]
      /** The venue's clock, in milliseconds. */
      readonly time: number
      readonly fill: Fill
    }

/** One line of the log. */
export type TruthEntry = TruthEvent & { readonly at: number }

/** How much the log keeps. */
export type TruthOptions = {
  /** Where the lines go, one JSON object each. */
  readonly file?: string
  /** Keeps the entries in memory; for short tests only. */
  readonly memory?: boolean
  /** False leaves the books out, for benchmarks. */
  readonly books?: boolean
  /** What is kept of the bytes of a frame or an answer; `none` by default. */
  readonly texts?: 'none' | 'hash' | 'full'
}

/** The log of what was put on the wire and what was not. */
export interface Truth {
  /** False when nothing is kept, so callers can skip building entries. */
  readonly wanted: boolean
  /** `text` is the wire text, kept as the options say. */
  note(event: TruthEvent, text?: string): void
  /** The entries so far; empty unless kept in memory. */
  readonly entries: readonly TruthEntry[]
  /** Brings every line to the file. */
  flush(): void
  /** Writes the remaining lines; later entries are ignored. */
  close(): void
}

// Written synchronously once full, so that memory stays bounded; a slow disk slows the emulator down.
const CHUNK_CHARS = 256 * 1024
const FLUSH_MS = 200

/** Opens the log; with neither file nor memory it keeps nothing. */
export function openTruth(options: TruthOptions): Truth {
  const { memory = false, books = true, texts = 'none' } = options
  const file = options.file === undefined ? undefined : openSync(options.file, 'a')
  const entries: TruthEntry[] = []
  const lines: string[] = []
  let chars = 0
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (file === undefined || lines.length === 0) return
    const bytes = Buffer.from(lines.join(''))
    lines.length = 0
    chars = 0
    for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done)
  }

  return {
    wanted: memory || file !== undefined,
    entries,
    flush,
    note(event, text) {
      if (isClosed || (!memory && file === undefined)) return
      const entry = withText({ at: wallMicros(), ...event }, text, texts)
      if (memory) entries.push(entry)
      if (file === undefined) return
      const line = toLine(entry, books)
      lines.push(line)
      chars += line.length
      if (chars > CHUNK_CHARS) flush()
      else timer ??= setTimeout(flush, FLUSH_MS)
    },
    close() {
      if (isClosed) return
      flush()
      isClosed = true
      if (file !== undefined) closeSync(file)
    },
  }
}

function withText(
  entry: TruthEntry,
  text: string | undefined,
  texts: 'none' | 'hash' | 'full',
): TruthEntry {
  if (text === undefined || texts === 'none') return entry
  if (texts === 'full') return { ...entry, text } as TruthEntry
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { ...entry, hash } as TruthEntry
}

/** A line: levels are flat lists price, size, price, size … in ten-thousandths and millionths. */
function toLine(entry: TruthEntry, books: boolean): string {
  if (entry.type !== 'frame' && entry.type !== 'answer') return `${JSON.stringify(entry)}\n`
  const { payloads, ...rest } = entry
  const parts = payloads.map((payload) => {
    if (payload.kind !== 'full' && payload.kind !== 'change') return JSON.stringify(payload)
    const { book, ...own } = payload
    const text = JSON.stringify(own)
    return books ? `${text.slice(0, -1)},"book":${bookText(book)}}` : text
  })
  return `${JSON.stringify(rest).slice(0, -1)},"payloads":[${parts.join(',')}]}\n`
}

// One book goes to every subscriber: its text is made once.
const texts = new WeakMap<Book, string>()

function bookText(book: Book): string {
  let text = texts.get(book)
  if (text === undefined) {
    text = `{"bids":[${flat(book.bids)}],"asks":[${flat(book.asks)}]}`
    texts.set(book, text)
  }
  return text
}

function flat(levels: readonly Level[]): string {
  let text = ''
  for (const { price, size } of levels) text += `${text === '' ? '' : ','}${price},${size}`
  return text
}

/** Reads a log of the truth line by line, its books as they were. */
export async function* readTruth(file: string): AsyncGenerator<TruthEntry, void, void> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity })
  for await (const line of lines) {
    const entry = JSON.parse(line) as Written
    const payloads = entry.payloads?.map((payload) => {
      return 'book' in payload ? { ...payload, book: toBook(payload.book) } : payload
    })
    // The lines are our own: what `toLine` writes is an entry with flat levels.
    yield (payloads === undefined ? entry : { ...entry, payloads }) as TruthEntry
  }
}

type Flat = { readonly bids: readonly number[]; readonly asks: readonly number[] }

type Written = Omit<TruthEntry, 'payloads'> & {
  readonly payloads?: readonly (Omit<Payload, 'book'> | { readonly book: Flat })[]
}

function toBook({ bids, asks }: Flat): Book {
  return { bids: toLevels(bids), asks: toLevels(asks) }
}

function toLevels(flat: readonly number[]): Level[] {
  const levels: Level[] = []
  for (let i = 0; i < flat.length; i += 2) levels.push({ price: flat[i]!, size: flat[i + 1]! })
  return levels
}

/** Our wall clock in whole microseconds. */
export function wallMicros(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000)
}
