import { expect, it } from 'vitest'
import { boundParam, timeParam } from './param.ts'

it('takes a time as long as its schema allows, and refuses a longer one', () => {
  const param = timeParam()
  const most = Number(param.schema['maxLength'])
  const text = (length: number): string => `1786410915.${'0'.repeat(length - 11)}`
  expect(param.parse(text(most), 'at')).toBe(1_786_410_915_000_000)
  expect(() => param.parse(text(most + 1), 'at')).toThrow('at is not a time')
})

it.each([
  ['1969-12-31T23:59:59Z', 'lies before 1970 or after 2255-06-05'],
  ['2255-06-06T00:00:00Z', 'lies before 1970 or after 2255-06-05'],
  ['9999999999999999', 'lies before 1970 or after 2255-06-05'],
  ['9999999999999', 'lies before 1970 or after 2255-06-05'],
  ['2026-02-30T00:00:00Z', 'is not a time'],
  ['1786410915000000000', 'is not a time'],
])('says why %s is refused', (text, why) => {
  expect(() => timeParam().parse(text, 'at')).toThrow(why)
})

it.each([
  ['2026-08-11T01:15:15.000001Z', 0],
  ['2026-08-11T01:15:15.000001000Z', 0],
  ['2026-08-11T01:15:15.000001001Z', 1],
  ['2026-08-11T03:15:15.000001999999+02:00', 1],
  ['1786410915.000001', 0],
  ['1786410915.0000010', 0],
  ['1786410915.0000011', 1],
  ['1786410915000001', 0],
])('rounds the bound %s up to a microsecond, and other times down', (text, up) => {
  expect(timeParam().parse(text, 'at')).toBe(1_786_410_915_000_001)
  expect(boundParam().parse(text, 'start_time')).toBe(1_786_410_915_000_001 + up)
})
