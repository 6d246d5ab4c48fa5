import type { AlertEventJson, AlertRuleJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { eventPlace, eventWords, ruleWords, watchedOf } from './alert-words.ts'
import { printPrice } from './decimal.ts'

const WEBHOOK = 'https://example.org/hook'
const EVENT: AlertEventJson = {
  id: 'evt_1-1',
  kind: 'price',
  alert_id: 'alert_1',
  number: 1,
  name: null,
  time: '2026-11-17T17:52:03.117204Z',
  venue: 'venueb',
  market_id: 'KX-1',
  key: 'KX-1',
  row_id: 'venueb:KX-1:7',
  value: '0.91',
  above: '0.9',
  below: null,
  edge: null,
  gap: null,
  resolution: null,
}

describe('the words of alerts', () => {
  it.each<[Partial<AlertRuleJson>, string]>([
    [{ kind: 'price', above: '0.9' }, 'Middle price above 0.90'],
    [{ kind: 'price', of: 'bid', below: 0.105 }, 'Best bid below 0.105'],
    [{ kind: 'spread', above: '0.05' }, 'Spread above 0.05'],
    [
      { kind: 'depth', side: 'ask', within: '0.02', below: '1500' },
      'Size of asks within 0.02 of the best below 1,500',
    ],
    [{ kind: 'edge', above: '0' }, 'Edge after fees above 0.00'],
    [{ kind: 'gap' }, 'A gap begins or ends'],
    [{ kind: 'gap', on: 'begun' }, 'A gap begins'],
    [{ kind: 'resolved' }, 'The market is resolved or voided'],
  ])('say what a rule waits for: %o', (rule, words) => {
    expect(ruleWords({ ...rule, webhook: WEBHOOK } as AlertRuleJson, printPrice)).toBe(words)
  })

  it.each<[Partial<AlertRuleJson>, object]>([
    [
      { venue: 'venueb', market_id: 'A/B' },
      { text: 'A/B', href: '/market/venueb/A%2FB' },
    ],
    [{ venue: 'venuec', asset: 'btc', outcome: 'Up' }, { text: 'every BTC market · Up' }],
    [{ venue: 'venuec', asset: 'btc', window: '15m' }, { text: 'every BTC round of 15m' }],
    [{ venue: 'venueb', series: 'KX' }, { text: 'every market of KX' }],
    [{ contract_id: 'x-a' }, { text: 'x-a', href: '/contracts/x-a' }],
  ])('say what a rule watches: %o', (rule, watched) => {
    expect(watchedOf({ kind: 'gap', webhook: WEBHOOK, ...rule })).toEqual(watched)
  })

  it('say what happened, and where to see it', () => {
    expect(eventWords(EVENT, printPrice)).toBe('0.91, above 0.90')
    expect(eventWords({ ...EVENT, kind: 'depth', value: '12000' }, printPrice)).toMatch(/^12,000,/)
    expect(eventWords({ ...EVENT, kind: 'test', value: null }, printPrice)).toBe('Test')
    const resolution = { status: 'resolved', winning_outcome: 'Yes' }
    expect(eventWords({ ...EVENT, kind: 'resolved', resolution }, printPrice)).toBe(
      'Became resolved: Yes',
    )
    expect(eventPlace(EVENT)).toEqual({
      text: 'KX-1',
      href: '/market/venueb/KX-1?t=2026-11-17T17:52:03.117204Z',
    })
    const edge = { contract_id: 'x-a', yes_row: 'a', no_row: 'b' }
    expect(eventPlace({ ...EVENT, edge })?.href).toBe(
      '/contracts/x-a?t=2026-11-17T17:52:03.117204Z',
    )
    expect(eventPlace({ ...EVENT, venue: null })).toBeUndefined()
  })
})
