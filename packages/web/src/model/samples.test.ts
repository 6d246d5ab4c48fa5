import { expect, it } from 'vitest'
import { toSampleLines } from './samples.ts'

it('keeps metrics separate and carries each value to its next sample', () => {
  const chance = { time: [1e6, 3e6], value: [0.5, 0.6] }
  const price = { time: [2e6], value: [0.4] }
  expect(toSampleLines([chance, price, undefined])).toEqual([
    [1, 2, 3],
    [0.5, 0.5, 0.6],
    [null, 0.4, 0.4],
    [null, null, null],
  ])
})

it('ends every line at a break', () => {
  const chance = { time: [1e6, 4e6], value: [0.5, 0.6] }
  const price = { time: [2e6], value: [0.4] }
  expect(toSampleLines([chance, price], [3e6])).toEqual([
    [1, 2, 3, 4],
    [0.5, 0.5, null, 0.6],
    [null, 0.4, null, null],
  ])
})
