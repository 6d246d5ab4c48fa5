import { DATASET_FLOORS, floorOf } from '@priorbook/sdk/wire'
import { parseMicros } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { VENUEA_FLOORS } from '../../venues/venuea/floors.ts'

it('serves the floors that capture goes by', () => {
  const served = DATASET_FLOORS.filter(({ venue }) => venue === 'venuea')
  const known = served.map(({ dataset, assets, windows, start, yearInferred = false }) => ({
    dataset,
    assets,
    ...(windows === undefined ? {} : { windows }),
    start,
    yearInferred,
  }))
  expect(known).toEqual(VENUEA_FLOORS)
})

it('takes the earliest floor that holds for a market', () => {
  const day = (text: string) => parseMicros(`${text}T00:00:00Z`)
  expect(floorOf('venuea', 'books', { asset: 'BTC', window: '15m' })).toBe(day('2026-06-26'))
  expect(floorOf('venuea', 'books', { asset: 'BTC', window: '5m' })).toBe(day('2026-07-26'))
  expect(floorOf('venuea', 'catalogue', { asset: 'ETH' })).toBe(day('2026-06-29'))
  expect(floorOf('venueb', 'books', {})).toBeUndefined()
})
