import { describe, expect, it } from 'vitest'
import {
  DAY,
  HOUR,
  microsOf,
  MINUTE,
  parseLinkTime,
  printExact,
  printLinkTime,
  printSpan,
  SECOND,
} from './time.ts'

describe('times of the explorer', () => {
  it('parses both formats of the API to the microsecond', () => {
    expect(microsOf('2026-08-11T01:15:15.904001Z')).toBe(microsOf(1_786_410_915_904_001))
    expect(printExact(1_786_410_915_904_001)).toBe('2026-08-11 01:15:15.904001')
  })

  it('round-trips an instant through a link', () => {
    const time = 1_786_410_915_904_001
    expect(parseLinkTime(printLinkTime(time))).toBe(time)
    expect(parseLinkTime('1786410915904')).toBe(1_786_410_915_904_000)
    expect(parseLinkTime('1786410915904001')).toBe(time)
    expect(parseLinkTime('yesterday')).toBeUndefined()
    expect(parseLinkTime('')).toBeUndefined()
    expect(parseLinkTime(null)).toBeUndefined()
  })

  it('prints durations in fitting units', () => {
    expect(printSpan(950_000)).toBe('950 ms')
    expect(printSpan(12.46 * SECOND)).toBe('12.4 s')
    expect(printSpan(59.99 * SECOND)).toBe('59.9 s')
    expect(printSpan(3 * MINUTE + 20 * SECOND)).toBe('3 min 20 s')
    expect(printSpan(5 * HOUR)).toBe('5 h')
    expect(printSpan(2 * DAY + 4 * HOUR)).toBe('2 d 4 h')
    expect(printSpan(-5)).toBe('0 ms')
  })
})
