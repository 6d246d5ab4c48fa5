import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { createQuota } from './quota.ts'

const { signal } = new AbortController()

let clock: ManualClock
beforeEach(() => {
  clock = new ManualClock()
})

/** Turns the clock from timer to timer until none is left. */
async function runAll(): Promise<void> {
  await clock.advance(0)
  while (clock.nextDueMs !== undefined) await clock.advance(clock.nextDueMs - clock.monotonicMs())
}

describe('the limit of a window', () => {
  /** Makes calls as fast as allowed, each delayed on its way there and back; returns their arrivals. */
  async function arrivals(limit: number, delays: (call: number) => number): Promise<number[]> {
    const quota = createQuota({ limit, windowMs: 1000, slackMs: 0 }, clock)
    const times: number[] = []
    const wait = (ms: number) =>
      new Promise((resolve) => clock.setTimeout(() => resolve(undefined), ms))
    const calls = Array.from({ length: 12 * limit }, async (_, call) => {
      const end = await quota.acquire(1, call % 3 === 0, signal)
      await wait(delays(call))
      times.push(clock.monotonicMs())
      await wait(delays(call + 1))
      end()
    })
    await runAll()
    await Promise.all(calls)
    return times.toSorted((a, b) => a - b)
  }

  function most(times: readonly number[]): number {
    return Math.max(...times.map((at) => times.filter((t) => t > at - 1000 && t <= at).length))
  }

  it('holds at the venue, however late some calls reach it', async () => {
    expect(most(await arrivals(20, (call) => (call < 20 ? 800 : 1)))).toBe(20)
    expect(most(await arrivals(20, (call) => (call * 7919) % 997))).toBeLessThanOrEqual(20)
    expect(most(await arrivals(3, (call) => (call % 5) * 60))).toBe(3)
  })

  it('is reached when calls are answered at once', async () => {
    const times = await arrivals(10, () => 0)
    expect(times.at(-1)! - times[0]!).toBe(11_000)
  })

  it('includes what another process spent within the window', async () => {
    const quota = createQuota({ limit: 10, windowMs: 1000, slackMs: 0 }, clock)
    quota.resume(4, 200)
    quota.resume(5, 700)
    quota.resume(9, 1000)
    expect(quota.used).toBe(9)
    const start = clock.monotonicMs()
    const waits = Array.from({ length: 3 }, () =>
      quota.acquire(1, false, signal).then(() => clock.monotonicMs() - start),
    )
    await runAll()
    expect(await Promise.all(waits)).toStrictEqual([0, 300, 300])
  })

  it('makes the next call wait for an answer while all are in flight', async () => {
    const quota = createQuota({ limit: 1, windowMs: 1000, slackMs: 0 }, clock)
    const end = await quota.acquire(1, false, signal)
    let startedAt: number | undefined
    const next = quota.acquire(1, false, signal).then(() => (startedAt = clock.monotonicMs()))
    await clock.advance(5000)
    expect([startedAt, quota.used]).toStrictEqual([undefined, 1])
    const endedAt = clock.monotonicMs()
    end()
    end()
    await runAll()
    await next
    expect(startedAt! - endedAt).toBe(1000)
  })
})

describe('a refusal by the venue', () => {
  /** How long a call that is due now has to wait. */
  async function waitOf(quota: ReturnType<typeof createQuota>): Promise<number> {
    const start = clock.monotonicMs()
    const taken = quota.acquire(1, false, signal).then((end) => {
      end()
      return clock.monotonicMs() - start
    })
    await runAll()
    return taken
  }

  it('of many calls in flight is one pause and counts all of them', async () => {
    const quota = createQuota({ limit: 100, windowMs: 1000, slackMs: 0 }, clock)
    for (let call = 0; call < 8; call++) quota.refused()
    expect(quota.refusals).toBe(8)
    expect(await waitOf(quota)).toBe(500)
  })

  it('that repeats after the pause makes it longer, until an answer', async () => {
    const quota = createQuota({ limit: 100, windowMs: 1000, slackMs: 0 }, clock)
    const waits: number[] = []
    for (let round = 0; round < 3; round++) {
      quota.refused()
      waits.push(await waitOf(quota))
    }
    quota.answered()
    quota.refused()
    waits.push(await waitOf(quota))
    expect(waits).toStrictEqual([500, 1000, 2000, 500])
  })
})
