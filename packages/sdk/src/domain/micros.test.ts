import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PriorbookError } from './errors.ts'
import { fromMillis, parseMicros, printMicros, toMicros } from './micros.ts'
import { runsOf } from './run-counts.testing.ts'

const MAX = Number.MAX_SAFE_INTEGER
const aTime = fc.integer({ min: 0, max: MAX })

describe('parseMicros', () => {
  it('parses the output of printMicros over the whole range', () => {
    fc.assert(
      fc.property(fc.oneof(aTime, fc.integer({ min: 17e14, max: 18e14 })), (time) => {
        const text = printMicros(toMicros(time))
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
        expect(parseMicros(text)).toBe(time)
      }),
      { numRuns: runsOf(5000), seed: 1 },
    )
  })

  it('equals Date within its precision, in any time zone', () => {
    const zone = fc.tuple(
      fc.constantFrom('+', '-'),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 0, max: 59 }),
    )
    const millis = fc.integer({ min: 0, max: Math.floor(MAX / 1000) })
    fc.assert(
      fc.property(millis, zone, (time, [sign, hours, minutes]) => {
        const two = (value: number): string => String(value).padStart(2, '0')
        const text = `${new Date(time).toISOString().slice(0, -1)}${sign}${two(hours)}:${two(minutes)}`
        const wanted = Date.parse(text) * 1000
        const isTime = Number.isSafeInteger(wanted) && wanted >= 0
        expect(timeOrCode(text)).toBe(isTime ? wanted : 'invalid_time')
      }),
      { numRuns: runsOf(3000), seed: 2 },
    )
  })

  it.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2026-08-05T12:00:00Z', 1_785_931_200_000_000],
    ['2026-08-05t12:00:00z', 1_785_931_200_000_000],
    ['2026-08-05 12:00:00Z', 1_785_931_200_000_000],
    ['2026-08-05T14:30:00+02:30', 1_785_931_200_000_000],
    ['2026-08-05T12:00:00-00:00', 1_785_931_200_000_000],
    ['1969-12-31T23:00:00-01:00', 0],
    ['2024-02-29T00:00:00Z', 1_709_164_800_000_000],
    ['2026-08-05T12:00:00.1Z', 1_785_931_200_100_000],
    ['2026-08-05T12:00:00.123456Z', 1_785_931_200_123_456],
    ['2026-08-05T12:00:00.123456999Z', 1_785_931_200_123_456],
    ['2026-08-05T12:00:00.000000999999Z', 1_785_931_200_000_000],
    ['2255-06-05T23:47:34.740991Z', MAX],
  ])('parses %s as %i', (text, time) => {
    expect(parseMicros(text)).toBe(time)
  })

  it.each([
    '',
    '2026-08-05',
    '2026-08-05T12:00Z',
    '2026-08-05T12:00:00',
    '2026-08-05T12:00:00.Z',
    '2026-08-05T12:00:00,5Z',
    '2026-08-05T12:00:00.1234567890123Z',
    '2026-08-05T12:00:00+0200',
    '2026-08-05T12:00:00+02',
    '2026-08-05T12:00:00+24:00',
    '2026-08-05T12:00:00+02:60',
    '2026-08-05T12:00:00+99:99',
    '2026-08-05T24:00:00Z',
    '2026-08-05T12:60:00Z',
    '2026-08-05T12:00:60Z',
    '2016-12-31T23:59:60Z',
    '2026-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-13-10T00:00:00Z',
    '2026-08-00T00:00:00Z',
    '2026-08-32T00:00:00Z',
    '1969-12-31T23:59:59.999999Z',
    '1970-01-01T00:00:00+00:01',
    '0001-01-01T00:00:00Z',
    '2255-06-05T23:47:34.740992Z',
    '9999-12-31T23:59:59Z',
    '+02026-08-05T12:00:00Z',
    ' 2026-08-05T12:00:00Z',
    '2026-08-05T12:00:00Z\n',
    '٢٠٢٦-08-05T12:00:00Z',
    '1785931200000',
  ])('rejects %j', (text) => {
    expect(codeOf(() => parseMicros(text))).toBe('invalid_time')
  })

  it('accepts every day of the calendar and no other', () => {
    for (const year of [1972, 2000, 2026, 2028, 2100]) {
      for (let month = 1; month <= 13; month++) {
        for (let day = 0; day <= 32; day++) {
          const text = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
          const days = new Date(Date.UTC(year, month, 0)).getUTCDate()
          const exists = month <= 12 && day >= 1 && day <= days
          const code = codeOf(() => parseMicros(`${text}T01:02:03Z`))
          expect([text, code]).toStrictEqual([text, exists ? 'none' : 'invalid_time'])
        }
      }
    }
  })

  it('is not affected by its cached second', () => {
    expect(parseMicros('2026-08-05T12:00:00.5Z')).toBe(1_785_931_200_500_000)
    expect(codeOf(() => parseMicros('2026-02-30T12:00:00Z'))).toBe('invalid_time')
    expect(parseMicros('2026-08-05T12:00:00.25Z')).toBe(1_785_931_200_250_000)
    expect(parseMicros('2026-08-05T12:00:00.25+01:00')).toBe(1_785_927_600_250_000)
    expect(codeOf(() => parseMicros('2026-02-30T12:00:00Z'))).toBe('invalid_time')
  })

  it.each([undefined, null, 5, {}, ['2026-08-05T12:00:00Z']])('refuses %s', (value) => {
    expect(codeOf(() => parseMicros(value))).toBe('invalid_time')
  })
})

describe('numbers as times', () => {
  it.each([-1, 0.5, NaN, Infinity, MAX + 1])('%d is not a time in microseconds', (value) => {
    expect(codeOf(() => toMicros(value))).toBe('invalid_time')
  })

  it.each([-1, 0.5, 1.5, NaN, Infinity, 9_007_199_254_741])('%d is not a time in ms', (value) => {
    expect(codeOf(() => fromMillis(value))).toBe('invalid_time')
  })

  it('accepts whole ones', () => {
    expect(toMicros(MAX)).toBe(MAX)
    expect(fromMillis(1_785_931_200_123)).toBe(1_785_931_200_123_000)
    expect(fromMillis(9_007_199_254_740)).toBe(9_007_199_254_740_000)
  })
})

function timeOrCode(text: string): number | string {
  const code = codeOf(() => parseMicros(text))
  return code === 'none' ? parseMicros(text) : code
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}
