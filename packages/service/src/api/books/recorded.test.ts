import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { join } from 'node:path'
import type { Instrument } from '@priorbook/sdk/domain'
import { createBookRenderer, type BookContext } from '@priorbook/sdk/wire'
import { createTestFolder, type TestFolder, importRecorded } from '../../derive/import.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { createRandom } from '../../lib/random.testing.ts'
import { expectedInstruments } from '../../rows/receipt.testing.ts'
import { createTestCaller, type TestCaller } from '../caller.testing.ts'
import { joined, walk } from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'

const recorded = process.env['PRIORBOOK_RECORDINGS'] ?? ''
if (recorded === '') {
  console.warn('recorded markets are skipped: set PRIORBOOK_RECORDINGS to the folder of recordings')
}
const isFull = process.env['PRIORBOOK_FULL'] === '1'
const sample = join(import.meta.dirname, '../../../sample')

describe('pages of the sample market', () => {
  describeMarkets((folder) => folder.importPaths(sample), 1)
})

describe.skipIf(recorded === '')('pages of recorded markets', () => {
  const api = describeMarkets((folder) => importRecorded(folder, recorded), 6)

  it('list the two gaps of 102130-30 once, and serve no book inside', async () => {
    const path = '/v3/venueb/KXGOLD15M-26AUG102130-30'
    // Minutes around them, or all of the market.
    const range = isFull ? '' : '?start_time=1786410915000&end_time=1786411035000'
    const pages = await walk(api(), `${path}/snapshots${range}`, [1000])
    const gaps = pages.flatMap((page) => page.gaps).map((text) => JSON.parse(text) as object)
    expect(gaps).toMatchObject([
      { reason: 'venue_silent', start_time: '2026-08-11T01:16:15.904000Z' },
      { reason: 'disconnected', start_time: '2026-08-11T01:16:25.915000Z' },
    ])
    for (const [at, reason] of [
      [1786410980000, 'venue_silent'],
      [1786410986000, 'disconnected'],
    ] as const) {
      const { body } = await api().get(`${path}/orderbook?at=${at}`)
      expect(body).toMatchObject({ data: null, meta: { notice: { code: reason } } })
    }
  })
})

/** Walks every market of a folder and compares with one reading of all its rows. */
function describeMarkets(
  fill: (folder: TestFolder) => Promise<unknown>,
  count: number,
): () => TestCaller {
  const folder = createTestFolder()
  const renderer = createBookRenderer()
  const random = createRandom(71)
  let store: EmbeddedStore
  let api: TestCaller
  beforeAll(async () => {
    await fill(folder)
    store = openEmbeddedStore({ file: folder.data.tape, readOnly: true })
    api = createTestCaller(BOOK_ROUTES, { store })
  }, 120_000)
  afterAll(async () => {
    await store.close()
    folder.destroy()
  })

  it('are one direct walk, with a receipt over it', async () => {
    const markets = await store.instruments('venueb')
    expect(markets).toHaveLength(count)
    // One of them has as many rows as all others; `tests/api/walks.test.ts` walks over it.
    const walked = markets.filter(({ lastSequence }) => isFull || lastSequence < 100_000)
    expect(walked.length).toBeGreaterThanOrEqual(Math.min(count, 5))
    // In `npm test` two are enough, one in each order.
    const chosen = isFull ? walked : walked.slice(0, 2)
    for (const [index, { instrument, lastSequence }] of chosen.entries()) {
      const { venue, key } = instrument
      const context = await contextOf(instrument)
      const all = { venue, key, order: 'asc', limit: 1_000_000, numbers: true } as const
      const { runs } = await store.books(all)
      const orders = ['asc', 'desc'] as const
      for (const order of isFull || count === 1 ? orders : [orders[index % 2]!]) {
        const rows = renderer.renderJsonRows(runs, context, { ladders: false, order })
        const whole = Buffer.from(rows).toString()
        const url = `/v3/venueb/${key}/snapshots?order=${order}`
        for (const sizes of isFull ? [[999], [1000], [101, 7]] : [[999]]) {
          const pages = await walk(api, url, sizes)
          expect(joined(pages) === whole).toBe(true)
          const ids = pages.flatMap((page) => page.ids)
          expect(ids).toHaveLength(lastSequence)
          const instruments = await expectedInstruments(store, venue, ids)
          expect(pages.at(-1)!.meta['receipt']).toMatchObject({ rows: ids.length, instruments })
        }
      }
    }
  })

  it('of any size are the same rows with ladders at any place', async () => {
    for (const { instrument, firstReceived, lastReceived } of await store.instruments('venueb')) {
      const { venue, key } = instrument
      const context = await contextOf(instrument)
      for (const size of [1, 2, 3, 7, 99, 100, 101, 1 + Math.floor(random() * 900)]) {
        const start = firstReceived + Math.floor(random() * (lastReceived - firstReceived))
        const end = start + Math.min(size, 40) * 50_000
        const range = { start, end, limit: 1_000_000, numbers: true }
        for (const order of ['asc', 'desc'] as const) {
          const { runs } = await store.books({ venue, key, order: 'asc', ...range })
          const rows = renderer.renderJsonRows(runs, context, { ladders: true, order })
          const whole = Buffer.from(rows).toString()
          const asked = `start_time=${start}&end_time=${end}&order=${order}&include_orderbook=true`
          expect(joined(await walk(api, `/v3/venueb/${key}/snapshots?${asked}`, [size]))).toBe(
            whole,
          )
        }
      }
    }
  })

  /** What the catalogue knows of the market stands in its rows. */
  async function contextOf({ venue, key, market }: Instrument): Promise<BookContext> {
    const record = (await store.market(venue, market))?.record
    return {
      venue,
      key,
      marketId: market,
      outcome: 'Yes',
      ...(record?.eventTicker === undefined ? {} : { eventId: record.eventTicker }),
      ...(record?.seriesTicker === undefined ? {} : { seriesTicker: record.seriesTicker }),
    }
  }
  return () => api
}
