import { describe, expect, it } from 'vitest'
import { createWallClock } from './wall-clock.ts'

/** A clock over true time in milliseconds, which tests move. */
function start(ms: number) {
  const time = { ms, set: 0 }
  const sources = { wall: () => Math.floor(time.ms + time.set), monotonic: () => time.ms - ms + 7 }
  return { time, now: createWallClock(sources) }
}

describe('the wall clock in microseconds', () => {
  it('is as exact as the calls are dense, wherever in a millisecond it began', () => {
    const { time, now } = start(1000.9)
    now()
    for (let step = 0; step < 300; step++) {
      time.ms += 0.01
      now()
    }
    expect(Math.abs(now() - time.ms * 1000)).toBeLessThanOrEqual(10)
  })

  it('follows a wall clock that runs slower or faster, and never goes back for it', () => {
    for (const drift of [-1e-4, 1e-4]) {
      const { time, now } = start(5000)
      let before = 0
      for (let step = 0; step < 100_000; step++) {
        time.ms += 0.05
        time.set += 0.05 * drift
        const at = now()
        expect(at).toBeGreaterThanOrEqual(before)
        before = at
      }
      expect(Math.abs(before - (time.ms + time.set) * 1000)).toBeLessThan(1001)
      expect(Math.abs(time.set)).toBeGreaterThan(0.4)
    }
  })

  it('takes over a time that was set, forward or back', () => {
    for (const step of [3_600_000, -3_600_000]) {
      const { time, now } = start(50_000_000)
      now()
      time.set = step
      time.ms += 1
      expect(Math.abs(now() - (time.ms + step) * 1000)).toBeLessThan(1001)
    }
  })
})
