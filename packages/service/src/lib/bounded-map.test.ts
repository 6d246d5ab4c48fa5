import { expect, it } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

it('evicts the entry that was set longest ago and keeps the others', () => {
  const map = new BoundedMap<string, number | undefined>(2)
  map.set('a', 1)
  map.set('b', undefined)
  map.set('a', 2)
  map.set('c', 3)
  expect([map.has('a'), map.has('b'), map.get('a'), map.get('c'), map.size]).toEqual([
    true,
    false,
    2,
    3,
    2,
  ])
})
