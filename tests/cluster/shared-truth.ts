import type { Gap, VenueId } from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { readRows, type Row } from '../capture/stored-rows.ts'
import { gather, printBook } from '../capture/wire-log.ts'

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

/**
 * Compares a tape that several recorders wrote in turn with the log of the venues. Every change must be stored
 * once and in order, unless it lies in a gap, and nothing else may be stored. A change counts once, however many
 * connections brought it.
 */
export async function checkShared(
  entries: readonly TruthEntry[],
  store: Store,
  until: number,
): Promise<SharedVerdict> {
  const { trades } = gather(entries)
  const books = gatherBooks(entries)
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
    const told = books.get(name) ?? NOTHING
    changeCount += judgeBooks({ venue, told, rows, gaps, until, complain })
    const ids = (await store.trades({ venue, key, order: 'asc', limit: 1_000_000 })).rows.tradeId
    tradeCount += ids.length
    if (new Set(ids).size !== ids.length) complain('trades are stored twice')
    for (const { id, at, delivered } of trades.get(name) ?? []) {
      const isExpected =
        delivered && at < until - TOLERANCE_MICROS && at > (rows[0]?.received ?? Infinity)
      const isStored = ids.some((stored) => stored === id || stored.includes(id))
      if (isExpected && !isStored && !isIn(gaps, at)) complain(`trade ${id} at ${at} is missing`)
    }
  }
  return { rows: rowCount, changes: changeCount, trades: tradeCount, gaps: counts, complaints }
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
    const isAfterGap =
      before === undefined || gaps.some((gap) => gap.afterSequence === before.sequence)
    if (row.source === ABSENT) {
      // A full book without a time must be the book that is known, or follow a gap. A market ends with an empty one.
      if (!isAfterGap && row.book !== before.book && row.book !== EMPTY)
        complain(`row ${row.sequence} changes the book without a message`)
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

function gatherBooks(entries: readonly TruthEntry[]): ReadonlyMap<string, Told> {
  const books = new Map<string, Told>()
  // How often a connection has brought a change.
  const brought = new Map<string, number>()
  for (const entry of entries) {
    if (entry.type !== 'frame' && entry.type !== 'answer') continue
    if (entry.type === 'frame' && entry.delivered !== 'sent') continue
    for (const payload of entry.payloads) {
      if (payload.kind !== 'full' && payload.kind !== 'change') continue
      const name = `${entry.venue}:${payload.key}`
      const told = books.get(name) ?? { changes: new Map(), others: new Set() }
      books.set(name, told)
      const time = payload.time === undefined ? timeIn(entry.text) : payload.time * 1000
      const place = toPlace(entry.venue, time, printBook(payload.book))
      if (entry.type === 'answer' || payload.kind === 'full') {
        told.others.add(place)
        continue
      }
      // A change that went to several connections is one.
      const who = `${entry.connection} ${name} ${place}`
      const count = brought.get(who) ?? 0
      brought.set(who, count + 1)
      const times = told.changes.get(place) ?? []
      told.changes.set(place, times)
      times[count] = Math.min(times[count] ?? Infinity, entry.at)
    }
  }
  return books
}

// Every message of venue A is a whole book; its log does not say the times of them.
function toPlace(venue: VenueId, time: number, book: string): string {
  return `${venue === 'venuea' ? 0 : time} ${book}`
}

// Venue B says microseconds.
function timeIn(text: string | undefined): number {
  const [, seconds, micros] = /"ts":"([^".]+)\.(\d{6})Z"/.exec(text ?? '') ?? []
  return seconds === undefined ? ABSENT : Date.parse(`${seconds}Z`) * 1000 + Number(micros)
}

function isIn(gaps: readonly Gap[], at: number): boolean {
  return gaps.some(
    ({ start, end }) =>
      start - TOLERANCE_MICROS <= at && at <= (end ?? Infinity) + TOLERANCE_MICROS,
  )
}
