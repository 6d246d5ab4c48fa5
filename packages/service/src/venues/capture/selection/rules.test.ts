import * as v from 'valibot'
import { VENUES, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import {
  describeRule,
  matchRules,
  roundsOfRules,
  selectSetting,
  seriesOfRules,
  toRules,
  type Rule,
} from './rules.ts'

const NOW_MS = 1_790_000_000_000

const market = (fields: Partial<MarketRecord> = {}): MarketRecord => ({
  venue: 'venueb',
  marketId: 'KXFED-26DEC-T4',
  title: 'Will the Fed cut rates in December?',
  seriesTicker: 'KXFED',
  eventTicker: 'KXFED-26DEC',
  category: 'Economics',
  tags: ['Fed', 'Rates'],
  volume: '1200.5',
  closeTime: ((NOW_MS + 86_400_000) * 1000) as Micros,
  outcomes: [],
  units: VENUES.venueb.units,
  native: {},
  ...fields,
})

const applies = (rule: Omit<Rule, 'tier'>, fields: Partial<MarketRecord> = {}): boolean =>
  matchRules([{ ...rule, tier: 'full' }], market(fields), NOW_MS).number === 1

describe('a rule', () => {
  it.each<[Omit<Rule, 'tier'>, boolean]>([
    [{}, true],
    [{ series: ['KXCPI', 'kxfed'] }, true],
    [{ series: ['KXFE'] }, false],
    [{ event: ['KXFED-26DEC'] }, true],
    [{ category: ['economics'] }, true],
    [{ category: ['Politics'] }, false],
    [{ tag: ['rates'] }, true],
    [{ market: ['KXFED-26DEC-T4'] }, true],
    [{ asset: ['BTC'] }, false],
    [{ title: ['*fed*december*'] }, true],
    [{ title: ['fed'] }, false],
    [{ title: ['*december*fed*'] }, false],
    [{ title: ['will the fed cut rates in december?'] }, true],
    [{ title: ['will*ill the*'] }, false],
    [{ minVolume: 1200.5 }, true],
    [{ minVolume: 1201 }, false],
    [{ minLiquidity: 1 }, false],
    [{ closesWithin: 86_400_000 }, true],
    [{ closesWithin: 86_399_999 }, false],
    [{ category: ['economics'], minVolume: 5000 }, false],
  ])('%o applies: %s', (rule, isSo) => {
    expect(applies(rule)).toBe(isSo)
  })

  it('about what a market does not say does not apply', () => {
    const bare = { category: undefined, tags: undefined, closeTime: undefined } as never
    expect(applies({ category: ['Economics'] }, bare)).toBe(false)
    expect(applies({ closesWithin: 1e12 }, bare)).toBe(false)
  })

  it('wins where it is the first that applies', () => {
    const rules: Rule[] = [
      { tag: ['Fed'], minVolume: 1e6, tier: 'full' },
      { category: ['Economics'], tier: 'polled' },
      { tier: 'catalogue' },
    ]
    expect(matchRules(rules, market(), NOW_MS)).toStrictEqual({ tier: 'polled', number: 2 })
    expect(matchRules([], market(), NOW_MS)).toStrictEqual({ tier: 'none', number: 0 })
    expect(describeRule(rules, 1)).toBe('rule 1 (tag Fed, minVolume 1000000)')
    expect(describeRule(rules, 3)).toBe('rule 3 (every market)')
    expect(describeRule(rules, 0)).toBe('no rule')
  })
})

describe('the setting', () => {
  const setting = selectSetting('its series')
  const why = (value: unknown): string | undefined =>
    v.safeParse(setting.must, value).issues?.[0].message

  it('is a word or a list of rules', () => {
    expect(why('all')).toBeUndefined()
    expect(why([{ category: 'Politics', closesWithin: '30d', tier: 'full' }])).toBeUndefined()
    expect(toRules('all', [])).toStrictEqual([{ tier: 'full' }])
    expect(toRules([{ tag: 'Fed', closesWithin: '12h', tier: 'polled' }], [])).toStrictEqual([
      { tag: ['Fed'], closesWithin: 43_200_000, tier: 'polled' },
    ])
  })

  it.each<[unknown, string]>([
    ['everything', 'must be default, all, or a list of rules'],
    [[{ category: 'Politics' }], 'rule 1, tier is missing'],
    [[{ tier: 'full' }, { tier: 'deep' }], 'rule 2, tier must be one of full'],
    [[{ closesWithin: 'soon', tier: 'full' }], 'rule 1, closesWithin must be a time such as'],
    [[{ colour: 'red', tier: 'full' }], 'rule 1, colour is no condition'],
    [[7], 'rule 1 must be a rule with a tier'],
  ])('refuses %j', (value, words) => {
    expect(why(value)).toContain(words)
  })

  it('is JSON in the environment', () => {
    expect(setting.fromText!('all')).toBe('all')
    expect(setting.fromText!('[{"tier":"full"}]')).toStrictEqual([{ tier: 'full' }])
    expect(why(setting.fromText!('[{'))).toBe('must be default, all, or a list of rules')
  })
})

it('rules that name all series or rounds need no list of the whole venue', () => {
  expect(seriesOfRules([{ series: ['A', 'B'], tier: 'full' }, { tier: 'none' }])).toStrictEqual([
    'A',
    'B',
  ])
  expect(seriesOfRules([{ series: ['A'], tier: 'full' }, { tier: 'catalogue' }])).toBeUndefined()
  const rounds: Rule[] = [{ asset: ['btc'], window: ['5m', '15m'], tier: 'full' }]
  expect(roundsOfRules(rounds)).toStrictEqual({ assets: ['BTC'], windows: ['5m', '15m'] })
  expect(roundsOfRules([...rounds, { asset: ['ETH'], tier: 'polled' }])).toBeUndefined()
})
