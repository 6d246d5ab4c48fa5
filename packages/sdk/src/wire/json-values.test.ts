import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { printScaled } from '../domain/index.ts'
import { decimalJson, scaledJson } from './json-values.ts'

describe('a decimal of scaled units', () => {
  it('is written as its text is, whatever its size', () => {
    const units = fc.oneof(
      fc.integer({ min: -2_000_000, max: 2_000_000 }),
      fc.maxSafeInteger(),
      fc.constantFrom(0, 1, 10, 999_999_999_999_999, 1_000_000_000_000_000),
    )
    const style = fc.constantFrom(
      {},
      { numberFormat: 'number' as const },
      { numberFormat: 'string' as const },
    )
    fc.assert(
      fc.property(units, fc.integer({ min: 0, max: 12 }), style, (value, decimals, how) => {
        const text = decimalJson(printScaled(value, decimals), how)
        expect(JSON.stringify(scaledJson(value, decimals, how))).toBe(JSON.stringify(text))
      }),
      { numRuns: 2000 },
    )
  })
})
