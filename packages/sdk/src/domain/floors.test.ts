import { expect, it } from 'vitest'
import { floorOf } from './venues/index.ts'
import { parseMicros } from './micros.ts'

it('returns the earliest floor that applies to a market', () => {
  const day = (text: string) => parseMicros(`${text}T00:00:00Z`)
  expect(floorOf('venuea', 'books', { asset: 'BTC', window: '15m' })).toBe(day('2026-06-26'))
  expect(floorOf('venuea', 'books', { asset: 'BTC', window: '5m' })).toBe(day('2026-07-26'))
  expect(floorOf('venuea', 'catalogue', { asset: 'ETH' })).toBe(day('2026-06-29'))
  expect(floorOf('venueb', 'books', {})).toBeUndefined()
})
