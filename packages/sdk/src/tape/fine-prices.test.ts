import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsePrice, parseSize, printScaled, type Level, type Micros } from '../domain/index.ts'
import { runsOf } from '../domain/run-counts.testing.ts'
import { BookAssembler, type Observation } from './assembler.ts'
import { BookDecoder, BookEncoder } from './book-codec.ts'
import { NO_HASH, openChunk } from './chunk.ts'
import { BookColumns } from './columns.ts'
import { Ladder } from './ladder.ts'
import { createNodePlatform } from './platform-node.ts'
import { applyRow, applyRows, loadBase } from './run.ts'

/**
 * Books of venue A as decimal text, of any mixture of two to six decimals, through assembler, chunk
 * and ladder. The expected text is made from BigInt millionths by code of its own.
 */
const platform = createNodePlatform(3)
const encoder = new BookEncoder()
const decoder = new BookDecoder()
const PRICE_DECIMALS = 6
const SIZE_DECIMALS = 8

/** A book: millionths of prices and hundred-millionths of sizes, bids below asks. */
type Drawn = {
  readonly bids: ReadonlyMap<bigint, bigint>
  readonly asks: ReadonlyMap<bigint, bigint>
}

const aSize = fc.bigInt({ min: 1n, max: 9_000_000_000_000_000n })
const aBook: fc.Arbitrary<Drawn> = fc
  .record({
    // Steps of 0.01, 0.001, 0.0001, 0.00001 and 0.000001.
    step: fc.constantFrom(10_000n, 1_000n, 100n, 10n, 1n),
    middle: fc.bigInt({ min: 1n, max: 99n }),
    bids: fc.uniqueArray(fc.bigInt({ min: 0n, max: 60n }), { maxLength: 20 }),
    asks: fc.uniqueArray(fc.bigInt({ min: 1n, max: 60n }), { maxLength: 20 }),
    sizes: fc.array(aSize, { minLength: 40, maxLength: 40 }),
  })
  .map(({ step, middle, bids, asks, sizes }) => {
    const centre = middle * 10_000n
    const inside = (price: bigint): boolean => price > 0n && price < 1_000_000n
    const side = (places: readonly bigint[], sign: bigint, from: number): Map<bigint, bigint> =>
      new Map(
        places
          .map((place, index) => [centre + sign * place * step, sizes[from + index]!] as const)
          .filter(([price]) => inside(price)),
      )
    return { bids: side(bids, -1n, 0), asks: side(asks, 1n, 20) }
  })

describe('prices of up to six decimals', () => {
  it('survive assembling, encoding, decoding and both ways of applying rows', () => {
    fc.assert(
      fc.property(fc.array(aBook, { minLength: 1, maxLength: 12 }), fc.nat(), (books, cut) => {
        const expected = books.map(textOf)
        const columns = assemble(books)
        const split = 1 + (cut % columns.count)
        const parts = [columnsOf(columns, 0, split), columnsOf(columns, split, columns.count)]
        const found = parts.flatMap((part) => (part === undefined ? [] : replay(part)))
        expect(found).toEqual(expected)
      }),
      { numRuns: runsOf(400), seed: 61 },
    )
  })

  it('need memory for their levels, not for their ticks', () => {
    const before = process.memoryUsage()
    const ladders = Array.from({ length: 2_000 }, (_, index) => {
      const ladder = new Ladder(PRICE_DECIMALS)
      for (let level = 1; level <= 20; level++) ladder.apply((index + level * 7) * 2, level)
      return ladder
    })
    const after = process.memoryUsage()
    const grown = after.heapUsed + after.external - before.heapUsed - before.external
    expect(grown / ladders.length).toBeLessThan(16_384)
    expect(ladders[3]!.bestBid).toBe(143)
  })
})

function assemble(books: readonly Drawn[]): BookColumns {
  const instrument = { venue: 'venuea', market: '1', key: '1' } as const
  const assembler = new BookAssembler(instrument)
  const columns = new BookColumns(2)
  for (const [index, { bids, asks }] of books.entries()) {
    const row = assembler.take({
      kind: 'snapshot',
      instrument,
      bids: levelsOf(bids),
      asks: levelsOf(asks),
      received: (1_785_931_200_000_000 + index) as Micros,
      journal: index + 1,
    }) as Observation
    if (row.priceDecimals > columns.priceDecimals) columns.rescale(row.priceDecimals)
    columns.push(row, row.keys, row.sizes)
  }
  return columns
}

function levelsOf(side: ReadonlyMap<bigint, bigint>): Level[] {
  return [...side].map(([price, size]) => ({
    price: parsePrice(decimal(price, PRICE_DECIMALS), PRICE_DECIMALS),
    size: parseSize(decimal(size, SIZE_DECIMALS), SIZE_DECIMALS),
  }))
}

// Encodes rows [from, to) with the book before them, and decodes them.
function columnsOf(columns: BookColumns, from: number, to: number): BookColumns | undefined {
  if (from === to) return undefined
  const ladder = new Ladder()
  loadBase(ladder, columns)
  applyRows(ladder, columns, 0, from)
  const key = ladder.keys()
  const { bytes } = encoder.encode(
    columns,
    from,
    to,
    { key, size: key.map((level) => ladder.sizeAt(level)) },
    {
      venue: 'venuea',
      market: '1',
      key: '1',
      origin: 'live',
      recorder: 'r',
      normalizer: 1,
      first: from + 1,
      previousHash: NO_HASH,
      changesBefore: 0,
    },
    platform,
  )
  const into = new BookColumns()
  decoder.decode(openChunk(bytes, platform), platform, into, { numbers: true })
  return into
}

function replay(columns: BookColumns): string[] {
  const one = new Ladder()
  loadBase(one, columns)
  const texts: string[] = []
  for (let row = 0; row < columns.count; row++) {
    applyRow(one, columns, row)
    texts.push(ladderText(one))
  }
  const all = new Ladder()
  loadBase(all, columns)
  applyRows(all, columns, 0, columns.count)
  expect(ladderText(all)).toBe(texts.at(-1))
  return texts
}

function ladderText(ladder: Ladder): string {
  const side = ({ price, size }: { price: number[]; size: number[] }): string[] =>
    price.map(
      (ticks, index) =>
        `${printScaled(ticks, ladder.decimals)}×${printScaled(size[index]!, SIZE_DECIMALS)}`,
    )
  return `${side(ladder.bids()).join(' ')} | ${side(ladder.asks()).join(' ')}`
}

function textOf({ bids, asks }: Drawn): string {
  const side = (levels: ReadonlyMap<bigint, bigint>, isDown: boolean): string => {
    const sorted = [...levels].toSorted(([a], [b]) => (a < b === isDown ? 1 : -1))
    return sorted.map(([price, size]) => `${decimal(price, 6)}×${decimal(size, 8)}`).join(' ')
  }
  return `${side(bids, true)} | ${side(asks, false)}`
}

// The decimal text of a whole number of 10^−places, without trailing zeros.
function decimal(units: bigint, places: number): string {
  const digits = String(units).padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  const whole = digits.slice(0, -places)
  return fraction === '' ? whole : `${whole}.${fraction}`
}
