import { describe, expect, it } from 'vitest'
import {
  DAY,
  HOUR,
  instantOf,
  microsOf,
  MINUTE,
  parseLinkTime,
  printExact,
  printLinkTime,
  printSeconds,
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

  it('finds the instant of a clock near a change to or from summer time', () => {
    // New York left summer time on 2026-11-01 at 06:00 UTC, and began it on 2026-03-08 at 07:00 UTC.
    const changes = [
      microsOf('2026-03-08T07:00:00.000000Z'),
      microsOf('2026-11-01T06:00:00.000000Z'),
    ]
    const offsetOf = (time: number): number =>
      (time >= changes[0]! && time < changes[1]! ? -4 : -5) * HOUR
    for (const [clock, instant] of [
      ['2026-11-01 00:30:00', '2026-11-01 04:30:00'],
      ['2026-11-01 03:00:00', '2026-11-01 08:00:00'],
      ['2026-11-01 12:00:00', '2026-11-01 17:00:00'],
      ['2026-03-08 01:30:00', '2026-03-08 06:30:00'],
      ['2026-03-08 03:30:00', '2026-03-08 07:30:00'],
    ]) {
      const time = instantOf(parseLinkTime(`${clock}Z`)!, offsetOf)
      expect([clock, printSeconds(time)]).toEqual([clock, instant])
    }
    const summer = (time: number): number =>
      (time >= microsOf('2026-10-25T01:00:00.000000Z') ? 1 : 2) * HOUR
    expect(printSeconds(instantOf(parseLinkTime('2026-10-25 01:30:00Z')!, summer))).toBe(
      '2026-10-24 23:30:00',
    )
  })

  it('prints durations in fitting units', () => {
    expect(printSpan(950_000)).toBe('950 ms')
    // A gap of less than a millisecond is one, and 1000 ms are a second.
    expect(printSpan(446)).toBe('446 µs')
    expect(printSpan(999_700)).toBe('999 ms')
    expect(printSpan(12.46 * SECOND)).toBe('12.4 s')
    expect(printSpan(59.99 * SECOND)).toBe('59.9 s')
    expect(printSpan(3 * MINUTE + 20 * SECOND)).toBe('3 min 20 s')
    expect(printSpan(5 * HOUR)).toBe('5 h')
    expect(printSpan(2 * DAY + 4 * HOUR)).toBe('2 d 4 h')
    expect(printSpan(-5)).toBe('0 ms')
  })
})
