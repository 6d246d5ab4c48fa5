import { describe, expect, it } from 'vitest'
import type { GapSpan } from './gap.ts'
import { priceRange, printReference, toReferenceLine } from './reference-line.ts'

const row = (second: number, price: string) => ({ received_time: second * 1e6, price })
const gap = (start: number, end: number | undefined): GapSpan => ({
  start: start * 1e6,
  end: end === undefined ? undefined : end * 1e6,
  reason: 'disconnected',
  scope: 'instrument',
  detail: null,
})
const RANGE = { from: 0, to: 10e6 }

describe('the line of a reference price', () => {
  it('holds a price until the next one, and the strike over the whole range', () => {
    const [times, prices, strikes] = toReferenceLine(
      [row(2, '100.5'), row(4, '101')],
      [],
      RANGE,
      100,
    )
    expect(times).toEqual([0, 2, 4, 10])
    expect(prices).toEqual([null, 100.5, 101, 101])
    expect(strikes).toEqual([100, 100, 100, 100])
  })

  it('ends in a gap, and goes on with the first price after it', () => {
    const [times, prices] = toReferenceLine(
      [row(2, '100'), row(6, '102')],
      [gap(3, 6)],
      RANGE,
      undefined,
    )
    expect(times).toEqual([2, 3.000001, 6, 10])
    expect(prices).toEqual([100, null, 102, 102])
    const open = toReferenceLine([row(2, '100')], [gap(3, undefined)], RANGE, undefined)
    expect(open[1]).toEqual([100, null])
  })

  it('is empty without prices', () => {
    expect(toReferenceLine([], [], RANGE, undefined)).toEqual([[], [], []])
  })
})

it('a range has everything that is drawn, with a margin', () => {
  const [low, high] = priceRange([null, 100, 110, 90])
  expect([low, high]).toEqual([88, 112])
  expect(priceRange([null])).toEqual([0, 1])
  const [flat, above] = priceRange([64_000])
  expect(flat).toBeLessThan(64_000)
  expect(above).toBeGreaterThan(64_000)
})

it('a price has as many decimals as its size needs', () => {
  expect(printReference(174.75, 64_000)).toBe('174.75')
  expect([79_697.575, 3.5, 0.123_456_7].map((price) => printReference(price))).toEqual([
    '79,697.58',
    '3.5000',
    '0.123457',
  ])
})
