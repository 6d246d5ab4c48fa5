import { hash } from 'node:crypto'
import type { Gap, VenueId } from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { readRows, type Row } from '../capture/stored-rows.ts'
import { ON_WIRE, printBook } from '../capture/wire-log.ts'

/** What was compared, and what is wrong. */
export type SharedVerdict = {
  readonly rows: number
  readonly changes: number
  readonly trades: number
  readonly gaps: Readonly<Record<string, number>>
  readonly complaints: readonly string[]
}

// Gaps have the times of a recorder, the log has those of the emulator.
const TOLERANCE_MICROS = 300_000

/** What the log of the venues says, by `venue:key`. */
export type SharedTruth = {
  readonly books: ReadonlyMap<string, Told>
  readonly trades: ReadonlyMap<string, readonly ToldTrade[]>
}

/** One time that a trade was told. */
type ToldTrade = { readonly id: string; readonly at: number }

/**
 * Compares a tape that several recorders wrote in turn with the log of the venues. Every change must be stored
 * once and in order, unless it lies in a gap, and nothing else may be stored. A change counts once, however many
 * connections brought it.
 */
export async function checkShared(
  truth: SharedTruth,
  store: Store,
  until: number,
): Promise<SharedVerdict> {
  const complaints: string[] = []
  const counts: Record<string, number> = {}
  let [rowCount, changeCount, tradeCount] = [0, 0, 0]
  for (const { instrument } of await store.instruments()) {
    const { venue, key } = instrument
    const name = `${venue}:${key}`
    const complain = (text: string): void => void complaints.push(`${name}: ${text}`)
    const gaps = await store.gaps({ venue, key })
    for (const { reason } of gaps)
      counts[`${venue} ${reason}`] = (counts[`${venue} ${reason}`] ?? 0) + 1
    const rows = await readRows(store, venue, key)
    rowCount += rows.length
    const told = truth.books.get(name) ?? NOTHING
    changeCount += judgeBooks({ venue, told, rows, gaps, until, complain })
    const ids = (await store.trades({ venue, key, order: 'asc', limit: 1_000_000 })).rows.tradeId
    tradeCount += ids.length
    const stored = new Set(ids)
    if (stored.size !== ids.length) complain('trades are stored twice')
    const isStored = (id: string): boolean => stored.has(id) || ids.some((one) => one.includes(id))
    for (const { id, at } of truth.trades.get(name) ?? []) {
      const isExpected = at < until - TOLERANCE_MICROS && at > (rows[0]?.received ?? Infinity)
      if (isExpected && !isIn(gaps, at) && !isStored(id)) {
        complain(`trade ${id} at ${at} is missing`)
      }
    }
  }
  return { rows: rowCount, changes: changeCount, trades: tradeCount, gaps: counts, complaints }
}

/**
 * Reads the log of the venues; that of a long run does not fit into memory. `isAlone` where one recorder ran: then
 * every answer was one to it.
 */
export async function gatherShared(
  entries: Iterable<TruthEntry> | AsyncIterable<TruthEntry>,
  { isAlone = false }: { readonly isAlone?: boolean } = {},
): Promise<SharedTruth> {
  const books = new BookLog()
  const trades = new TradeLog(isAlone)
  for await (const entry of entries) {
    books.add(entry)
    trades.add(entry)
  }
  return { books: books.told, trades: trades.told() }
}

type Books = {
  readonly venue: VenueId
  readonly told: Told
  readonly rows: readonly Row[]
  readonly gaps: readonly Gap[]
  readonly until: number
  readonly complain: (text: string) => void
}

function judgeBooks({ venue, told, rows, gaps, until, complain }: Books): number {
  const { changes, others } = told
  const stored = new Map<string, number>()
  for (const [at, row] of rows.entries()) {
    const before = rows[at - 1]
    const isAfterGap = before === undefined || endsGap(gaps, before)
    if (row.source === ABSENT) {
      // A full book without a time must be the book that is known, or follow a gap. A market ends with an empty one.
      if (isAfterGap || row.book === before.book || row.book === EMPTY) continue
      // A request may have ended the gap, and the first book of the socket comes after it.
      const isOpening = before.isAnswer && !row.isAnswer && endsGap(gaps, rows[at - 2])
      if (!isOpening || !others.has(toPlace(venue, ABSENT, row.book))) {
        complain(`row ${row.sequence} changes the book without a message`)
      }
      continue
    }
    const place = toPlace(venue, row.source, row.book)
    const count = (stored.get(place) ?? 0) + 1
    stored.set(place, count)
    if (count > (changes.get(place)?.length ?? 0) && !others.has(place)) {
      complain(
        `row ${row.sequence} at ${row.received} is no message of the venue, or the same one again`,
      )
    }
    if (
      !isAfterGap &&
      !row.isAnswer &&
      !before.isAnswer &&
      venue !== 'venueb' &&
      row.source < before.source
    ) {
      complain(`row ${row.sequence} is older than the one before it`)
    }
  }
  // A full book of venue A may be passed over when a newer one is known.
  const first = rows[0]?.received ?? Infinity
  let count = 0
  for (const [place, times] of changes) {
    for (const [at, made] of times.entries()) {
      if (made < first + TOLERANCE_MICROS || made > until - TOLERANCE_MICROS) continue
      count++
      if (at < (stored.get(place) ?? 0) || isIn(gaps, made)) continue
      const time = Number(place.slice(0, place.indexOf(' ')))
      // What an answer contained before the socket brought it is not missing.
      const isAnswered =
        venue === 'venuec' &&
        rows.some(
          (row) => row.isAnswer && row.source >= time && row.received < made + TOLERANCE_MICROS,
        )
      if (!isAnswered) complain(`the change of ${time}, sent at ${made}, is missing`)
    }
  }
  return count
}

/** When every change was first sent, by its time and the book that it led to, and all other books. */
type Told = {
  readonly changes: Map<string, number[]>
  readonly others: Set<string>
}

const EMPTY = printBook({ bids: [], asks: [] })
const NOTHING: Told = { changes: new Map(), others: new Set() }

/** The books of a log. */
class BookLog {
  readonly told = new Map<string, Told>()
  /** How often a connection has brought a change. */
  readonly #brought = new Map<string, number>()

  add(entry: TruthEntry): void {
    if (entry.type !== 'frame' && entry.type !== 'answer') return
    if (entry.type === 'frame' && entry.delivered !== 'sent') return
    for (const payload of entry.payloads) {
      if (payload.kind !== 'full' && payload.kind !== 'change') continue
      const name = `${entry.venue}:${payload.key}`
      const told = this.told.get(name) ?? { changes: new Map(), others: new Set() }
      this.told.set(name, told)
      const time = payload.time === undefined ? timeIn(entry.text) : payload.time * 1000
      const place = toPlace(entry.venue, time, printBook(payload.book))
      if (entry.type === 'answer' || payload.kind === 'full') {
        told.others.add(place)
        continue
      }
      // A change that went to several connections is one.
      const who = `${entry.connection} ${name} ${place}`
      const count = this.#brought.get(who) ?? 0
      this.#brought.set(who, count + 1)
      const times = told.changes.get(place) ?? []
      told.changes.set(place, times)
      times[count] = Math.min(times[count] ?? Infinity, entry.at)
    }
  }
}

/**
 * The trades of a log. An answer may be one to a recorder that stands by, and may tell of a time long past: what
 * it tells must be stored where the tape misses nothing of the time in which the trade happened.
 */
class TradeLog {
  readonly #told = new Map<string, ToldTrade[]>()
  readonly #answered: { name: string; id: string; request: string; time: number; at: number }[] = []
  readonly #untaken = new Set<string>()
  /** When a trade of a key and a time of the venue happened, by our clock: the venue may be late. */
  readonly #happened = new Map<string, number>()
  readonly #isAlone: boolean

  constructor(isAlone: boolean) {
    this.#isAlone = isAlone
  }

  add(entry: TruthEntry): void {
    if (entry.type === 'untaken') this.#untaken.add(entry.request)
    if (entry.type === 'fill') {
      for (const key of entry.keys) this.#happened.set(placeOf(key, entry.time), entry.at)
    }
    if (entry.type === 'frame' && ON_WIRE.has(entry.delivered)) {
      for (const payload of entry.payloads) {
        if (payload.kind === 'trade')
          this.#push(`${entry.venue}:${payload.key}`, payload.id, entry.at)
      }
    }
    if (entry.type === 'answer' && entry.status === 200) this.#addAnswer(entry)
  }

  told(): ReadonlyMap<string, readonly ToldTrade[]> {
    for (const { name, id, request, time, at } of this.#answered) {
      if (this.#untaken.has(request)) continue
      const key = name.slice(name.indexOf(':') + 1)
      if (this.#isAlone || Number.isNaN(time)) this.#push(name, id, at)
      else this.#push(name, id, this.#happened.get(placeOf(key, time)) ?? at)
    }
    this.#answered.length = 0
    return this.#told
  }

  #addAnswer({ venue, request, text, payloads, at }: TruthEntry & { type: 'answer' }): void {
    const trades = payloads.filter((payload) => payload.kind === 'trade')
    if (trades.length === 0) return
    const times = timesOf(text)
    for (const { key, id } of trades) {
      const time = times.get(id) ?? NaN
      this.#answered.push({ name: `${venue}:${key}`, id, request, time, at })
    }
  }

  #push(name: string, id: string, at: number): void {
    const list = this.#told.get(name)
    if (list === undefined) this.#told.set(name, [{ id, at }])
    else list.push({ id, at })
  }
}

// When the trades of an answer happened by the clock of the venue, in milliseconds; by their ids.
function timesOf(text: string | undefined): ReadonlyMap<string, number> {
  const { trades = [] } = JSON.parse(text ?? '{}') as {
    readonly trades?: readonly { readonly trade_id: string; readonly created_time: string }[]
  }
  return new Map(trades.map((one) => [one.trade_id, Date.parse(one.created_time)]))
}

function placeOf(key: string, ms: number): string {
  return `${key} ${Math.floor(ms)}`
}

// Every message of venue A is a whole book; its log does not say the times of them. Books are long, and many.
function toPlace(venue: VenueId, time: number, book: string): string {
  return `${venue === 'venuea' ? 0 : time} ${hash('sha1', book, 'base64')}`
}

// Venue B says microseconds.
function timeIn(text: string | undefined): number {
  const [, seconds, micros] = /"ts":"([^".]+)\.(\d{6})Z"/.exec(text ?? '') ?? []
  return seconds === undefined ? ABSENT : Date.parse(`${seconds}Z`) * 1000 + Number(micros)
}

// True where a gap lies between a row and the next one.
function endsGap(gaps: readonly Gap[], before: Row | undefined): boolean {
  return before !== undefined && gaps.some((gap) => gap.afterSequence === before.sequence)
}

function isIn(gaps: readonly Gap[], at: number): boolean {
  return gaps.some(
    ({ start, end }) =>
      start - TOLERANCE_MICROS <= at && at <= (end ?? Infinity) + TOLERANCE_MICROS,
  )
}
