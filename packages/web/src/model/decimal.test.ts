import { describe, expect, it } from 'vitest'
import {
  alignDecimals,
  groupDigits,
  padDecimal,
  placesIn,
  printBytes,
  printDecimal,
  printPrice,
  printShort,
  stepPlaces,
  toCents,
} from './decimal.ts'

describe('printed decimals', () => {
  it('line up without changing a digit', () => {
    expect([5000, 4850, 10_000, 0].map((units) => placesIn(units, 4))).toEqual([1, 3, 0, 0])
    expect(['0.5', '0.485', '1'].map((text) => padDecimal(text, 3))).toEqual([
      '0.500',
      '0.485',
      '1.000',
    ])
    expect(padDecimal('12', 0)).toBe('12')
  })

  it('have their points below each other', () => {
    expect(alignDecimals(['50.12', '2', '10.5'])).toEqual(['50.12', '2.00', '10.50'])
    expect(alignDecimals(['3', '20'])).toEqual(['3', '20'])
  })

  it('are not rounded on an axis', () => {
    expect([0.1, 0.05, 0.025, 0.02, 0.01, 0.005, 0.0025, 5].map(stepPlaces)).toEqual([
      2, 2, 3, 2, 2, 3, 4, 2,
    ])
  })

  it('show the digits of the API', () => {
    expect(printDecimal(null)).toBe('–')
    expect(printDecimal('0.10')).toBe('0.10')
    expect(printDecimal({ rawJSON: '12345678901234567890.5' })).toBe('12345678901234567890.5')
    expect(printPrice('0.5')).toBe('0.50')
    expect(printPrice('0.4855')).toBe('0.4855')
    expect(printPrice(null)).toBe('–')
  })

  it('are cents without a digit changed', () => {
    const cents = ['0.485', '0.5', '1', '0.07', '0.0012', '-0.25', '0.123456', '0'].map(toCents)
    expect(cents).toEqual(['48.5', '50', '100', '7', '0.12', '-25', '12.3456', '0'])
  })

  it('have thousands separators only before the point', () => {
    expect(groupDigits('1234567.12345')).toBe('1,234,567.12345')
    expect(groupDigits('999')).toBe('999')
  })

  it('are shortened for narrow columns', () => {
    expect(printShort('9999.5')).toBe('9,999.5')
    expect(printShort('12345')).toBe('12.3k')
    expect(printShort('3100000')).toBe('3.1M')
    expect(['999949', '999970', '999960000'].map(printShort)).toEqual(['999.9k', '1.0M', '1.0B'])
    expect(printShort('-1500000')).toBe('-1.5M')
    expect(printShort('–')).toBe('–')
    expect(printBytes(999)).toBe('999 B')
    expect(printBytes(1_250_000)).toBe('1.3 MB')
    expect([999_949, 999_970].map(printBytes)).toEqual(['999.9 kB', '1.0 MB'])
  })
})
