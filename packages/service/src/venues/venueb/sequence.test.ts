import { expect, it } from 'vitest'
import { createSequences } from './sequence.ts'

it('tells the first, the next, a jump and what was there before, for each subscription', () => {
  const sequences = createSequences()
  const steps = [22, 23, 24, 24, 27, 26, 28].map((seq) => sequences.check(1, seq))
  expect(steps).toStrictEqual(['first', 'next', 'next', 'old', 'jump', 'old', 'next'])
  expect(sequences.check(2, 5)).toBe('first')
  expect([sequences.last(1), sequences.last(2), sequences.last(3)]).toStrictEqual([
    28,
    5,
    undefined,
  ])
  sequences.clear()
  expect(sequences.check(1, 1)).toBe('first')
})
