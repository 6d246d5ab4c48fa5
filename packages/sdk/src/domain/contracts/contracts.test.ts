import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toMicros } from '../micros.ts'
import type { MarketRecord } from '../market.ts'
import {
  compareMembers,
  deriveTerms,
  mayBePrice,
  OPERATOR_ID,
  parseContractId,
  printContractId,
  titleWords,
  type ContractSubject,
} from './index.ts'
import {
  CLOSES,
  OPENS,
  priceOfB,
  priceOfC,
  roundOfA,
  roundOfB,
  roundOfC,
} from './records.testing.ts'

const idOf = (record: MarketRecord): string | undefined => {
  const terms = deriveTerms(record)
  return terms === undefined ? undefined : printContractId(terms.subject)
}
const compare = (...records: readonly MarketRecord[]) =>
  compareMembers(records.map((record) => ({ record, terms: deriveTerms(record)?.terms })))

describe('terms of long texts', () => {
  // Patterns that take quadratic time would need minutes.
  const LONG = 200_000

  it('are found, and take no longer than reading them', () => {
    const before = 'a'.repeat(LONG)
    const describe = (description: string): MarketRecord =>
      roundOfA({ native: { ...roundOfA().native, market: { description } } })
    const tieOf = (record: MarketRecord) => deriveTerms(record)!.terms.tie
    expect(tieOf(describe(`${before}. A tie resolves 50-50. Or so.`))).toMatchObject({
      value: 'half',
      evidence: { said: 'A tie resolves 50-50.' },
    })
    const [unsaid, unended] = [describe(before), describe(`${before} 50-50`)].map(tieOf)
    expect(unsaid).toEqual(unended)
    expect(unsaid).not.toEqual(tieOf(describe('A tie resolves 50-50.')))
    const source = 'binance.com/'.repeat(LONG / 12)
    const resolution = { state: 'none', source } as const
    expect(deriveTerms(roundOfC({ resolution }))!.terms.settlement_source).toMatchObject({
      value: source,
    })
  })
})

describe('the id of a contract', () => {
  it('carries asset, window and close, and the length of a window that its name does not say', () => {
    const round = { kind: 'up_down', asset: 'BTC', window: '15m', closes: CLOSES } as const
    expect(printContractId({ ...round, opens: OPENS })).toBe('btc-15m-up-down-20261117T174500Z')
    const fast = { ...round, opens: toMicros(CLOSES - 30_500_000) }
    expect(printContractId(fast)).toBe('btc-15m-up-down-20261117T174500Z-30.5s')
    const above = { kind: 'above', asset: 'BTC', strike: '95000', closes: CLOSES } as const
    expect(printContractId(above)).toBe('btc-above-95000-20261117T174500Z')
  })

  it('gives back every subject, and nothing for other text', () => {
    const asset = fc.stringMatching(/^[A-Z][A-Z0-9]{1,7}$/)
    const closes = fc.integer({ min: 1e15, max: 2e15 }).map(toMicros)
    const strike = fc.integer({ min: 1, max: 99_999_999 }).map((cents) => String(cents / 100))
    const subject: fc.Arbitrary<ContractSubject> = fc.oneof(
      fc
        .record({
          kind: fc.constant('up_down' as const),
          asset,
          window: fc.constantFrom('5m', '15m', '1h', '1d'),
          closes,
          length: fc.oneof(
            fc.constantFrom(300_000_000, 900_000_000),
            fc.integer({ min: 1, max: 1e12 }),
          ),
        })
        .map(({ length, ...round }) => ({ ...round, opens: toMicros(round.closes - length) })),
      fc.record({ kind: fc.constant('above' as const), asset, strike, closes }),
      fc.record({ kind: fc.constant('range' as const), asset, floor: strike, cap: strike, closes }),
    )
    fc.assert(
      fc.property(subject, (one) => {
        expect(parseContractId(printContractId(one))).toEqual(one)
      }),
    )
    for (const text of [
      '',
      'btc',
      'BTC-15m-up-down-20261117T174500Z',
      'btc-15m-up-down-20261117T174500Z-900s',
      'btc-15m-up-down-20261117T174500.0Z',
      'btc-15m-up-down-20261317T174500Z',
      'btc-above-095000-20261117T174500Z',
      'btc-above-95000.0-20261117T174500Z',
      'x-named',
    ]) {
      expect(parseContractId(text)).toBeUndefined()
    }
    expect(OPERATOR_ID.test('x-president-2028')).toBe(true)
    expect(OPERATOR_ID.test('btc-15m')).toBe(false)
  })
})

describe('the rules', () => {
  it('give one round of three venues one id, and another one wherever a bound differs', () => {
    const id = 'btc-15m-up-down-20261117T174500Z'
    for (const round of [roundOfA, roundOfB, roundOfC]) {
      expect(idOf(round())).toBe(id)
      expect(idOf(round({ openTime: toMicros(OPENS - 1) }))).toBe(`${id}-900.000001s`)
      expect(idOf(round({ closeTime: toMicros(CLOSES + 300_000_000) }))).not.toContain('174500')
      expect(idOf(round({ asset: 'ETH' }))).toBe(id.replace('btc', 'eth'))
    }
    expect(idOf(roundOfA({ window: '5m' }))).not.toBe(id)
    expect(idOf(roundOfC({ window: '1h' }))).not.toBe(id)
  })

  it('know nothing of markets that they do not describe', () => {
    const { topic: _, ...rest } = roundOfA().native
    expect(idOf(roundOfA({ native: rest }))).toBeUndefined()
    expect(idOf(roundOfA({ outcomes: [] }))).toBeUndefined()
    for (const round of [roundOfA, roundOfB, roundOfC]) {
      expect(idOf(round({ openTime: CLOSES }))).toBeUndefined()
    }
    const elected = { market: { strike_type: 'custom' } }
    expect(idOf(roundOfB({ seriesTicker: 'KXPRES', native: elected }))).toBeUndefined()
    // Decided by any price before the end.
    const touched = priceOfB({ strike_type: 'greater', floor_strike: 150_000 })
    expect(idOf(touched)).toBe('btc-above-150000-20261117T174500Z')
    for (const seriesTicker of ['KXBTCMAXY', 'KXBTCMAX150', 'KXBTCMINMON', '']) {
      expect(idOf({ ...touched, seriesTicker })).toBeUndefined()
    }
    expect(idOf(priceOfC('Will Bitcoin replace the dollar?'))).toBeUndefined()
    expect(idOf(priceOfC('Will the price of Gold be above $4,000 on November 18?'))).toBeUndefined()
  })

  it('read a strike of cents as the price that it means, with the side of each venue', () => {
    const rounded = { custom_strike: { round_digits: '2' } }
    const above = priceOfB({ strike_type: 'greater', floor_strike: 94_999.99, ...rounded })
    const below = priceOfB({ strike_type: 'less', cap_strike: 95_000, ...rounded })
    const named = priceOfC('Will the price of Bitcoin be above $95,000 on November 17?')
    const id = 'btc-above-95000-20261117T174500Z'
    expect([above, below, named].map(idOf)).toEqual([id, id, id])
    expect([above, below, named].map((record) => deriveTerms(record)?.yesIndex)).toEqual([0, 1, 0])
    expect(deriveTerms(above)?.terms.reference_price.value).toBe('94999.99')
    // Between two cents the next cent counts.
    const between2 = priceOfB({ strike_type: 'greater', floor_strike: 2.0099, ...rounded })
    expect(idOf(between2)).toBe('btc-above-2.01-20261117T174500Z')
    // Without a known rounding a strike is what it says.
    const plain = priceOfB({ strike_type: 'greater', floor_strike: 94_999.99 })
    expect(idOf(plain)).toBe('btc-above-94999.99-20261117T174500Z')
    const range = {
      strike_type: 'between',
      floor_strike: 94_000,
      cap_strike: 95_999.99,
      ...rounded,
    }
    const between = priceOfC(
      'Will the price of Bitcoin be between $94,000 and $96,000 on November 17?',
    )
    expect(idOf(priceOfB(range))).toBe('btc-range-94000-96000-20261117T174500Z')
    expect(idOf(between)).toBe('btc-range-94000-96000-20261117T174500Z')
    expect(titleWords('BTC')).toEqual([{ venue: 'venuec', word: 'bitcoin' }])
  })

  it('tell by what lists know which markets can be about a price', () => {
    const ask = 'Will the price of Bitcoin be above $95,000 on November 17?'
    const listed = { asset: 'BTC', text: ask.toLowerCase() }
    expect(mayBePrice({ ...listed, venue: 'venuec' })).toBe(true)
    expect(mayBePrice({ ...listed, venue: 'venuec', text: 'bitcoin up or down' })).toBe(false)
    expect(mayBePrice({ ...listed, venue: 'venueb', series: 'KXBTCD' })).toBe(true)
    expect(mayBePrice({ ...listed, venue: 'venueb', series: 'KXBTC15M' })).toBe(false)
    expect(mayBePrice({ ...listed, venue: 'venuea' })).toBe(false)
  })

  it('give every term its evidence, by the day that a rule changed', () => {
    const { terms } = deriveTerms(roundOfC())!
    expect(terms.settlement_source).toEqual({
      value: 'Chainlink BTC/USD',
      evidence: {
        kind: 'record',
        source: 'resolution.source',
        said: 'https://data.chain.link/streams/btc-usd',
      },
    })
    expect(terms.settlement_price).toMatchObject({
      value: 'the average of the last 60 seconds',
      evidence: { kind: 'rule', since: '2026-08-07' },
    })
    const before = toMicros(Date.UTC(2026, 7, 6, 23, 45) * 1000)
    const early = roundOfC({ openTime: before, closeTime: toMicros(before + 900_000_000) })
    expect(deriveTerms(early)?.terms.settlement_price.value).toBe('the price at the close')
    expect(deriveTerms(roundOfA())?.terms.tie).toMatchObject({
      value: 'half',
      evidence: { kind: 'record', source: 'native.market.description' },
    })
  })
})

describe('the comparison', () => {
  it('spells out every difference of three venues, and what is not known', () => {
    const { comparison, differences } = compare(roundOfA(), roundOfB(), roundOfC())
    expect(comparison).toBe('equivalent_except')
    const values = Object.fromEntries(differences.map(({ term, values: all }) => [term, all]))
    expect(values).toEqual({
      settlement_source: ['Binance BTC/USDT', 'CF Benchmarks', 'Chainlink BTC/USD'],
      settlement_price: [
        'the price at the close',
        'the average of the last 60 seconds',
        'the average of the last 60 seconds',
      ],
      reference_price: ['95012.34', '95010.01', undefined],
      tie: ['half', 'yes', 'yes'],
      rounding: [undefined, '2 decimals', undefined],
      payout: ['1 USDT', '1 USD', '1 USDC'],
      trading_end: ['at the close', 'at the close', 'after the close'],
    })
    const tie = differences.find(({ term }) => term === 'tie')!
    expect(tie.meaning).toContain('Venue A pays half to each, Venue B pays Yes, Venue C pays Yes.')
    const rounding = differences.find(({ term }) => term === 'rounding')!
    expect(rounding.meaning).toMatch(/^It is not known of every member/)
  })

  it('calls markets identical only where every term is known and equal', () => {
    const [one, two] = [roundOfB(), roundOfB({ marketId: 'KXBTC15M-26NOV171245-46' })]
    expect(compare(one, two)).toEqual({ comparison: 'identical', differences: [] })
    const { source: _, ...resolution } = one.resolution!
    const unknown = compare(one, { ...two, resolution })
    expect(unknown.comparison).toBe('equivalent_except')
    expect(unknown.differences.map(({ term }) => term)).toEqual(['settlement_source'])
    // An operator may join different bets whose terms are equal, such as rounds that close at other times.
    const subject = deriveTerms(one)!.subject
    const terms = deriveTerms(one)!.terms
    const later = { ...subject, closes: toMicros(subject.closes + 900_000_000) }
    const joined = compareMembers([
      { record: one, terms, subject },
      { record: two, terms, subject: later },
    ])
    expect(joined.comparison).toBe('equivalent_except')
    expect(joined.differences).toMatchObject([
      { term: 'subject', values: [printContractId(subject), printContractId(later)] },
    ])
    // Nothing is known of a market that only an operator has named.
    const named = compareMembers([{ record: one }, { record: two }])
    expect(named.differences).toHaveLength(7)
    expect(compare(one)).toEqual({ comparison: 'single', differences: [] })
  })
})
