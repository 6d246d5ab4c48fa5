import { describe, expect, it } from 'vitest'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import { createTestCaller } from '../caller.testing.ts'
import { createBatches, joined, KEYS, PATHS, readSeen, walk } from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'

const key = KEYS.venuec[0]!

type ChangesRow = {
  readonly received_time: string
  readonly changes: { readonly price: readonly number[] }
}
type Bucket = {
  readonly bucket_start: string
  readonly bucket_end: string
  readonly observations: number
  readonly changes: number
}

describe('a damaged chunk', () => {
  it('is a gap on one page of every walk, and no book is served out of it', async () => {
    const folder = createTapeFolder()
    const writer = folder.open()
    const { batches } = createBatches(91, 400)
    await Promise.all(batches.map((batch) => writer.append(batch)))
    await writer.seal()
    const seen = await readSeen(writer, 'venuec')
    await writer.close()
    const [chunk] = folder.sql(
      `SELECT chunk.first, chunk.count, chunk.first_received, chunk.body FROM chunk
       JOIN stream ON stream.id = chunk.stream
       WHERE stream.key = ? AND stream.kind = 0 AND chunk.first > 1 AND chunk.count > 20 LIMIT 1`,
      key,
    )
    const { first, count, body, first_received: at } = chunk as Record<string, number>
    folder.sql('UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = ?', body!)

    const api = createTestCaller(BOOK_ROUTES, { store: folder.open({ readOnly: true }) })
    const expected = seen
      .filter((row) => row.lane !== 0 || row.sequence < first! || row.sequence >= first! + count!)
      .map((row) => `venuec:${KEYS.venuec[row.lane]}:${row.sequence}`)
    expect(expected.length).toBe(seen.length - count!)
    for (const order of ['asc', 'desc']) {
      for (const sizes of [[9], [50, 3], [1000]]) {
        const pages = await walk(api, `${PATHS.venuec}/snapshots?order=${order}`, sizes)
        const ids = pages.flatMap((page) => page.ids)
        expect(order === 'asc' ? ids : ids.toReversed()).toEqual(expected)
        const corrupt = pages
          .flatMap(({ gaps }) => gaps.map((text) => JSON.parse(text) as { reason: string }))
          .filter(({ reason }) => reason === 'corrupt')
        expect(corrupt).toMatchObject([{ key, after_sequence: first! - 1 }])
      }
    }
    const readable = await walk(api, `${PATHS.venuec}/changes?token_id=${key}`, [1000])
    const rows = JSON.parse(`[${joined(readable)}]`) as readonly ChangesRow[]
    for (const interval of ['1s', '10s', '1m']) {
      const query = `${PATHS.venuec}/snapshots?token_id=${key}&interval=${interval}&limit=1000`
      const { body: sampled } = await api.get(query)
      const buckets = sampled.data as readonly Bucket[]
      expect(buckets.length).toBeGreaterThan(0)
      for (const { bucket_start: from, bucket_end: to, observations, changes } of buckets) {
        const inside = rows.filter((row) => row.received_time >= from && row.received_time < to)
        const levels = inside.map(({ changes: { price } }) => price.length)
        expect([from, observations, changes]).toEqual([
          from,
          inside.length,
          levels.reduce((sum, count) => sum + count, 0),
        ])
      }
    }
    const { body: asOf } = await api.get(`${PATHS.venuec}/orderbook?token_id=${key}&at=${at! + 1}`)
    expect(asOf).toMatchObject({ data: null, meta: { notice: { code: 'corrupt' } } })
  })

  it('at the end of the log leaves no newest book', async () => {
    const folder = createTapeFolder()
    const writer = folder.open()
    const { batches } = createBatches(92, 80)
    for (const batch of batches) await writer.append(batch)
    await writer.close()
    folder.sql(
      'UPDATE log SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT max(id) FROM log)',
    )
    const api = createTestCaller(BOOK_ROUTES, { store: folder.open({ readOnly: true }) })
    const { body } = await api.get(`${PATHS.venueb}/orderbook/latest`)
    expect(body).toMatchObject({ data: null, meta: { notice: { code: 'corrupt' } } })
    const pages = await walk(api, `${PATHS.venueb}/snapshots`, [20])
    expect(pages.flatMap(({ ids }) => ids).length).toBeGreaterThan(20)
    const gaps = pages.flatMap((page) => page.gaps).filter((text) => text.includes('"corrupt"'))
    expect(gaps).toHaveLength(1)
  })
})
