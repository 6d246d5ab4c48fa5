import type { MarketRecord, Micros } from '@priorbook/sdk/domain'
import { expect, test } from 'vitest'
import type { MarketQuery, Store } from '../store.ts'
import { CATALOGUE_BEGIN as BEGIN, fillCatalogue } from './catalogue.testing.ts'
import { createTapeFolder } from './tape-folder.testing.ts'

const MARKETS = 4500

function holds(record: MarketRecord, text: string): boolean {
  const { marketId, title, slug, eventTicker, seriesTicker } = record
  const fields = [marketId, title, slug, eventTicker, seriesTicker]
  return fields.some((field) => field?.toLowerCase().includes(text.toLowerCase()) === true)
}

async function walk(store: Store, query: Omit<MarketQuery, 'after'>): Promise<string[]> {
  const found: string[] = []
  let after: MarketQuery['after']
  for (let pages = 0; pages < 2000; pages++) {
    const page = await store.markets({ ...query, ...(after === undefined ? {} : { after }) })
    for (const { record } of page.markets) found.push(`${record.venue} ${record.marketId}`)
    if (!page.hasMore) return found
    const last = page.markets.at(-1)
    after = page.reached ?? {
      openTime: last!.sortTime,
      value: last!.sortValue,
      venue: last!.record.venue,
      marketId: last!.record.marketId,
    }
  }
  throw new Error('the walk does not end')
}

test('searches find what a look at every market finds, in order', async () => {
  const store = createTapeFolder().open()
  const records = await fillCatalogue(store, MARKETS)
  const texts = ['round 12', '599', 'ROUND 4499', 'öl', 'KXbtc-1', 'tcb', 'up or', 'n? ro', '.99']
  texts.push('0xaaaaaaaa', 'nothing of it')
  const filters: Omit<MarketQuery, 'limit' | 'text'>[] = [
    {},
    { venue: 'venueb' },
    { status: 'open' },
    { asset: 'ETH', order: 'desc' },
    { series: 'KXBTC', asset: 'ETH' },
    { sort: 'volume', order: 'desc' },
    { start: BEGIN + 500e6, end: BEGIN + 700e6, order: 'desc' },
    { includes: (_venue, asset) => asset === 'ÖL' },
  ]
  const lists: string[][] = []
  for (const filter of filters) lists.push(await walk(store, { ...filter, limit: 1000 }))
  let matched = 0
  for (const text of texts) {
    const hits = new Set(
      records.filter((record) => holds(record, text)).map((one) => `${one.venue} ${one.marketId}`),
    )
    for (const [index, filter] of filters.entries()) {
      const found = await walk(store, { ...filter, text, limit: 1000 })
      const wanted = lists[index]!.filter((name) => hits.has(name))
      expect([text, filter, found]).toEqual([text, filter, wanted])
      matched += found.length
    }
  }
  expect(matched).toBeGreaterThan(10_000)
})

test('a market whose title or open time changes is found by the new one alone', async () => {
  const store = createTapeFolder().open()
  const records = await fillCatalogue(store, 300)
  const [first] = records.filter(({ venue }) => venue === 'venueb')
  const record = { ...first!, title: 'Quite another zebra', openTime: (BEGIN + 1) as Micros }
  const revision = { kind: 'market', received: BEGIN as Micros, journal: 9000, record } as const
  const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  await store.append({ ...made, venue: 'venueb', position: 9000, revisions: [revision] })
  const find = (text: string): Promise<string[]> =>
    walk(store, { text, venue: 'venueb', limit: 50 })
  expect(await find('another zeb')).toEqual([`venueb ${record.marketId}`])
  expect(await find(first!.title!)).not.toContain(`venueb ${record.marketId}`)
  expect((await store.verify()).problems).toEqual([])
})
