import { assert, double, integer, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOfBucket, fitRange, joinRanges, panRange, rangeThrough, zoomRange } from './range.ts'

const LIMITS = { from: 0, to: 900_000_000 }

describe('the range of a chart', () => {
  it('keeps the instant under the pointer in its place while it is zoomed', () => {
    const range = { from: 100_000_000, to: 500_000_000 }
    expect(zoomRange(range, 200_000_000, 0.5, LIMITS)).toEqual({
      from: 150_000_000,
      to: 350_000_000,
    })
    expect(zoomRange(range, 200_000_000, 100, LIMITS)).toEqual(LIMITS)
  })

  it('has at least four seconds', () => {
    expect(zoomRange({ from: 0, to: 8_000_000 }, 4_000_000, 0.01, LIMITS)).toEqual({
      from: 2_000_000,
      to: 6_000_000,
    })
  })

  it('stays inside its limits, with its length, in whole microseconds', () => {
    expect(panRange({ from: 100, to: 10_000_100 }, -500, LIMITS)).toEqual({
      from: 0,
      to: 10_000_000,
    })
    const time = integer({ min: -1e9, max: 2e9 })
    assert(
      property(time, time, double({ min: -1, max: 1, noNaN: true }), (a, b, shift) => {
        const range = { from: Math.min(a, b), to: Math.max(a, b) + 1 }
        const fitted = fitRange({ from: range.from + shift, to: range.to + shift }, LIMITS)
        expect(fitted.from).toBeGreaterThanOrEqual(LIMITS.from)
        expect(fitted.to).toBeLessThanOrEqual(LIMITS.to)
        expect(fitted.to - fitted.from).toBeGreaterThanOrEqual(4_000_000)
        expect(Number.isInteger(fitted.from) && Number.isInteger(fitted.to)).toBe(true)
      }),
    )
  })

  it('follows two fingers', () => {
    const anchors = [
      { time: 100, part: 0.25 },
      { time: 200, part: 0.75 },
    ]
    expect(rangeThrough(anchors, 1)).toEqual({ from: 50, to: 250 })
    expect(rangeThrough(anchors.slice(0, 1), 400)).toEqual({ from: 0, to: 400 })
  })

  it('may be that of several spans together', () => {
    expect(joinRanges([{ from: 3, to: 5 }, undefined, { from: 1, to: 4 }])).toEqual({
      from: 1,
      to: 5,
    })
    expect(joinRanges([undefined])).toBeUndefined()
  })
})

describe('the instant of the crosshair', () => {
  it('is the last one of a bucket, or of what was recorded', () => {
    expect(endOfBucket(2_500_000, 1_000_000, 9e9)).toBe(2_999_999)
    expect(endOfBucket(2_000_000, 1_000_000, 9e9)).toBe(2_999_999)
    expect(endOfBucket(2_500_000, 1_000_000, 2_700_000)).toBe(2_700_000)
  })
})
