import type { MarketRecord, Micros } from '@priorbook/sdk/domain'
import { expect, test } from 'vitest'
import type { MarketQuery, Store } from '../store.ts'
import { CATALOGUE_BEGIN as BEGIN, fillCatalogue } from './catalogue.testing.ts'
import { createTapeFolder } from './tape-folder.testing.ts'

const MARKETS = 4500

// Every word names the asset or the window, or is in a field, a number at the beginning of a word. What is between
// quotation marks is one word.
function holds(record: MarketRecord, text: string): boolean {
  const { marketId, title, slug, eventTicker, seriesTicker, asset, window } = record
  const fields = [marketId, title, slug, eventTicker, seriesTicker].map((one) => one?.toLowerCase())
  const words = text.startsWith('"') ? [text.slice(1, -1)] : text.toLowerCase().split(' ')
  return words.every((word) => {
    if (['btc', 'eth', 'öl'].includes(word)) return asset?.toLowerCase() === word
    if (['15m', '5m'].includes(word)) return window === word
    const isNumber = /^[0-9]+$/.test(word)
    const wanted = new RegExp(
      `${isNumber ? '(^|[^0-9a-z])' : ''}${word.replaceAll(/[^\p{L}\p{N}]/gu, String.raw`\$&`)}`,
    )
    return fields.some((field) => field !== undefined && wanted.test(field))
  })
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
  texts.push('0xaaaaaaaa', 'nothing of it', '15m', 'btc 15m', '15M öl up', 'down 12 ETH', '"up or"')
  texts.push('"or up"', 'kxeth-1 round', '15m 0xaaaaaaaa', 'round round 7')
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

test('words that are mistyped are those that they are similar to, and the page says so', async () => {
  const store = createTapeFolder().open()
  const records = await fillCatalogue(store, 600)
  const extra = ['Presidential election 2028', 'Will Bitcoin reach 200k?', 'Federal funds rate']
  const revisions = extra.map((title, index) => ({
    kind: 'market' as const,
    received: BEGIN as Micros,
    journal: 9000 + index,
    record: { ...records[1]!, marketId: `KXMORE-${index}`, title, asset: undefined! },
  }))
  const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  await store.append({ ...made, venue: 'venueb', position: 9009, revisions })
  const find = async (text: string) => {
    const { markets, corrections = [] } = await store.markets({ text, limit: 10 })
    const titles = markets.map(({ record }) => record.title)
    return { titles, meant: corrections.map(({ word, meant }) => `${word} ${meant.join(' ')}`) }
  }
  const found = (title: string, meant: string) => ({ titles: [title], meant: [meant] })
  expect(await find('presidental')).toEqual(found(extra[0]!, 'presidental presidential'))
  expect(await find('elcetion 2028')).toEqual(found(extra[0]!, 'elcetion election'))
  expect(await find('reach bitcion')).toEqual(found(extra[1]!, 'bitcion bitcoin'))
  expect(await find('fedral "funds rate"')).toEqual(found(extra[2]!, 'fedral federal'))
  // Words that are there, parts of words and numbers stay what they are.
  expect(await find('elect')).toEqual({ titles: [extra[0]], meant: [] })
  expect(await find('resident')).toEqual({ titles: [extra[0]], meant: [] })
  expect(await find('election 2027')).toEqual({ titles: [], meant: [] })
  expect(await find('zebra')).toEqual({ titles: [], meant: [] })
  // Of many markets, walked by time and by another order.
  for (const sort of ['open_time', 'volume'] as const) {
    const right = await walk(store, { text: 'round', sort, limit: 100 })
    expect(await walk(store, { text: 'ruond', sort, limit: 100 })).toEqual(right)
    expect(right).toHaveLength(600)
  }
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
