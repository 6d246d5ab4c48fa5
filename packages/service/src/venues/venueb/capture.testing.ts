import type { BookChange, BookSnapshot } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import {
  toReading,
  type CapturedBook,
  type CaptureLog,
  type CaptureNote,
  type CaptureRequest,
  type CaptureSink,
  type Normalized,
  type Reading,
} from '../capture/contract.ts'
import { createVenueBNormalizer } from './normalize.ts'
import type { TestMarket } from './upstream.testing.ts'

/** Everything that a connector put into the journal, in its order. */
export type Captured =
  | { readonly kind: 'frame'; readonly slot: number; readonly value: Record<string, unknown> }
  | { readonly kind: 'answer'; readonly request: CaptureRequest }
  | { readonly kind: 'note'; readonly note: CaptureNote }

type Folded = {
  sid: number | undefined
  isOpen: boolean
  bids: Map<number, number>
  asks: Map<number, number>
  changedLevels: number
}

/** A sink that builds books as a recorder does: a loss closes them and a full book opens them. */
export class TestSink implements CaptureSink {
  readonly captured: Captured[] = []
  readonly trades = new Set<string>()
  /** Changes that did not fit the book: something was lost or applied twice. */
  readonly faults: string[] = []
  readonly books = new Map<string, Folded>()
  /** Called with the books that a malformed frame closed, as a recorder calls a connector. */
  onRejected: ((keys: readonly string[]) => void) | undefined
  readonly #seqs = new Map<number, number>()
  readonly #normalizer = createVenueBNormalizer()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): ReturnType<CaptureSink['now']> {
    return this.#clock.now()
  }

  steadyNow(): ReturnType<CaptureSink['now']> {
    return this.#clock.now()
  }

  position(): number {
    return this.captured.length
  }

  frame(
    slot: number,
    received: ReturnType<CaptureSink['now']>,
    _bytes: Uint8Array,
    parsed: unknown,
  ): Reading {
    this.captured.push({ kind: 'frame', slot, value: parsed as Record<string, unknown> })
    const at = { received, journal: this.captured.length }
    const reading = toReading(() => this.#normalizer.frame(parsed, at))
    if (this.#isOld(parsed)) return reading
    if (reading.error === undefined) this.#fold(reading)
    else this.#suspect(this.#normalizer.suspects!(parsed))
    return reading
  }

  answer(
    request: CaptureRequest,
    received: ReturnType<CaptureSink['now']>,
    _bytes: Uint8Array,
    parsed: unknown,
  ): Reading {
    this.captured.push({ kind: 'answer', request })
    const at = { received, journal: this.captured.length }
    const reading = this.#normalizer.answer(request, parsed, at)
    this.#fold(reading)
    return reading
  }

  book(key: string): CapturedBook | undefined {
    const book = this.books.get(key)
    if (book === undefined) return undefined
    const { isOpen, changedLevels } = book
    return { isOpen, changedLevels, relate: () => 'first' }
  }

  note(note: CaptureNote): void {
    this.captured.push({ kind: 'note', note })
    // A new connection numbers its subscriptions from 1.
    if (note.note === 'connected') this.#seqs.clear()
    if (note.note === 'loss') {
      for (const [ticker, book] of this.books) {
        const isFed = note.slot !== undefined && book.sid !== undefined
        const isOf = isFed && (note.sid === undefined || note.sid === book.sid)
        if (isOf || note.keys?.includes(ticker) === true) book.isOpen = false
      }
    }
  }

  get notes(): CaptureNote[] {
    return this.captured.flatMap((one) => (one.kind === 'note' ? [one.note] : []))
  }

  get losses(): (CaptureNote & { readonly note: 'loss' })[] {
    return this.notes.filter((note) => note.note === 'loss')
  }

  frames(type: string): Record<string, unknown>[] {
    return this.captured.flatMap((one) =>
      one.kind === 'frame' && one.value['type'] === type ? [one.value] : [],
    )
  }

  /** True when the folded book is open and is the venue's. */
  equals({ ticker, yes, no }: TestMarket): boolean {
    const book = this.books.get(ticker)
    if (book === undefined || !book.isOpen) return false
    const asks = new Map([...no].map(([price, size]) => [10_000 - price, size]))
    return isEqual(book.bids, yes) && isEqual(book.asks, asks)
  }

  // A seq that is not above the last one is a duplicate.
  #isOld(parsed: unknown): boolean {
    const { sid, seq } = (parsed ?? {}) as { sid?: unknown; seq?: unknown }
    if (typeof sid !== 'number' || typeof seq !== 'number') return false
    const isOld = seq <= (this.#seqs.get(sid) ?? -1)
    if (!isOld) this.#seqs.set(sid, seq)
    return isOld
  }

  #suspect(suspects: 'all' | 'none' | readonly string[]): void {
    const keys = suspects === 'all' ? [...this.books.keys()] : suspects === 'none' ? [] : suspects
    for (const key of keys) this.books.set(key, { ...this.#book(key), isOpen: false })
    this.onRejected?.(keys)
  }

  #book(key: string): Folded {
    return (
      this.books.get(key) ?? {
        sid: undefined,
        isOpen: false,
        bids: new Map(),
        asks: new Map(),
        changedLevels: 0,
      }
    )
  }

  #fold({ events, problems }: Normalized): void {
    for (const { error } of problems) this.faults.push(error.message)
    for (const event of events) {
      if (event.kind === 'trade') this.trades.add(event.tradeId)
      if (event.kind === 'snapshot') this.#open(event)
      if (event.kind === 'change') this.#change(event)
    }
  }

  #open({ instrument, bids, asks, channel }: BookSnapshot): void {
    const before = this.books.get(instrument.key)
    const after = {
      bids: new Map<number, number>(bids.map(({ price, size }) => [price, size])),
      asks: new Map<number, number>(asks.map(({ price, size }) => [price, size])),
    }
    const changed =
      before?.isOpen === true
        ? differing(before.bids, after.bids) + differing(before.asks, after.asks)
        : 0
    const changedLevels = (before?.changedLevels ?? 0) + changed
    this.books.set(instrument.key, { sid: channel, isOpen: true, ...after, changedLevels })
  }

  #change({ instrument, changes, channel }: BookChange): void {
    const book = this.books.get(instrument.key)
    if (book === undefined || !book.isOpen) return
    if (book.sid !== channel) this.faults.push(`change of ${channel} on a book of ${book.sid}`)
    for (const { side, price, size } of changes) {
      const levels = side === 'bid' ? book.bids : book.asks
      const after = (levels.get(price) ?? 0) + size
      if (after < 0) this.faults.push(`negative size at ${price}`)
      if (after === 0) levels.delete(price)
      else levels.set(price, after)
    }
  }
}

function isEqual(a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>): boolean {
  return a.size === b.size && [...a].every(([price, size]) => b.get(price) === size)
}

function differing(a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>): number {
  const prices = new Set([...a.keys(), ...b.keys()])
  return [...prices].filter((price) => a.get(price) !== b.get(price)).length
}

/** A log that keeps its lines. */
export class TestLog implements CaptureLog {
  readonly lines: { readonly level: string; readonly fields: object; readonly message: string }[] =
    []
  info = (fields: object, message: string): void => this.#add('info', fields, message)
  warn = (fields: object, message: string): void => this.#add('warn', fields, message)
  error = (fields: object, message: string): void => this.#add('error', fields, message)

  #add(level: string, fields: object, message: string): void {
    this.lines.push({ level, fields, message })
  }
}
