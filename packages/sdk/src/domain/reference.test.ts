import { expect, it } from 'vitest'
import { parseNativeId } from './identity.ts'
import { parseMicros } from './micros.ts'
import { parseReferenceKey, referenceInstrument, settlementFeed } from './reference.ts'
import { VENUE_IDS, VENUES } from './venues/index.ts'

it('names a feed once over all venues, in a key that leads back to it', () => {
  const seen = new Set<string>()
  for (const venue of VENUE_IDS) {
    for (const { feed, unit, description } of VENUES[venue].references) {
      expect(seen.has(feed)).toBe(false)
      seen.add(feed)
      const instrument = referenceInstrument(venue, { feed, asset: 'BTC' })
      expect(parseReferenceKey(parseNativeId(instrument.key))).toStrictEqual({ feed, asset: 'BTC' })
      expect(unit).toMatch(/^[A-Z]+$/)
      expect(description).toMatch(/^[A-Z].*\.$/)
    }
  }
  expect(seen.size).toBeGreaterThan(0)
})

it('takes no key of a market for a series', () => {
  const keys = ['8812', 'KXBTC15M-26AUG110115-15', 'GTEMP-24-1.02/23', `1${'0'.repeat(75)}1`]
  for (const key of [...keys, 'reference', 'reference/chainlink', 'reference/chainlink/btc']) {
    expect(parseReferenceKey(key)).toBeUndefined()
  }
})

it.each([
  ['venuec', '5m', '2026-08-06T23:59:59Z', 'chainlink'],
  ['venuec', '15m', '2026-08-06T23:59:59Z', 'chainlink'],
  ['venuec', '5m', '2026-08-07T00:00:00Z', 'twap30'],
  ['venuec', '15m', '2026-08-07T00:00:00Z', 'twap60'],
  ['venuec', '1h', '2026-08-07T00:00:00Z', undefined],
  ['venueb', '15m', '2026-08-07T00:00:00Z', undefined],
] as const)('a round of %s of %s that opens at %s settles on %s', (venue, window, open, feed) => {
  expect(settlementFeed(venue, { window, open: parseMicros(open) })?.feed).toBe(feed)
})
