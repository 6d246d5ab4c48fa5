import { DAY_MICROS } from '@priorbook/sdk/domain'
import type { ChunkLeaf } from '@priorbook/sdk/wire'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createTempFolder } from '../store/embedded/temp-folder.testing.ts'
import type { EmbeddedStore } from '../store/embedded/open.ts'
import { ProofDatabase } from './proof-database.ts'
import { ProofSigner } from './proof-signer.ts'

const DAY = Date.UTC(2026, 7, 11) * 1000
const HOUR = 3_600_000_000

const leafOf = (number: number, day: number): ChunkLeaf => ({
  venue: 'venueb',
  market: 'M',
  key: 'M',
  kind: 'book',
  metric: '',
  first: 1 + number * 1024,
  count: 1024,
  firstReceived: day + number,
  lastReceived: day + number + 1,
  hash: String(number).padStart(64, '0'),
})

it('signs a day that is over, amends it after an hour, and never reads the chunks of a day that is not', async () => {
  let now = DAY + 12 * HOUR
  const sealed: ChunkLeaf[][] = []
  const store = {
    readSealed: async () => (sealed[0] === undefined ? undefined : { chunks: sealed[0] }),
    forgetSealed: async () => void sealed.shift(),
  } as unknown as EmbeddedStore
  const options = { store, folder: createTempFolder(), delayMs: 3_600_000, now: () => now }
  const signer = new ProofSigner(options)
  onTestFinished(() => signer.close())
  const read = vi.spyOn(ProofDatabase.prototype, 'all')
  onTestFinished(() => void vi.restoreAllMocks())
  const pass = async (...chunks: ChunkLeaf[]): Promise<readonly (readonly number[])[]> => {
    if (chunks.length > 0) sealed.push(chunks)
    return (await signer.pass()).map(({ number, size }) => [number, size])
  }
  expect(await pass(leafOf(1, DAY), leafOf(2, DAY))).toEqual([])
  const times = read.mock.calls.filter(([sql]) => sql.includes('noted'))
  expect(times).toEqual([])
  now = DAY + DAY_MICROS + HOUR - 1
  expect(await pass()).toEqual([])
  now++
  expect(await pass()).toEqual([[1, 2]])
  // What comes later waits for more of its kind, for an hour from the first.
  expect(await pass(leafOf(3, DAY))).toEqual([])
  now += HOUR / 2
  expect(await pass(leafOf(4, DAY))).toEqual([])
  now += HOUR / 2 - 1
  expect(await pass()).toEqual([])
  now++
  expect(await pass()).toEqual([[2, 4]])
  expect(await pass(leafOf(5, DAY))).toEqual([])
  now += HOUR
  expect(await pass()).toEqual([[3, 5]])
})
