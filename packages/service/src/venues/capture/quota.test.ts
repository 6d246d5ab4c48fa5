import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createQuota } from './quota.ts'

const { signal } = new AbortController()

describe('a refusal by the venue', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** How long a call that is wanted now has to wait. */
  async function waitOf(quota: ReturnType<typeof createQuota>): Promise<number> {
    const start = performance.now()
    const taken = quota.take(1, false, signal).then(() => performance.now() - start)
    await vi.runAllTimersAsync()
    return taken
  }

  it('of many calls under way is one pause, and counts them all', async () => {
    const quota = createQuota({ limit: 100, windowMs: 1000, slackMs: 0 })
    for (let call = 0; call < 8; call++) quota.refused()
    expect(quota.refusals).toBe(8)
    expect(await waitOf(quota)).toBe(500)
  })

  it('that comes again after the pause makes it longer, until an answer', async () => {
    const quota = createQuota({ limit: 100, windowMs: 1000, slackMs: 0 })
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
