import { describe, expect, it } from 'vitest'
import { Problem } from '../problems.ts'
import { DEFAULT_OFFSETS, MAX_OFFSETS, offsetsParam } from './panel-params.ts'

const param = offsetsParam()
const parse = (text: string, name: string) => param.parse(text, name)
const pattern = new RegExp(param.schema['pattern'] as string)

describe('offsets from the close', () => {
  const good: readonly (readonly [string, readonly number[]])[] = [
    [DEFAULT_OFFSETS, [-60, -30, -10]],
    ['0s', [0]],
    ['0', [0]],
    ['-1s', [-1]],
    ['-5m', [-300]],
    ['-1h,-90s,-2m,0s', [-3600, -120, -90, 0]],
    ['-24h', [-86_400]],
    ['-1440m', [-86_400]],
    ['-86400s', [-86_400]],
    ['-10s,-60s,-30s', [-60, -30, -10]],
  ]
  for (const [text, offsets] of good) {
    it(`reads ${text}`, () => {
      expect(parse(text, 'at')).toEqual(offsets)
      expect(text).toMatch(pattern)
    })
  }

  const malformed = [
    '',
    ',',
    '-60s,',
    ',-60s',
    '-60s,,-30s',
    '-60',
    '60s',
    '+60s',
    ' 60s',
    '-60s, -30s',
    '-0s',
    '-060s',
    '-1.5s',
    '-1e3s',
    '-60S',
    '-1d',
    '-500ms',
    '-9999999s',
    '−60s',
    '2026-11-01T00:00:00Z',
    'null',
  ]
  for (const text of malformed) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(() => parse(text, 'at')).toThrow(Problem)
      expect(text).not.toMatch(pattern)
    })
  }

  it('refuses what is more than a day before the close', () => {
    for (const text of ['-86401s', '-1441m', '-25h', '-999999h']) {
      expect(() => parse(text, 'at')).toThrow(/more than a day/)
    }
  })

  it('refuses the same offset twice, however it is written', () => {
    for (const text of ['-60s,-60s', '-60s,-1m', '-1h,-60m', '0,0s']) {
      expect(() => parse(text, 'at')).toThrow(/twice/)
    }
  })

  it('refuses more offsets than fit', () => {
    const list = (count: number): string =>
      Array.from({ length: count }, (_, index) => `-${index + 1}s`).join()
    expect(parse(list(MAX_OFFSETS), 'at')).toHaveLength(MAX_OFFSETS)
    expect(() => parse(list(MAX_OFFSETS + 1), 'at')).toThrow(/at most 20/)
    expect(list(MAX_OFFSETS + 1)).not.toMatch(pattern)
  })

  it('names the parameter and shows how to write it', () => {
    const hint = expect.stringContaining(DEFAULT_OFFSETS) as string
    const refusal = { code: 'invalid_parameter', fields: { param: 'at', hint } }
    expect(() => parse('soon', 'at')).toThrow(expect.objectContaining(refusal))
  })
})
