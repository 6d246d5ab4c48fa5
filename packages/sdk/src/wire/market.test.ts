import { describe, expect, it } from 'vitest'
import { VENUE_IDS, VENUES, type Gap, type MarketRecord, type Micros } from '../domain/index.ts'
import { GAP_SCHEMA, toGapJson } from './gap.ts'
import { cellText, decimalJson, timeJson } from './json-values.ts'
import { toMarketJson } from './market.ts'
import { VENUE_WIRE } from './venues/index.ts'

const KNOWN_AT = 1_786_000_000_000_001

function bare(venue: MarketRecord['venue']): MarketRecord {
  return { venue, marketId: 'm1', outcomes: [], units: VENUES[venue].units, native: {} }
}

describe('a market record of which nothing is known', () => {
  it('has every name of its schema, null where there is no value', () => {
    for (const venue of VENUE_IDS) {
      const json = toMarketJson({ record: bare(venue), knownAt: KNOWN_AT })
      const { properties } = VENUE_WIRE[venue].schema as { properties: object }
      const names = Object.keys(properties).filter(
        (name) => !['chain', 'exchange_contract', 'exchange'].includes(name),
      )
      expect(Object.keys(json).toSorted()).toEqual(names.toSorted())
      expect(json).toMatchObject({
        title: null,
        status: null,
        open_time: null,
        winning_outcome: null,
        volume: null,
        resolution: {
          state: null,
          source: null,
          reference: { feed: null, start_price: null, end_price: null },
          payouts: [],
          times: { determined: null, settled: null },
        },
        revision_time: '2026-08-06T07:06:40.000001Z',
      })
    }
  })

  it('leaves out chain and exchange of venue A, and nothing else', () => {
    const without = toMarketJson({ record: bare('venuea'), knownAt: KNOWN_AT })
    expect(without).not.toHaveProperty('chain')
    expect(without).not.toHaveProperty('exchange_contract')
    expect(without).not.toHaveProperty('exchange')
    const exchange = { isYieldBearing: false }
    const record = { ...bare('venuea'), chain: '56', exchangeContract: '0x1', exchange }
    const json = toMarketJson({ record, knownAt: KNOWN_AT })
    expect(json).toMatchObject({ chain: '56', exchange_contract: '0x1' })
    expect(json).toHaveProperty('exchange', { is_yield_bearing: false })
  })
})

describe('values', () => {
  it('are exact whatever their length', () => {
    const text = '123456789012345678901234.000000000000000001'
    expect(JSON.stringify(decimalJson(text, {}))).toBe(text)
    expect(JSON.stringify({ a: [decimalJson('0.10', {})] })).toBe('{"a":[0.1]}')
    expect(decimalJson('0.0000001', { numberFormat: 'string' })).toBe('0.0000001')
    // A double would print it with an exponent.
    expect(JSON.stringify(decimalJson('0.0000001', {}))).toBe('0.0000001')
    expect(decimalJson('1e21', {})).toBe('1e21')
    expect(decimalJson(undefined, {})).toBeNull()
  })

  it('are times of two forms', () => {
    expect(timeJson(KNOWN_AT, { timeFormat: 'epoch_us' })).toBe(KNOWN_AT)
    expect(timeJson(undefined, {})).toBeNull()
  })

  it('are cells that a reader of CSV takes back', () => {
    expect(cellText('a,"b"\n')).toBe('"a,""b""\n"')
    expect(cellText(null)).toBe('')
    expect(cellText(['x'])).toBe('"[""x""]"')
    expect(cellText(decimalJson('123456789012345678901', {}))).toBe('123456789012345678901')
  })
})

it('a gap has the names of its schema', () => {
  const gap: Gap = {
    venue: 'venuec',
    scope: 'venue',
    key: '',
    reason: 'recorder_down',
    start: KNOWN_AT as Micros,
    afterSequence: 0,
    journal: 1,
  }
  const json = toGapJson(gap)
  expect(Object.keys(json)).toEqual(Object.keys(GAP_SCHEMA['properties'] as object))
  expect(json).toMatchObject({ key: null, end_time: null, detail: null })
})
