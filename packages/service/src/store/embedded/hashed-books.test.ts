import { expect, test } from 'vitest'
import type { Store } from '../store.ts'
import { sealedTape } from './sealed-tape.testing.ts'

const { copy } = sealedTape()

/** The hashes of the chunks that all books come from, by instrument, and their rows. */
async function chunksOf(
  store: Store,
  hashes?: boolean,
): Promise<
  readonly (readonly [key: string, first: number, to: number, chunk: string | undefined])[]
> {
  const found: [string, number, number, string | undefined][] = []
  for (const { instrument } of await store.instruments()) {
    const { venue, key } = instrument
    const query = { venue, key, order: 'asc', limit: 100_000, numbers: true } as const
    const { runs } = await store.books({ ...query, hashes })
    for (const { firstSequence, to, chunk } of runs) found.push([key, firstSequence, to, chunk])
  }
  return found
}

test('a writer gives the hashes of chunks that it read without them before', async () => {
  const folder = copy()
  const expected = await chunksOf(folder.open({ readOnly: true }))
  expect(expected.length).toBeGreaterThan(10)
  expect(expected.every(([, , , chunk]) => chunk !== undefined)).toBe(true)

  const writer = folder.open()
  const without = expected.map(([key, first, to]) => [key, first, to, undefined])
  expect(await chunksOf(writer, false)).toEqual(without)
  expect(await chunksOf(writer)).toEqual(expected)
})
