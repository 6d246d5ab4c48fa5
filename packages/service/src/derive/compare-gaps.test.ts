import type { Gap, GapReason, Micros } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { areSameGaps } from './compare-gaps.ts'

function gap(reason: GapReason, start: number, rest: Partial<Gap> = {}): Gap {
  const place = { venue: 'venueb', scope: 'instrument', key: 'M' } as const
  return { ...place, reason, start: start as Micros, afterSequence: 3, journal: 9, ...rest }
}

const at = (time: number) => time as Micros

it('a gap of a closed market that begins with the last observation was made by an earlier version', () => {
  const stored = [gap('disconnected', 5, { end: at(7) }), gap('market_closed', 10)]
  const moved = gap('market_closed', 20, { sourceStart: at(20) })
  expect(areSameGaps(stored, [stored[0]!, moved])).toBe(true)
  expect(
    areSameGaps(
      [stored[0]!, gap('market_closed', 10, { sourceStart: at(9) })],
      [stored[0]!, moved],
    ),
  ).toBe(true)
})

it.each([
  ['begins later than the journal says', gap('market_closed', 20), gap('market_closed', 10)],
  ['has another reason', gap('disconnected', 10), gap('market_closed', 20)],
  ['is not of a close', gap('disconnected', 10), gap('disconnected', 20)],
  ['ends elsewhere', gap('market_closed', 10, { end: at(30) }), gap('market_closed', 20)],
  [
    'is after another row',
    gap('market_closed', 10, { afterSequence: 2 }),
    gap('market_closed', 20),
  ],
  ['has another detail', gap('market_closed', 10, { detail: 'x' }), gap('market_closed', 10)],
])('a gap that %s is a difference', (_, stored, derived) => {
  expect(areSameGaps([stored], [derived])).toBe(false)
  expect(areSameGaps([stored], [stored])).toBe(true)
  expect(areSameGaps([stored], [])).toBe(false)
})
