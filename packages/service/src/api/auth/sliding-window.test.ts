import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { COUNTER_BYTES, hit, lookAt, windowSeconds, type WindowLimit } from './sliding-window.ts'

function create(): DataView {
  return new DataView(new ArrayBuffer(COUNTER_BYTES))
}

describe.each(['second', 'minute'] as const)('the window of a %s', (name) => {
  const windowMs = windowSeconds(name) * 1000

  it('never admits more than the quota in any span of its length', () => {
    const step = fc.integer({ min: 0, max: windowMs / 4 })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { maxLength: 200 }),
        (quota, steps) => {
          const counters = create()
          const limit: WindowLimit = { name, quota }
          const admitted: number[] = []
          let now = 1_790_000_000_000.25
          for (const ms of steps) {
            now += ms
            const state = lookAt(counters, limit, now)
            const lately = admitted.filter((time) => time > now - windowMs).length
            // A refusal may be late by one bucket, never more.
            const longer = admitted.filter((time) => time > now - windowMs * 1.011).length
            const waitMs = state.nextMs - now
            const isRight =
              state.remaining > 0
                ? lately < quota
                : longer >= quota && waitMs > 0 && waitMs <= windowMs * 1.011
            expect([quota, lately, longer, waitMs, isRight]).toContain(true)
            if (state.remaining === 0) continue
            hit(counters, name, now)
            admitted.push(now)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('admits the next request at the announced time, and not before', () => {
    const counters = create()
    const limit: WindowLimit = { name, quota: 3 }
    const start = 1_790_000_000_000
    for (let index = 0; index < 3; index++) hit(counters, name, start + index * 100)
    const { nextMs } = lookAt(counters, limit, start + 500)
    expect(nextMs).toBeGreaterThanOrEqual(start + windowMs)
    expect(lookAt(counters, limit, nextMs - 1).remaining).toBe(0)
    expect(lookAt(counters, limit, nextMs).remaining).toBeGreaterThan(0)
  })

  it('keeps its counts when the clock is set back a little', () => {
    const counters = create()
    const limit: WindowLimit = { name, quota: 1 }
    hit(counters, name, 1_790_000_000_000)
    expect(lookAt(counters, limit, 1_790_000_000_000 - windowMs / 2).remaining).toBe(0)
  })
})
