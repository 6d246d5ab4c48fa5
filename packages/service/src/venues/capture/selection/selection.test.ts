import { CAPTURE_TIERS, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import type { Rule } from './rules.ts'
import { Selection, type SelectionOptions } from './selection.ts'

const RULES: readonly Rule[] = [
  { category: ['Politics'], tier: 'full' },
  { category: ['Sports'], tier: 'polled' },
  { category: ['Weather'], tier: 'catalogue' },
]

const market = (marketId: string, category = 'Politics'): MarketRecord => ({
  venue: 'venueb',
  marketId,
  category,
  outcomes: [],
  units: VENUES.venueb.units,
  native: { market: { large: true } },
})

function selected(changes: Partial<SelectionOptions> = {}): Selection {
  const bounds = { full: 2, polled: 2 }
  return new Selection({ rules: RULES, pinned: [], bounds, booksPerMarket: 1, ...changes })
}

const FOLLOWED = (): boolean => true

const tiers = (selection: Selection, ...ids: string[]): (string | undefined)[] =>
  ids.map((id) => selection.tierOf(id))

describe('a selection', () => {
  it('gives each market the tier of its rule, and says which one', () => {
    const selection = selected()
    expect(selection.update(market('A'), 0, 0)).toStrictEqual({
      tier: 'full',
      why: 'rule 1 (category Politics)',
    })
    expect(selection.update(market('B', 'Weather'), 0, 0).tier).toBe('catalogue')
    expect(selection.update(market('C', 'Art'), 0, 0)).toStrictEqual({
      tier: 'none',
      why: 'no rule',
    })
    expect(selection.tierOf('D')).toBeUndefined()
  })

  it('lets pinned markets open first, then the quiet ones', () => {
    const selection = selected({ pinned: ['P'] })
    for (const [id, activity] of [
      ['P', 9],
      ['A', 7],
      ['B', 0],
    ] as const) {
      selection.update(market(id), activity, 0)
    }
    const ids = ['A', 'B', 'P', 'UNKNOWN']
    expect(ids.map((id) => selection.openingOrderOf(id))).toStrictEqual([7, 0, -1, 0])
  })

  it('keeps what it knew where a message says less', () => {
    const selection = selected()
    selection.update(market('A'), 0, 0)
    const { category: _category, ...less } = market('A')
    expect(selection.update(less, 0, 0).tier).toBe('full')
  })

  it('lets those without a place fall to the tier below, and says why', () => {
    const selection = selected()
    for (const id of ['A', 'B', 'C', 'D', 'E']) selection.update(market(id), 0, 0)
    const expected = ['full', 'full', 'polled', 'polled', 'catalogue']
    expect(tiers(selection, 'A', 'B', 'C', 'D', 'E')).toStrictEqual(expected)
    expect(selection.update(market('C'), 0, 0).why).toBe(
      'rule 1 (category Politics) wants full; more active markets have its 2 books',
    )
    expect(selection.held).toStrictEqual({ full: 2, polled: 2 })
  })

  it('gives places to the most active, but not for a small difference', () => {
    const selection = selected({ bounds: { full: 1, polled: 10 } })
    selection.update(market('A'), 100, 0)
    selection.update(market('B'), 140, 0)
    expect(selection.review(0, FOLLOWED)).toStrictEqual([])
    selection.update(market('B'), 160, 0)
    const changes = selection.review(0, FOLLOWED).map(({ tier, markets }) => [tier, markets])
    expect(changes).toStrictEqual([
      ['full', ['B']],
      ['polled', ['A']],
    ])
    // Now the other one has the advantage.
    selection.update(market('A'), 230, 0)
    expect(selection.review(0, FOLLOWED)).toStrictEqual([])
  })

  it('never takes the place of a pinned market, whatever the rules say of it', () => {
    const selection = selected({ pinned: ['P'], bounds: { full: 1, polled: 0 } })
    selection.update(market('A'), 1e9, 0)
    expect(selection.update(market('P', 'Art'), 0, 0).tier).toBe('catalogue')
    selection.review(0, FOLLOWED)
    expect(tiers(selection, 'P', 'A')).toStrictEqual(['full', 'catalogue'])
  })

  it('counts the books of a market, and gives the place of one that ended to another', () => {
    const selection = selected({ bounds: { full: 5, polled: 0 }, booksPerMarket: 2 })
    for (const id of ['A', 'B', 'C']) selection.update(market(id), 0, 0)
    expect(tiers(selection, 'A', 'B', 'C')).toStrictEqual(['full', 'full', 'catalogue'])
    expect(selection.forget(['C'])).toBe(false)
    selection.update(market('C'), 0, 0)
    expect(selection.forget(['A'])).toBe(true)
    expect(selection.review(0, FOLLOWED)).toMatchObject([{ tier: 'full', markets: ['C'] }])
    expect(selection.held.full).toBe(4)
  })

  it('decides nothing more about a market that ended, and knows what it had', () => {
    const selection = selected({ bounds: { full: 1, polled: 0 } })
    selection.update(market('A'), 0, 0)
    expect(selection.judge({ ...market('A'), status: 'resolved' }, 0, 0)?.tier).toBe('full')
    selection.forget(['A'])
    expect(selection.judge({ ...market('A'), status: 'resolved' }, 9, 0)).toBeUndefined()
    expect(selection.tierOf('A')).toBe('full')
    expect(selection.held.full).toBe(0)
    expect(selection.update(market('B'), 0, 0).tier).toBe('full')
  })

  it('takes over what an earlier run decided, and says what is different now', () => {
    const selection = selected({ bounds: { full: 1, polled: 0 } })
    const capture = { tier: 'full', why: 'rule 1 (category Politics)' } as const
    selection.adopt(market('A'), 5, 0)
    selection.adopt({ ...market('B'), capture }, 4, 0)
    expect(tiers(selection, 'A', 'B')).toStrictEqual(['full', 'full'])
    expect(selection.review(0, FOLLOWED)).toMatchObject([{ tier: 'catalogue', markets: ['B'] }])
    expect(selection.held).toStrictEqual({ full: 1, polled: 0 })
  })

  it('forgets what ended long ago and is not followed, with its place', () => {
    const selection = selected({ bounds: { full: 1, polled: 0 } })
    const closeTime = 3_600_000_000 as NonNullable<MarketRecord['closeTime']>
    selection.update({ ...market('A'), closeTime }, 100, 0)
    selection.update(market('B'), 0, 0)
    selection.review(3 * 3_600_000, () => false)
    expect([...selection.survey()].map(({ facts, tier }) => [facts.marketId, tier])).toStrictEqual([
      ['B', 'full'],
    ])
  })

  it('changes its rules while it runs', () => {
    const selection = selected()
    selection.update(market('A'), 0, 0)
    selection.update(market('B', 'Weather'), 0, 0)
    const rules: Rule[] = [{ category: ['Weather'], tier: 'full' }]
    selection.change({ rules, pinned: [], bounds: { full: 2, polled: 2 }, booksPerMarket: 1 })
    expect(selection.review(0, FOLLOWED).map(({ tier, markets }) => [tier, markets])).toStrictEqual(
      [
        ['none', ['A']],
        ['full', ['B']],
      ],
    )
  })

  it('decides again as a close comes near', () => {
    const rules: Rule[] = [{ closesWithin: 3_600_000, tier: 'full' }, { tier: 'catalogue' }]
    const selection = selected({ rules })
    const closeTime = (10 * 3_600_000_000) as NonNullable<MarketRecord['closeTime']>
    selection.update({ ...market('A'), closeTime }, 0, 0)
    expect(selection.tierOf('A')).toBe('catalogue')
    selection.review(9 * 3_600_000, FOLLOWED)
    expect(selection.tierOf('A')).toBe('full')
  })

  it('holds its bounds for any order of markets and activities', () => {
    let seed = 7
    const next = (below: number): number =>
      (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below
    const selection = selected({ bounds: { full: 7, polled: 5 } })
    for (let step = 0; step < 3000; step++) {
      const id = `M${next(40)}`
      if (next(5) === 0) selection.forget([id])
      else selection.update(market(id, next(3) === 0 ? 'Sports' : 'Politics'), next(1000), 0)
      if (next(20) === 0) selection.review(0, FOLLOWED)
      const all = [...selection.survey()]
      const held = (tier: string): number => all.filter((one) => one.tier === tier).length
      expect(held('full')).toBeLessThanOrEqual(7)
      const counts = CAPTURE_TIERS.map((tier) => [tier, held(tier)])
      expect(selection.counts).toStrictEqual(Object.fromEntries(counts))
      expect(held('polled')).toBeLessThanOrEqual(5)
      expect(selection.held).toStrictEqual({ full: held('full'), polled: held('polled') })
    }
  })
})
