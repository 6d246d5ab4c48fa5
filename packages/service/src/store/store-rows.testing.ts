import { FLAGS, POW10 } from '@priorbook/sdk/domain'
import {
  applyRow,
  applyRows,
  BookColumns,
  BookDecoder,
  decodeSamples,
  decodeTrades,
  Ladder,
  loadBase,
  openChunk,
  printSampleValue,
  SampleColumns,
  TAKERS,
  TradeColumns,
  type BookPick,
  type BookRun,
  type HeadColumns,
} from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import {
  bookText,
  changesText,
  headText,
  lineOf,
  numbersText,
  scaleKey,
  toEntry,
  type PlainBucket,
  type PlainEntry,
  type PlainRow,
} from './store-model.testing.ts'
import type { InstrumentRef, RowPage, StoredChunk } from './store.ts'

const platform = createNodePlatform()
// A ladder of fine ticks is 163 KB, so one is shared; loading a base resets it.
const ladder = new Ladder()

// The scripts draw prices of up to four decimals.
const PRICE_DECIMALS = 4

/** The observations of runs, each with its whole book. */
export function rowsOf(runs: readonly BookRun[]): PlainRow[] {
  const rows: PlainRow[] = []
  for (const { columns, firstSequence, from, to } of runs) {
    loadBase(ladder, columns)
    applyRows(ladder, columns, 0, from)
    for (let row = from; row < to; row++) {
      applyRow(ladder, columns, row)
      rows.push(toRow(columns, row, firstSequence + row))
    }
  }
  return rows
}

/** The buckets of a page of samples, each with its whole book. */
export function bucketsOf(picks: readonly BookPick[]): PlainBucket[] {
  return picks.map(({ columns, row, sequence, bucket }) => {
    loadBase(ladder, columns)
    applyRows(ladder, columns, 0, row + 1)
    return { ...bucket!, sequence, book: ladderText() }
  })
}

/** The trades of a page. */
export function tradesOf(page: RowPage<TradeColumns>): PlainEntry[] {
  const { tradeId, price, size, taker, native } = page.rows
  return entriesOf(page, (row) =>
    [tradeId[row], price[row], size[row], TAKERS[taker[row]!], native[row]].join(' '),
  )
}

/** The samples of a page. */
export function samplesOf(page: RowPage<SampleColumns>): PlainEntry[] {
  return entriesOf(page, (row) => printSampleValue(page.rows, row))
}

/** Everything that a stored chunk holds, as lines; throws where it is not what it was found as. */
export function linesOfChunk(stored: StoredChunk, ref: InstrumentRef): string[] {
  const { kind, metric, first, count, bytes } = stored
  const chunk = openChunk(bytes, platform)
  const { header } = chunk
  const name = (place: object): string => JSON.stringify(place)
  const said = {
    venue: header.venue,
    key: header.key,
    kind: header.kind,
    metric: header.metric,
    first: header.first,
    count: header.count,
  }
  const found = { venue: ref.venue, key: ref.key, kind, metric, first, count }
  if (name(said) !== name(found)) throw new Error(`${name(found)} holds ${name(said)}`)
  const ordinals = Array.from({ length: count }, (_, index) => first + index)
  const page = { ordinals, hasMore: false, corrupt: [] }
  switch (kind) {
    case 'book': {
      const columns = new BookColumns()
      new BookDecoder().decode(chunk, platform, columns, { numbers: true })
      checkBounds(columns)
      return rowsOf([{ columns, firstSequence: first, from: 0, to: columns.count }]).map(lineOf)
    }
    case 'trade': {
      const rows = new TradeColumns()
      decodeTrades(chunk, platform, rows)
      return tradesOf({ ...page, rows }).map(({ text }) => text)
    }
    case 'sample': {
      const rows = new SampleColumns()
      decodeSamples(chunk, platform, rows)
      return samplesOf({ ...page, rows }).map(({ text }) => text)
    }
  }
}

// A chunk never spans a gap or a reset, and one that restarts has an empty keyframe.
function checkBounds({ count, flags, baseKey }: BookColumns): void {
  if ((flags[0]! & FLAGS.restart) !== 0 && baseKey.length > 0) throw new Error('a stale keyframe')
  for (let row = 1; row < count; row++) {
    if ((flags[row]! & (FLAGS.restart | FLAGS.after_gap)) !== 0) throw new Error(`spans row ${row}`)
  }
}

/**
 * Builds every book from the changed levels alone, starting from nothing, and returns the books: what
 * a client of tick-level data does.
 */
export function replayTicks(runs: readonly BookRun[]): string[] {
  const book = new Map<number, number>()
  const books: string[] = []
  for (const { columns, from, to } of runs) {
    const factor = factorOf(columns.priceDecimals)
    for (let row = from; row < to; row++) {
      if ((columns.flags[row]! & FLAGS.restart) !== 0) book.clear()
      for (let at = columns.changeStart(row); at < columns.changeEnd[row]!; at++) {
        const key = scaleKey(columns.key[at]!, factor)
        if (columns.size[at] === 0) book.delete(key)
        else book.set(key, columns.size[at]!)
      }
      books.push(bookText(book))
    }
  }
  return books
}

function toRow(columns: BookColumns, row: number, sequence: number): PlainRow {
  const factor = factorOf(columns.priceDecimals)
  const changes: [number, number][] = []
  for (let at = columns.changeStart(row); at < columns.changeEnd[row]!; at++) {
    changes.push([scaleKey(columns.key[at]!, factor), columns.size[at]!])
  }
  return {
    sequence,
    received: columns.received[row]!,
    head: headText(columns.source[row]!, columns.flags[row]!),
    numbers: numbersText(columns.venueSeq[row]!, columns.channel[row]!, columns.journal[row]!),
    changes: changesText(changes),
    changeCount: changes.length,
    book: ladderText(),
  }
}

function ladderText(): string {
  const factor = factorOf(ladder.decimals)
  const side = ({ price, size }: { price: number[]; size: number[] }): string =>
    price.map((ticks, index) => `${ticks * factor}:${size[index]}`).join(' ')
  return `${side(ladder.bids())} | ${side(ladder.asks())}`
}

function entriesOf<Columns extends HeadColumns>(
  page: RowPage<Columns>,
  valueOf: (row: number) => string,
): PlainEntry[] {
  const { rows } = page
  return page.ordinals.map((ordinal, row) =>
    toEntry(
      ordinal,
      {
        received: rows.received[row]!,
        source: rows.source[row]!,
        venueSeq: rows.venueSeq[row]!,
        channel: rows.channel[row]!,
        journal: rows.journal[row]!,
        flags: rows.flags[row]!,
      },
      valueOf(row),
    ),
  )
}

function factorOf(decimals: number): number {
  return POW10[PRICE_DECIMALS - decimals]!
}
