import { describe, expect, it } from 'vitest'
import { ERROR_CODES, PriorbookError, showValue, type ErrorCode } from './errors.ts'
import { FLAGS, flagNames, LATE_MICROS } from './flags.ts'
import { GAP_REASONS } from './gap.ts'
import { ORIGINS } from './identity.ts'
import { isLegalTransition, MARKET_STATUSES, type MarketStatus } from './status.ts'

/** The words that formats, routes and documents share: a change here must be meant. */

describe('flags', () => {
  it('are the bits of the tape format', () => {
    expect(FLAGS).toStrictEqual({
      full_book: 1,
      late: 2,
      clock_step: 4,
      locked: 8,
      off_tick: 16,
      truncated_upstream: 32,
      restart: 64,
      after_gap: 128,
      rounded: 256,
    })
    expect(LATE_MICROS).toBe(5_000_000)
  })

  it('are named in bit order, for every combination', () => {
    const names = Object.entries(FLAGS)
    for (let bits = 0; bits < 512; bits++) {
      const wanted = names.filter(([, bit]) => Math.floor(bits / bit) % 2 === 1)
      expect(flagNames(bits)).toStrictEqual(wanted.map(([name]) => name))
    }
  })
})

describe('statuses', () => {
  // A row says where a market may go from there; '=' is the stay, 'x' legal, '.' not.
  const TABLE: Readonly<Record<MarketStatus, string>> = {
    scheduled: '=xxxxxxx',
    open: '.=xxxxxx',
    paused: '.x=xxxxx',
    closed: '.x.=xxxx',
    determined: '....=xxx',
    disputed: '....x=xx',
    resolved: '......=.',
    voided: '.......=',
  }

  it.each(MARKET_STATUSES)('%s moves as the table says', (from) => {
    const moves = MARKET_STATUSES.map((to) =>
      isLegalTransition(from, to) ? (from === to ? '=' : 'x') : '.',
    )
    expect(moves.join('')).toBe(TABLE[from])
  })

  it('can go through the whole designed lifecycle', () => {
    const life: MarketStatus[] = [
      'scheduled',
      'open',
      'paused',
      'open',
      'closed',
      'open',
      'closed',
      'determined',
      'disputed',
      'determined',
      'resolved',
    ]
    for (const [index, to] of life.slice(1).entries()) {
      expect(isLegalTransition(life[index]!, to), `${life[index]} → ${to}`).toBe(true)
    }
    for (const from of MARKET_STATUSES) {
      expect(isLegalTransition(from, 'voided')).toBe(from !== 'resolved')
    }
  })
})

describe('lists', () => {
  it('of gap reasons is the design’s, each with a sentence', () => {
    expect(Object.keys(GAP_REASONS)).toStrictEqual([
      'before_capture',
      'market_not_open',
      'market_closed',
      'venue_silent',
      'disconnected',
      'sequence_break',
      'book_reset',
      'recorder_down',
      'late_discovery',
      'not_selected',
      'quota',
      'rejected',
      'disk_full',
      'corrupt',
      'retention',
      'unavailable',
      'reorganized',
    ])
    for (const sentence of Object.values(GAP_REASONS)) expect(sentence).toMatch(/^[A-Z].*\.$/)
  })

  it('of origins keeps its order, which is on disk', () => {
    expect(ORIGINS).toStrictEqual(['live', 'emulator', 'import'])
  })
})

describe('errors', () => {
  it('have a listed code, and its sentence where no detail is given', () => {
    for (const [code, sentence] of Object.entries(ERROR_CODES)) {
      expect(code).toMatch(/^[a-z_]+$/)
      expect(sentence).toMatch(/^[A-Z].*\.$/)
      const bare = new PriorbookError(code as ErrorCode, '')
      expect([bare.name, bare.code, bare.message]).toStrictEqual(['PriorbookError', code, sentence])
    }
    const cause = new RangeError('inside')
    const error = new PriorbookError('corrupt_chunk', 'detail', { cause })
    expect([error.message, error.cause]).toStrictEqual(['detail', cause])
  })

  it.each([
    [null, 'null'],
    [undefined, 'undefined'],
    [[1, [2]], 'a list'],
    [{ toString: 5 }, 'an object'],
    ['a"b', '"a\\"b"'],
    ['x'.repeat(200), `"${'x'.repeat(80)}"`],
    [12.5, '12.5'],
    [10n ** 100n, `1${'0'.repeat(79)}`],
  ])('show %s as %s', (value, shown) => {
    expect(showValue(value)).toBe(shown)
  })
})
