import type { BookRun } from '@priorbook/sdk/tape'
import { expect, test } from 'vitest'
import type { Store } from '../store.ts'
import { sealedTape } from './sealed-tape.testing.ts'

const { copy } = sealedTape()

function headsOf({ columns, firstSequence, from, to }: BookRun): unknown[] {
  const { received, source, venueSeq, channel, journal, flags } = columns
  return Array.from({ length: to - from }, (_, at) => {
    const row = from + at
    const numbers = [venueSeq[row], channel[row], journal[row]]
    return [firstSequence + row, received[row], source[row], flags[row], ...numbers]
  })
}

async function newestHeads(
  store: Store,
  limit: number,
  levels: boolean,
): Promise<readonly unknown[]> {
  const found: unknown[] = []
  for (const { instrument } of await store.instruments()) {
    const { venue, key } = instrument
    const page = await store.books({ venue, key, order: 'desc', limit, numbers: true, levels })
    found.push([key, page.count, page.hasMore, ...page.runs.flatMap(headsOf)])
  }
  return found
}

test('rows without levels have the same times, flags and numbers', async () => {
  const folder = copy()
  // In a process that has decoded nothing, and in one that has.
  const without = await newestHeads(folder.open({ readOnly: true }), 65, false)
  expect(without.length).toBeGreaterThan(1)
  const writer = folder.open()
  expect(await newestHeads(writer, 65, true)).toEqual(without)
  for (const limit of [1, 65, 5000]) {
    const expected = await newestHeads(writer, limit, true)
    expect(await newestHeads(writer, limit, false)).toEqual(expected)
  }
})
