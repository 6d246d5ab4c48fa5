import { VENUES, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { BookAssembler } from '@priorbook/sdk/tape'
import { expect, test } from 'vitest'
import { createTapeFolder } from './tape-folder.testing.ts'

const NOON = Date.UTC(2026, 7, 5, 12) * 1000
const HOUR = 3_600_000_000
const MADE = { venue: 'venuec', origin: 'live', recorder: 'r', normalizer: 1 } as const

const recordOf = (marketId: string, more: Partial<MarketRecord>): MarketRecord => ({
  venue: 'venuec',
  marketId,
  outcomes: [],
  units: VENUES.venuec.units,
  native: {},
  ...more,
})

test('markets that were announced and never heard of again go; those that may still come stay', async () => {
  const store = createTapeFolder().open()
  const openTime = (NOON + HOUR) as Micros
  const records = [
    recordOf('announced', { status: 'scheduled', openTime }),
    recordOf('later', { status: 'scheduled', openTime: (NOON + 50 * HOUR) as Micros }),
    recordOf('open', { status: 'open', openTime }),
    recordOf('ended', { status: 'resolved', openTime, closeTime: (NOON + 2 * HOUR) as Micros }),
    recordOf('newest', { status: 'scheduled', openTime }),
  ]
  const revisions = records.map((record, at) => ({
    kind: 'market' as const,
    received: NOON as Micros,
    journal: at + 1,
    record,
  }))
  await store.append({ ...MADE, position: 10, revisions })
  const names = async (): Promise<string[]> =>
    (await store.markets({ limit: 10 })).markets.map(({ record }) => record.marketId)
  const remove = (before: number): Promise<{ rows: number }> =>
    store.removeSome('markets', { venue: 'venuec', before, after: 0 })
  // None of them is older than that.
  expect((await remove(NOON)).rows).toBe(0)
  expect((await remove(NOON + 24 * HOUR)).rows).toBe(2)
  // The newest stays, so that no number is given twice.
  expect((await names()).sort()).toEqual(['later', 'newest', 'open'])
  expect((await store.verify()).problems).toEqual([])
})

test('an event goes with its last market, and else has the facts of the newest that is left', async () => {
  const store = createTapeFolder().open()
  const ended = (marketId: string, eventId: string, more: Partial<MarketRecord>): MarketRecord =>
    recordOf(marketId, { status: 'resolved', openTime: NOON as Micros, eventId, ...more })
  const early = { closeTime: (NOON + HOUR) as Micros }
  const late = { closeTime: (NOON + 50 * HOUR) as Micros }
  const records = [
    ended('stays', 'two', { ...late, event: { title: 'Old title' }, tags: ['Kept'] }),
    ended('goes', 'two', { ...early, event: { title: 'New title' }, tags: ['Gone'] }),
    ended('alone', 'one', { ...early, event: { title: 'Alone' }, tags: ['Gone'] }),
    recordOf('newest', { status: 'open', openTime: NOON as Micros }),
  ]
  const revisions = records.map((record, at) => {
    return { kind: 'market', received: NOON as Micros, journal: at + 1, record } as const
  })
  await store.append({ ...MADE, position: 10, revisions })
  expect(await store.event('venuec', 'two')).toMatchObject({ title: 'New title', markets: 2 })
  const order = { venue: 'venuec', before: NOON + 24 * HOUR, after: 0 } as const
  expect((await store.removeSome('markets', order)).rows).toBe(2)
  expect(await store.event('venuec', 'one')).toBeUndefined()
  const left = { title: 'Old title', tags: ['Kept'], markets: 1, lastClose: late.closeTime }
  expect(await store.event('venuec', 'two')).toMatchObject(left)
  expect((await store.events({ tag: 'gone', limit: 5 })).events).toEqual([])
  expect((await store.events({ text: 'title', limit: 5 })).events).toHaveLength(1)
  expect((await store.verify()).problems).toEqual([])
})

test('an event keeps its facts where the record of the newest market that is left is damaged', async () => {
  const folder = createTapeFolder()
  const store = folder.open()
  const of = (marketId: string, title: string, hours: number): MarketRecord =>
    recordOf(marketId, {
      status: 'resolved',
      openTime: NOON as Micros,
      closeTime: (NOON + hours * HOUR) as Micros,
      eventId: 'event',
      event: { title },
    })
  const append = (first: number, ...records: readonly MarketRecord[]): Promise<void> => {
    const revisions = records.map((record, at) => {
      return { kind: 'market', received: NOON as Micros, journal: first + at, record } as const
    })
    return store.append({ ...MADE, position: first + records.length, revisions })
  }
  await append(1, of('damaged', 'First', 50), of('goes', 'Second', 1), of('leaves', 'Third', 1))
  await append(10, recordOf('newest', { status: 'open', openTime: NOON as Micros }))
  const [market] = folder.sql("SELECT id FROM market WHERE market = 'damaged'")
  folder.sql('UPDATE revision SET sum = sum + 1 WHERE market = ?', Number(market!['id']))
  await append(20, { ...of('leaves', 'Third', 50), eventId: 'other' })
  expect(await store.event('venuec', 'event')).toMatchObject({ title: 'Second', markets: 2 })
  await append(30, { ...of('goes', 'Second', 1), eventId: 'other' })
  expect(await store.event('venuec', 'event')).toMatchObject({ title: 'Second', markets: 1 })
  await append(40, of('goes', 'Renamed', 1))
  const order = { venue: 'venuec', before: NOON + 24 * HOUR, after: 0 } as const
  expect((await store.removeSome('markets', order)).rows).toBe(1)
  expect(await store.event('venuec', 'event')).toMatchObject({ title: 'Renamed', markets: 1 })
})

test('books without a record are still counted by the asset of their ticker', async () => {
  const store = createTapeFolder().open()
  const made = { ...MADE, venue: 'venueb' } as const
  const key = 'KXBTC15M-26AUG051215-15'
  const book = new BookAssembler({ venue: 'venueb', market: key, key })
  const { instrument } = book
  const at = { received: NOON as Micros, journal: 1 }
  const row = book.take({ kind: 'snapshot', instrument, ...at, bids: [], asks: [] })
  if ('violation' in row) throw new Error(row.detail)
  const records = [
    recordOf('KXOLD-1', { venue: 'venueb', status: 'resolved', closeTime: NOON as Micros }),
    recordOf('KXNEW-1', { venue: 'venueb', status: 'open', openTime: NOON as Micros }),
  ]
  const revisions = records.map((record, index) => {
    return { kind: 'market', received: NOON as Micros, journal: index + 2, record } as const
  })
  await store.append({ ...made, position: 10, observations: [row], revisions })
  const before = await store.extents('venueb')
  expect(before).toMatchObject([{ asset: 'BTC' }])
  const order = { venue: 'venueb', before: NOON + 24 * HOUR, after: 0 } as const
  expect((await store.removeSome('markets', order)).rows).toBe(1)
  expect(await store.extents('venueb')).toEqual(before)
})
