import type { Gap, GapReason } from '@priorbook/sdk/domain'
import { isTroubled, judgeReason, type Incidents } from './gap-reasons.ts'
import type { Reading } from './reading.ts'
import type { Row } from './stored-rows.ts'
import type { Expected } from './wire-log.ts'

const POLL_OUTAGE_MICROS = 3_000_000
// Gaps that tell of no loss of what was subscribed.
const QUIET: ReadonlySet<GapReason> = new Set([
  'before_capture',
  'late_discovery',
  'market_closed',
  'market_not_open',
  'recorder_down',
  'disk_full',
  // A new tick size; the frame that says so carries no book.
  'book_reset',
])

/** What is known of a venue's wire beside the messages of one instrument. */
export type Wire = {
  readonly incidents: Incidents | undefined
  readonly reading: Reading
  /** What clocks and sockets may differ by, in µs. */
  readonly tolerance: number
}

/** Judges that gaps begin and end with rows, hold none, and have a cause that fits their reason. */
export function judgeGaps(
  name: string,
  expected: readonly Expected[],
  rows: readonly Row[],
  gaps: readonly Gap[],
  { incidents, reading, tolerance }: Wire,
  complain: (text: string) => void,
): void {
  const bySequence = new Map(rows.map((row) => [row.sequence, row]))
  const times = new Set(rows.map(({ received }) => received))
  // When the message of a row was on the wire: a recorder that is late sees a cause later than it was.
  const sent = new Map(
    expected.flatMap(({ matched, at }) => (matched === undefined ? [] : [[matched, at] as const])),
  )
  for (const { reason, start, end, afterSequence } of gaps) {
    const where = `${name}: gap ${reason} [${start}, ${end})`
    if (afterSequence > 0) {
      if (bySequence.get(afterSequence)?.received !== start) {
        if (reason !== 'market_closed') complain(`${where} does not start at its last good row`)
      }
      const next = bySequence.get(afterSequence + 1)
      const isSinceFull = reason === 'sequence_break' && name.startsWith('venuec')
      if (end !== undefined && reason !== 'market_closed' && !isSinceFull) {
        if (next !== undefined && next.received !== end && next.received < end) {
          complain(`${where} holds row ${next.sequence} at ${next.received}`)
        }
      }
    }
    if (end !== undefined && !times.has(end) && reason !== 'market_closed') {
      const isClosing = gaps.some(
        (other) => other.reason === 'market_closed' && other.start === end,
      )
      if (!isClosing) complain(`${where} does not end at a row`)
    }
    if (QUIET.has(reason)) continue
    const [last, first] = [bySequence.get(afterSequence), rows.find((row) => row.received === end)]
    // Of a market that is polled a gap says that no answer came for three intervals of a second or more.
    const isPolled = last?.isAnswer === true && first?.isAnswer === true
    if (name.startsWith('venueb') && isPolled && end! - start >= POLL_OUTAGE_MICROS) continue
    // What came by socket before the gap; an answer can be seconds ahead of it, and tells of when it was
    // made, however late it was taken.
    const frame = rows.findLast(
      (row) => row.sequence <= afterSequence && !row.isAnswer && sent.has(row),
    )
    const known = [last, frame].flatMap((row) => (row && sent.get(row)) ?? [])
    const since = Math.min(start, reading.reached(start), ...known) - tolerance
    const till = (end ?? Infinity) + tolerance
    const hasLoss = expected.some(
      (one) =>
        one.matched === undefined &&
        !one.isAnswer &&
        !one.isCopy &&
        one.at >= since &&
        one.at <= till,
    )
    // An answer of the time of the last row that says something else: nobody can know which came first.
    const isTie = reason === 'sequence_break' && isAmbiguous(expected, last, first)
    if (isTie) continue
    const hasTrouble = isTroubled(incidents, since, till)
    if (!hasLoss && !hasTrouble) complain(`${where} has no cause`)
    const wrong = judgeReason(reason, since, till, incidents)
    if (wrong !== undefined) complain(`${where}: ${wrong}`)
  }
}

// Whether the venue had two books at the time of two rows around a gap, the later of which is an answer.
function isAmbiguous(
  expected: readonly Expected[],
  last: Row | undefined,
  first: Row | undefined,
): boolean {
  if (last === undefined || first?.isAnswer !== true || last.source !== first.source) return false
  const books = expected.flatMap(({ payload, book }) =>
    (payload.time ?? NaN) * 1000 === last.source ? [book] : [],
  )
  return new Set(books).size > 1
}
