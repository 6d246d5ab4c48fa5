import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findRecordings, readObservations } from '../../../../bench/lib/recordings.ts'
import { FLAGS, POW10, VENUE_IDS, VENUES, type VenueId } from '../domain/index.ts'
import { ABSENT, BookColumns, levelKey, type BookRun } from '../tape/index.ts'
import { CSV_COLUMNS } from './dialect.ts'
import { interleaveRuns } from './interleave.testing.ts'
import type { BookContext, BookPageOptions, BookPart } from './page.ts'
import { referenceCells, referenceJson, referenceRows } from './render-reference.testing.ts'
import { createBookRenderer } from './render.ts'
import { isFullRun, runsOf } from '../domain/run-counts.testing.ts'

const renderer = createBookRenderer()
const decoder = new TextDecoder()

const DEPTHS = [undefined, 0, 1, 3, 120]
const ALL_OPTIONS: BookPageOptions[] = [true, false].flatMap((ladders) =>
  (ladders ? DEPTHS : [undefined, 3]).flatMap((depth) =>
    (['number', 'string'] as const).flatMap((numberFormat) =>
      (['iso', 'epoch_us'] as const).flatMap((timeFormat) =>
        (['asc', 'desc'] as const).map((order) => ({
          ladders,
          depth,
          numberFormat,
          timeFormat,
          order,
        })),
      ),
    ),
  ),
)

const CONTEXTS = {
  venuea: { venue: 'venuea', key: '8812', marketId: '8812', conditionId: '0xab' },
  venueb: {
    venue: 'venueb',
    key: 'KXBTC15M-26AUG051200-00',
    marketId: 'KXBTC15M-26AUG051200-00',
    eventId: 'KXBTC15M-26AUG051200',
    seriesTicker: 'KXBTC15M',
  },
  venuec: {
    venue: 'venuec',
    key: '7131',
    marketId: '0xcd',
    conditionId: '0xcd',
    eventId: '77',
    outcome: 'Up, "more"\nor 50 %',
    tokenId: '7131',
  },
} as const satisfies Readonly<Partial<Record<VenueId, BookContext>>>

function contextOf(venue: VenueId): BookContext {
  const own: Readonly<Partial<Record<VenueId, BookContext>>> = CONTEXTS
  return own[venue] ?? { venue, key: 'M-1', marketId: 'M-1' }
}

describe('a page', () => {
  test('equals the plain implementation for every combination of options', () => {
    fc.assert(
      fc.property(aCase(12), ({ parts, contexts }) => {
        for (const options of ALL_OPTIONS) expect(difference(parts, contexts, options)).toBe('')
      }),
      { numRuns: isFullRun ? 25 : 10, seed: 1 },
    )
  })

  test('equals it for many sequences of books', () => {
    fc.assert(
      fc.property(aCase(60), fc.constantFrom(...ALL_OPTIONS), ({ parts, contexts }, options) => {
        expect(difference(parts, contexts, options)).toBe('')
      }),
      { numRuns: runsOf(400), seed: 2 },
    )
  })

  test('equals it for books beyond the levels that are served', () => {
    fc.assert(
      fc.property(aDeepCase(), fc.constantFrom(...ALL_OPTIONS), ({ parts, contexts }, options) => {
        expect(difference(parts, contexts, options)).toBe('')
      }),
      { numRuns: 40, seed: 3 },
    )
  })

  test('equals it for two outcomes, interleaved', () => {
    const two = fc.tuple(aMarket('venuec', 30), aMarket('venuec', 30))
    fc.assert(
      fc.property(two, fc.constantFrom(...ALL_OPTIONS), (lists, options) => {
        const parts = [...interleaveRuns(lists)]
        const contexts = [CONTEXTS.venuec, { ...CONTEXTS.venuec, key: '99', tokenId: '99' }]
        expect(difference(parts, contexts, options)).toBe('')
        const places = parts.flatMap(({ columns, firstSequence, from, to, lane }) =>
          Array.from({ length: to - from }, (_, index) => [
            columns.received[from + index]!,
            firstSequence + from + index,
            lane,
          ]),
        )
        const sorted = places.toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]! || a[2]! - b[2]!)
        expect(places).toEqual(sorted)
        expect(places.length).toBe(countOf(lists.flat()))
      }),
      { numRuns: 100, seed: 4 },
    )
  })

  test('equals it where a text changes though its number or its length does not', () => {
    const columnsOf = (decimals: number, sources: readonly number[]): BookColumns => {
      const columns = new BookColumns(decimals)
      columns.baseKey = [levelKey('bid', 34), levelKey('ask', 45)]
      columns.baseSize = [1, 2]
      for (const [index, source] of sources.entries()) {
        const head = { received: 20_000, source, venueSeq: 1, channel: 1, journal: 1, flags: 0 }
        columns.push(head, [levelKey('bid', 30 - index)], [source + 7])
      }
      return columns
    }
    // An epoch of four digits is as long as a null; 34 ticks are 0.34 and then 0.034.
    const cents = columnsOf(2, [1234, ABSENT, 4321])
    const mills = columnsOf(3, [1234, 1235])
    const bucket = {
      start: 0,
      end: 60_000_000,
      ageMs: 59_980,
      observations: 3,
      changes: 3,
      partial: false,
    }
    const parts: BookPart[] = [
      { columns: cents, firstSequence: 1, from: 0, to: 3 },
      { columns: mills, firstSequence: 4, from: 0, to: 2 },
      // A bucket and none, in the same columns; then a row that was already passed.
      { columns: cents, row: 0, sequence: 1, bucket },
      { columns: cents, row: 1, sequence: 2 },
      { columns: cents, row: 0, sequence: 1 },
      { columns: cents, firstSequence: 1, from: 0, to: 3 },
    ]
    for (const options of ALL_OPTIONS) {
      expect(difference(parts, [CONTEXTS.venueb], options)).toBe('')
    }
  })

  test('reads as the interface says', () => {
    const columns = new BookColumns(2)
    columns.baseKey = [levelKey('bid', 34), levelKey('ask', 45)]
    columns.baseSize = [500, 1050]
    const received = Date.parse('2026-08-05T12:00:00.002Z') * 1000
    const source = received - 1962
    const head = { received, source, venueSeq: 13299399, channel: 1, journal: 1, flags: 1 }
    columns.push(head, [levelKey('bid', 30)], [25])
    const runs = [{ columns, firstSequence: 123, from: 0, to: 1 }]
    const context = { venue: 'venueb', key: 'T', marketId: 'T' } as const
    const text = decoder.decode(renderer.renderJsonRows(runs, context, { ladders: true }))
    expect(text).toBe(
      '{"id":"venueb:T:123","venue":"venueb","market_id":"T","condition_id":null,"event_id":null,' +
        '"series_ticker":null,"outcome":null,"token_id":null,' +
        '"source_time":"2026-08-05T12:00:00.000038Z","received_time":"2026-08-05T12:00:00.002000Z",' +
        '"sequence":123,"best_bid":0.34,"best_ask":0.45,"mid":0.395,"spread":0.11,"bid_levels":2,' +
        '"ask_levels":1,"flags":["full_book"],"native":{"sid":1,"seq":13299399},' +
        '"bids":{"price":[0.34,0.3],"size":[5,0.25]},"asks":{"price":[0.45],"size":[10.5]},' +
        '"yes":{"price":[0.34,0.3],"size":[5,0.25]},"no":{"price":[0.55],"size":[10.5]}}',
    )
  })

  test('of nothing is empty, but for the header of a CSV file', () => {
    const options = { ladders: true, order: 'desc' } as const
    expect(renderer.renderJsonRows([], CONTEXTS.venuea, options)).toHaveLength(0)
    expect(renderer.renderNdjson([], CONTEXTS.venuea, options)).toHaveLength(0)
    const csv = decoder.decode(renderer.renderCsv([], CONTEXTS.venuea, options))
    expect(csv).toBe(`${CSV_COLUMNS.join(',')}\n`)
    const more = { ...options, header: false }
    expect(renderer.renderCsv([], CONTEXTS.venuea, more)).toHaveLength(0)
  })

  test('does not touch the columns of a part once the next one is pulled', () => {
    const [lists] = fc.sample(aMarket('venueb', 40), { numRuns: 1, seed: 5 })
    const runs = lists!
    const options = { ladders: true }
    const expected = decoder.decode(renderer.renderJsonRows(runs, CONTEXTS.venueb, options))
    const shared = new BookColumns()
    const lazily = (function* () {
      for (const run of runs) {
        shared.clear()
        shared.priceDecimals = run.columns.priceDecimals
        shared.baseKey = run.columns.baseKey
        shared.baseSize = run.columns.baseSize
        shared.pushRows(run.columns, 0, run.columns.count)
        yield { ...run, columns: shared }
        shared.received.fill(0)
        shared.size.fill(0)
      }
    })()
    expect(decoder.decode(renderer.renderJsonRows(lazily, CONTEXTS.venueb, options))).toBe(expected)
  })
})

const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''
// The plain implementation is slow: some hundred rows of each market, thousands in a full run.
const ROWS = isFullRun ? 3000 : 300

test.skipIf(recordings === '')('recorded books equal the plain implementation', () => {
  for (const recorded of findRecordings(recordings)) {
    const columns = recordedColumns(recorded, ROWS)
    const context = { ...CONTEXTS.venueb, key: recorded.ticker, marketId: recorded.ticker }
    let turn = 0
    for (let from = 0; from < columns.count; from += ROWS / 3) {
      const to = Math.min(columns.count, from + 100)
      const parts = [{ columns, firstSequence: 1, from, to }]
      for (let each = 0; each < 3; each++) {
        const options = ALL_OPTIONS[turn++ % ALL_OPTIONS.length]!
        expect(difference(parts, [context], options)).toBe('')
      }
    }
    const whole = [{ columns, firstSequence: 1, from: 0, to: columns.count }]
    expect(difference(whole, [context], { ladders: true })).toBe('')
  }
})

/** Renders a page in all formats and says where it first differs from the plain implementation. */
function difference(
  parts: readonly BookPart[],
  contexts: readonly BookContext[],
  options: BookPageOptions,
): string {
  const rows = referenceRows(parts, contexts, options)
  const lines = rows.map(referenceJson)
  const json = decoder.decode(renderer.renderJsonRows(parts, contexts, options))
  JSON.parse(`[${json}]`)
  const ndjson = decoder.decode(renderer.renderNdjson(parts, contexts, options))
  const typed = lines.map((line) => `{"type":"book",${line.slice(1)}\n`)
  const csv = decoder.decode(renderer.renderCsv(parts, contexts, options))
  const cells = [[...CSV_COLUMNS], ...rows.map((row) => referenceCells(row, CSV_COLUMNS))]
  return (
    firstDifference(json, lines.join(',')) ||
    firstDifference(ndjson, typed.join('')) ||
    firstDifference(JSON.stringify(readCsv(csv)), JSON.stringify(cells))
  )
}

function firstDifference(actual: string, expected: string): string {
  if (actual === expected) return ''
  let at = 0
  while (actual[at] === expected[at]) at++
  const around = (text: string): string => text.slice(Math.max(0, at - 80), at + 80)
  return `at ${at}: ${around(actual)} instead of ${around(expected)}`
}

/** A small reader of RFC 4180. */
function readCsv(text: string): string[][] {
  const lines: string[][] = []
  let cells: string[] = []
  const cell = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/y
  while (cell.lastIndex < text.length) {
    const at = cell.lastIndex
    const match = cell.exec(text)
    if (match === null) throw new Error(`no cell at ${at}: ${text.slice(at, at + 40)}`)
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2]!)
    if (match[3] === ',') continue
    lines.push(cells)
    cells = []
  }
  return lines
}

type Case = { readonly parts: readonly BookPart[]; readonly contexts: readonly BookContext[] }

function aCase(rowsMax: number): fc.Arbitrary<Case> {
  return fc.constantFrom(...VENUE_IDS).chain((venue) =>
    fc
      .tuple(aMarket(venue, rowsMax), fc.boolean(), fc.array(fc.nat(9), { maxLength: 20 }))
      .map(([runs, isSampled, steps]) => ({
        parts: isSampled ? toPicks(runs, steps) : runs,
        contexts: [contextOf(venue)],
      })),
  )
}

/** Runs of one instrument: the book goes on from run to run, the decimals may change between them. */
function aMarket(venue: VenueId, rowsMax: number): fc.Arbitrary<BookRun[]> {
  const change = fc.record({
    isBid: fc.boolean(),
    // Few places, so that levels are changed and removed as often as they are added.
    place: fc.oneof({ weight: 4, arbitrary: fc.nat(7) }, { weight: 1, arbitrary: fc.nat(40) }),
    size: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: fc.integer({ min: 1, max: 30 }).map((size) => size * 100) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 1e6 }) },
      { weight: 1, arbitrary: fc.maxSafeNat().map((size) => size + (size === 0 ? 1 : 0)) },
    ),
  })
  const few = fc.array(change, { maxLength: 3 })
  const row = fc.record({
    changes: fc.oneof(
      { weight: 6, arbitrary: few },
      { weight: 1, arbitrary: fc.array(change, { minLength: 5, maxLength: 20 }) },
    ),
    step: fc.constantFrom(0, 0, 1, 1000, 37, 999_999, 61_000_000, 86_400_000_000),
    lag: fc.option(fc.integer({ min: -2_000_000, max: 9_000_000 }), { freq: 4 }),
    seq: fc.option(fc.constantFrom(1, 1, 2, 90, 1_000_000_000), { freq: 6 }),
    channel: fc.constantFrom(1, 1, 1, 1, 12, 77 * 65_536, 77 * 65_536 + 3, ABSENT),
    flags: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, FLAGS.late, FLAGS.locked, 127, FLAGS.restart),
  })
  const run = fc.record({
    decimals: fc.integer({ min: 2, max: 4 }),
    rows: fc.array(row, { minLength: 1, maxLength: rowsMax }),
    skipped: fc.nat(4),
    cut: fc.nat(2),
  })
  return fc
    .record({
      runs: fc.array(run, { minLength: 1, maxLength: 3 }),
      pivot: fc.integer({ min: 1, max: 99 }),
      first: fc.constantFrom(1, 8, 95, 99_990, 123_456_789),
      start: fc.constantFrom(1_785_931_200_000_000, 999_999_997_990_000, 0, 8_999_999_999_999_000),
    })
    .map(({ runs, pivot, first, start }) => {
      let sequence = first
      let received = start + 2_000_000
      let seq = 95
      let book = new Map<string, readonly [isBid: boolean, price: number, size: number]>()
      return runs.map(({ decimals, rows, skipped, cut }) => {
        const columns = new BookColumns(decimals)
        const one = POW10[decimals]!
        const keyOf = (isBid: boolean, price: number): number =>
          levelKey(isBid ? 'bid' : 'ask', Math.round(price * one))
        // Only a book whose prices are whole in the new ticks can go on.
        const base = [...book.values()].filter(
          ([, price, size]) => size > 0 && Number.isInteger(Math.round(price * 1e4) / (1e4 / one)),
        )
        book = new Map(base.map((level) => [`${level[0]}${level[1]}`, level]))
        columns.baseKey = base.map(([isBid, price]) => keyOf(isBid, price))
        columns.baseSize = base.map(([, , size]) => size)
        for (const { changes, step, lag, seq: ahead, channel, flags } of rows) {
          received += step
          seq += ahead ?? 0
          if ((flags & FLAGS.restart) !== 0) book = new Map()
          const keys: number[] = []
          const sizes: number[] = []
          for (const { isBid, place, size } of changes) {
            const ticks = (pivot * one) / 100 + (isBid ? -place : place)
            if (ticks <= 0 || ticks >= one) continue
            keys.push(levelKey(isBid ? 'bid' : 'ask', ticks))
            sizes.push(size)
            book.set(`${isBid}${ticks / one}`, [isBid, ticks / one, size])
          }
          const source = lag === null ? ABSENT : Math.max(0, received - lag)
          const venueSeq = ahead === null || venue === 'venuec' ? ABSENT : seq
          columns.push({ received, source, venueSeq, channel, journal: 1, flags }, keys, sizes)
        }
        const from = Math.min(skipped, rows.length)
        const to = Math.max(from, rows.length - cut)
        const result = { columns, firstSequence: sequence, from, to }
        sequence += rows.length
        return result
      })
    })
}

/** Books of 90 to 130 levels a side, where levels come and go at the limit of what is served. */
function aDeepCase(): fc.Arbitrary<Case> {
  const change = fc.record({
    isBid: fc.boolean(),
    place: fc.integer({ min: 1, max: 130 }),
    size: fc.constantFrom(0, 0, 100, 12345),
  })
  const rows = fc.array(fc.array(change, { maxLength: 3 }), { minLength: 1, maxLength: 60 })
  return fc
    .tuple(fc.constantFrom('venueb', 'venuec'), rows, fc.integer({ min: 90, max: 130 }))
    .map(([venue, rows, levels]) => {
      const columns = new BookColumns(3)
      for (let level = 1; level <= levels; level++) {
        columns.baseKey.push(levelKey('bid', 500 - level), levelKey('ask', 500 + level))
        columns.baseSize.push(level * 100, level * 7)
      }
      for (const [index, changes] of rows.entries()) {
        columns.push(
          {
            received: 1e15 + index,
            source: ABSENT,
            venueSeq: index,
            channel: 1,
            journal: 1,
            flags: 0,
          },
          changes.map(({ isBid, place }) =>
            isBid ? levelKey('bid', 500 - place) : levelKey('ask', 500 + place),
          ),
          changes.map(({ size }) => size),
        )
      }
      const parts = [{ columns, firstSequence: 1, from: 0, to: rows.length }]
      return { parts, contexts: [contextOf(venue)] }
    })
}

/** Some rows of the runs as samples, with invented facts of their buckets. */
function toPicks(runs: readonly BookRun[], steps: readonly number[]): BookPart[] {
  const picks: BookPart[] = []
  let place = 0
  for (const { columns, firstSequence, from, to } of runs) {
    for (let row = from; row < to; row += 1 + (steps[place++ % steps.length] ?? 0)) {
      const end = columns.received[row]! + place * 1234
      picks.push({
        columns,
        row,
        sequence: firstSequence + row,
        bucket: {
          start: Math.max(0, end - 60_000_000),
          end,
          ageMs: (place * 1234) / 1000,
          observations: place * 5,
          changes: place * 11,
          partial: place % 4 === 0,
        },
      })
    }
  }
  return picks
}

function countOf(runs: readonly BookRun[]): number {
  return runs.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** The first observations of a recording as columns, by the fold that knows nothing of the product. */
function recordedColumns(
  recorded: Parameters<typeof readObservations>[0],
  count: number,
): BookColumns {
  const columns = new BookColumns(VENUES.venueb.priceDecimals)
  let before = new Map<number, number>()
  for (const seen of readObservations(recorded)) {
    const book = new Map<number, number>()
    seen.bidPrice.forEach((price, index) => book.set(levelKey('bid', price), seen.bidSize[index]!))
    seen.askPrice.forEach((price, index) => book.set(levelKey('ask', price), seen.askSize[index]!))
    const changed = [...new Set([...before.keys(), ...book.keys()])].filter(
      (key) => before.get(key) !== book.get(key),
    )
    columns.push(
      {
        received: seen.receivedMicros,
        source: seen.sourceMicros ?? ABSENT,
        venueSeq: seen.venueSeq,
        channel: seen.venueSid,
        journal: seen.sequence,
        flags: seen.isSnapshot ? FLAGS.full_book : 0,
      },
      changed,
      changed.map((key) => book.get(key) ?? 0),
    )
    before = book
    if (columns.count === count) break
  }
  return columns
}
