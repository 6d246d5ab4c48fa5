import { describe, expect, it } from 'vitest'
import type { ReceiptJson } from '@priorbook/sdk/wire'
import { expectedInstruments } from '../../rows/receipt.testing.ts'
import { createTapeFolder } from '../../store/embedded/tape-folder.testing.ts'
import type { AppendBatch, Store } from '../../store/store.ts'
import { createTestCaller, type TestCaller } from '../caller.testing.ts'
import {
  createBatches,
  joined,
  KEYS,
  PATHS,
  readDirectly,
  readSeen,
  render,
  walk,
  type WalkedPage,
} from './books.testing.ts'
import { BOOK_ROUTES } from '../routes/index.ts'
import { SCRIPTED_VENUES } from '../../store/store-script.testing.ts'

const ORDERS = ['asc', 'desc'] as const
const FULL = { ladders: true } as const

const isFull = process.env['PRIORBOOK_FULL'] === '1'

// Half of it in chunks, half in the tail.
async function createStore(
  seed: number,
  count: number,
): Promise<{ readonly store: Store; readonly api: TestCaller }> {
  const store = createTapeFolder().open()
  const { batches } = createBatches(seed, isFull ? count * 8 : count)
  await appendAll(store, batches.slice(0, batches.length >> 1))
  await store.seal()
  await appendAll(store, batches.slice(batches.length >> 1))
  return { store, api: createTestCaller(BOOK_ROUTES, { store }) }
}

async function appendAll(store: Store, batches: readonly AppendBatch[]): Promise<void> {
  await Promise.all(batches.map((batch) => store.append(batch)))
}

const times = <T>(pages: readonly WalkedPage[], pick: (page: WalkedPage) => readonly T[]): T[] =>
  pages.flatMap(pick)

describe('pages', () => {
  it.each(SCRIPTED_VENUES)(
    'of %s in any size and both orders are one direct walk',
    async (venue) => {
      const { store, api } = await createStore(7, 300)
      const seen = await readSeen(store, venue)
      expect(seen.length).toBeGreaterThan(200)
      // The smallest pages over a part of the rows: they cost a request a row.
      const few = `start_time=${seen[40]!.received}&end_time=${seen[100]!.received}`
      const part = { start: seen[40]!.received, end: seen[100]!.received }
      for (const order of ORDERS) {
        const options = { ...FULL, order }
        const whole = await readDirectly(store, venue, options)
        const some = await readDirectly(store, venue, options, part)
        const url = `${PATHS[venue]}/snapshots?include_orderbook=true&order=${order}`
        for (const size of [1, 2, 3, 7]) {
          expect(joined(await walk(api, `${url}&${few}`, [size]))).toBe(some)
        }
        for (const size of [99, 100, 101, 999, 1000]) {
          expect(joined(await walk(api, url, [size]))).toBe(whole)
        }
        const random = Array.from({ length: 29 }, (_, index) => ((index * 37) % 83) + 1)
        expect(joined(await walk(api, url, random))).toBe(whole)
      }
    },
  )

  it('go on from any cursor, on either base path of A', async () => {
    const { api } = await createStore(8, 120)
    const url = '/v3/venuea-prediction/5001/snapshots?order=desc'
    const pages = await walk(api, url, [13])
    expect(pages.length).toBeGreaterThan(5)
    for (const [index, { cursor }] of pages.entries()) {
      if (cursor === null) continue
      const alias = url.replace('venuea-prediction', 'venuea-alias')
      const rest = await walk(api, alias, [29], { cursor })
      expect(joined(rest)).toBe(joined(pages.slice(index + 1)))
      expect(rest.at(-1)!.meta['receipt']).toEqual(pages.at(-1)!.meta['receipt'])
    }
  })

  it.each(ORDERS)('are exact while another handle appends and seals (%s)', async (order) => {
    const folder = createTapeFolder()
    const writer = folder.open()
    const { batches } = createBatches(9, isFull ? 4000 : 300)
    const later = batches.slice(batches.length >> 1)
    await appendAll(writer, batches.slice(0, batches.length >> 1))
    const reader = folder.open({ readOnly: true })
    const api = createTestCaller(BOOK_ROUTES, { store: reader })
    for (const venue of SCRIPTED_VENUES) {
      const before = await readDirectly(writer, venue, { ladders: false, order })
      let turn = 0
      const between = async (): Promise<void> => {
        const batch = later.shift()
        if (batch !== undefined) await writer.append(batch)
        if (turn++ % 4 === 0) await writer.seal()
      }
      const url = `${PATHS[venue]}/snapshots?include_orderbook=false&order=${order}`
      const pages = await walk(api, url, [25, 11, 2], { between })
      // What came later belongs to other walks, also where it has no later time.
      expect(joined(pages)).toBe(before)
      const ids = times(pages, (page) => page.ids)
      expect(new Set(ids).size).toBe(ids.length)
    }
    expect(later.length).toBeLessThan(batches.length / 2 - 20)
  })

  it('have receipts that a client can make again, whatever the sizes', async () => {
    const { store, api } = await createStore(10, 100)
    const receipts = []
    for (const order of ORDERS) {
      const url = `${PATHS.venuec}/snapshots?order=${order}`
      for (const sizes of [[1000], [10, 1, 64], [63]]) {
        const pages = await walk(api, url, sizes)
        const ids = times(pages, (page) => page.ids)
        const gaps = times(pages, (page) => page.gaps)
        expect(pages.at(-1)!.meta['receipt']).toEqual({
          rows: ids.length,
          gaps: gaps.length,
          instruments: await expectedInstruments(store, 'venuec', ids),
        })
        expect(pages.slice(0, -1).every(({ meta }) => meta['receipt'] === undefined)).toBe(true)
        receipts.push(pages.at(-1)!.meta['receipt'])
      }
    }
    expect(new Set(receipts.map((one) => JSON.stringify(one))).size).toBe(1)
  })

  it('name in their receipt the newest chunk that rows come from, and none for the tail', async () => {
    const { store, api } = await createStore(12, 300)
    let count = 0
    for await (const chunk of store.chunks({ venue: 'venueb', key: KEYS.venueb[0]! })) {
      if (chunk.kind === 'book' && chunk.sealed) count = chunk.first + chunk.count - 1
    }
    expect(count).toBeGreaterThan(10)
    const seen = await readSeen(store, 'venueb')
    const heads = new Set<string | null>()
    for (const [from, to] of [
      [0, 5],
      [count - 2, count + 3],
      [seen.length - 4, seen.length - 1],
      [0, seen.length - 1],
    ] as const) {
      const range = `start_time=${seen[from]!.received}&end_time=${seen[to]!.received}`
      for (const more of ['', '&order=desc', '&interval=1s']) {
        const pages = await walk(api, `${PATHS.venueb}/snapshots?${range}${more}`, [3, 7])
        const ids = times(pages, (page) => page.ids)
        const receipt = pages.at(-1)!.meta['receipt'] as ReceiptJson
        expect(receipt.instruments!).toEqual(await expectedInstruments(store, 'venueb', ids))
        heads.add(receipt.instruments![0]!.head)
      }
    }
    expect(heads.size).toBeGreaterThan(1)
    expect(heads).toContain(null)
  })

  it('list every gap once, where it lies', async () => {
    const { store, api } = await createStore(11, 600)
    for (const venue of SCRIPTED_VENUES) {
      const lists = await Promise.all(KEYS[venue].map((key) => store.gaps({ venue, key })))
      const all = lists
        .flat()
        .map(({ key, start, afterSequence, reason }) =>
          [key, start, afterSequence, reason].join(' '),
        )
      expect(all.length).toBeGreaterThan(4)
      for (const order of ORDERS) {
        for (const sizes of [[23], [170, 2], [1000]]) {
          const url = `${PATHS[venue]}/snapshots?time_format=epoch_us&order=${order}`
          const pages = await walk(api, url, sizes)
          const told = times(pages, (page) => page.gaps).map((text) => {
            const gap = JSON.parse(text) as Record<string, string | number>
            return [gap['key'], gap['start_time'], gap['after_sequence'], gap['reason']].join(' ')
          })
          expect(told.toSorted()).toEqual(all.toSorted())
          for (const { ids, gaps } of pages.slice(0, -1)) expectBeside(ids, gaps, order)
        }
      }
    }
  })

  it('leave out rows without a source time, count them, and keep received order', async () => {
    const { store, api } = await createStore(12, 200)
    for (const venue of SCRIPTED_VENUES) {
      const seen = await readSeen(store, venue)
      const sources = seen.flatMap(({ source }) => source ?? []).sort((a, b) => a - b)
      const start = sources[Math.floor(sources.length / 4)]!
      const end = sources[Math.floor(sources.length / 2)]!
      const within = seen.filter(({ source = -1 }) => source >= start && source < end)
      for (const order of ORDERS) {
        const options = { ladders: true, order }
        const expected = render(
          within.map(({ part }) => part),
          venue,
          options,
        )
        const url = `${PATHS[venue]}/snapshots?include_orderbook=true&clock=source&order=${order}`
        const range = `start_time=${start}&end_time=${end}`
        for (const size of [3, 10, 1000]) {
          const pages = await walk(api, `${url}&${range}`, [size])
          expect(joined(pages)).toBe(expected)
          const counted = pages.reduce(
            (sum, { meta }) => sum + Number(meta['rows_without_source_time']),
            0,
          )
          expect(counted).toBe(seen.filter(({ source }) => source === undefined).length)
        }
      }
    }
  })

  it('show one token of C where it is asked for', async () => {
    const { store, api } = await createStore(13, 100)
    const seen = await readSeen(store, 'venuec')
    for (const [lane, key] of KEYS.venuec.entries()) {
      const own = seen.filter((row) => row.lane === lane).map(({ part }) => part)
      const expected = render(own, 'venuec', { ladders: false })
      const byToken = await walk(api, `${PATHS.venuec}/snapshots?token_id=${key}`, [50])
      const label = lane === 0 ? 'yes' : 'No'
      const byLabel = await walk(api, `${PATHS.venuec}/snapshots?outcome=${label}`, [50])
      expect(joined(byToken)).toBe(expected)
      expect(joined(byLabel)).toBe(expected)
    }
  })
})

// A gap of a page lies between the row before the page and its last row.
function expectBeside(ids: readonly string[], gaps: readonly string[], order: string): void {
  for (const text of gaps) {
    const gap = JSON.parse(text) as { key: string; after_sequence: number }
    const sequences = ids
      .filter((id) => id.includes(`:${gap.key}:`))
      .map((id) => Number(id.split(':')[2]))
    const last = sequences.at(-1) ?? NaN
    expect(order === 'asc' ? gap.after_sequence < last : gap.after_sequence >= last).toBe(true)
  }
}
