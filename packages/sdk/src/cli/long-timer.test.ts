import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startLongTimer } from './long-timer.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

it.each([1, 2 ** 31 - 1, 2 ** 31, 2_592_000_000, 31_536_000_000])('takes %i ms', (ms) => {
  const run = vi.fn<() => void>()
  const set = vi.spyOn(globalThis, 'setTimeout')
  startLongTimer(ms, run)
  vi.advanceTimersByTime(ms - 1)
  expect(run).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(run).toHaveBeenCalledTimes(1)
  // Node would take more than that for 1 ms, which the timers of this test do not.
  expect(Math.max(...set.mock.calls.map(([, step]) => step!))).toBeLessThan(2 ** 31)
  expect(vi.getTimerCount()).toBe(0)
})

it('is stopped in any of its steps', () => {
  const run = vi.fn<() => void>()
  for (const passed of [0, 2 ** 31, 2 ** 32]) {
    const stop = startLongTimer(2 ** 33, run)
    vi.advanceTimersByTime(passed)
    stop()
    expect(vi.getTimerCount()).toBe(0)
  }
  expect(run).not.toHaveBeenCalled()
})
