import { describe, expect, it } from 'vitest'
import { isFiltered, noOpenMarket, nothingMatches } from './filter-words.ts'

describe('what an empty list says', () => {
  it('names everything that was asked for', () => {
    const filters = {
      q: 'fed',
      venue: 'venueb',
      status: 'resolved',
      asset: 'btc',
      sort: 'volume',
    } as const
    expect(nothingMatches('market', filters)).toBe(
      'No market matches “fed”, on Venue B, with status resolved, asset btc',
    )
    expect(noOpenMarket({ q: 'fed' })).toBe('No open market matches “fed”')
  })

  it('is about the recording where nothing was asked for', () => {
    expect([nothingMatches('event', {}), noOpenMarket({})]).toEqual([
      'No event is recorded',
      'No recorded market is open now',
    ])
    expect([isFiltered({ sort: 'volume', status: 'any' }), isFiltered({ tag: 'x' })]).toEqual([
      false,
      true,
    ])
  })
})
