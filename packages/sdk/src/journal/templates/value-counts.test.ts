import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { runsOf } from '../../domain/run-counts.testing.ts'
import { ValueCounts } from './value-counts.ts'

it('counts what a Map counts, list after list', () => {
  const counts = new ValueCounts()
  const value = fc.oneof(fc.nat(5), fc.nat(2 ** 31 - 1), fc.maxSafeNat(), fc.constant(2 ** 32))
  fc.assert(
    fc.property(fc.array(value, { maxLength: 200 }), fc.nat(220), (list, max) => {
      const expected = new Map<number, number>()
      for (const one of list) expected.set(one, (expected.get(one) ?? 0) + 1)
      expect(counts.count(Float64Array.from(list), max)).toBe(expected.size <= max)
      expect(counts.count(Float64Array.from(list))).toBe(true)
      const found = Array.from(counts.values.subarray(0, counts.size), (one, index) => [
        one,
        counts.counts[index]!,
      ])
      expect(found).toEqual([...expected])
    }),
    { numRuns: runsOf(500) },
  )
})
