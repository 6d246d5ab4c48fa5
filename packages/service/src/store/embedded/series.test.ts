import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { referenceInstrument, REFERENCE_MARKET, toMicros, type Sample } from '@priorbook/sdk/domain'
import { printSampleValue } from '@priorbook/sdk/tape'
import { expect, it, onTestFinished } from 'vitest'
import type { AppendBatch } from '../store.ts'
import { openEmbeddedStore } from './open.ts'

const START = 1_790_000_000_000_000
const EXACT = '79697.575317474428059648'

function batchOf(first: number, count: number, asset = 'BTC'): AppendBatch {
  const instrument = referenceInstrument('venuec', { feed: 'chainlink', asset })
  const samples = Array.from({ length: count }, (_, index): Sample => {
    const journal = first + index
    const received = toMicros(START + journal * 1_000_000)
    return { kind: 'sample', instrument, metric: 'price', value: EXACT, received, journal }
  })
  const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  return { venue: 'venuec', position: first + count - 1, ...maker, samples }
}

function open() {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-series-'))
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
}

it('lists series in the log, in chunks, and after retention removed all of their rows', async () => {
  const store = open()
  await store.append(batchOf(1, 1500))
  await store.append(batchOf(1501, 3, 'ETH'))
  const listed = async () =>
    (await store.series('venuec', REFERENCE_MARKET)).map(
      ({ instrument, metric, firstSequence, lastSequence }) =>
        `${instrument.key} ${metric} ${firstSequence}–${lastSequence}`,
    )
  const all = ['reference/chainlink/BTC price 1–1500', 'reference/chainlink/ETH price 1–3']
  expect(await listed()).toEqual(all)
  await store.seal()
  expect(await listed()).toEqual(all)
  expect(await store.series('venuec', 'another')).toEqual([])
  const query = { venue: 'venuec', key: 'reference/chainlink/BTC', metric: 'price' } as const
  const { rows } = await store.samples({ ...query, order: 'asc', after: 1400, limit: 2 })
  expect([0, 1].map((row) => printSampleValue(rows, row))).toEqual([EXACT, EXACT])
  expect((await store.verify()).problems).toEqual([])
  await store.retain(START + 10_000_000_000)
  const [first] = await store.series('venuec', REFERENCE_MARKET)
  expect(first).toMatchObject({ firstSequence: 1501, lastSequence: 1500 })
  // The numbers go on.
  await store.append(batchOf(2000, 1))
  expect((await store.samples({ ...query, order: 'desc', limit: 1 })).ordinals).toEqual([1501])
})

it('tells followers of new reference prices, and of no other samples', async () => {
  const store = open()
  const follower = await store.follow()
  await store.append(batchOf(1, 2))
  expect(await follower.poll()).toMatchObject({
    books: [],
    references: [{ venue: 'venuec', key: 'reference/chainlink/BTC' }],
  })
  expect(await follower.poll()).toBeUndefined()
  const instrument = { venue: 'venuec', market: 'clock', key: 'clock' } as const
  const [sample] = batchOf(3, 1).samples!
  await store.append({ ...batchOf(3, 1), samples: [{ ...sample!, instrument }] })
  expect(await follower.poll()).toBeUndefined()
  follower.close()
})
