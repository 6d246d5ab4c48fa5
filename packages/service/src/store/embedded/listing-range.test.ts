import type { MarketRecord } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import type { MarketQuery, Store } from '../store.ts'
import { CATALOGUE_BEGIN as BEGIN, fillCatalogue } from './catalogue.testing.ts'
import { createTapeFolder } from './tape-folder.testing.ts'

type Filter = Omit<MarketQuery, 'after' | 'limit'>

async function walk(store: Store, query: Filter): Promise<string[]> {
  const found: string[] = []
  let after: MarketQuery['after']
  for (;;) {
    const { markets, hasMore } = await store.markets({ ...query, limit: 7, after })
    found.push(...markets.map(({ record }) => record.marketId))
    const last = markets.at(-1)
    if (!hasMore || last === undefined) return found
    const { venue, marketId } = last.record
    after = { openTime: last.sortTime, value: last.sortValue, venue, marketId }
  }
}

function sorted(records: readonly MarketRecord[], { start, end, order }: Filter): string[] {
  const sign = order === 'desc' ? -1 : 1
  const name = ({ venue, marketId }: MarketRecord): string => `${venue} ${marketId}`
  return records
    .filter(({ closeTime, openTime }) => (closeTime ?? Infinity) > start! && openTime! < end!)
    .toSorted((a, b) => {
      if (a.volume !== b.volume) {
        if (a.volume === undefined) return 1
        if (b.volume === undefined) return -1
        return sign * (Number(a.volume) - Number(b.volume))
      }
      return name(a) < name(b) ? -sign : sign
    })
    .map(({ marketId }) => marketId)
}

it('pages of a range by volume miss and repeat nothing; markets without one come last', async () => {
  const store = createTapeFolder().open()
  const filled = await fillCatalogue(store, 900)
  // Every fourth loses its volume, every fifth has the same one, and every ninth has no end.
  const changed = filled.map((record, index): MarketRecord => {
    const { volume: _, ...without } = record
    const { closeTime: __, ...endless } = record
    if (index % 4 === 0) return without
    if (index % 5 === 0) return { ...record, volume: '77' }
    return index % 9 === 0 ? endless : record
  })
  for (const venue of ['venuea', 'venueb', 'venuec'] as const) {
    const own = changed.filter((record) => record.venue === venue)
    const revisions = own.map((record, at) => {
      return { kind: 'market', received: record.openTime!, journal: 1000 + at, record } as const
    })
    const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
    await store.append({ ...made, venue, position: 2000, revisions })
  }
  for (const order of ['asc', 'desc'] as const) {
    for (const from of [-400, -200, 20, 60, 200]) {
      const range = { start: BEGIN + from * 1e6, end: BEGIN + (from + 250) * 1e6, order }
      const query = { ...range, sort: 'volume' } as const
      expect(await walk(store, query)).toEqual(sorted(changed, range))
      const series = changed.filter(({ seriesTicker }) => seriesTicker === 'KXBTC')
      expect(await walk(store, { ...query, series: 'KXBTC' })).toEqual(sorted(series, range))
    }
  }
})
