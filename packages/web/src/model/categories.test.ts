import type { CategoryJson } from '@priorbook/sdk/wire'
import { expect, it } from 'vitest'
import { mergeCategories } from './categories.ts'

const row = (category: string, open: number): CategoryJson => ({
  venue: 'venueb',
  category,
  market_count: 9,
  open_market_count: open,
  event_count: 3,
  open_event_count: 1,
})

it('adds up headings that differ by case, most open markets first, and keeps the chosen one', () => {
  const rows = [row('Politics', 3), row('politics', 4), row('Sports', 5), row('Weather', 0)]
  const names = (chosen?: string) =>
    mergeCategories(rows, 'open_market_count', chosen).map(({ name, open, isChosen }) =>
      [name, open, isChosen].join(' '),
    )
  expect(names()).toEqual(['Politics 7 false', 'Sports 5 false'])
  expect(names('SPORTS')).toEqual(['Politics 7 false', 'Sports 5 true'])
  expect(names('weather').at(-1)).toBe('Weather 0 true')
  expect(names('Unknown').at(-1)).toBe('Unknown 0 true')
})
