import { VENUES } from '@priorbook/sdk/domain'
import { expect, test } from 'vitest'
import { createRounds } from '../venues/venuea/rounds.ts'
import { createTestWorld, START } from '../venues/venuea/world.testing.ts'

const WINDOW_MS = 300_000

/** The ids of a world that begins with this round, by the start of the round. */
function idsFrom(first: number, seed: string): Map<number, string> {
  const world = createTestWorld('venuea', seed)
  for (let round = first; round < first + 5; round++) {
    world.list({ openTime: START + round * WINDOW_MS })
  }
  const rounds = createRounds(world).all()
  return new Map(rounds.map((one) => [one.proposition.openTime, `${one.topicId} ${one.marketId}`]))
}

test('a round has the same ids whenever the emulator starts, and no other round has them', () => {
  const early = idsFrom(0, 'one')
  const late = idsFrom(3, 'one')
  for (const [openTime, ids] of late) {
    for (const [otherTime, otherIds] of early) expect(ids === otherIds).toBe(openTime === otherTime)
  }
  expect(idsFrom(0, 'two')).not.toEqual(early)
})

test('ids of venue A are such that its paths accept', () => {
  const world = createTestWorld('venuea')
  world.list({ openTime: Date.UTC(2050, 0, 1) })
  world.list({ openTime: Date.UTC(2010, 0, 1) })
  for (const { marketId } of createRounds(world).all()) {
    expect(String(marketId)).toMatch(VENUES.venuea.paths.idPattern)
  }
})
