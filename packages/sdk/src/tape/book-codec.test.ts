import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRandom, type Random } from '../../../../bench/lib/random.ts'
import { POW10, PriorbookError, VENUE_IDS, VENUES } from '../domain/index.ts'
import { BookDecoder, BookEncoder, type ChunkIdentity } from './book-codec.ts'
import { NO_HASH, openChunk } from './chunk.ts'
import { ABSENT, BookColumns, type RowHead } from './columns.ts'
import { createNodePlatform } from './platform-node.ts'
import { withoutCompression } from './platform.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

const platform = createNodePlatform(3)
const raw = withoutCompression(platform)
const MAX = Number.MAX_SAFE_INTEGER
const NOON = 1_785_931_200_000_000

// One of each for all runs: their scratch space must not carry anything from one chunk to the next.
const encoder = new BookEncoder()
const decoder = new BookDecoder()
const decoded = new BookColumns()

describe('a book chunk', () => {
  it('decodes to exactly the encoded rows, for any valid rows and any range of them', () => {
    fc.assert(
      fc.property(aTape(), fc.boolean(), (tape, packs) => {
        expect(roundTrip(tape, packs ? platform : raw)).toBe('')
      }),
      { numRuns: runsOf(700), seed: 1 },
    )
  })

  it('round-trips rows with hundreds of changes', () => {
    for (let seed = 1; seed <= 25; seed++) {
      const random = createRandom(seed)
      const tape = drawTape(random, random.integer(1, 12), () => random.integer(0, 700))
      expect(roundTrip(tape, platform), `seed ${seed}`).toBe('')
    }
  })

  it('round-trips full chunks of a busy market', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const random = createRandom(1000 + seed)
      const tape = drawTape(random, 2048, () => (random.chance(0.8) ? 1 : random.integer(0, 4)))
      expect(roundTrip(tape, platform), `seed ${seed}`).toBe('')
    }
  })

  it('describes its rows in its header', () => {
    fc.assert(
      fc.property(aTape(), fc.constantFrom(...VENUE_IDS), (tape, venue) => {
        const { rows, from, to } = tape
        const { header } = openChunk(encode(tape, raw, venue).bytes, raw)
        const sources = [...rows.source.subarray(from, to)].filter((time) => time !== ABSENT)
        expect(header).toStrictEqual({
          ...identity,
          venue,
          kind: 'book',
          metric: '',
          changesBefore: 77,
          previousHash: new Uint8Array(32),
          count: to - from,
          changes: rows.changeEnd[to - 1]! - rows.changeStart(from),
          priceDecimals: header.priceDecimals,
          sizeDecimals: VENUES[venue].sizeDecimals,
          firstReceived: rows.received[from],
          lastReceived: rows.received[to - 1],
          firstSource: sources[0] ?? ABSENT,
          lastSource: sources.at(-1) ?? ABSENT,
          firstJournal: rows.journal[from],
          lastJournal: rows.journal[to - 1],
        })
      }),
      { numRuns: runsOf(200), seed: 2 },
    )
  })

  it.each([
    [2, [48], 2],
    [4, [4800], 2],
    [4, [4800, 4810], 3],
    [4, [4800, 4801], 4],
    [6, [480_000], 2],
    [6, [480_001], 6],
    [3, [10, 990], 2],
  ])('at %i decimals with prices %j is stored at %i', (decimals, prices, stored) => {
    const keys = prices.map((price) => price * 2)
    const asBase = columnsOf(decimals, [{ head: head(), changes: [] }])
    asBase.baseKey = keys
    asBase.baseSize = keys.map(() => 1)
    const changes = keys.map((key): [number, number] => [key, 1])
    const asRows = columnsOf(decimals, [{ head: head(), changes }])
    for (const rows of [asBase, asRows]) {
      const { header } = openChunk(encode({ rows, from: 0, to: 1 }, raw).bytes, raw)
      expect(header.priceDecimals).toBe(stored)
      expect(roundTrip({ rows, from: 0, to: 1 }, raw)).toBe('')
    }
  })

  it.each<[name: string, sizes: number[]]>([
    ['are taken away and put back', [500, 0, 500, 0, 500]],
    ['are undone', [500, 700, 500, 700, 500]],
    ['stay', [500, 500, 500]],
    ['are nothing all along', [0, 0, 0]],
    ['go to both ends', [MAX, 0, MAX, 1, MAX, MAX - 1, 0]],
    ['repeat an amount up and down', [1, 8, 15, 22, 15, 8, 1, 9]],
  ])('round-trips a level whose sizes %s', (_name, sizes) => {
    const rows = columnsOf(
      2,
      sizes.map((size, at) => ({ head: head({ journal: at }), changes: [[96, size]] })),
    )
    expect(roundTrip({ rows, from: 0, to: sizes.length }, raw)).toBe('')
  })

  it('round-trips more frequent amounts than its dictionary can hold', () => {
    const amounts = Array.from({ length: 300 }, (_, at) => 1 + at * 7)
    const changes = [...amounts, ...amounts].map((amount, at): [number, number] => [2 + at, amount])
    const rows = columnsOf(4, [{ head: head(), changes }])
    expect(roundTrip({ rows, from: 0, to: 1 }, platform)).toBe('')
  })

  it('round-trips times, numbers and journal positions with the largest steps', () => {
    const far = 2 ** 52 - 1
    const heads = [
      head({ received: far, source: 0, venueSeq: far, journal: far }),
      head({ received: far, source: far, venueSeq: 0, journal: 0 }),
      head({ received: far, source: 0, venueSeq: far, journal: far }),
      head({ received: far, source: ABSENT, venueSeq: ABSENT, journal: 5 }),
      head({ received: far, source: 1, venueSeq: 1, journal: 4 }),
    ]
    const rows = columnsOf(
      2,
      heads.map((at) => ({ head: at, changes: [] })),
    )
    expect(roundTrip({ rows, from: 0, to: heads.length }, raw)).toBe('')
    const rising = [0, MAX - 1].map((venueSeq) => head({ source: venueSeq, venueSeq }))
    const more = columnsOf(
      2,
      rising.map((at) => ({ head: at, changes: [] })),
    )
    expect(roundTrip({ rows: more, from: 0, to: 2 }, raw)).toBe('')
  })

  it('cannot be encoded where a step needs more than 53 bits', () => {
    const jumps = { source: [0, MAX, 0], venueSeq: [0, MAX, 0], journal: [0, MAX, 0] }
    for (const [name, values] of Object.entries(jumps)) {
      const heads = values.map((value) => ({ head: head({ [name]: value }), changes: [] }))
      const rows = columnsOf(2, heads)
      const code = codeOf(() => encode({ rows, from: 0, to: 3 }, raw))
      expect([name, code]).toStrictEqual([name, 'unrepresentable'])
    }
  })

  it('cannot be encoded where received time goes back', () => {
    const times = [NOON, NOON + 5, NOON + 4, NOON + 9]
    const heads = times.map((received) => ({ head: head({ received }), changes: [] }))
    const rows = columnsOf(2, heads)
    expect(codeOf(() => encode({ rows, from: 0, to: 4 }, raw))).toBe('invalid_time')
    expect(roundTrip({ rows, from: 2, to: 4 }, raw)).toBe('')
  })
})

const identity: ChunkIdentity = {
  venue: 'venuec',
  market: '0xcd',
  key: '7131',
  origin: 'emulator',
  recorder: 'r1',
  normalizer: 3,
  first: 1001,
  previousHash: NO_HASH,
}

/** Rows [from, to) of columns; `baseKey` and `baseSize` of the columns stand for the book before `from`. */
type Tape = { readonly rows: BookColumns; readonly from: number; readonly to: number }

function encode({ rows, from, to }: Tape, on = platform, venue = identity.venue) {
  const base = { key: rows.baseKey, size: rows.baseSize }
  return encoder.encode(rows, from, to, base, { ...identity, venue, changesBefore: 77 }, on)
}

/** Says what a chunk did not keep; also that decoded rows encode to the same bytes again. */
function roundTrip(tape: Tape, on: typeof platform): string {
  const { bytes, hash } = encode(tape, on)
  const chunk = openChunk(bytes, on)
  for (const numbers of [false, true]) {
    decoder.decode(chunk, on, decoded, { numbers })
    const problem = difference(tape, decoded, numbers)
    if (problem !== '') return `${problem} (numbers: ${numbers})`
  }
  const again = encode({ rows: decoded, from: 0, to: decoded.count }, on)
  if (Buffer.compare(again.bytes, bytes) !== 0) return 'other bytes after a second encoding'
  return Buffer.compare(again.hash, hash) === 0 ? '' : 'another hash after a second encoding'
}

function difference({ rows, from, to }: Tape, got: BookColumns, numbers: boolean): string {
  if (got.count !== to - from) return `${got.count} rows`
  const factor = POW10[rows.priceDecimals - got.priceDecimals]!
  const scale = (key: number): number => (key >>> 1) * factor * 2 + (key & 1)
  const names = ['received', 'source', 'channel', 'flags'] as const
  const slow = numbers ? (['venueSeq', 'journal'] as const) : []
  for (let row = from; row < to; row++) {
    for (const name of [...names, ...slow]) {
      if (!Object.is(got[name][row - from], rows[name][row])) return `${name} of row ${row}`
    }
    const start = rows.changeStart(row)
    const shift = start - got.changeStart(row - from)
    if (got.changeEnd[row - from]! + shift !== rows.changeEnd[row]) return `changes of row ${row}`
    for (let at = start; at < rows.changeEnd[row]!; at++) {
      if (scale(got.key[at - shift]!) !== rows.key[at]) return `price of change ${at}`
      if (!Object.is(got.size[at - shift], rows.size[at])) return `size of change ${at}`
    }
  }
  const order = rows.baseKey
    .map((_, index) => index)
    .sort((a, b) => rows.baseKey[a]! - rows.baseKey[b]!)
  const base = order.map((index) => [rows.baseKey[index], rows.baseSize[index]])
  const gotBase = got.baseKey.map((key, index) => [scale(key), got.baseSize[index]])
  return JSON.stringify(base) === JSON.stringify(gotBase) ? '' : 'the book before'
}

type Row = { readonly head: RowHead; readonly changes: readonly [key: number, size: number][] }

function columnsOf(decimals: number, rows: readonly Row[]): BookColumns {
  const columns = new BookColumns(decimals)
  for (const { head, changes } of rows) {
    columns.push(
      head,
      changes.map(([key]) => key),
      changes.map(([, size]) => size),
    )
  }
  return columns
}

function head(part: Partial<RowHead> = {}): RowHead {
  const times = { received: NOON, source: NOON - 2000 }
  return { ...times, venueSeq: 1, channel: 1, journal: 1, flags: 0, ...part }
}

/** Any rows, with steps of every kind that feeds make and some that they do not. */
function aTape(): fc.Arbitrary<Tape> {
  const aStep = fc.oneof(fc.constantFrom(0, 0, 1), fc.nat(40), fc.nat(100_000), fc.nat(2 ** 40))
  const aSigned = fc.oneof(
    aStep,
    fc.integer({ min: -40, max: 40 }),
    fc.integer({ min: -(2 ** 45), max: 2 ** 45 }),
  )
  const aSize = fc.oneof(
    fc.constant(0),
    fc.constantFrom(100, 100, 250, 1300),
    fc.integer({ min: 1, max: 30 }),
    fc.integer({ min: 0, max: MAX }),
    fc.constantFrom(MAX, MAX - 1, 1),
  )
  return fc
    .record({
      decimals: fc.integer({ min: 2, max: 6 }),
      grain: fc.integer({ min: 0, max: 4 }),
      micros: fc.boolean(),
      sourceMicros: fc.boolean(),
      always: fc.record({ source: fc.boolean(), seq: fc.boolean(), rises: fc.boolean() }),
    })
    .chain(({ decimals, grain, micros, sourceMicros, always }) => {
      const one = POW10[decimals]!
      // Prices of a coarser grain than the columns can hold are stored with fewer decimals.
      const tick = POW10[Math.min(grain, decimals - 2)]!
      const aKey = fc
        .tuple(
          fc.oneof(fc.integer({ min: 1, max: one / tick - 1 }), fc.integer({ min: 40, max: 44 })),
          fc.nat(1),
        )
        .map(([ticks, side]) => ticks * tick * 2 + side)
      const aRow = fc.record({
        received: aStep,
        source: fc.option(always.rises ? aStep : aSigned, { freq: always.source ? 1e9 : 3 }),
        seq: fc.option(always.rises ? aStep : aSigned, { freq: always.seq ? 1e9 : 3 }),
        journal: fc.oneof(fc.constant('row'), fc.constant('seq'), aSigned),
        channel: fc.constantFrom(ABSENT, 0, 1, 2 ** 40),
        flags: fc.oneof(fc.constantFrom(0, 1, 128), fc.nat(65_535)),
        changes: fc.array(fc.tuple(aKey, aSize), { maxLength: 5 }),
      })
      return fc
        .record({
          rows: fc.array(aRow, { minLength: 1, maxLength: 40 }),
          base: fc.uniqueArray(fc.tuple(aKey, fc.integer({ min: 1, max: MAX })), {
            selector: ([key]) => key,
            maxLength: 30,
          }),
          cut: fc.tuple(fc.nat(), fc.nat()),
        })
        .map(({ rows: drawn, base, cut }): Tape => {
          const unit = micros ? 1 : 1000
          const sourceUnit = sourceMicros ? 1 : 1000
          let received = NOON
          let source = NOON - 5000
          let seq = 1000
          let journal = 500
          const rows = drawn.map((row): Row => {
            received += row.received * unit
            const seqStep = row.seq === null ? 0 : row.seq + (always.rises ? 1 : 0)
            source = clamp(source + (row.source ?? 0) * sourceUnit, sourceUnit)
            seq = clamp(seq + seqStep)
            const step = row.journal === 'row' ? 1 : row.journal === 'seq' ? seqStep : row.journal
            journal = clamp(journal + step)
            return {
              head: {
                received,
                source: row.source === null ? ABSENT : source,
                venueSeq: row.seq === null ? ABSENT : seq,
                channel: row.channel,
                journal,
                flags: row.flags,
              },
              changes: row.changes,
            }
          })
          const columns = columnsOf(decimals, rows)
          columns.baseKey = base.map(([key]) => key)
          columns.baseSize = base.map(([, size]) => size)
          const from = cut[0] % rows.length
          return { rows: columns, from, to: from + 1 + (cut[1] % (rows.length - from)) }
        })
    })
}

// Magnitudes below 2^52 with room for a step between any two of them.
function clamp(value: number, unit = 1): number {
  const most = 2 ** 51
  return value < 0 || value > most
    ? Math.abs(value % most) - (Math.abs(value % most) % unit)
    : value
}

/** Many rows at once, faster to make than through fast-check. */
function drawTape(random: Random, count: number, changesOf: () => number): Tape {
  const decimals = random.integer(2, 6)
  const one = POW10[decimals]!
  const rows = new BookColumns(decimals)
  let received = NOON
  let source = NOON
  let seq = 1
  const isMicros = random.chance(0.5)
  const amounts = Array.from({ length: 200 }, () => Math.floor(10 ** (random.float() * 15.9)))
  for (let row = 0; row < count; row++) {
    received += random.integer(0, 5) * (isMicros ? 7 : 1000)
    if (random.chance(0.6)) source += Math.floor(random.exponential(4000))
    if (random.chance(0.01)) source -= 20_000
    seq += random.geometric(1.5)
    const changes = changesOf()
    const keys = Array.from({ length: changes }, () => {
      const near = Math.floor(one / 2 + (random.float() - 0.5) * Math.min(one - 2, 600))
      return near * 2 + random.integer(0, 1)
    })
    const sizes = keys.map(() => (random.chance(0.3) ? 0 : random.pick(amounts)))
    const given = random.chance(0.98)
    rows.push(
      {
        received,
        source: given ? source : ABSENT,
        venueSeq: random.chance(0.99) ? seq : ABSENT,
        channel: 1,
        journal: random.chance(0.1) ? row : seq,
        flags: random.chance(0.05) ? 8 : 0,
      },
      keys,
      sizes,
    )
  }
  for (let level = 1; level < 60; level++) {
    rows.baseKey.push(level * 3)
    rows.baseSize.push(random.integer(1, MAX))
  }
  const from = random.integer(0, Math.floor(count / 4))
  return { rows, from, to: count }
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}
