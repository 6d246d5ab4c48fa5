import { expect, it } from 'vitest'
import { ManualClock } from '../lib/clock.testing.ts'
import { LagMeter } from './lag.ts'

it('summarizes lags by percentiles in milliseconds', () => {
  const meter = new LagMeter(new ManualClock())
  const none = { count: 0, p50Ms: 0, p99Ms: 0, maxMs: 0, totalCount: 0, totalMs: 0 }
  expect(meter.summary()).toEqual(none)
  for (let lag = 1; lag <= 1000; lag++) meter.note(lag * 1000)
  meter.note(0)
  meter.note(1e12)
  const { count, p50Ms, p99Ms, maxMs } = meter.summary()
  expect(count).toBe(1002)
  expect(p50Ms / 500).toBeCloseTo(1, 1)
  expect(p99Ms / 990).toBeCloseTo(1, 1)
  expect(maxMs / 600_000).toBeCloseTo(1, 1)
})

it('forgets lags after the next minute', async () => {
  const clock = new ManualClock()
  const meter = new LagMeter(clock)
  meter.note(5000)
  await clock.advance(60_000)
  expect(meter.summary().count).toBe(1)
  await clock.advance(60_000)
  expect(meter.summary()).toMatchObject({ count: 0, totalCount: 1, totalMs: 5 })
})
