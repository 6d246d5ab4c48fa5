import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  PriorbookError,
  VENUES,
  type Gap,
  type MarketRecord,
  type Micros,
  type VenueId,
} from '../domain/index.ts'
import { Ladder } from '../tape/index.ts'
import {
  applyTestRow,
  bookChunk,
  ContainerMaker,
  lineOf,
  sampleChunk,
  tradeChunk,
  type TestRow,
} from './container.testing.ts'
import { ReplayError } from './error.ts'
import type { BookEvent, ReplayEvent } from './event.ts'
import { createReplayPlatform } from './replay-node.ts'
import { replay, type Replay, type ReplayOptions } from './replay.ts'
import type { ByteStore, FileSource, StreamSource } from './source.ts'
import { isFullRun } from '../domain/run-counts.testing.ts'

const START = 1_786_000_000_000_000
const platform = createReplayPlatform()

/** A file in memory that knows who reads it. */
class MemoryFile {
  open = 0
  reads = 0
  readonly source: FileSource

  constructor(bytes: Uint8Array, name = 'a.pbx', block = 65_536) {
    this.source = {
      kind: 'file',
      name,
      open: (_signal) => this.blocks(bytes, block),
      openStore: async () => this.store(bytes, name),
    }
  }

  private async *blocks(bytes: Uint8Array, block: number): AsyncGenerator<Uint8Array> {
    this.open++
    try {
      for (let at = 0; at < bytes.length; at += block) yield bytes.subarray(at, at + block)
    } finally {
      this.open--
    }
  }

  private store(bytes: Uint8Array, name: string): ByteStore {
    this.open++
    return {
      name,
      read: async (offset, length) => {
        this.reads++
        return bytes.slice(offset, offset + length)
      },
      close: async () => {
        this.open--
      },
    }
  }
}

const replayOf = (
  files: readonly Uint8Array[],
  options: Partial<ReplayOptions> = {},
  block?: number,
): Replay =>
  replay({
    platform,
    sources: files.map((bytes, index) => new MemoryFile(bytes, `${index}.pbx`, block).source),
    ...options,
  })

async function linesOf(source: Replay): Promise<string[]> {
  const lines: string[] = []
  for await (const batch of source) for (const event of batch) lines.push(lineOf(event))
  return lines
}

/** The same lines through `feed`, in which the rows of one book come in a loop of their own. */
async function fedLines(source: Replay): Promise<string[]> {
  const lines: string[] = []
  const apply = (event: ReplayEvent): void => void lines.push(lineOf(event))
  for await (const batch of source) batch.feed!({ apply, applyRow: apply })
  return lines
}

/** `book venueb:K 3` and the best prices: enough to see order and book. */
async function shortLines(source: Replay): Promise<string[]> {
  const lines: string[] = []
  for await (const event of source.events()) {
    if (event.kind === 'book') {
      const { instrument, sequence, at, ladder } = event
      const book = `${ladder.bestBid}/${ladder.bestAsk}`
      lines.push(`${at - START} book ${instrument.key} ${sequence} ${book}`)
    } else if (event.kind === 'gap') {
      lines.push(`${event.at - START} gap ${event.edge} ${event.gap.key}`)
    } else if (event.kind === 'market') {
      lines.push(`${event.at - START} market ${event.record.marketId}`)
    } else {
      const key = event.kind === 'reference' ? event.asset : event.instrument.key
      lines.push(`${event.at - START} ${event.kind} ${key} ${event.sequence}`)
    }
  }
  return lines
}

const bid = (ticks: number): number => ticks * 2
const ask = (ticks: number): number => ticks * 2 + 1
const rowAt = (offset: number, ticks: number, size = 5, flags = 0): TestRow => ({
  received: START + offset,
  keys: [bid(ticks), ask(ticks + 2)],
  sizes: [size, size],
  flags,
})
const gap = (key: string, start: number, end?: number): Gap => ({
  venue: 'venueb',
  scope: 'instrument',
  key,
  reason: 'disconnected',
  start: (START + start) as Micros,
  ...(end === undefined ? {} : { end: (START + end) as Micros }),
  afterSequence: 1,
  journal: 0,
})
const record = {
  venue: 'venueb',
  marketId: 'K1',
  title: 'One',
  volume: '12345678901234567890.25',
  outcomes: [{ label: 'Yes', index: 0 }],
  units: { priceUnit: 'a', sizeUnit: 'b', volumeUnit: 'c', collateral: 'd' },
  native: { a: 1e-9, b: [null] },
} as const

test('events of the same received time are sorted by kind, then by instrument', async () => {
  const rows = [rowAt(5, 40), rowAt(9, 41)]
  const file = new ContainerMaker(START, START + 100)
    .market(record, START + 5)
    .gap(gap('K1', 5, 9))
    .gap(gap('K2', 9))
    .gap(gap('K0', 7, 7))
    .frame('C', sampleChunk('venueb', 'K1', rows))
    .frame('C', tradeChunk('venueb', 'K2', rows))
    .frame('C', tradeChunk('venueb', 'K1', rows))
    .frame('C', bookChunk('venuec', 'K0', rows))
    .frame('C', bookChunk('venueb', 'K2', rows))
    .frame('C', bookChunk('venueb', 'K1', rows))
    .finish()
  expect(await shortLines(replayOf([file]))).toEqual([
    '5 market K1',
    '5 book K1 1 40/42',
    '5 book K2 1 40/42',
    '5 book K0 1 40/42',
    '5 trade K1 1',
    '5 trade K2 1',
    '5 sample K1 1',
    '5 gap open K1',
    '7 gap open K0',
    '7 gap close K0',
    '9 gap close K1',
    '9 book K1 2 41/42',
    '9 book K2 2 41/42',
    '9 book K0 2 41/42',
    '9 trade K1 2',
    '9 trade K2 2',
    '9 sample K1 2',
    '9 gap open K2',
  ])
  const lines = await linesOf(replayOf([file]))
  expect(lines[0]).toBe(`${START + 5} market ${JSON.stringify(record)}`)
  expect(await fedLines(replayOf([file]))).toEqual(lines)
})

/** Random streams of some venues, cut into chunks and files anywhere. */
const streams = fc.array(
  fc.record({
    venue: fc.constantFrom<VenueId>('venuea', 'venueb', 'venuec'),
    key: fc.constantFrom('K1', 'K2', 'K3', 'K4'),
    rows: fc.array(
      fc.record({
        step: fc.integer({ min: 0, max: 3 }),
        changes: fc.uniqueArray(
          fc.record({
            key: fc.integer({ min: 2, max: 197 }),
            size: fc.integer({ min: 0, max: 3 }),
          }),
          { maxLength: 4, selector: ({ key }) => key },
        ),
        restarts: fc.boolean(),
        cut: fc.integer({ min: 0, max: 9 }),
        file: fc.boolean(),
      }),
      { minLength: 1, maxLength: 30 },
    ),
  }),
  { minLength: 1, maxLength: 7 },
)

test('a copy of a book event keeps its times, its place and its flags when the event is reused', async () => {
  const rows = [rowAt(5, 40), rowAt(9, 41), rowAt(12, 42)]
  const file = new ContainerMaker(START, START + 100)
    .frame('C', bookChunk('venueb', 'K1', rows))
    .finish()
  const read: object[] = []
  const copies: object[] = []
  for await (const event of replayOf([file]).events()) {
    if (event.kind !== 'book') continue
    const { at, source, sequence, flags } = event
    read.push({ at, source, sequence, flags })
    copies.push({ ...event })
  }
  expect(read).toHaveLength(3)
  expect(Object.keys(copies[0]!)).toContain('source')
  expect(copies).toMatchObject(read)
})

test('streams split into any files and blocks give the events and books of a plain sort and fold', async () => {
  expect.hasAssertions()
  const property = fc.asyncProperty(
    streams,
    fc.integer({ min: 1, max: 700 }),
    fc.integer({ min: 0, max: 40 }),
    fc.integer({ min: 0, max: 60 }),
    async (drawn, block, from, length) => {
      const unique = [...new Map(drawn.map((each) => [each.venue + each.key, each])).values()]
      const files = [0, 1].map(() => new ContainerMaker(0, Infinity))
      const wanted: { at: number; order: string; line: string }[] = []
      const [start, end] = [START + from, START + from + length]
      for (const { venue, key, rows: parts } of unique) {
        let at = START
        const rows = parts.map(({ step, changes, restarts }, index): TestRow => ({
          received: (at += step),
          keys: changes.map((each) => each.key),
          sizes: changes.map((each) => each.size),
          flags: restarts || index === 0 ? 64 : 0,
        }))
        // A chunk begins where a book does, or anywhere else; some are in both files.
        let first = 0
        for (let row = 1; row <= rows.length; row++) {
          const part = parts[row]
          const ends = part === undefined || part.cut === 0 || rows[row]!.flags === 64
          if (!ends) continue
          const base =
            rows[first]!.flags === 64 ? rows.slice(0, first).concat(rows.slice(first)) : rows
          const chunk = bookChunk(venue, key, cleared(base, first), first, row)
          files[parts[first]!.file ? 0 : 1]!.frame('C', chunk)
          if (parts[first]!.cut % 2 === 1) files[parts[first]!.file ? 1 : 0]!.frame('P', chunk)
          first = row
        }
        const ladder = new Ladder()
        for (const [index, row] of rows.entries()) {
          applyTestRow(ladder, row)
          if (row.received < start || row.received >= end) continue
          const side = (levels: { price: number[]; size: number[] }): string =>
            levels.price.map((price, place) => `${price}x${levels.size[place]}`).join(' ')
          wanted.push({
            at: row.received,
            order: `${venue} ${key} ${String(index + 1).padStart(4, '0')}`,
            line: `${row.received} ${venue}:${key}:${index + 1} ${side(ladder.bids())} | ${side(ladder.asks())}`,
          })
        }
      }
      wanted.sort((a, b) => a.at - b.at || (a.order < b.order ? -1 : 1))
      const found: string[] = []
      const fed: string[] = []
      const made = files.map((file) => file.finish())
      const lineOfBook = ({ instrument, sequence, ladder, at }: BookEvent): string => {
        const side = (levels: { price: number[]; size: number[] }): string =>
          levels.price.map((price, place) => `${price}x${levels.size[place]}`).join(' ')
        return `${at} ${instrument.venue}:${instrument.key}:${sequence} ${side(ladder.bids())} | ${side(ladder.asks())}`
      }
      for await (const batch of replayOf(made, { start, end }, block)) {
        for (const event of batch) if (event.kind === 'book') found.push(lineOfBook(event))
      }
      const applyRow = (event: BookEvent): void => void fed.push(lineOfBook(event))
      for await (const batch of replayOf(made, { start, end }, block)) {
        batch.feed!({ apply: () => undefined, applyRow })
      }
      expect(found).toEqual(wanted.map(({ line }) => line))
      expect(fed).toEqual(found)
    },
  )
  await fc.assert(property, {
    seed: 11,
    numRuns: isFullRun ? 2000 : 100,
  })
})

/** Rows as the encoder must see them: before a restart the book is empty. */
function cleared(rows: readonly TestRow[], first: number): TestRow[] {
  if (rows[first]!.flags !== 64) return [...rows]
  return rows.map((row, index) => (index < first ? { received: row.received } : row))
}

const small = (): Buffer =>
  new ContainerMaker(START, START + 100)
    .market(record, START)
    .gap(gap('K1', 5, 9))
    .frame('C', bookChunk('venueb', 'K1', [rowAt(1, 40, 5, 64), rowAt(5, 41)]))
    .frame('P', tradeChunk('venueb', 'K1', [rowAt(1, 40)]))
    .finish()

test('a container truncated at any byte emits nothing and names its end', async () => {
  const whole = small()
  for (let length = 0; length < whole.length; length++) {
    const emitted: string[] = []
    let error: unknown
    try {
      for await (const event of replayOf([whole.subarray(0, length)], {}, 7).events()) {
        emitted.push(event.kind)
      }
    } catch (caught) {
      error = caught
    }
    expect(emitted).toEqual([])
    expect(error).toBeInstanceOf(ReplayError)
    expect(error).toMatchObject({ code: 'truncated_file', emitted: { events: 0 } })
    expect((error as Error).message).toContain('0.pbx')
  }
})

test('a container with any changed byte emits nothing', async () => {
  const whole = small()
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole)
    changed[at]! ^= 1 << (at % 8)
    const emitted: string[] = []
    let error: unknown
    try {
      for await (const event of replayOf([changed], {}, 64).events()) emitted.push(event.kind)
    } catch (caught) {
      error = caught
    }
    expect(emitted).toEqual([])
    expect(error).toBeInstanceOf(PriorbookError)
  }
})

test('bytes after the end and files of another format are rejected by name', async () => {
  const cases: [Uint8Array, string][] = [
    [Buffer.concat([small(), Buffer.from([0])]), 'corrupt_chunk'],
    [Buffer.from('PK\u0003\u0004 a zip'), 'unsupported_format'],
    [Buffer.from('PBX1\u0002'), 'unsupported_format'],
    [new Uint8Array(0), 'truncated_file'],
    [Buffer.from('{"a":1}\n'), 'invalid_line'],
  ]
  for (const [bytes, code] of cases) {
    await expect(linesOf(replayOf([bytes]))).rejects.toMatchObject({ code })
  }
})

test('a file that changes after it was verified stops the replay before a wrong row', async () => {
  const rows = Array.from({ length: 40 }, (_, index) => rowAt(index, 30 + (index % 20)))
  const chunks = [bookChunk('venueb', 'K1', rows, 0, 20), bookChunk('venueb', 'K1', rows, 20, 40)]
  const maker = new ContainerMaker(START, START + 100)
  for (const chunk of chunks) maker.frame('C', chunk)
  const bytes = maker.finish()
  const changed = Buffer.from(bytes)
  changed[bytes.indexOf(chunks[1]!) + 40]! ^= 4
  const file = new MemoryFile(bytes)
  const source: FileSource = {
    ...file.source,
    openStore: () => new MemoryFile(changed).source.openStore(),
  }
  let emitted = 0
  let error: unknown
  try {
    for await (const batch of replay({ platform, sources: [source] }))
      for (const _ of batch) emitted++
  } catch (caught) {
    error = caught
  }
  expect(emitted).toBe(20)
  expect(error).toMatchObject({ code: 'corrupt_chunk', place: { source: 'a.pbx' } })
})

test('a range cuts files, starts with a complete book and emits a shared chunk once', async () => {
  const rows = Array.from({ length: 30 }, (_, index) => rowAt(index, 20 + index, 5 + index))
  const chunk = bookChunk('venueb', 'K1', rows, 0, 30)
  const day = (start: number, end: number): Buffer =>
    new ContainerMaker(START + start, START + end).frame('C', chunk).finish()
  const all = await linesOf(replayOf([day(0, 100)]))
  expect(all.length).toBe(30)
  expect(await linesOf(replayOf([day(0, 10), day(10, 100)]))).toEqual(all)
  expect(await linesOf(replayOf([day(10, 100), day(0, 20)]))).toEqual(all)
  expect(await linesOf(replayOf([day(5, 15)]))).toEqual(all.slice(5, 15))
  const cut = { start: START + 7, end: START + 11 }
  expect(await linesOf(replayOf([day(0, 100)], cut))).toEqual(all.slice(7, 11))
  expect(await linesOf(replayOf([day(5, 9), day(9, 30)], cut))).toEqual(all.slice(7, 11))
  expect(await linesOf(replayOf([day(0, 100)], { start: START + 30 }))).toEqual([])
})

test('records and gaps from before the start are emitted at the start', async () => {
  const file = new ContainerMaker(START, START + 100)
    .market(record, START + 1)
    .gap(gap('K1', 2, 20))
    .gap(gap('K2', 2, 5))
    .gap(gap('K3', 20, 90))
    .frame('C', bookChunk('venueb', 'K1', [rowAt(1, 40, 5, 64), rowAt(20, 41), rowAt(60, 42)]))
    .finish()
  expect(await shortLines(replayOf([file], { start: START + 10, end: START + 50 }))).toEqual([
    '10 market K1',
    '10 gap open K1',
    '20 gap close K1',
    '20 book K1 2 41/42',
    '20 gap open K3',
  ])
})

test('rows that are in no file become a gap', async () => {
  const rows = Array.from({ length: 30 }, (_, index) => rowAt(index, 20 + index))
  const part = (from: number, to: number): Buffer =>
    new ContainerMaker(0, Infinity).frame('C', bookChunk('venueb', 'K1', rows, from, to)).finish()
  const lines = await shortLines(replayOf([part(0, 10), part(20, 30)]))
  expect(lines[10]).toBe('9 gap open K1')
  expect(lines[11]).toBe('20 gap close K1')
  expect(lines.length).toBe(22)
})

test('rows that are in no file become a gap, also inside a chunk that two files have', async () => {
  const rows = Array.from({ length: 30 }, (_, index) => rowAt(index, 20 + index))
  const chunk = bookChunk('venueb', 'K1', rows, 0, 30)
  const day = (start: number, end: number): Buffer =>
    new ContainerMaker(START + start, START + end).frame('C', chunk).finish()
  const lines = await shortLines(replayOf([day(0, 10), day(20, 30)]))
  expect(lines[10]).toBe('9 gap open K1')
  expect(lines[11]).toBe('20 gap close K1')
  expect(lines.length).toBe(22)
})

test('rows that one file has in parts and a later one in a whole chunk come once and in order', async () => {
  const rows = Array.from({ length: 60 }, (_, index) => rowAt(index, 20 + (index % 30), 5 + index))
  const early = new ContainerMaker(START, START + 30)
  for (const from of [0, 10, 20]) {
    early.frame('P', bookChunk('venueb', 'K1', rows, from, from + 10))
  }
  const late = new ContainerMaker(START + 30, START + 100)
  late.frame('C', bookChunk('venueb', 'K1', rows))
  const files = [early.finish(), late.finish()]
  const whole = new ContainerMaker(START, START + 100).frame('C', bookChunk('venueb', 'K1', rows))
  const all = await linesOf(replayOf([whole.finish()]))
  expect(all.length).toBe(60)
  expect(await linesOf(replayOf(files))).toEqual(all)
  expect(await linesOf(replayOf(files.toReversed()))).toEqual(all)
  // Without the first part there is nothing before; without another one its rows are missing.
  const holed = new ContainerMaker(START, START + 30)
  for (const from of [0, 20]) holed.frame('P', bookChunk('venueb', 'K1', rows, from, from + 10))
  const lines = await shortLines(replayOf([holed.finish(), files[1]!]))
  expect(lines.filter((line) => line.includes('gap'))).toEqual(['9 gap open K1', '20 gap close K1'])
  expect(lines.length).toBe(52)
})

test('files of two histories of an instrument are rejected', async () => {
  const rows = Array.from({ length: 20 }, (_, index) => rowAt(index, 20 + index))
  const other = rows.map((row, index) => (index === 7 ? { ...row, sizes: [6, 5] } : row))
  const file = (own: readonly TestRow[], letter: string): Buffer =>
    new ContainerMaker(0, Infinity).frame(letter, bookChunk('venueb', 'K1', own)).finish()
  expect((await linesOf(replayOf([file(rows, 'C'), file(rows, 'C')]))).length).toBe(20)
  await expect(linesOf(replayOf([file(rows, 'C'), file(other, 'C')]))).rejects.toMatchObject({
    code: 'corrupt_chunk',
    place: { source: '1.pbx' },
    emitted: { events: 0 },
  })
})

test('every file is closed after an early exit, an error and the end; batches are not read ahead', async () => {
  const rows = Array.from({ length: 3000 }, (_, index) => rowAt(index, 10 + (index % 80)))
  const maker = new ContainerMaker(0, Infinity)
  for (let from = 0; from < rows.length; from += 5) {
    maker.frame('C', bookChunk('venueb', 'K1', rows, from, from + 5))
  }
  const file = new MemoryFile(maker.finish())
  const own = replay({ platform, sources: [file.source] })
  for await (const batch of own) {
    for (const event of batch) {
      expect(event.kind).toBe('book')
      break
    }
    expect(file.open).toBe(1)
    expect(file.reads).toBe(1)
    break
  }
  expect(file.open).toBe(0)
  for await (const event of own.events()) if (event.at > START + 100) break
  expect(file.open).toBe(0)
  const failing = async (): Promise<void> => {
    for await (const batch of own) for (const _ of batch) throw new Error('mine')
  }
  await expect(failing()).rejects.toThrow('mine')
  expect(file.open).toBe(0)
  expect((await linesOf(own)).length).toBe(3000)
  expect(file.open).toBe(0)
  const stop = new AbortController()
  const aborted = replay({ platform, sources: [file.source], signal: stop.signal })
  const run = async (): Promise<void> => {
    for await (const event of aborted.events()) if (event.at === START + 50) stop.abort()
  }
  await expect(run()).rejects.toThrow(/abort/i)
  expect(file.open).toBe(0)
})

test('a stream gives the same events as a file', async () => {
  const rows = Array.from({ length: 200 }, (_, index) => rowAt(index, 10 + (index % 80)))
  const maker = new ContainerMaker(0, Infinity)
  for (let from = 0; from < rows.length; from += 20) {
    maker.frame('C', bookChunk('venueb', 'K1', rows, from, from + 20))
  }
  const bytes = maker.finish()
  const source: StreamSource = {
    kind: 'stream',
    name: 'http://x',
    async *open() {
      // The same buffer again and again, as some readers do.
      const buffer = new Uint8Array(100)
      for (let at = 0; at < bytes.length; at += 100) {
        const part = bytes.subarray(at, at + 100)
        buffer.set(part)
        yield buffer.subarray(0, part.length)
      }
    },
  }
  const spooled = await linesOf(replay({ platform, sources: [source] }))
  expect(spooled).toEqual(await linesOf(replayOf([bytes])))
  expect(spooled.length).toBe(200)
})

const recordOf = (closeTime: number): MarketRecord => ({
  venue: 'venueb',
  marketId: 'KX-1',
  status: 'open',
  closeTime: closeTime as Micros,
  outcomes: [
    { label: 'Yes', index: 0 },
    { label: 'No', index: 1 },
  ],
  units: VENUES.venueb.units,
  native: {},
})

const closeTimes = async (made: Replay): Promise<[at: number, closeTime: number | undefined][]> => {
  const times: [number, number | undefined][] = []
  for await (const event of made.events()) {
    if (event.kind === 'market') times.push([event.at - START, event.record.closeTime])
  }
  return times
}

test('every record of a file comes when it became known, and the last one before the start with it', async () => {
  const rows = [{ received: START + 100 }, { received: START + 900 }]
  const file = new ContainerMaker(START, START + 1000, 'all')
    .market(recordOf(1), START - 50)
    .market(recordOf(2), START + 300)
    .market(recordOf(3), START + 600)
    .frame('C', bookChunk('venueb', 'KX-1', rows))
    .finish()
  const made = replayOf([file])
  expect(await closeTimes(made)).toStrictEqual([
    [-50, 1],
    [300, 2],
    [600, 3],
  ])
  expect(made.newestOnly).toStrictEqual([])
  expect(made.markets.map(({ closeTime }) => closeTime)).toStrictEqual([3])
  expect(await closeTimes(replayOf([file], { start: START + 400 }))).toStrictEqual([
    [400, 2],
    [600, 3],
  ])
  expect(await closeTimes(replayOf([file], { end: START + 500 }))).toHaveLength(2)
})

test('a file of an older version still opens, and says that it has only the newest record', async () => {
  const rows = [{ received: START + 100 }, { received: START + 900 }]
  const chunk = bookChunk('venueb', 'KX-1', rows)
  const old = new ContainerMaker(START, START + 1000)
    .market(recordOf(3), START + 600)
    .frame('C', chunk)
    .finish()
  const made = replayOf([old])
  expect(await closeTimes(made)).toStrictEqual([[600, 3]])
  expect(made.newestOnly.map(({ closeTime }) => closeTime)).toStrictEqual([3])
  // A file with all records makes up for one without.
  const whole = new ContainerMaker(START, START + 1000, 'all')
    .market(recordOf(1), START)
    .market(recordOf(3), START + 600)
    .finish()
  const both = replayOf([old, whole])
  expect(await closeTimes(both)).toStrictEqual([
    [0, 1],
    [600, 3],
  ])
  expect(both.newestOnly).toStrictEqual([])
})
