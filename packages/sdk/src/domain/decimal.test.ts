import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonicalDecimal,
  decimalText,
  parsePrice,
  parseScaled,
  parseSize,
  POW10,
  printScaled,
} from './decimal.ts'
import { PriorbookError } from './errors.ts'
import { runsOf } from './run-counts.testing.ts'

const MAX = Number.MAX_SAFE_INTEGER

describe('parseScaled', () => {
  it.each([
    ['0.0100', 4, 100],
    ['.48', 4, 4800],
    ['-54.00', 2, -5400],
    ['5', 2, 500],
    ['00012.50', 2, 1250],
    ['-0', 2, 0],
    ['-0.000', 2, 0],
    ['-.5', 1, -5],
    ['1.500000000000000000000', 1, 15],
    ['0.000000000000001', 15, 1],
    ['7', 0, 7],
    ['7.000', 0, 7],
    ['1.1e+1', 0, 11],
    ['90071992547409910000E-10', 6, 9_007_199_254_740_991],
  ])('parses %s at %i decimals as %i', (text, decimals, units) => {
    expect(parseScaled(text, decimals)).toBe(units)
  })

  it('parses the output of printScaled over the whole range', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 15 }), (units, decimals) => {
        expect(parseScaled(printScaled(units, decimals), decimals)).toBe(units === 0 ? 0 : units)
      }),
      { numRuns: runsOf(5000), seed: 1 },
    )
  })

  it('and printScaled together give the canonical form of any decimal text in range', () => {
    fc.assert(
      fc.property(aDecimal(), fc.integer({ min: 0, max: 15 }), (text, decimals) => {
        const units = referenceUnits(text, decimals)
        const fits = units !== undefined && units <= MAX && units >= -MAX
        expect(readAndPrint(text, decimals)).toStrictEqual(
          fits ? [Number(units), referenceCanonical(text)] : ['unrepresentable'],
        )
      }),
      { numRuns: runsOf(5000), seed: 2 },
    )
  })

  it('accepts 2^53 − 1 units and rejects one more, at every number of decimals', () => {
    for (let decimals = 0; decimals <= 15; decimals++) {
      const edge = printScaled(MAX, decimals)
      expect(parseScaled(edge, decimals)).toBe(MAX)
      expect(parseScaled(`-${edge}`, decimals)).toBe(-MAX)
      for (const beyond of [MAX + 1, MAX + 3, 1e16]) {
        const text = referencePrint(BigInt(beyond), decimals)
        expect(codeOf(() => parseScaled(text, decimals))).toBe('unrepresentable')
        expect(codeOf(() => parseScaled(`-${text}`, decimals))).toBe('unrepresentable')
      }
    }
  })

  it.each([
    ['', 'invalid_decimal'],
    ['.', 'invalid_decimal'],
    ['-', 'invalid_decimal'],
    ['-.', 'invalid_decimal'],
    ['1.', 'invalid_decimal'],
    ['-1.', 'invalid_decimal'],
    ['+1', 'invalid_decimal'],
    ['--1', 'invalid_decimal'],
    ['1-', 'invalid_decimal'],
    ['1.2.3', 'invalid_decimal'],
    [' 1', 'invalid_decimal'],
    ['1 ', 'invalid_decimal'],
    ['1\n', 'invalid_decimal'],
    ['1,5', 'invalid_decimal'],
    ['1_000', 'invalid_decimal'],
    ['0x10', 'invalid_decimal'],
    ['NaN', 'invalid_decimal'],
    ['Infinity', 'invalid_decimal'],
    ['-Infinity', 'invalid_decimal'],
    ['null', 'invalid_decimal'],
    ['١٢', 'invalid_decimal'],
    ['１２', 'invalid_decimal'],
    ['½', 'invalid_decimal'],
    ['1e', 'invalid_decimal'],
    ['e5', 'invalid_decimal'],
    ['1e+', 'invalid_decimal'],
    ['1.e5', 'invalid_decimal'],
    ['.5e1', 'invalid_decimal'],
    ['1e1.5', 'invalid_decimal'],
    ['1e5e5', 'invalid_decimal'],
    ['1e0001', 'invalid_decimal'],
    ['+1e5', 'invalid_decimal'],
    ['1e308', 'unrepresentable'],
    ['-1e308', 'unrepresentable'],
    ['1e-308', 'unrepresentable'],
    ['0.001', 'unrepresentable'],
    ['0.001x', 'invalid_decimal'],
    ['99999999999999999999x', 'invalid_decimal'],
    ['0.0000000000000001', 'unrepresentable'],
    ['99999999999999999999', 'unrepresentable'],
  ])('rejects %j as %s', (text, code) => {
    expect(codeOf(() => parseScaled(text, 2))).toBe(code)
  })

  it('rejects any other text with a listed error', () => {
    const character = fc.constantFrom(...Array.from('0123456789.-+eE ٣x'))
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 8 }), (text) => {
        const wanted = /^-?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|\.\d+)$/.test(text)
        const code = codeOf(() => parseScaled(text, 15))
        expect(wanted ? ['none', 'unrepresentable'] : ['invalid_decimal']).toContain(code)
      }),
      { numRuns: runsOf(8000), seed: 3 },
    )
  })
})

describe('a JSON number', () => {
  it.each([
    [0.48, 4, 4800],
    [1e-7, 8, 10],
    [1.5e-7, 8, 15],
    [-1e-7, 8, -10],
    [2.5e-10, 15, 250_000],
    [1e3, 2, 100_000],
    [-0, 2, 0],
    [MAX, 0, MAX],
  ])('%d is parsed exactly', (value, decimals, units) => {
    expect(parsePrice(value, decimals)).toBe(units)
    expect(parseSize(value, decimals)).toBe(units)
    expect(parseSize(JSON.stringify(value), decimals)).toBe(units)
  })

  it('is parsed as its shortest text, with or without an exponent', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 15 }), (units, decimals) => {
        // Up to 15 digits a double keeps the decimal text exactly.
        const short = units % 1e15
        const value = short / POW10[decimals]!
        expect(parseSize(value, decimals)).toBe(short === 0 ? 0 : short)
        expect(parseSize(value.toExponential(), decimals)).toBe(short === 0 ? 0 : short)
      }),
      { numRuns: runsOf(3000), seed: 4 },
    )
  })

  it.each([
    [NaN, 'invalid_decimal'],
    [Infinity, 'invalid_decimal'],
    [-Infinity, 'invalid_decimal'],
    [null, 'invalid_decimal'],
    [undefined, 'invalid_decimal'],
    [true, 'invalid_decimal'],
    [['1'], 'invalid_decimal'],
    [{ valueOf: () => 1 }, 'invalid_decimal'],
    [1n, 'invalid_decimal'],
    [1e308, 'unrepresentable'],
    [Number.MIN_VALUE, 'unrepresentable'],
    [0.1 + 0.2, 'unrepresentable'],
    [2 ** 53, 'unrepresentable'],
    [1e21, 'unrepresentable'],
  ])('%s is rejected as %s', (value, code) => {
    expect(codeOf(() => parsePrice(value, 4))).toBe(code)
    expect(codeOf(() => parseSize(value, 4))).toBe(code)
  })

  it('may already be a string', () => {
    expect(decimalText('0.10')).toBe('0.10')
    expect(decimalText(0.1)).toBe('0.1')
  })
})

describe('printScaled', () => {
  it('equals an implementation with BigInt', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 15 }), (units, decimals) => {
        expect(printScaled(units, decimals)).toBe(referencePrint(BigInt(units), decimals))
      }),
      { numRuns: runsOf(5000), seed: 5 },
    )
  })

  it.each([
    [-0, 0, '0'],
    [-0, 4, '0'],
    [5, 4, '0.0005'],
    [-5, 1, '-0.5'],
    [10_000, 4, '1'],
    [MAX, 8, '90071992.54740991'],
    [-MAX, 15, '-9.007199254740991'],
  ])('prints %d at %i decimals as %s', (units, decimals, text) => {
    expect(printScaled(units, decimals)).toBe(text)
  })
})

describe('canonicalDecimal', () => {
  it.each([
    ['0.0100', '0.01'],
    ['.50', '0.5'],
    ['-0', '0'],
    ['-0.00', '0'],
    ['-.0', '0'],
    ['000', '0'],
    ['0010', '10'],
    ['-0010.0100', '-10.01'],
    ['100', '100'],
    ['123456789012345678901234567890.10', '123456789012345678901234567890.1'],
  ])('converts %s to %s', (text, canonical) => {
    expect(canonicalDecimal(text)).toBe(canonical)
  })

  it('equals an implementation with BigInt, and does not change its own result', () => {
    fc.assert(
      fc.property(aDecimal(), (text) => {
        const canonical = canonicalDecimal(text)
        expect(canonical).toBe(referenceCanonical(text))
        expect(canonicalDecimal(canonical)).toBe(canonical)
      }),
      { numRuns: runsOf(5000), seed: 6 },
    )
  })

  it.each(['', '.', '-', '-.', '1.', '+1', '1e5', '1..2', '1.2.3', '--1', ' 1', '1\n', '١', 'NaN'])(
    'refuses %j',
    (text) => {
      expect(codeOf(() => canonicalDecimal(text))).toBe('invalid_decimal')
    },
  )
})

/** Decimal text of every shape that is accepted, with zeros where they do not count. */
function aDecimal(): fc.Arbitrary<string> {
  const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...Array.from('00123456789')), minLength, maxLength })
  const sign = fc.constantFrom('', '', '-')
  const whole = fc.oneof(digits(1, 4), digits(1, 17))
  const fraction = fc.oneof(digits(1, 4), digits(1, 20))
  return fc.oneof(
    fc.tuple(sign, whole).map(([s, w]) => s + w),
    fc.tuple(sign, whole, fraction).map(([s, w, f]) => `${s}${w}.${f}`),
    fc.tuple(sign, fraction).map(([s, f]) => `${s}.${f}`),
  )
}

// The references know numbers as a BigInt of 10^−30.
const PLACES = 30

function toBig(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const units = BigInt(whole + fraction.padEnd(PLACES, '0'))
  return text.startsWith('-') ? -units : units
}

// Undefined where the text is finer than the decimals.
function referenceUnits(text: string, decimals: number): bigint | undefined {
  const step = 10n ** BigInt(PLACES - decimals)
  const units = toBig(text)
  return units % step === 0n ? units / step : undefined
}

function readAndPrint(text: string, decimals: number): unknown[] {
  const code = codeOf(() => parseScaled(text, decimals))
  if (code !== 'none') return [code]
  const units = parseScaled(text, decimals)
  return [units, printScaled(units, decimals)]
}

function referenceCanonical(text: string): string {
  return referencePrint(toBig(text), PLACES)
}

function referencePrint(units: bigint, decimals: number): string {
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}
