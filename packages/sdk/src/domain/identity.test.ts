import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PriorbookError } from './errors.ts'
import { instrumentName, parseNativeId, parseRowId, printRowId } from './identity.ts'
import { isVenueId, VENUE_IDS, VENUES } from './venues/index.ts'
import { runsOf } from './run-counts.testing.ts'

const aKey = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/)

describe('a row id', () => {
  it('round-trips', () => {
    const aVenue = fc.constantFrom(...VENUE_IDS)
    const aSequence = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(aVenue, aKey, aSequence, (venue, key, sequence) => {
        const id = { venue, key, sequence }
        expect(parseRowId(printRowId(id))).toStrictEqual(id)
        expect(printRowId(id)).toBe(`${instrumentName(id)}:${id.sequence}`)
      }),
      { numRuns: runsOf(2000), seed: 1 },
    )
  })

  it.each([
    '',
    ':',
    '::',
    'venueb',
    'venueb:KX',
    'venueb:KX:',
    'venueb::1',
    ':KX:1',
    'venuex:KX:1',
    'VENUEB:KX:1',
    'venueb:KX:0',
    'venueb:KX:-1',
    'venueb:KX:+1',
    'venueb:KX:01',
    'venueb:KX:1.5',
    'venueb:KX:1e3',
    'venueb:KX: 1',
    'venueb:KX:1 ',
    'venueb:KX:1:2',
    'venueb:K X:1',
    'venueb:KX:9007199254740992',
    'venueb:KX:9007199254740993',
    'venueb:KX:10000000000000000',
    'venueb:KX:٣',
  ])('is not %j', (text) => {
    expect(codeOf(() => parseRowId(text))).toBe('invalid_id')
  })

  it('accepts the largest sequence', () => {
    expect(parseRowId('venuea:8812:9007199254740991').sequence).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('a native identifier', () => {
  it.each([
    'KXGOLD15M-26AUG102130-30',
    'GTEMP-24-1.02/23',
    '8812',
    '0xdeadBEEF',
    'a',
    '7'.repeat(77),
    'x'.repeat(200),
  ])('can be %s', (value) => {
    expect(parseNativeId(value)).toBe(value)
  })

  it.each([
    '',
    '-KX',
    '.KX',
    '/KX',
    'KX:1',
    'K X',
    'KX\n',
    'KÄ',
    "KX'",
    'KX%2F',
    'x'.repeat(201),
    5,
    null,
    undefined,
    ['KX'],
  ])('cannot be %j', (value) => {
    expect(codeOf(() => parseNativeId(value))).toBe('invalid_id')
  })
})

describe('venues', () => {
  it('are recognized by their ids only', () => {
    expect(VENUE_IDS.every(isVenueId)).toBe(true)
    for (const value of ['venuex', 'Venuea', '', 'constructor', 0, null, undefined]) {
      expect(isVenueId(value)).toBe(false)
    }
  })

  it('have decimals that a ladder and a double can hold, and units', () => {
    expect(Object.keys(VENUES)).toStrictEqual([...VENUE_IDS])
    for (const { priceDecimals, sizeDecimals, units } of Object.values(VENUES)) {
      expect(priceDecimals).toBeGreaterThanOrEqual(2)
      expect(priceDecimals).toBeLessThanOrEqual(6)
      expect(sizeDecimals).toBeLessThanOrEqual(15)
      expect(Object.values(units)).not.toContain('')
    }
  })
})

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}
