import { describe, expect, it } from 'vitest'
import { createRandom } from '../world/random.ts'
import { FAULT_KINDS, parseInjection } from './fault.ts'
import { malform, MALFORMED_VARIANTS } from './malform.ts'
import { randomSchedule } from './schedule.ts'

describe('a random schedule', () => {
  const options = { durationMs: 3_600_000, venues: ['venuea', 'venueb', 'venuec'] } as const

  it('is the same for the same seed, in order, of every kind, and injectable', () => {
    const schedule = randomSchedule(4, options)
    expect(randomSchedule(4, options)).toEqual(schedule)
    expect(randomSchedule(5, options)).not.toEqual(schedule)
    expect(schedule.map(({ at }) => at)).toEqual(schedule.map(({ at }) => at).sort((a, b) => a - b))
    expect(new Set(schedule.map(({ fault }) => fault.kind))).toEqual(
      // The chain is read only where that is configured.
      new Set(FAULT_KINDS.filter((kind) => !kind.startsWith('chain_'))),
    )
    for (const { at, ...injection } of schedule) {
      expect(at).toBeLessThan(3_600_000)
      expect(parseInjection(injection)).toEqual(injection)
    }
  })
})

describe('a malformed frame', () => {
  const delta =
    '{"type":"orderbook_delta","sid":1,"seq":2,"msg":{"market_ticker":"T","price_dollars":"0.4100","delta_fp":"-5.50","side":"yes"}}'
  const book =
    '{"type":"orderbook_snapshot","sid":1,"seq":1,"msg":{"yes_dollars_fp":[["0.0100","3.00"],["0.4000","2.00"]],"no_dollars_fp":[["0.0200","1.00"]]}}'
  const objects =
    '[{"asset_id":"1","bids":[{"price":"0.01","size":"5"}],"asks":[{"price":"0.9","size":"1"}]}]'

  it('is never the frame that it was, and is what its variant says', () => {
    for (const variant of MALFORMED_VARIANTS) {
      for (const text of [delta, book, objects]) {
        const spoiled = malform(text, createRandom(variant), variant)
        expect(spoiled.text).not.toBe(text)
      }
    }
    const of = (variant: (typeof MALFORMED_VARIANTS)[number], text: string): string =>
      malform(text, createRandom('x'), variant).text
    expect(of('not_a_number', delta)).toContain('"NaN"')
    expect(of('huge_number', book)).toContain('"1e308"')
    expect(of('duplicate_prices', book)).toContain('["0.0100","3.00"],["0.0100","3.00"]')
    expect(of('duplicate_prices', objects)).toContain(
      '{"price":"0.01","size":"5"},{"price":"0.01","size":"5"}',
    )
    expect(of('crossed', objects)).toContain('"bids":[{"price":"0.9900","size":"5"}]')
    expect(of('crossed', delta)).toContain('"price_dollars":"1.0000"')
    // A single level at another price could be right.
    const single = book.replace(',["0.4000","2.00"]', '').replace('[["0.0200","1.00"]]', '[]')
    expect(malform(single, createRandom('x'), 'crossed').variant).toBe('truncated')
    expect(() => JSON.parse(of('wrong_types', book)) as unknown).not.toThrow()
    expect(() => JSON.parse(of('truncated', book)) as unknown).toThrow('JSON')
    expect(malform(delta, createRandom('x'), 'duplicate_prices').variant).toBe('truncated')
  })
})
