import { describe, expect, it } from 'vitest'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import type { Rest, RestAnswer } from './rest.ts'
import { BACKFILL_PATIENCE, WALK_PATIENCE, withRetries, type Patience } from './retries.ts'

const GOOD: RestAnswer = { ok: true, value: 1, reading: { events: [], problems: [] } }
const failed = (status?: number): RestAnswer =>
  status === undefined ? { ok: false, why: 'x' } : { ok: false, status, why: 'x' }

/** Sends one call to a venue with these answers, the last one for ever; waits take no time. */
async function send(
  patience: Patience,
  ...answers: readonly RestAnswer[]
): Promise<{ readonly answer: RestAnswer; readonly calls: number; readonly waits: number[] }> {
  let calls = 0
  const waits: number[] = []
  const clock: Clock = {
    ...SYSTEM_CLOCK,
    setTimeout: (run, ms) => {
      waits.push(ms)
      return SYSTEM_CLOCK.setTimeout(run, 0)
    },
  }
  const rest: Rest = {
    send: () => Promise.resolve(answers[Math.min(calls++, answers.length - 1)]!),
  }
  const call = { request: { kind: 'x' }, path: '/x' }
  const { signal } = new AbortController()
  const answer = await withRetries(rest, patience, clock).send(call, signal)
  return { answer, calls, waits }
}

describe('a call that fails', () => {
  it.each([undefined, 200, 408, 418, 429, 500, 503])(
    'is made again where it may pass by itself (%s)',
    async (status) => {
      const lost = failed(status)
      expect(await send(WALK_PATIENCE, lost, lost, GOOD)).toMatchObject({ answer: GOOD, calls: 3 })
      const walk = await send(WALK_PATIENCE, lost)
      expect(walk).toEqual({ answer: lost, calls: 4, waits: [500, 1000, 2000] })
      const backfill = await send(BACKFILL_PATIENCE, lost)
      expect(backfill.calls).toBe(20)
      expect(backfill.waits.slice(0, 3)).toEqual([250, 500, 1000])
      expect(Math.max(...backfill.waits)).toBe(30_000)
    },
  )

  it.each([400, 404, 422])('is made again a few times where it is refused (%i)', async (status) => {
    const refusal = failed(status)
    expect(await send(WALK_PATIENCE, refusal)).toMatchObject({ answer: refusal, calls: 1 })
    expect(await send(BACKFILL_PATIENCE, refusal)).toMatchObject({ answer: refusal, calls: 3 })
    // Refusals count whatever lies between them.
    const mixed = [refusal, failed(), refusal, failed(), refusal, GOOD]
    expect(await send(BACKFILL_PATIENCE, ...mixed)).toMatchObject({ answer: refusal, calls: 5 })
  })

  it.each([401, 403, 407, 451])(
    'is not made again where this client is refused (%i)',
    async (status) => {
      const refusal = failed(status)
      expect(await send(BACKFILL_PATIENCE, refusal, GOOD)).toMatchObject({
        answer: refusal,
        calls: 1,
      })
    },
  )
})
