import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PriorbookError } from '../domain/index.ts'
import type { ChunkIdentity } from './book-codec.ts'
import { NO_HASH, openChunk } from './chunk.ts'
import { ABSENT, SampleColumns } from './columns.ts'
import { createNodePlatform } from './platform-node.ts'
import { decodeSamples, encodeSamples } from './sample-codec.ts'
import { parseSampleValue, printSampleValue, SAMPLE_DECIMALS } from './sample-value.ts'
import { runsOf } from '../domain/run-counts.testing.ts'

const platform = createNodePlatform(3)
const MAX = Number.MAX_SAFE_INTEGER
const identity: ChunkIdentity & { metric: string } = {
  venue: 'venuea',
  market: '8812',
  key: '8812',
  metric: 'chance',
  origin: 'live',
  recorder: 'r1',
  normalizer: 1,
  first: 41,
  previousHash: NO_HASH,
}

describe('a sample chunk', () => {
  it('round-trips any values exactly, for any range of rows', () => {
    const half = fc.integer({ min: -(2 ** 52), max: 2 ** 52 })
    const aValue = fc.oneof(fc.integer({ min: -500, max: 500 }), half, fc.constant(52_000_000))
    fc.assert(
      fc.property(fc.array(aValue, { minLength: 1 }), fc.nat(), fc.nat(), (values, a, b) => {
        const from = a % values.length
        const to = from + 1 + (b % (values.length - from))
        const { chunk, got } = roundTrip(values, from, to)
        expect(got.value.map((value) => value + 0)).toStrictEqual(
          values.slice(from, to).map((value) => value + 0),
        )
        expect([...got.journal.subarray(0, got.count)]).toStrictEqual(
          values.slice(from, to).map((_, index) => from + index),
        )
        expect(chunk.header).toMatchObject({
          kind: 'sample',
          metric: 'chance',
          count: to - from,
          changes: 0,
          priceDecimals: 0,
          sizeDecimals: SAMPLE_DECIMALS,
        })
      }),
      { numRuns: runsOf(400), seed: 1 },
    )
  })

  it.each([
    [[0]],
    [[0, 0, 0]],
    [[MAX, MAX, 0, MAX]],
    [[-MAX, 0, -MAX]],
    [[-1, 1, -1]],
    [[5_200_000_000_000, 5_200_000_000_001]],
  ])('round-trips %j', (values) => {
    expect(roundTrip(values, 0, values.length).got.value.map((value) => value + 0)).toStrictEqual(
      values,
    )
  })

  it('cannot be encoded where two values are too far apart', () => {
    expect(() => roundTrip([-MAX, MAX], 0, 2)).toThrow(PriorbookError)
  })
})

describe('a value of up to 18 decimals', () => {
  it('is the text that it was, in memory and in a chunk', () => {
    const digits = fc.tuple(
      fc.boolean(),
      fc.nat(20_000_000),
      fc.array(fc.nat(9), { maxLength: 17 }),
      fc.integer({ min: 1, max: 9 }),
    )
    fc.assert(
      fc.property(fc.array(digits, { minLength: 1 }), (all) => {
        const texts = all.map(
          ([isNegative, whole, part, last]) =>
            `${isNegative ? '-' : ''}${whole}.${part.join('')}${last}`,
        )
        const rows = new SampleColumns()
        for (const text of texts) {
          const { value, fine } = parseSampleValue(text)
          const numbers = {
            source: ABSENT,
            venueSeq: ABSENT,
            channel: ABSENT,
            journal: 1,
            flags: 0,
          }
          rows.push({ received: 1_785_931_200_000_000, ...numbers }, value, fine)
        }
        const { bytes } = encodeSamples(rows, 0, rows.count, identity, platform)
        const got = new SampleColumns()
        decodeSamples(openChunk(bytes, platform), platform, got)
        for (const columns of [rows, got]) {
          expect(texts.map((_, row) => printSampleValue(columns, row))).toStrictEqual(texts)
        }
      }),
      { numRuns: runsOf(400), seed: 1 },
    )
  })

  it('adds a column to a chunk only where a value has more than 8 decimals', () => {
    const columnsFor = (text: string): number => {
      const rows = new SampleColumns()
      const { value, fine } = parseSampleValue(text)
      const numbers = { source: ABSENT, venueSeq: ABSENT, channel: ABSENT, journal: 1, flags: 0 }
      rows.push({ received: 1, ...numbers }, value, fine)
      return openChunk(encodeSamples(rows, 0, 1, identity, platform).bytes, platform).sections
        .length
    }
    expect(columnsFor('79697.73000000')).toBe(10)
    expect(columnsFor('79697.575317474428059648')).toBe(11)
  })

  it('is refused where it has more', () => {
    expect(() => parseSampleValue('1.0000000000000000001')).toThrow(PriorbookError)
    expect(parseSampleValue('1.0000000000000000010')).toStrictEqual({ value: 1e8, fine: 1 })
  })
})

function roundTrip(values: readonly number[], from: number, to: number) {
  const rows = new SampleColumns()
  for (const [index, value] of values.entries()) {
    const received = 1_785_931_200_000_000 + index * 60_000_000
    const numbers = { venueSeq: ABSENT, channel: ABSENT, journal: index, flags: 0 }
    rows.push({ received, source: ABSENT, ...numbers }, value)
  }
  const { bytes } = encodeSamples(rows, from, to, identity, platform)
  const chunk = openChunk(bytes, platform)
  const got = new SampleColumns()
  decodeSamples(chunk, platform, got)
  expect(got.count).toBe(to - from)
  return { chunk, got }
}
