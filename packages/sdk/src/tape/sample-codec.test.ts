import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PriorbookError } from '../domain/index.ts'
import type { ChunkIdentity } from './book-codec.ts'
import { NO_HASH, openChunk } from './chunk.ts'
import { ABSENT, SampleColumns } from './columns.ts'
import { createNodePlatform } from './platform-node.ts'
import { decodeSamples, encodeSamples, SAMPLE_DECIMALS } from './sample-codec.ts'
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
