import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VENUES, type MarketRecord, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
import type { MarketQuery, Store } from '../store.ts'
import { CATALOGUE_BEGIN as BEGIN } from './catalogue.testing.ts'
import { openEmbeddedStore } from './open.ts'

type Filter = Omit<MarketQuery, 'after' | 'limit' | 'sort' | 'order'>
type Sorting = Required<Pick<MarketQuery, 'sort' | 'order'>>

// More than what is listed without the index of words.
const MARKETS = 4600
const IDS: readonly VenueId[] = ['venuea', 'venueb', 'venuec']
const SORTS = ['open_time', 'close_time', 'volume', 'liquidity'] as const
const TAGS: readonly (string | undefined)[] = [undefined, 'all', 'HALF', 'rare', 'Ä-liga', 'none']
const FILTERS: readonly Filter[] = [
  {},
  { category: 'sport' },
  { status: 'open' },
  { venue: 'venueb', status: 'resolved' },
  { series: 'KX1' },
  { start: BEGIN + 300e6 },
  { start: BEGIN + 200e6, end: BEGIN + 260e6 },
  { end: BEGIN + 40e6, category: 'Wetter' },
]
// Numbers in all places where a word may have them.
const PLACES = ['round ', '比特币', 'é', 'x', '#', '0', 'T-']

const random = createRandom(29)
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
const sometimes = <T extends object>(share: number, value: () => T): Partial<T> =>
  random() < share ? value() : {}

// Few different values, so that most places of a list are decided by names.
function recordOf(index: number): MarketRecord {
  const venue = IDS[index % 3]!
  const open = (BEGIN + Math.floor(index / 9) * 1_000_000) as Micros
  const closeTime = (open + pick([1, 60, 300]) * 1_000_000) as Micros
  return {
    venue,
    marketId: `M${(index * 7919) % MARKETS}`,
    title: `Up or down, ${pick(PLACES)}${index}${pick(['', '日', 'm'])}`,
    status: pick(['open', 'closed', 'resolved', 'resolved'] as const),
    openTime: open,
    ...sometimes(0.8, () => ({ closeTime })),
    ...sometimes(0.8, () => ({ volume: pick(['0', '0', '0.5', '12', String(index)]) })),
    ...sometimes(0.5, () => ({ liquidity: pick(['0', '7']) })),
    ...sometimes(0.3, () => ({ seriesTicker: `KX${index % 2}` })),
    ...sometimes(0.7, () => ({ category: pick(['Sport', 'Wetter']) })),
    tags: ['All', ...(index % 2 === 0 ? ['half'] : []), ...(index % 61 === 0 ? ['Rare'] : [])],
    ...sometimes(0.02, () => ({ tags: ['all', 'ä-Liga'] })),
    outcomes: [],
    units: VENUES[venue].units,
    native: {},
  }
}

function hasText({ marketId, title, seriesTicker }: MarketRecord, text: string): boolean {
  const fields = [marketId, title, seriesTicker].map((field) => field?.toLowerCase() ?? '')
  return text.split(' ').every((word) => {
    if (!/^\d+$/.test(word)) return fields.some((field) => field.includes(word))
    return fields.some((field) => new RegExp(`(^|[^0-9a-z])${word}`).test(field))
  })
}

function fits(record: MarketRecord, filter: Filter): boolean {
  const { venue, series, status, category, tag, text, start, end } = filter
  const is = (a: string | undefined, b: string): boolean => a?.toLowerCase() === b.toLowerCase()
  return (
    (venue === undefined || record.venue === venue) &&
    (series === undefined || record.seriesTicker === series) &&
    (status === undefined || record.status === status) &&
    (category === undefined || is(record.category, category)) &&
    (tag === undefined || record.tags!.some((one) => is(one, tag))) &&
    (text === undefined || hasText(record, text)) &&
    (start === undefined || (record.closeTime ?? Infinity) > start) &&
    (end === undefined || record.openTime! < end)
  )
}

function valueOf(record: MarketRecord, sort: Sorting['sort']): number | undefined {
  if (sort === 'open_time') return record.openTime
  if (sort === 'close_time') return record.closeTime
  const text = record[sort!]
  return text === undefined ? undefined : Number(text)
}

function listOf(records: readonly MarketRecord[], filter: Filter, { sort, order }: Sorting) {
  const found = records
    .filter((record) => fits(record, filter))
    .map((record) => ({
      value: valueOf(record, sort),
      name: `${record.venue} ${record.marketId}`,
    }))
  const sign = order === 'desc' ? -1 : 1
  found.sort((a, b) => {
    if (a.value === b.value) return a.name < b.name ? -sign : sign
    if (a.value === undefined) return 1
    return b.value === undefined ? -1 : sign * (a.value - b.value)
  })
  return found.map(({ name }) => name)
}

/** The first pages of a list, one after another by their cursors. */
async function walk(store: Store, query: Omit<MarketQuery, 'after'>, most: number) {
  const found: string[] = []
  let after: MarketQuery['after']
  for (let pages = 0; pages < most; pages++) {
    const page = await store.markets({ ...query, after })
    found.push(...page.markets.map(({ record }) => `${record.venue} ${record.marketId}`))
    if (!page.hasMore) return { found, isWhole: true }
    const last = page.markets.at(-1)
    after = page.reached ?? {
      openTime: last!.sortTime,
      value: last!.sortValue,
      venue: last!.record.venue,
      marketId: last!.record.marketId,
    }
  }
  return { found, isWhole: false }
}

describe('pages of a list are those of a look at every market', () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-orders-'))
  let records: MarketRecord[]
  let store: Store

  beforeAll(async () => {
    store = openEmbeddedStore({ file: join(folder, 'tape.db') })
    records = Array.from({ length: MARKETS }, (_, index) => recordOf(index))
    await write(records, 1)
    // Later revisions change what markets are found and sorted by.
    records = records.map((record, index) =>
      index % 5 === 0 ? { ...recordOf(index), marketId: record.marketId } : record,
    )
    await write(records, 10_000)
  })

  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function write(all: readonly MarketRecord[], first: number): Promise<void> {
    const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
    for (const venue of IDS) {
      const revisions = all
        .filter((record) => record.venue === venue)
        .map((record, at) => {
          return { kind: 'market', received: BEGIN as Micros, journal: first + at, record } as const
        })
      await store.append({ ...made, venue, position: first + revisions.length, revisions })
    }
  }

  async function compare(filter: Filter, sorting: Sorting, limit: number): Promise<number> {
    const wanted = listOf(records, filter, sorting)
    const { found, isWhole } = await walk(store, { ...filter, ...sorting, limit }, 8)
    const some = isWhole ? wanted : wanted.slice(0, found.length)
    expect({ filter, sorting, limit, found }).toEqual({ filter, sorting, limit, found: some })
    return found.length
  }

  const sortings = SORTS.flatMap((sort) =>
    (['asc', 'desc'] as const).map((order): Sorting => ({ sort, order })),
  )
  const sizes = [3, 50, 17, 1000]

  test.each(sortings)('by filters and tags, sorted by $sort $order', async (sorting) => {
    let matched = 0
    let turn = SORTS.indexOf(sorting.sort!)
    for (const filter of FILTERS) {
      for (const tag of TAGS) {
        matched += await compare({ ...filter, tag }, sorting, sizes[turn++ % sizes.length]!)
      }
    }
    expect(matched).toBeGreaterThan(5000)
  })

  test('by numbers, alone and with words, tags and filters', async () => {
    const texts = '0 7 12 45 99 123 345 1234 4599 99999'.split(' ')
    const searches = [...texts, 'down 3', 'round 27', 'round 4', 'm1', '币4', 'round up 45']
    let turn = 0
    let matched = 0
    for (const text of searches) {
      for (const filter of [{}, { tag: 'half' }, { status: 'open' as const, tag: 'all' }]) {
        const sorting = sortings[turn++ % sortings.length]!
        matched += await compare({ ...filter, text }, sorting, sizes[turn % sizes.length]!)
        const byTime: Sorting = { sort: 'open_time', order: turn % 3 === 0 ? 'desc' : 'asc' }
        matched += await compare({ ...filter, text }, byTime, sizes[turn % sizes.length]!)
      }
    }
    expect(matched).toBeGreaterThan(2000)
  })
})
