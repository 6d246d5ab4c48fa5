/**
 * How long a page takes, next to objects + JSON.stringify in the same run:
 * `PRIORBOOK_RECORDINGS=… npx node packages/sdk/src/wire/render.bench.ts`; without recordings a book
 * of 46 levels is invented. Pages start at random rows, the columns being decoded already, and every
 * page folds its chunk of 1,024 observations up to its start, as a read at a random place does. The
 * plain side writes JSON numbers in ascending order whatever the line says: it is the yardstick.
 */
import { findRecordings, readObservations } from '../../../../bench/lib/recordings.ts'
import { createRandom } from '../../../../bench/lib/random.ts'
import { VENUES } from '../domain/index.ts'
import {
  ABSENT,
  applyRow,
  applyRows,
  BookColumns,
  Ladder,
  levelKey,
  loadBase,
} from '../tape/index.ts'
import type { BookRun, LadderSide } from '../tape/index.ts'
import type { BookContext, BookPageOptions } from './page.ts'
import { createBookRenderer } from './render.ts'

const CHUNK = 1024
const TICKER = 'KXGOLD15M-26AUG102130-30'
const context: BookContext = { venue: 'venueb', key: TICKER, marketId: TICKER }
const random = createRandom(7)
const chunks = toChunks()
const renderer = createBookRenderer()

let levels = 0
const ladder = new Ladder()
for (const columns of chunks) {
  loadBase(ladder, columns)
  levels += (ladder.bidLevels + ladder.askLevels) / chunks.length
}
console.log(`${chunks.length} chunks of ${CHUNK}, mean ${levels.toFixed(1)} levels`)
console.log('page                              objects+stringify     renderer   ratio  bytes/row')
for (const rows of [100, 1000]) {
  measure(rows, 'yes/no ladders', { ladders: true })
  measure(rows, 'ladders, depth 10', { ladders: true, depth: 10 })
  measure(rows, 'strings, desc', { ladders: true, numberFormat: 'string', order: 'desc' })
  measure(rows, 'no ladders', { ladders: false })
}
for (const rows of [100, 1000]) measure(rows, 'CSV ladders', { ladders: true }, 'renderCsv')

function measure(
  rows: number,
  name: string,
  options: BookPageOptions,
  format: 'renderJsonRows' | 'renderCsv' = 'renderJsonRows',
): void {
  const pages = Array.from({ length: Math.max(20, 20_000 / rows) }, () => drawPage(rows))
  let bytes = 0
  const plain = (): void => {
    for (const page of pages.slice(0, pages.length / 5)) bytes += plainPage(page, options).length
  }
  const fast = (): void => {
    bytes = 0
    for (const page of pages) bytes += renderer[format](page, context, options).length
  }
  // Best of turns that alternate: a neighbour on the same core then hurts both.
  let plainMs = Infinity
  let fastMs = Infinity
  for (let turn = 0; turn < 12; turn++) {
    plainMs = Math.min(plainMs, time(plain) / Math.floor(pages.length / 5))
    fastMs = Math.min(fastMs, time(fast) / pages.length)
  }
  const cells = [
    `${String(rows).padStart(5)} ${name}`.padEnd(34),
    `${plainMs.toFixed(3)} ms`.padStart(17),
    `${fastMs.toFixed(3)} ms`.padStart(13),
    (plainMs / fastMs).toFixed(1).padStart(8),
    String(Math.round(bytes / pages.length / rows)).padStart(11),
  ]
  console.log(cells.join(''))
}

function time(run: () => void): number {
  const start = performance.now()
  run()
  return performance.now() - start
}

/** A page at a random row, over one chunk or two. */
function drawPage(rows: number): BookRun[] {
  const first = random.integer(0, (chunks.length - 1) * CHUNK - rows)
  const runs: BookRun[] = []
  for (let row = first; row < first + rows;) {
    const chunk = Math.floor(row / CHUNK)
    const from = row - chunk * CHUNK
    const to = Math.min(CHUNK, from + first + rows - row)
    runs.push({ columns: chunks[chunk]!, firstSequence: chunk * CHUNK + 1, from, to })
    row += to - from
  }
  return runs
}

function plainPage(runs: readonly BookRun[], options: BookPageOptions): string {
  const rows: unknown[] = []
  for (const { columns, firstSequence, from, to } of runs) {
    loadBase(ladder, columns)
    applyRows(ladder, columns, 0, from)
    const one = ladder.one
    const side = ({ price, size }: LadderSide): unknown => ({
      price: price.map((ticks) => ticks / one),
      size: size.map((units) => units / 100),
    })
    for (let row = from; row < to; row++) {
      applyRow(ladder, columns, row)
      const sequence = firstSequence + row
      const bid = ladder.bestBid / one
      const ask = ladder.bestAsk / one
      const common = {
        id: `venueb:${TICKER}:${sequence}`,
        venue: 'venueb',
        market_id: TICKER,
        condition_id: null,
        event_id: null,
        series_ticker: null,
        outcome: null,
        token_id: null,
        source_time: columns.source[row] === ABSENT ? null : printTime(columns.source[row]!),
        received_time: printTime(columns.received[row]!),
        sequence,
        best_bid: bid,
        best_ask: ask,
        mid: (bid + ask) / 2,
        spread: ask - bid,
        bid_levels: ladder.bidLevels,
        ask_levels: ladder.askLevels,
        flags: [],
        native: { sid: columns.channel[row], seq: columns.venueSeq[row] },
      }
      if (!options.ladders) {
        rows.push(common)
        continue
      }
      const bids = ladder.bids(options.depth)
      const asks = ladder.asks(options.depth)
      const no = { price: asks.price.map((ticks) => one - ticks), size: asks.size }
      const ladders = { bids: side(bids), asks: side(asks), yes: side(bids), no: side(no) }
      rows.push({ ...common, ...ladders })
    }
  }
  return JSON.stringify(rows)
}

function printTime(micros: number): string {
  const millis = Math.floor(micros / 1000)
  const rest = String(micros - millis * 1000).padStart(3, '0')
  return `${new Date(millis).toISOString().slice(0, -1)}${rest}Z`
}

/** Whole chunks of one market, each with the book before it. */
function toChunks(): BookColumns[] {
  const chunks: BookColumns[] = []
  const book = new Map<number, number>()
  let columns = new BookColumns(2)
  for (const { head, changes } of observations()) {
    columns.push(
      head,
      changes.map(([key]) => key),
      changes.map(([, size]) => size),
    )
    for (const [key, size] of changes) {
      if (size === 0) book.delete(key)
      else book.set(key, size)
    }
    if (columns.count < CHUNK) continue
    chunks.push(columns)
    columns = new BookColumns(2)
    columns.baseKey = [...book.keys()]
    columns.baseSize = [...book.values()]
    if (chunks.length === 40) break
  }
  return chunks
}

type Observed = {
  readonly head: Parameters<BookColumns['push']>[0]
  readonly changes: readonly (readonly [key: number, size: number])[]
}

function observations(): Iterable<Observed> {
  const folder = process.env['PRIORBOOK_RECORDINGS'] ?? ''
  return folder === '' ? invented() : recorded(folder)
}

function* recorded(folder: string): Generator<Observed> {
  const ticker = findRecordings(folder).find(({ ticker }) => ticker === TICKER)
  const scale = 10 ** (VENUES.venueb.priceDecimals - 2)
  let before = new Map<number, number>()
  for (const seen of readObservations(ticker ?? findRecordings(folder)[0]!)) {
    const book = new Map<number, number>()
    const put = (side: 'bid' | 'ask', price: readonly number[], size: readonly number[]): void =>
      price.forEach((ticks, at) => book.set(levelKey(side, ticks / scale), size[at]!))
    put('bid', seen.bidPrice, seen.bidSize)
    put('ask', seen.askPrice, seen.askSize)
    const changes = [...new Set([...before.keys(), ...book.keys()])]
      .filter((key) => before.get(key) !== book.get(key))
      .map((key) => [key, book.get(key) ?? 0] as const)
    const head = {
      received: seen.receivedMicros,
      source: seen.sourceMicros ?? ABSENT,
      venueSeq: seen.venueSeq,
      channel: seen.venueSid,
      journal: seen.sequence,
      flags: seen.isSnapshot ? 1 : 0,
    }
    yield { head, changes }
    before = book
  }
}

function* invented(): Generator<Observed> {
  let received = 1_785_931_200_000_000
  for (let row = 0; ; row++) {
    received += random.integer(0, 9) * 1000
    const isBid = random.chance(0.5)
    const place = Math.min(29, 1 + Math.floor(random.exponential(8)))
    const size = random.chance(0.2) ? 0 : random.integer(1, 200) * random.pick([100, 100, 100, 13])
    const key = isBid ? levelKey('bid', 50 - place) : levelKey('ask', 50 + place)
    const source = received - 2000 + random.integer(0, 999)
    const head = { received, source, venueSeq: 13e6 + row, channel: 1, journal: row, flags: 0 }
    yield { head, changes: [[key, size]] }
  }
}
