import { fromMillis, parseMicros, printMicros, toMicros } from '@priorbook/sdk/domain'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { codeOf } from '../capture/refusals.testing.ts'
import { readTime } from '../capture/fields.ts'
import { readInstrument } from './fields.ts'

it('reads times as the domain does, whatever was read before', () => {
  // Few seconds and many fractions, so that the remembered second is hit and missed.
  const second = fc.constantFrom(0, 1, 59, 60, 1_790_000_000, 1_790_000_001)
  const time = fc.record({
    second,
    fraction: fc.stringMatching(/^(\.[0-9]{1,9})?$/),
    zone: fc.constantFrom('Z', 'Z', 'Z', 'z', '+00:00', '-05:30'),
  })
  fc.assert(
    fc.property(fc.array(time, { minLength: 1, maxLength: 20 }), (times) => {
      for (const { second, fraction, zone } of times) {
        const text = printMicros(fromMillis(second * 1000)).slice(0, 19) + fraction + zone
        expect(timeOrCode(() => readTime(text, 'ts'))).toBe(timeOrCode(() => parseMicros(text)))
      }
    }),
    { seed: 1, numRuns: 500 },
  )
})

it.each([
  '2026-09-21T14:13:20.Z',
  '2026-09-21T14:13:20.12x456Z',
  '2026-09-21T14:13:20,123456Z',
  '2026-09-21T14:13:20.123456',
  `${'\0'.repeat(19)}.123456Z`,
  `${'\uffff'.repeat(19)}.123456Z`,
])('refuses %j, also within a second that it knows', (text) => {
  expect(readTime('2026-09-21T14:13:20.5Z', 'ts')).toBe(toMicros(1_790_000_000_500_000))
  expect(codeOf(() => readTime(text, 'ts'))).toBe('invalid_time')
})

it('shares one instrument per ticker, with a bounded cache', () => {
  const first = readInstrument('KXONE')
  expect(readInstrument('KXONE')).toBe(first)
  for (let index = 0; index < 10_000; index++) readInstrument(`KX${index}`)
  expect(readInstrument('KXONE')).toStrictEqual(first)
})

function timeOrCode(read: () => number): number | string {
  let time = -1
  const code = codeOf(() => {
    time = read()
  })
  return code === 'none' ? time : code
}
