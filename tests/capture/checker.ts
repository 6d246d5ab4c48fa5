import { printScaled, VENUES, type Gap, type GapReason, type VenueId } from '@priorbook/sdk/domain'
import { ABSENT, applyRow, Ladder, loadBase } from '@priorbook/sdk/tape'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import type { Book, Payload } from '../../packages/emulator/src/core/upstream.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { gatherIncidents, isTroubled, judgeReason, type Incidents } from './gap-reasons.ts'
import { followLoss, type Heard, type Stored } from './unseen-loss.ts'

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
  /** Losses of venue C that nothing on the wire showed: nobody could see them. */
  readonly unseen: number
  readonly gaps: Readonly<Partial<Record<GapReason, number>>>
  readonly trades: number
  readonly samples: number
  readonly complaints: readonly string[]
}

/** Options of a comparison. */
export type CheckOptions = {
  /** Payloads after this wall time (µs) are not expected to be stored: the recorder was stopping. */
  readonly until: number
  /** What clocks and sockets may differ by, in µs. */
  readonly tolerance?: number
}

type Expected = {
  readonly at: number
  readonly payload: Payload & { readonly kind: 'full' | 'change' }
  readonly book: string
  readonly isAnswer: boolean
  /** A frame that was sent once more; a recorder may pass it over. */
  readonly isCopy: boolean
  readonly delivered: boolean
  /** Spoiled on the way: what is left of it may or may not be a message. */
  readonly isSpoiled: boolean
  readonly seq: number | undefined
  readonly connection: string
  matched: Row | undefined
}

type Row = {
  readonly received: number
  readonly sequence: number
  readonly book: string
  readonly seq: number
  /** The venue's time, in µs. */
  readonly source: number
  readonly isAnswer: boolean
}

const ANSWER_MICROS = 1_500_000
const POLL_OUTAGE_MICROS = 3_000_000

const ON_WIRE: ReadonlySet<string> = new Set(['sent', 'duplicated', 'reordered', 'delayed'])
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
  let unseenCount = 0
  const known = new Set<string>()
  for (const { instrument } of await store.instruments()) {
    const { venue, key } = instrument
    const name = `${venue}:${key}`
    known.add(name)
    const expected = withoutAbandoned(truth.books.get(name) ?? [])
    const rows = await readRows(store, venue, key)
    const gaps = await store.gaps({ venue, key })
    for (const { reason } of gaps) counts[reason] = (counts[reason] ?? 0) + 1
    const strangers = match(venue, expected, rows)
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
    unseenCount += judged.unseen
    const isWrong = (row: Row): boolean => !judged.believed.has(row)
    judgeStrangers(name, strangers.filter(isWrong), gaps, complain)
    judgeGaps(name, expected, rows, gaps, incidents.get(venue), tolerance, complain)
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
  const trades = await judgeTrades(truth, store, options.until - tolerance, complain)
  // An answer that is under way when the recorder stops is let go of.
  const samples = await judgeSamples(truth, store, options.until - ANSWER_MICROS, complain)
  const report = await store.verify()
  for (const { code, where, detail } of report.problems) complain(`${where}: ${code} ${detail}`)
  return {
    instruments: known.size,
    rows: rowCount,
    payloads: payloadCount,
    lost: lostCount,
    unseen: unseenCount,
    gaps: counts,
    trades,
    samples,
    complaints,
  }
}

type Truth = {
  readonly books: Map<string, Expected[]>
  readonly trades: Map<string, { id: string; at: number; delivered: boolean; isSpoiled: boolean }[]>
  readonly samples: Map<string, { value: string; at: number }[]>
}

function gather(entries: readonly TruthEntry[]): Truth {
  const truth: Truth = {
    books: new Map(),
    trades: new Map(),
    samples: new Map(),
  }
  // A client that was kept from reading for longer than it waits breaks off; what came meanwhile
  // lies unread in its socket. It asked in vain and says so, as with an answer that never came.
  const untaken = new Set(
    entries.flatMap((entry) => (entry.type === 'untaken' ? [entry.request] : [])),
  )
  const push = <T>(map: Map<string, T[]>, name: string, value: T): void => {
    const list = map.get(name)
    if (list === undefined) map.set(name, [value])
    else list.push(value)
  }
  for (const entry of entries) {
    const { venue, at } = entry
    if (entry.type !== 'frame' && entry.type !== 'answer') continue
    const isAnswer = entry.type === 'answer'
    const delivered = isAnswer
      ? entry.status === 200 && !untaken.has(entry.request)
      : ON_WIRE.has(entry.delivered)
    const isSpoiled = !isAnswer && entry.delivered === 'malformed'
    const isCopy = !isAnswer && entry.delivered === 'duplicated'
    const connection = isAnswer ? '' : entry.connection
    for (const payload of entry.payloads) {
      const name = `${venue}:${payload.key}`
      if (payload.kind === 'full' || payload.kind === 'change') {
        push(truth.books, name, {
          at: isAnswer ? entry.made : at,
          payload,
          book: printBook(payload.book),
          isAnswer,
          isCopy,
          delivered,
          isSpoiled,
          seq: payload.seq,
          connection,
          matched: undefined,
        })
      } else if (payload.kind === 'trade') {
        push(truth.trades, name, { id: payload.id, at, delivered, isSpoiled })
      } else if (payload.kind === 'sample' && delivered) {
        push(truth.samples, `${name} ${payload.metric}`, { value: payload.value, at })
      }
    }
  }
  return truth
}

// Frames on a connection that the client has left for a newer one concern nobody. An answer stands
// where it was made.
function withoutAbandoned(expected: readonly Expected[]): Expected[] {
  const order: string[] = []
  return expected
    .toSorted((a, b) => a.at - b.at)
    .filter(({ isAnswer, delivered, connection }) => {
      if (isAnswer) return true
      const known = order.indexOf(connection)
      if (known >= 0) return known === order.length - 1
      if (delivered) order.push(connection)
      const newest = order.at(-1)
      return delivered || newest === undefined || openedAs(connection) > openedAs(newest)
    })
}

// Connections are numbered as they open.
function openedAs(connection: string): number {
  return Number(connection.slice(connection.lastIndexOf('c') + 1))
}

// Prices in ten-thousandths and sizes in millionths, as decimals, best first.
function printBook(book: Book): string {
  const side = (levels: Book['bids']): string =>
    levels.map(({ price, size }) => `${printScaled(price, 4)}×${printScaled(size, 6)}`).join(' ')
  return `${side(book.bids)} | ${side(book.asks)}`
}

// What `printBook` printed, or a row in the same form.
function parseBook(text: string): Book {
  const side = (part: string): Book['bids'] =>
    part.split(' ').flatMap((level) => {
      const [price, size] = level.split('×')
      if (price === undefined || size === undefined) return []
      return [{ price: Math.round(Number(price) * 1e4), size: Math.round(Number(size) * 1e6) }]
    })
  const [bids = '', asks = ''] = text.split('|')
  return { bids: side(bids), asks: side(asks) }
}

async function readRows(store: Store, venue: VenueId, key: string): Promise<Row[]> {
  const { sizeDecimals } = VENUES[venue]
  const rows: Row[] = []
  let after: number | undefined
  for (;;) {
    const page = await store.books({
      venue,
      key,
      order: 'asc',
      limit: 5000,
      numbers: true,
      ...(after === undefined ? {} : { after }),
    })
    for (const { columns, firstSequence, from, to } of page.runs) {
      const ladder = new Ladder()
      loadBase(ladder, columns)
      for (let row = 0; row < to; row++) {
        applyRow(ladder, columns, row)
        if (row < from) continue
        const side = ({ price, size }: { price: number[]; size: number[] }): string =>
          price
            .map(
              (p, at) =>
                `${printScaled(p, ladder.decimals)}×${printScaled(size[at]!, sizeDecimals)}`,
            )
            .join(' ')
        rows.push({
          received: columns.received[row]!,
          sequence: firstSequence + row,
          book: `${side(ladder.bids())} | ${side(ladder.asks())}`,
          seq: columns.venueSeq[row]!,
          source: columns.source[row]!,
          isAnswer: columns.channel[row] === ABSENT,
        })
      }
    }
    if (!page.hasMore) return rows
    after = rows.at(-1)!.sequence
  }
}

// Gives every row the payload it came from: the next one in the order of the wire with the same book
// and, where the venue names them, number or time. A row without one was invented.
function match(venue: VenueId, expected: readonly Expected[], rows: readonly Row[]): Row[] {
  const strangers: Row[] = []
  // Frames and answers come on wires of their own: a recorder that is late with one is not with the other.
  const reached = { frame: 0, answer: 0 }
  for (const row of rows) {
    const wire = row.isAnswer ? 'answer' : 'frame'
    let found: number | undefined
    // Some may overtake others by a little, so a payload is looked for around.
    for (let next = Math.max(0, reached[wire] - 64); next < expected.length; next++) {
      const one = expected[next]!
      if (one.at > row.received + 50_000) break
      if (one.matched !== undefined || one.book !== row.book) continue
      if (one.isAnswer !== row.isAnswer) continue
      if (!one.delivered && !one.isSpoiled) continue
      if (venue === 'venueb' && (one.seq ?? -1) !== row.seq) continue
      const { time } = one.payload
      if (time !== undefined && !one.isSpoiled && time * 1000 !== row.source) continue
      found = next
      break
    }
    if (found === undefined) {
      strangers.push(row)
      continue
    }
    expected[found]!.matched = row
    reached[wire] = Math.max(reached[wire], found + 1)
  }
  return strangers
}

function judgeLosses(
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
  const missing = joined(gaps)
  for (const [index, one] of expected.entries()) {
    if (one.matched !== undefined) {
      if (before === undefined || one.matched.sequence > before.sequence) before = one.matched
      continue
    }
    // Full books of A may be passed over when a newer one is known, and no loss of one can be seen;
    // answers of C and B are comparisons beside the socket.
    if (one.isAnswer || one.isCopy || venue === 'venuea') continue
    // A frame of C that was slower than an answer which held it already is passed over.
    const isHeld = before?.isAnswer === true && one.at - before.received < ANSWER_MICROS
    if (venue === 'venuec' && one.delivered && isHeld) continue
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
        (start <= one.at && one.at <= (end ?? Infinity)),
    )
    if (covering !== undefined || index < judged) continue
    if (one.delivered && isBehind(one, before, rows, gaps)) continue
    const followed = venue === 'venuec' ? followUnseen(expected, index, rows, gaps) : undefined
    if (followed !== undefined && followed.shown === undefined) {
      judged = followed.next
      for (const row of followed.believed) believed.add(row)
      unseen++
      continue
    }
    complain(
      `${name}: a book at ${one.at} (${one.delivered ? 'on the wire' : 'lost'}) is in no gap; rows ${before?.sequence}@${last} … ${next?.sequence}@${next?.received}; ${followed?.shown ?? ''}`,
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
    return { at: sent, payload, connection, isSpoiled, isHeard }
  }
  const lead = index - from - 1
  const insight = followLoss(toHeard(expected[from]!), messages.map(toHeard), lead, take, believe)
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

function nextMatched(expected: readonly Expected[]): (Row | undefined)[] {
  const next: (Row | undefined)[] = []
  let row: Row | undefined
  for (let index = expected.length - 1; index >= 0; index--) {
    next[index] = row
    row = expected[index]!.matched ?? row
  }
  return next
}

function judgeGaps(
  name: string,
  expected: readonly Expected[],
  rows: readonly Row[],
  gaps: readonly Gap[],
  incidents: Incidents | undefined,
  tolerance: number,
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
    // What came by socket before the gap; an answer can be seconds ahead of it.
    const frame = rows.findLast(
      (row) => row.sequence <= afterSequence && !row.isAnswer && sent.has(row),
    )
    const since = Math.min(start, (frame && sent.get(frame)) ?? start) - tolerance
    const till = (end ?? Infinity) + tolerance
    const hasLoss = expected.some(
      (one) =>
        one.matched === undefined &&
        !one.isAnswer &&
        !one.isCopy &&
        one.at >= since &&
        one.at <= till,
    )
    const hasTrouble = isTroubled(incidents, since, till)
    if (!hasLoss && !hasTrouble) complain(`${where} has no cause`)
    const wrong = judgeReason(reason, since, till, incidents)
    if (wrong !== undefined) complain(`${where}: ${wrong}`)
  }
}

async function judgeTrades(
  truth: Truth,
  store: Store,
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
    for (const { id, at, delivered } of trades) {
      if (!delivered || at > until || at < (instrument?.firstReceived ?? Infinity)) continue
      const isIn = gaps.some(
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

async function judgeSamples(
  truth: Truth,
  store: Store,
  until: number,
  complain: (text: string) => void,
): Promise<number> {
  let count = 0
  for (const [name, samples] of truth.samples) {
    const [rest, metric] = name.split(' ') as [string, string]
    const [venue, key] = split(rest)
    const page = await store.samples({ venue, key, metric, order: 'asc', limit: 1_000_000 })
    const stored = Array.from({ length: page.rows.count }, (_, at) =>
      printScaled(page.rows.value[at]!, 8),
    )
    const told = samples.filter(({ at }) => at <= until).map(({ value }) => canonical(value))
    count += stored.length
    const head = stored.slice(0, told.length)
    if (stored.length < told.length || head.some((value, at) => value !== told[at])) {
      complain(`${name}: ${stored.length} samples stored, ${told.length} told`)
    }
  }
  return count
}

function canonical(value: string): string {
  return value.includes('.') ? value.replace(/\.?0+$/, '') : value
}

function split(name: string): [VenueId, string] {
  const at = name.indexOf(':')
  return [name.slice(0, at) as VenueId, name.slice(at + 1)]
}
