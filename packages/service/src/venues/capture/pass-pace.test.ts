import { expect, it } from 'vitest'
import { PassPace } from './pass-pace.ts'

it('lets a connector look at many markets less often, and least while none is new', () => {
  const pace = new PassPace()
  expect(pace.isDue(20_000, 0)).toBe(true)
  pace.begin(20_000, 0)
  const firstDue = (size: number): number => {
    let nowMs = 0
    while (!pace.isDue(size, nowMs)) nowMs++
    return nowMs
  }
  expect(firstDue(20_000)).toBe(4000)
  expect(firstDue(20_020)).toBe(1001)
  pace.begin(10, 0)
  expect(firstDue(10)).toBe(2)
})
