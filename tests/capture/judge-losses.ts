import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { Book } from '../../packages/emulator/src/core/upstream.ts'
import type { Row } from './stored-rows.ts'
import { followLoss, type Heard, type Stored } from './unseen-loss.ts'
import { parseBook, printBook, type Expected } from './wire-log.ts'

// The clock of the venues may be ahead of that of the recorder.
const CLOCKS_MICROS = 2000

/** Judges that everything without a row lies in a gap, or could be seen by nobody. */
export function judgeLosses(
  name: string,
  venue: VenueId,
  expected: readonly Expected[],
  rows: readonly Row[],
  gaps: readonly Gap[],
  complain: (text: string) => void,
): { lost: number; unseen: number; believed: ReadonlySet<Row> } {
  let lost = 0
  let unseen = 0
  // Rows of a book that was wrong while nothing showed it.
  const believed = new Set<Row>()
  let before: Row | undefined
  // Messages before this one belong to a loss that was judged.
  let judged = 0
  const nextRow = nextMatched(expected)
  const told = new Set(expected.map(({ matched }) => matched))
  const missing = joined(gaps)
  for (const [index, one] of expected.entries()) {
    if (one.matched !== undefined) {
      if (before === undefined || one.matched.sequence > before.sequence) before = one.matched
      continue
    }
    // What a spoiled message of C was taken for: the next row, of the same time, and of no other message.
    const place = (before?.sequence ?? 0) + 1
    const taken = one.isSpoiled ? rows.find(({ sequence }) => sequence === place) : undefined
    const isLie = taken?.source === (one.payload.time ?? NaN) * 1000
    if (taken !== undefined && isLie && !told.has(taken)) believed.add(taken)
    // Full books of A may be passed over when a newer one is known, and no loss of one can be seen;
    // answers of C and B are comparisons beside the socket.
    if (one.isAnswer || one.isCopy || venue === 'venuea') continue
    // What an answer of C held before the socket brought it is not missing, whether it came or not.
    const isHeld =
      before?.isAnswer === true && (one.payload.time ?? Infinity) * 1000 <= before.source
    if (venue === 'venuec' && isHeld) continue
    // A full book that says what is known is no news, of whoever loses it.
    const isNews = one.payload.kind === 'change' || one.book !== before?.book
    if (venue === 'venuec' && !one.delivered && !isNews) continue
    lost++
    const last = before?.received ?? rows[0]!.received
    const next = nextRow[index]
    const covering = missing.find(
      ({ start, end }) =>
        (start <= last && (end === undefined || end >= (next?.received ?? one.at))) ||
        // It came after an answer that ended the gap and held it already.
        (start <= one.at && one.at <= (end ?? Infinity) + CLOCKS_MICROS),
    )
    if (covering !== undefined || index < judged) continue
    if (one.delivered && isBehind(one, before, rows, gaps)) continue
    // The first book of a market that was polled until then: the next one says the same.
    const isFirst = before?.isAnswer === true && one.payload.kind === 'full'
    if (venue === 'venueb' && isFirst && next?.book === one.book) continue
    const followed = venue === 'venuec' ? followUnseen(expected, index, rows, gaps) : undefined
    if (followed !== undefined && followed.shown === undefined) {
      judged = followed.next
      for (const row of followed.believed) believed.add(row)
      unseen++
      continue
    }
    complain(
      `${name}: a book at ${one.at} (${one.delivered ? 'on the wire' : one.isSpoiled ? 'spoiled' : 'lost'}) is in no gap; rows ${before?.sequence}@${last} … ${next?.sequence}@${next?.received}; ${followed?.shown ?? ''}`,
    )
  }
  return { lost, unseen, believed }
}

// A gap that ends where another one begins, as that of a market that was seen closed, goes on in it.
function joined(gaps: readonly Gap[]): { start: number; end: number | undefined }[] {
  const spans: { start: number; end: number | undefined }[] = []
  for (const { start, end } of gaps.toSorted((a, b) => a.start - b.start)) {
    const last = spans.at(-1)
    if (last?.end !== undefined && last.end === start) last.end = end
    else spans.push({ start, end })
  }
  return spans
}

// A numbered message that came so late that its gap is over: its number lies within it.
function isBehind(
  { seq }: Expected,
  before: Row | undefined,
  rows: readonly Row[],
  gaps: readonly Gap[],
): boolean {
  if (seq === undefined || before === undefined || before.seq < seq) return false
  return gaps.some(({ afterSequence, end }) => {
    const last = rows.find(({ sequence }) => sequence === afterSequence)
    const first = rows.find(({ sequence }) => sequence === afterSequence + 1)
    return first?.received === end && last !== undefined && last.seq < seq && seq < first!.seq
  })
}

// Whether anything on the wire showed a loss of venue C. Where nothing did, whatever was heard since
// must be stored, row by row, as it looked to one who knew nothing of the loss.
function followUnseen(
  expected: readonly Expected[],
  index: number,
  rows: readonly Row[],
  gaps: readonly Gap[],
): { shown: string | undefined; next: number; believed: readonly Row[] } | undefined {
  let from = expected.findLastIndex(({ matched }, at) => at < index && matched !== undefined)
  if (from < 0) return undefined
  // Messages that swapped places within one millisecond concern those before the loss, too.
  for (let lead = 0; lead < LEAD && expected[from]!.payload.kind === 'change'; lead++) {
    if (expected[from - 1]?.matched === undefined) break
    from--
  }
  const believed: Row[] = []
  let at = rows.indexOf(expected[from]!.matched!)
  const take = (book: Book | undefined): Stored => {
    const text = book === undefined ? undefined : printBook(book)
    const before = at
    // An answer that is equal, or a message that came twice, is a row too.
    while (rows[at + 1]?.book === text) believed.push(rows[++at]!)
    if (at > before || rows[at]!.book === text) return 'stored'
    return hasGap() ? 'ended' : 'missing'
  }
  const hasGap = (): boolean =>
    gaps.some(({ afterSequence }) => afterSequence === rows[at]!.sequence)
  const believe = (): Book | 'ended' | undefined => {
    if (hasGap()) return 'ended'
    const next = rows[at + 1]
    // A row that is of no message of the venue is what the spoiled one was read as.
    if (next === undefined || expected.some(({ matched }) => matched === next)) return undefined
    believed.push(rows[++at]!)
    return parseBook(next.book)
  }
  const messages = expected.slice(from + 1)
  const toHeard = (one: Expected): Heard => {
    const isHeard = !one.isAnswer && !one.isCopy && (one.delivered || one.matched !== undefined)
    const { at: sent, payload, connection, isSpoiled } = one
    const isAnswer = one.isAnswer && one.matched !== undefined
    return { at: sent, payload, connection, isSpoiled, isHeard, isAnswer }
  }
  const lastFull = expected.findLast(
    ({ matched, payload }, place) =>
      place <= from && matched !== undefined && payload.kind === 'full',
  )?.payload.time
  const lead = index - from - 1
  const insight = followLoss(
    toHeard(expected[from]!),
    messages.map(toHeard),
    lead,
    take,
    believe,
    lastFull,
  )
  const next = from + 1 + insight.heard
  let { shown } = insight
  // While it talks, a token is compared with REST; what ended before is compared no more.
  const isOpen = next === expected.length
  const spoken = expected.at(-1)!.at - expected[index]!.at
  if (isOpen && spoken > COMPARED_MICROS) shown ??= 'no comparison with REST'
  return { shown, next, believed }
}

const LEAD = 3
/** Books are compared with REST every second at this speed, and an answer counts after two. */
const COMPARED_MICROS = 6_000_000

function nextMatched(expected: readonly Expected[]): (Row | undefined)[] {
  const next: (Row | undefined)[] = []
  let row: Row | undefined
  for (let index = expected.length - 1; index >= 0; index--) {
    next[index] = row
    row = expected[index]!.matched ?? row
  }
  return next
}
