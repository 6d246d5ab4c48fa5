import { printScaled, type Gap, type GapReason, type VenueId } from '@priorbook/sdk/domain'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { gatherIncidents } from './gap-reasons.ts'
import { judgeGaps } from './judge-gaps.ts'
import { judgeLosses } from './judge-losses.ts'
import { isReferenceName, judgeReferences } from './judge-references.ts'
import { Reading } from './reading.ts'
import { matchRows } from './match-rows.ts'
import { readRows, type Row } from './stored-rows.ts'
import { gather, withoutAbandoned, type Expected, type Truth } from './wire-log.ts'

/**
 * Compares a tape with what the upstreams say they put on the wire. It knows nothing of connectors
 * and normalizers: it reads the emulator's log and the store, and judges
 *
 * - every stored book equals the book behind a payload that was on the wire, in order;
 * - every payload without a row, or whose delivery failed, lies inside a gap that begins with the
 *   last row before it and ends with the first row after it;
 * - every gap has a cause: a payload without a row, a lost connection, a fault;
 * - every trade and sample that was on the wire outside gaps is stored once.
 */
export type Verdict = {
  readonly instruments: number
  readonly rows: number
  readonly payloads: number
  readonly lost: number
  /** The instruments of the lost ones. */
  readonly lostKeys: readonly string[]
  /** Losses of venue C that nothing on the wire showed: nobody could see them. */
  readonly unseen: number
  readonly gaps: Readonly<Partial<Record<GapReason, number>>>
  readonly trades: number
  readonly samples: number
  /** Reference prices, which are not among the samples. */
  readonly prices: number
  readonly complaints: readonly string[]
}

/** Options of a comparison. */
export type CheckOptions = {
  /** Payloads after this wall time (µs) are not expected to be stored: the recorder was stopping. */
  readonly until: number
  /** Times (µs) in which the disk was full: answers were not kept. */
  readonly unkept?: readonly { readonly from: number; readonly to: number }[]
  /** What clocks and sockets may differ by, in µs. */
  readonly tolerance?: number
}

const ANSWER_MICROS = 1_500_000

/** An instrument, with what was on the wire of it and what is stored. */
type Matched = {
  readonly venue: VenueId
  readonly key: string
  readonly name: string
  readonly expected: readonly Expected[]
  readonly rows: readonly Row[]
  readonly strangers: readonly Row[]
}

/** Judges a store by the log of the truth. */
export async function check(
  entries: readonly TruthEntry[],
  store: Store,
  options: CheckOptions,
): Promise<Verdict> {
  const { tolerance = 250_000 } = options
  const truth = gather(entries)
  const incidents = gatherIncidents(entries)
  const complaints: string[] = []
  const complain = (text: string): void => {
    if (complaints.length < 40) complaints.push(text)
  }
  const counts: Partial<Record<GapReason, number>> = {}
  let rowCount = 0
  let payloadCount = 0
  let lostCount = 0
  const lostKeys: string[] = []
  let unseenCount = 0
  const known = new Set<string>()
  const matched: Matched[] = []
  const readings = new Map<VenueId, Reading>()
  for (const { instrument } of await store.instruments()) {
    const { venue, key } = instrument
    const name = `${venue}:${key}`
    known.add(name)
    const expected = withoutAbandoned(truth.books.get(name) ?? [])
    const rows = await readRows(store, venue, key)
    const strangers = matchRows(venue, expected, rows)
    matched.push({ venue, key, name, expected, rows, strangers })
    let reading = readings.get(venue)
    if (reading === undefined) readings.set(venue, (reading = new Reading()))
    reading.add(expected)
  }
  for (const { venue, key, name, expected, rows, strangers } of matched) {
    const gaps = await store.gaps({ venue, key })
    for (const { reason } of gaps) counts[reason] = (counts[reason] ?? 0) + 1
    const first = rows[0]
    const from =
      first === undefined ? Infinity : (expected.find(({ matched }) => matched === first)?.at ?? 0)
    payloadCount += expected.length
    rowCount += rows.length
    const judged = judgeLosses(
      name,
      venue,
      expected.filter(({ at }) => at >= from && at <= options.until),
      rows,
      gaps,
      complain,
    )
    lostCount += judged.lost
    if (judged.lost > 0) lostKeys.push(key)
    unseenCount += judged.unseen
    const isWrong = (row: Row): boolean => !judged.believed.has(row)
    judgeStrangers(name, strangers.filter(isWrong), gaps, complain)
    const wire = { incidents: incidents.get(venue), reading: readings.get(venue)!, tolerance }
    judgeGaps(name, expected, rows, gaps, wire, complain)
  }
  for (const [name, expected] of truth.books) {
    // An answer of venue C counts only together with a subscription.
    const isNeeded = (one: Expected): boolean => !one.isAnswer || !name.startsWith('venuec')
    const delivered = expected.filter(
      (one) => one.delivered && isNeeded(one) && one.at <= options.until - 2_000_000,
    )
    if (!known.has(name) && delivered.length > 0) {
      complain(`${name}: ${delivered.length} books on the wire, none stored`)
    }
  }
  const books = new Map(matched.map((one) => [one.name, one]))
  const trades = await judgeTrades(truth, store, books, options.until - tolerance, complain)
  // An answer that is under way when the recorder stops is let go of.
  const { unkept = [] } = options
  const isKept = (at: number): boolean =>
    at <= options.until - ANSWER_MICROS && !unkept.some(({ from, to }) => from <= at && at <= to)
  const samples = await judgeSamples(truth, store, isKept, complain)
  const prices = await judgeReferences(entries, store, options.until - tolerance, complain)
  const report = await store.verify()
  for (const { code, where, detail } of report.problems) complain(`${where}: ${code} ${detail}`)
  return {
    instruments: known.size,
    rows: rowCount,
    payloads: payloadCount,
    lost: lostCount,
    lostKeys,
    unseen: unseenCount,
    gaps: counts,
    trades,
    samples,
    prices,
    complaints,
  }
}

// A row that equals no book on the wire is an invention, unless venue C's silence about a loss explains
// it: a loss that shows late makes the rows since the last full book doubtful, and a gap says so.
function judgeStrangers(
  name: string,
  strangers: readonly Row[],
  gaps: readonly Gap[],
  complain: (text: string) => void,
): void {
  for (const { sequence, received, book } of strangers) {
    const isDoubtful = gaps.some(
      ({ start, end, afterSequence }) =>
        afterSequence < sequence && start <= received && received < (end ?? Infinity),
    )
    if (name.startsWith('venuec') && isDoubtful) continue
    complain(
      `${name}: row ${sequence} at ${received} equals no book on the wire: ${book.slice(0, 80)}`,
    )
  }
}

async function judgeTrades(
  truth: Truth,
  store: Store,
  books: ReadonlyMap<string, Matched>,
  until: number,
  complain: (text: string) => void,
): Promise<number> {
  let count = 0
  for (const [name, trades] of truth.trades) {
    const [venue, key] = split(name)
    const page = await store.trades({ venue, key, order: 'asc', limit: 1_000_000 })
    const ids = [...page.rows.tradeId]
    count += ids.length
    const unique = new Set(ids)
    if (unique.size !== ids.length) complain(`${name}: trades stored twice`)
    const instrument = await store.instrument({ venue, key })
    const gaps = await store.gaps({ venue, key })
    const silent = gaps.map((gap) => toUnheard(gap, books.get(name)))
    for (const { id, at, delivered } of trades) {
      if (!delivered || at > until || at < (instrument?.firstReceived ?? Infinity)) continue
      const isIn = silent.some(
        ({ start, end }) => start - 300_000 <= at && at <= (end ?? Infinity) + 300_000,
      )
      const isKept = ids.some((stored) => stored === id || stored.includes(id))
      if (!isKept && !isIn) complain(`${name}: trade ${id} at ${at} is not stored`)
    }
    // A spoiled frame may still be a message: then it tells what is left of it.
    const told = new Set(trades.filter((one) => one.delivered || one.isSpoiled).map(({ id }) => id))
    for (const id of unique) {
      if (![...told].some((one) => id === one || id.includes(one)))
        complain(`${name}: trade ${id} was never told`)
    }
  }
  return count
}

// A gap begins with the last book that was received. What was sent after that book is in the gap, also where the recorder
// was seconds behind. An answer may have told the last good book of venue C while the socket was silent. Trades come
// by socket alone: of them nothing is known since the last message that it brought.
function toUnheard(
  { venue, reason, start, end, afterSequence }: Gap,
  { rows, expected }: Pick<Matched, 'rows' | 'expected'> = { rows: [], expected: [] },
) {
  const known = rows.findLast(({ sequence }) => sequence <= afterSequence)
  if (known === undefined) return { start, end }
  if (!known.isAnswer) {
    const sent = expected.find(({ matched }) => matched === known)?.at
    return { start: Math.min(start, sent ?? start), end }
  }
  const isEnded = reason === 'venue_silent' || reason === 'disconnected'
  if (venue !== 'venuec' || !isEnded) return { start, end }
  const heard = rows.findLast(({ sequence, isAnswer }) => sequence <= afterSequence && !isAnswer)
  return { start: heard?.received ?? 0, end }
}

async function judgeSamples(
  truth: Truth,
  store: Store,
  isKept: (at: number) => boolean,
  complain: (text: string) => void,
): Promise<number> {
  let count = 0
  for (const [name, samples] of truth.samples) {
    if (isReferenceName(name)) continue
    const [rest, metric] = name.split(' ') as [string, string]
    const [venue, key] = split(rest)
    const page = await store.samples({ venue, key, metric, order: 'asc', limit: 1_000_000 })
    const stored = Array.from({ length: page.rows.count }, (_, at) =>
      printScaled(page.rows.value[at]!, 8),
    )
    count += stored.length
    const told = samples.map(({ value }) => canonical(value))
    const kept = samples.filter(({ at }) => isKept(at)).map(({ value }) => canonical(value))
    if (!isInOrder(kept, stored) || !isInOrder(stored, told)) {
      complain(`${name}: ${stored.length} samples stored, ${kept.length} told`)
    }
  }
  return count
}

/** True when all values of a list are in another one, in the same order. */
function isInOrder(few: readonly string[], many: readonly string[]): boolean {
  let at = 0
  for (const value of many) if (value === few[at]) at++
  return at === few.length
}

function canonical(value: string): string {
  return value.includes('.') ? value.replace(/\.?0+$/, '') : value
}

function split(name: string): [VenueId, string] {
  const at = name.indexOf(':')
  return [name.slice(0, at) as VenueId, name.slice(at + 1)]
}
