import { describe, expect, it } from 'vitest'
import { comparisonOf, subjectOf, windowOf, winnerOf } from './contract-words.ts'

const base = {
  id: 'btc-15m-up-down-20261117T174500Z',
  kind: 'up_down' as const,
  title: 'Bitcoin Up or Down',
  asset: 'BTC',
  window: '15m',
  opens: '2026-11-17T17:30:00Z',
  closes: '2026-11-17T17:45:00Z',
  strike: null,
  floor: null,
  cap: null,
  members: [],
}

const member = (venue: 'venuea' | 'venueb', winner: string | null, yes = 'Up', no = 'Down') => ({
  venue,
  market_id: '1',
  address: '',
  title: null,
  status: null,
  winning_outcome: winner,
  yes: { outcome: yes, index: 0, token_id: null },
  no: { outcome: no, index: 1, token_id: null },
  matched_by: 'rules' as const,
})

describe('a contract in words', () => {
  it('says what is bet on and when', () => {
    expect(subjectOf(base)).toBe('BTC up or down in 15m')
    expect(windowOf(base)).toBe('2026-11-17 17:30 – 17:45')
    expect(windowOf({ ...base, closes: '2026-11-18T00:00:30Z' })).toBe(
      '2026-11-17 17:30 – 2026-11-18 00:00:30',
    )
    const above = { ...base, kind: 'above' as const, strike: '95000' }
    expect(subjectOf(above)).toBe('BTC above 95,000')
    expect(windowOf(above)).toBe('2026-11-17 17:45')
    expect(subjectOf({ ...base, kind: 'range', floor: '94000', cap: '96000.5' })).toBe(
      'BTC from 94,000 to below 96,000.5',
    )
    expect(subjectOf({ ...base, kind: 'event' })).toBe('Bitcoin Up or Down')
    expect(windowOf({ ...base, closes: null })).toBe('open end')
  })

  it('names the winner in its own terms, and every member where they disagree', () => {
    const of = (...members: ReturnType<typeof member>[]) => winnerOf({ members })
    expect(of(member('venuea', null))).toBeUndefined()
    expect(of(member('venuea', 'Up'), member('venueb', 'Yes', 'Yes', 'No'))).toBe('Yes')
    // The outcome that is Yes of the contract can be the No of a venue.
    expect(of(member('venueb', 'Yes', 'No', 'Yes'))).toBe('No')
    expect(of(member('venuea', 'Down'), member('venueb', 'Yes', 'Yes', 'No'))).toBe(
      'Venue A: No, Venue B: Yes',
    )
  })

  it('spells out how members compare', () => {
    const of = (differs: string[]) =>
      comparisonOf({
        comparison: 'equivalent_except',
        differs_in: differs as never,
        members: [],
      })
    expect(of(['tie'])).toBe('equivalent except tie')
    expect(of(['tie', 'rounding', 'settlement_source'])).toBe(
      'equivalent except tie, rounding and settlement source',
    )
    expect(comparisonOf({ comparison: 'identical', differs_in: [], members: [] })).toBe('identical')
  })
})
