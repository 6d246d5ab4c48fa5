import { describe, expect, it } from 'vitest'
import { parsePlace, printPlace, type Place } from './place.ts'

describe('addresses of the explorer', () => {
  it.each<Place>([
    { page: 'home' },
    { page: 'markets', filters: {} },
    { page: 'markets', filters: { q: 'a&b c', venue: 'venuec', sort: 'volume', status: 'any' } },
    { page: 'market', venue: 'venueb', marketId: 'KX-1/2 ä', time: undefined },
    { page: 'market', venue: 'venuea', marketId: '17', time: 1_786_410_915_904_001 },
    { page: 'markets', filters: { category: 'Politics', tag: 'US & more' } },
    { page: 'events', filters: { q: 'who wins', category: 'Sports', status: 'all' } },
    { page: 'event', venue: 'venueb', eventId: 'KX-1/2 ä' },
    { page: 'coverage', venue: 'venueb', day: '2026-08-11' },
    { page: 'coverage', venue: undefined, day: undefined },
    { page: 'reference', asset: undefined, feed: undefined },
    { page: 'reference', asset: 'BTC', feed: 'twap30' },
    { page: 'backtest', market: undefined, fill: undefined },
    { page: 'backtest', market: 'venueb:KX-1/2 ä', fill: 12 },
    { page: 'guides', guide: undefined },
    { page: 'guides', guide: 'guide/backtest' },
    {
      page: 'alerts',
      venue: 'venueb',
      marketId: 'KX-1/2 ä',
      contractId: undefined,
      alert: 'alert_0123456789ab',
    },
    {
      page: 'alerts',
      venue: undefined,
      marketId: undefined,
      contractId: 'x-a&b',
      alert: undefined,
    },
    { page: 'status' },
    { page: 'key' },
  ])('round-trips: %o', (place) => {
    const { pathname, search } = new URL(printPlace(place), 'http://localhost')
    expect(parsePlace(pathname, search)).toEqual(place)
  })

  it('do not match other addresses', () => {
    for (const path of ['/docs', '/v3/markets', '/market', '/market/venuex/1', '/markets/more']) {
      expect(parsePlace(path, '')).toEqual({ page: 'nowhere', path })
    }
  })

  it('drop invalid parameters', () => {
    expect(parsePlace('/markets', '?venue=venuex&q=')).toEqual({ page: 'markets', filters: {} })
    expect(parsePlace('/market/venueb/X', '?t=never')).toMatchObject({ time: undefined })
    expect(parsePlace('/coverage', '?day=monday')).toMatchObject({ day: undefined })
    expect(parsePlace('/alerts', '?venue=venuex&market=X')).toMatchObject({ marketId: undefined })
    expect(parsePlace('/market/venueb/%E0%A4%A', '')).toMatchObject({ marketId: '%E0%A4%A' })
  })
})
