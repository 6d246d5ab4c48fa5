import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { join } from 'node:path'
import { createTestFolder, type TestFolder, importRecorded } from '../../derive/import.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { joined, walk } from '../books/books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'
import { createTestCaller } from '../caller.testing.ts'
import { createContext, hashIds, play } from './replay.testing.ts'

const recorded = process.env['PRIORBOOK_RECORDINGS'] ?? ''
if (recorded === '') {
  console.warn('recorded markets are skipped: set PRIORBOOK_RECORDINGS to the folder of recordings')
}
const isFull = process.env['PRIORBOOK_FULL'] === '1'

const OPTIONS = { timeout: isFull ? 600_000 : 60_000 }

describe('a replay of the sample market', OPTIONS, () => {
  describeMarkets((folder) => folder.importPaths(join(import.meta.dirname, '../../../sample')))
})

describe.skipIf(recorded === '')('a replay of recorded markets', OPTIONS, () => {
  describeMarkets((folder) => importRecorded(folder, recorded))
})

function describeMarkets(fill: (folder: TestFolder) => Promise<unknown>): void {
  const folder = createTestFolder()
  let store: EmbeddedStore
  beforeAll(async () => {
    await fill(folder)
    store = openEmbeddedStore({ file: folder.data.tape, readOnly: true })
  }, 120_000)
  afterAll(async () => {
    await store.close()
    folder.destroy()
  })

  it('equals the pages of each market, row by row, with their gaps', async () => {
    const api = createTestCaller(BOOK_ROUTES, { store })
    const context = createContext(store)
    const facts = await store.instruments('venueb')
    for (const { instrument } of isFull ? facts : facts.slice(0, 1)) {
      const { venue, key } = instrument
      const out = await play(context, { markets: [{ venue, market_id: instrument.market }] })
      const url = `/v3/venueb/${key}/snapshots?include_orderbook=true`
      const pages = await walk(api, url, [1000])
      expect(out.bookText === joined(pages)).toBe(true)
      const gaps = pages.flatMap((page) => page.gaps)
      const closed = out.of('gap').filter(({ gap }) => gap!['end_time'] !== null)
      const stillOpen = gaps.filter((text) => text.includes('"end_time":null'))
      expect(
        closed
          .map(({ gap }) => JSON.stringify(gap))
          .concat(stillOpen)
          .toSorted(),
      ).toEqual(gaps.toSorted())
      const rows = out.of('snapshot', 'update', 'trade')
      expect(out.last).toMatchObject({ rows: rows.length, ids_sha256: hashIds(rows) })
    }
  })

  it('merges all markets deterministically', async () => {
    const context = createContext(store)
    const facts = await store.instruments('venueb')
    const [first] = facts
    // A few minutes of all markets are enough for their rows to interleave.
    const range = {
      start_time: String(first!.firstReceived),
      end_time: String(first!.firstReceived + 3600e6),
    }
    const asked = { markets: [{ venue: 'venueb' }], mode: 'changes', ...range } as const
    const [one, two] = [await play(context, asked), await play(context, asked)]
    const rows = one.of('snapshot', 'update', 'trade')
    expect(rows.length).toBeGreaterThan(1000)
    const times = rows.map(({ row }) => String(row!['received_time']))
    expect(times.every((time, at) => at === 0 || times[at - 1]! <= time)).toBe(true)
    expect(two.last.text).toBe(one.last.text)
    expect(one.last.ids_sha256).toBe(hashIds(rows))
  })
}
