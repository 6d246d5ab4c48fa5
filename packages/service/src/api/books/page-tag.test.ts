import { describe, expect, it } from 'vitest'
import type { MarketRecord, Micros } from '@priorbook/sdk/domain'
import type { Observation } from '@priorbook/sdk/tape'
import type { AppendBatch } from '../../store/store.ts'
import { createTestServer } from '../server.testing.ts'
import { createBatches, KEYS, PATHS, readSeen, rowsOf } from './books.testing.ts'

const [KEY] = KEYS.venueb
// Far behind the beginning of the first row, which is hashed as it is.
const CHANGED = 30

describe('the entity tag of a final page', () => {
  const { batches } = createBatches(83, 200)

  it('is the same for the same rows, and says so to who has them', async () => {
    const one = await readPage(batches)
    const other = await readPage(batches)
    expect(one.rows.length).toBeGreaterThan(20_000)
    expect(other).toEqual(one)
    expect(one.again).toEqual([304, one.tag])
  })

  it.each<[string, (observation: Observation) => Partial<Observation>]>([
    ['a size', ({ sizes }) => ({ sizes: [sizes[0]! + 100, ...sizes.slice(1)] })],
    ['a source time', ({ source }) => ({ source: source + 1 })],
    ['a number of the venue', ({ venueSeq }) => ({ venueSeq: venueSeq + 1 })],
  ])('differs by %s in the middle', async (_, change) => {
    const sound = await readPage(batches)
    const changed = await readPage(changeRow(batches, change))
    expect(changed.rows).not.toBe(sound.rows)
    expect(changed.tag).not.toBe(sound.tag)
  })

  it('differs by what the market is called in rows and beside them', async () => {
    const tags = new Set([(await readPage(batches)).tag])
    const more: Partial<MarketRecord>[] = [{ eventTicker: 'KXBTC-OTHER' }, { title: 'Another?' }]
    for (const fields of more) tags.add((await readPage(rename(batches, fields))).tag)
    expect(tags.size).toBe(3)
  })

  it('differs by what the market is called later', async () => {
    const { store, ask, keyOf } = await createTestServer()
    await Promise.all(batches.map((batch) => store.append(batch)))
    await store.seal()
    const key = keyOf('unlimited')
    const seen = await readSeen(store, 'venuec')
    const urls = Array.from({ length: 12 }, (_, index) => {
      const [start, end] = [seen[index * 5]!.received, seen[index * 5 + 40]!.received]
      return `${PATHS.venuec}/snapshots?limit=1000&start_time=${start}&end_time=${end}`
    })
    const askAll = () => Promise.all(urls.map((url) => ask(url, { key })))
    const before = await askAll()
    const { record } = (await store.market('venuec', '0xc0ffee'))!
    const outcomes = record.outcomes.map((one) =>
      one.index === 1 ? { ...one, label: 'Down' } : one,
    )
    const last = batches.findLast(({ venue }) => venue === 'venuec')!
    const received = (seen.at(-1)!.received + 1_000_000) as Micros
    const journal = last.position + 1
    await store.append({
      venue: 'venuec',
      position: journal,
      origin: last.origin,
      recorder: last.recorder,
      normalizer: last.normalizer,
      revisions: [{ kind: 'market', received, journal, record: { ...record, outcomes } }],
    })
    const after = await askAll()
    for (const [index, { text, headers }] of after.entries()) {
      expect(text).not.toBe(before[index]!.text)
      expect(headers['etag']).not.toBe(before[index]!.headers['etag'])
    }
  })

  it('is there before the rows are sealed', async () => {
    const loose = await readPage(batches, false)
    const sealed = await readPage(batches)
    expect(loose.rows).toBe(sealed.rows)
    expect(loose.again).toEqual([304, loose.tag])
    const changed = await readPage(
      changeRow(batches, ({ source }) => ({ source: source + 1 })),
      false,
    )
    expect(changed.tag).not.toBe(loose.tag)
  })
})

type ReadPage = { readonly rows: string; readonly tag: string; readonly again: unknown[] }

async function readPage(batches: readonly AppendBatch[], isSealed = true): Promise<ReadPage> {
  const { store, ask, keyOf } = await createTestServer()
  await Promise.all(batches.map((batch) => store.append(batch)))
  if (isSealed) await store.seal()
  const seen = await readSeen(store, 'venueb')
  const [start, end] = [seen[0]!.received, seen[2 * CHANGED]!.received]
  const url = `${PATHS.venueb}/snapshots?include_orderbook=true&limit=1000&start_time=${start}&end_time=${end}`
  const key = keyOf('unlimited')
  const page = await ask(url, { key })
  expect(page.headers['cache-control']).toContain('immutable')
  const tag = page.headers['etag']!
  const known = await ask(url, { key, headers: { 'if-none-match': tag } })
  return { rows: rowsOf(page.text), tag, again: [known.status, known.headers['etag']] }
}

// One row of venue B changed, all the others as they are.
function changeRow(
  batches: readonly AppendBatch[],
  change: (observation: Observation) => Partial<Observation>,
): AppendBatch[] {
  let left = CHANGED
  return batches.map((batch) => ({
    ...batch,
    observations: (batch.observations ?? []).map((observation) => {
      const { instrument, sizes, source, venueSeq } = observation
      const isUsable = sizes.length > 0 && sizes[0]! > 0 && source > 0 && venueSeq > 0
      if (instrument.key !== KEY || --left >= 0 || !isUsable) return observation
      left = Infinity
      return { ...observation, ...change(observation) }
    }),
  }))
}

function rename(batches: readonly AppendBatch[], fields: Partial<MarketRecord>): AppendBatch[] {
  return batches.map((batch) => ({
    ...batch,
    revisions: (batch.revisions ?? []).map((revision) => ({
      ...revision,
      record: { ...revision.record, ...fields },
    })),
  }))
}
