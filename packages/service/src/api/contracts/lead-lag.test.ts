import { describe, expect, it } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
import { findLeadLag, type LeadLagOptions } from './lead-lag.ts'
import type { Move } from './moves.ts'

type Step = { readonly at: number; readonly size: number }

const SECOND = 1_000_000
const SPAN = 900 * SECOND
const OPTIONS: LeadLagOptions = {
  clock: 'received',
  grid: { stepMicros: 50_000, steps: 100 },
  start: 0,
  end: SPAN,
  pause: async () => {},
  onOverflow: () => {
    throw new Error('overflow')
  },
}

function walk(seed: number): Step[] {
  const random = createRandom(seed)
  const steps: Step[] = []
  for (let at = 0; ;) {
    at += Math.round(-Math.log(1 - random()) * 0.6 * SECOND) + 1000
    if (at >= SPAN) return steps
    steps.push({ at, size: Math.ceil(random() * 3) * (random() < 0.5 ? -20_000 : 20_000) })
  }
}

function toMoves(steps: readonly Step[]): Move[] {
  return steps.map(({ at, size }, index) => ({
    size,
    sequence: index + 1,
    received: { from: steps[index - 1]?.at ?? 0, at },
    source: undefined,
  }))
}

/** The same moves 700 ms later, give or take 100 ms; three of ten go the other way. */
function follow(steps: readonly Step[], seed: number): Step[] {
  const random = createRandom(seed)
  let last = 0
  return steps.map(({ at, size }) => {
    last = Math.max(last + 1000, Math.round(at + 0.7 * SECOND + (random() - 0.5) * 0.2 * SECOND))
    return { at: last, size: random() < 0.3 ? -size : size }
  })
}

const SEEDS = Array.from({ length: 20 }, (_, index) => 1 + index)

describe('the estimate of who moves first', () => {
  it('has the true delay in its interval 19 of 20 times, although moves are noisy', async () => {
    let hits = 0
    for (const seed of SEEDS) {
      const leader = walk(seed)
      const follower = follow(leader, seed + 500)
      const { verdict, peak } = await findLeadLag(toMoves(leader), toMoves(follower), OPTIONS)
      expect(verdict).toBe('first')
      expect(peak!.highMicros - peak!.lowMicros).toBeLessThan(0.5 * SECOND)
      if (peak!.lowMicros <= 700_000 && peak!.highMicros >= 700_000) hits++
    }
    expect(hits).toBeGreaterThanOrEqual(19)
  })

  it('does not decide for books that move on their own', async () => {
    const verdicts: string[] = []
    for (const seed of SEEDS) {
      const [one, two] = [toMoves(walk(seed)), toMoves(walk(seed + 1000))]
      verdicts.push((await findLeadLag(one, two, OPTIONS)).verdict)
    }
    expect(new Set(verdicts)).toEqual(new Set(['not_decided']))
  })

  it('is the mirror image where the members are exchanged', async () => {
    const leader = walk(3)
    const [one, two] = [toMoves(leader), toMoves(follow(leader, 4))]
    const there = await findLeadLag(one, two, OPTIONS)
    const back = await findLeadLag(two, one, OPTIONS)
    expect(back.curve).toEqual(there.curve.toReversed())
    expect(back.peak!.delayMicros).toBe(-there.peak!.delayMicros)
    expect([there.verdict, back.verdict]).toEqual(['first', 'second'])
  })

  it('gives up instead of adding inexactly', async () => {
    const one = toMoves(walk(1).map(({ at, size }) => ({ at, size: size * 1e5 + 1 })))
    await expect(findLeadLag(one, one, OPTIONS)).rejects.toThrow('overflow')
  })
})
