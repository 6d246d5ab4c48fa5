import { describe, expect, it } from 'vitest'
import { ReplayClock } from './replay-clock.ts'

describe('the clock of a replay', () => {
  it('runs at the speed of the replay, whether rows come or not', () => {
    const clock = new ReplayClock(5_000_000, 100, 10)
    expect([clock.at(90), clock.at(100), clock.at(1100)]).toEqual([
      5_000_000, 5_000_000, 15_000_000,
    ])
    clock.noteRow(14_200_000, 1100)
    expect(clock.at(1100)).toBe(15_000_000)
  })

  it('goes back to late rows, waits for more, and runs again when they keep up', () => {
    const clock = new ReplayClock(5_000_000, 100, 10)
    clock.noteRow(12_000_000, 1100)
    expect([clock.at(1100), clock.at(1200)]).toEqual([12_000_000, 12_000_000])
    clock.noteRow(12_300_000, 1200)
    expect([clock.at(1200), clock.at(1300)]).toEqual([12_300_000, 12_300_000])
    clock.noteRow(14_000_000, 1300)
    expect([clock.at(1300), clock.at(1400)]).toEqual([14_000_000, 15_000_000])
  })

  it('does not wait for a quiet market', () => {
    const clock = new ReplayClock(5_000_000, 100, 10)
    clock.noteRow(12_000_000, 1100)
    expect([clock.at(1600), clock.at(1700)]).toEqual([12_000_000, 13_000_000])
  })

  it('moves with early rows, so that it never names an instant before the book', () => {
    const clock = new ReplayClock(5_000_000, 100, 10)
    clock.noteRow(5_400_000, 110)
    expect([clock.at(110), clock.at(120)]).toEqual([5_400_000, 5_500_000])
  })

  it('never goes back before its start, because the first book may be older', () => {
    const clock = new ReplayClock(5_000_000, 100, 10)
    clock.noteRow(1_000_000, 400)
    expect(clock.at(400)).toBe(5_000_000)
  })
})
