import { describe, expect, it } from 'vitest'
import { compareDecimals, middleOf, roundDecimal } from './exact.ts'

describe('decimals', () => {
  it('have a middle with every digit', () => {
    expect(middleOf('0.1', '0.2')).toBe('0.15')
    expect(middleOf('0.48', '0.5')).toBe('0.49')
    expect(middleOf('0.4801', '0.48')).toBe('0.48005')
  })

  it('are compared by all of their digits', () => {
    // As floats the first two are the same number.
    expect(compareDecimals('0.10000000000000000001', '0.1')).toBe(1)
    expect(compareDecimals('0.5', '0.500')).toBe(0)
    expect(compareDecimals('0.09', '0.1')).toBe(-1)
    expect(compareDecimals('12', '3')).toBe(1)
    expect(compareDecimals('-0.2', '0.1')).toBe(-1)
  })

  it('are rounded to the side that is asked for', () => {
    expect(roundDecimal('0.51749512', 4, 'down')).toBe('0.5174')
    expect(roundDecimal('0.51749512', 4, 'up')).toBe('0.5175')
    expect(roundDecimal('0.99999', 4, 'up')).toBe('1.0000')
    expect(roundDecimal('0.51740000', 4, 'up')).toBe('0.5174')
    expect(roundDecimal('0.5', 4, 'up')).toBe('0.5')
    expect(roundDecimal('-0.00011', 4, 'down')).toBe('-0.0002')
    expect(roundDecimal('-0.00011', 4, 'up')).toBe('-0.0001')
  })
})
