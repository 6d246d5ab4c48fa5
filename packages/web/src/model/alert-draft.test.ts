import { describe, expect, it } from 'vitest'
import { EMPTY_DRAFT, fieldOf, toAlertCommand, toRule, type AlertDraft } from './alert-draft.ts'

const FULL: AlertDraft = {
  ...EMPTY_DRAFT,
  venue: 'venuec',
  marketId: '0xab',
  asset: ' btc ',
  window: '15m',
  series: 'KXBTC15M',
  outcome: 'Up',
  contractId: 'x-a',
  within: '0.02',
  threshold: ' 0.5 ',
  rearm: '0.05',
  name: 'my rule',
  webhook: 'https://example.org/hook',
}
const END = { name: 'my rule', webhook: 'https://example.org/hook' }
const LIMIT = { above: '0.5', rearm: '0.05' }
const MARKET = { venue: 'venuec', market_id: '0xab' }

describe('a rule that is being written', () => {
  it.each([
    [{ kind: 'price' }, { ...MARKET, outcome: 'Up', of: 'mid', ...LIMIT }],
    [{ kind: 'spread' }, { ...MARKET, outcome: 'Up', ...LIMIT }],
    [{ kind: 'depth' }, { ...MARKET, outcome: 'Up', side: 'bid', within: '0.02', ...LIMIT }],
    [
      { kind: 'edge', direction: 'below' },
      { contract_id: 'x-a', ...LIMIT },
    ],
    [{ kind: 'gap' }, { ...MARKET, on: 'both' }],
    [{ kind: 'resolved' }, MARKET],
    [
      { kind: 'gap', scope: 'asset', on: 'ended' },
      { venue: 'venuec', asset: 'btc', window: '15m', on: 'ended' },
    ],
    [
      { kind: 'spread', scope: 'series', direction: 'below', outcome: '' },
      { venue: 'venuec', series: 'KXBTC15M', below: '0.5', rearm: '0.05' },
    ],
  ] as const)('has the members of its kind alone: %o', (news, members) => {
    const draft = { ...FULL, ...news }
    expect(toRule(draft)).toEqual({ kind: draft.kind, ...members, ...END })
  })

  it('leaves out what is empty but the threshold, which the service then asks for', () => {
    expect(toRule(EMPTY_DRAFT)).toEqual({ kind: 'price', of: 'mid', above: '' })
  })

  it('finds the field of a message, and none where it is not shown', () => {
    expect(fieldOf(FULL, 'market_id')).toBe('market')
    expect(fieldOf(FULL, 'venue')).toBe('market')
    expect(fieldOf({ ...FULL, scope: 'series' }, 'venue')).toBe('venue')
    expect(fieldOf(FULL, 'below')).toBe('threshold')
    expect(fieldOf(FULL, 'webhook')).toBe('webhook')
    expect(fieldOf(FULL, 'within')).toBeUndefined()
    expect(fieldOf({ ...FULL, kind: 'gap' }, 'above')).toBeUndefined()
    expect(fieldOf(FULL, undefined)).toBeUndefined()
  })

  it('is a command, each value one word of a shell', () => {
    expect(toAlertCommand(toRule({ ...FULL, name: "it's up" }))).toBe(
      "priorbook alert venuec:0xab --name 'it'\\''s up' --outcome Up --of mid --rearm 0.05 --above 0.5 --webhook https://example.org/hook",
    )
    expect(toAlertCommand(toRule({ ...FULL, kind: 'edge', name: '', webhook: '' }))).toBe(
      'priorbook alert --contract x-a --kind edge --rearm 0.05 --above 0.5 --webhook https://example.org/hook',
    )
    expect(toAlertCommand({ kind: 'gap', venue: 'venueb', series: 'KX' })).toBe(
      'priorbook alert --venue venueb --kind gap --series KX --webhook https://example.org/hook',
    )
  })
})
