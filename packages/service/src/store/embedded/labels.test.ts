import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VENUES, type MarketRecord, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
import type { EventQuery, MarketQuery, Store, StoredEvent } from '../store.ts'
import { CATALOGUE_BEGIN as BEGIN } from './catalogue.testing.ts'
import { openEmbeddedStore } from './open.ts'
import { createTapeFolder } from './tape-folder.testing.ts'

// More than what a list by tag sorts in memory, so that frequent tags are walked.
const MARKETS = 10_400
const IDS: readonly VenueId[] = ['venuea', 'venueb', 'venuec']
const CATEGORIES = [undefined, 'Politics', 'Sports', 'CRYPTO', 'Économie']
const TAGS = ['Elections', 'US', 'World Cup', 'politics', 'Ä-Liga']
const MADE = { origin: 'live', recorder: 'r1', normalizer: 1 } as const

const random = createRandom(71)
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!

function recordOf(index: number): MarketRecord {
  const venue = IDS[index % 3]!
  const open = (BEGIN + Math.floor(index / 5) * 1_000_000) as Micros
  const category = pick(CATEGORIES)
  const few = index % 97 === 0 ? ['Rare'] : []
  const event = `EV-${Math.floor(index / 12)}`
  const asset = pick([undefined, undefined, 'BTC', 'ETH'])
  const closeTime = (open + Math.floor(random() * 900) * 1_000_000) as Micros
  return {
    venue,
    marketId: `M-${index}`,
    title: `Will candidate ${index % 50} win?`,
    status: pick(['open', 'open', 'closed', 'resolved'] as const),
    openTime: open,
    ...(random() < 0.1 ? {} : { closeTime }),
    ...(random() < 0.1 ? {} : { volume: String(Math.floor(random() * 300)) }),
    ...(random() < 0.05 ? {} : { eventTicker: event }),
    ...(random() < 0.5 ? { seriesTicker: `KX${index % 4}` } : {}),
    event: { title: `Election number ${Math.floor(index / 12)}`, outcome: `Person ${index % 12}` },
    ...(category === undefined ? {} : { category }),
    tags: ['All', ...few, ...TAGS.filter(() => random() < 0.1)],
    ...(asset === undefined ? {} : { asset }),
    outcomes: [],
    units: VENUES[venue].units,
    native: {},
  }
}

const same = (a: string | undefined, b: string): boolean => a?.toLowerCase() === b.toLowerCase()

// One word, or a phrase between quotation marks.
const holds = (title: string, text: string): boolean =>
  title.toLowerCase().includes(text.replaceAll('"', ''))

function fits(record: MarketRecord, query: Omit<MarketQuery, 'limit'>): boolean {
  const { venue, series, event, asset, status, category, tag, text, start, end } = query
  const { closeTime = Infinity, openTime = 0 } = record
  return (
    (venue === undefined || record.venue === venue) &&
    (series === undefined || record.seriesTicker === series) &&
    (event === undefined || record.eventTicker === event) &&
    (asset === undefined || record.asset === asset) &&
    (status === undefined || record.status === status) &&
    (category === undefined || same(record.category, category)) &&
    (tag === undefined || record.tags!.some((one) => same(one, tag))) &&
    (text === undefined || holds(`${record.title} ${record.event!.title}`, text)) &&
    (start === undefined || closeTime > start) &&
    (end === undefined || openTime < end)
  )
}

type Ranked = { readonly value: number | null; readonly venue: string; readonly name: string }

function sorted(found: readonly Ranked[], order: 'asc' | 'desc' | undefined): string[] {
  const sign = order === 'desc' ? -1 : 1
  const name = (one: Ranked): string => `${one.venue} ${one.name}`
  return found
    .toSorted((a, b) => {
      if (a.value !== b.value) {
        if (a.value === null || b.value === null) return a.value === null ? 1 : -1
        return sign * (a.value - b.value)
      }
      return name(a) < name(b) ? -sign : sign
    })
    .map(name)
}

function valueOf(record: MarketRecord, sort: MarketQuery['sort']): number | null {
  if (sort === 'volume') return record.volume === undefined ? null : Number(record.volume)
  return (sort === 'close_time' ? record.closeTime : record.openTime) ?? null
}

async function walk(store: Store, query: Omit<MarketQuery, 'after'>): Promise<string[]> {
  const found: string[] = []
  for (let after: MarketQuery['after'], pages = 0; ; pages++) {
    if (pages === 500) throw new Error('the walk does not end')
    const page = await store.markets({ ...query, after })
    found.push(...page.markets.map(({ record }) => `${record.venue} ${record.marketId}`))
    if (!page.hasMore) return found
    const last = page.markets.at(-1)
    after = page.reached ?? {
      openTime: last!.sortTime,
      value: last!.sortValue,
      venue: last!.record.venue,
      marketId: last!.record.marketId,
    }
  }
}

async function walkEvents(store: Store, query: Omit<EventQuery, 'after'>): Promise<string[]> {
  const found: string[] = []
  for (let after: EventQuery['after'], pages = 0; ; pages++) {
    if (pages === 500) throw new Error('the walk does not end')
    const page = await store.events({ ...query, after })
    found.push(...page.events.map(({ venue, eventId }) => `${venue} ${eventId}`))
    if (!page.hasMore) return found
    const last = page.events.at(-1)!
    after = page.reached ?? { value: last.sortValue, venue: last.venue, eventId: last.eventId }
  }
}

async function write(store: Store, records: readonly MarketRecord[], first: number): Promise<void> {
  for (const venue of IDS) {
    const own = records.filter((record) => record.venue === venue)
    const revisions = own.map((record, at) => {
      const received = BEGIN as Micros
      return { kind: 'market', received, journal: first + at, record } as const
    })
    await store.append({ ...MADE, venue, position: first + own.length, revisions })
  }
}

/** The events that a look at every market finds. */
function eventsOf(records: readonly MarketRecord[]): StoredEvent[] {
  const groups = Map.groupBy(
    records.filter(({ eventTicker }) => eventTicker !== undefined),
    ({ venue, eventTicker }) => `${venue} ${eventTicker}`,
  )
  return [...groups.values()].map((markets): StoredEvent => {
    // Markets are numbered in the order in which they were first written.
    const { venue, eventTicker, event, category, tags, seriesTicker } = markets.at(-1)!
    const assets = new Set(markets.map(({ asset }) => asset))
    const asset = assets.size === 1 ? [...assets][0] : undefined
    const closes = markets.flatMap(({ closeTime }) => closeTime ?? [])
    return {
      venue,
      eventId: eventTicker!,
      title: event!.title!,
      ...(category === undefined ? {} : { category }),
      ...(tags === undefined ? {} : { tags }),
      ...(seriesTicker === undefined ? {} : { series: seriesTicker }),
      ...(asset === undefined ? {} : { asset }),
      markets: markets.length,
      openMarkets: markets.filter(({ status }) => status === 'open').length,
      firstOpen: Math.min(...markets.map(({ openTime }) => openTime!)),
      ...(closes.length < markets.length ? {} : { lastClose: Math.max(...closes) }),
    }
  })
}

function fitsEvent(event: StoredEvent, query: Omit<EventQuery, 'limit'>): boolean {
  const { venue, series, category, tag, text, isOpen, start, end } = query
  return (
    (venue === undefined || event.venue === venue) &&
    (series === undefined || event.series === series) &&
    (category === undefined || same(event.category, category)) &&
    (tag === undefined || event.tags!.some((one) => same(one, tag))) &&
    (text === undefined || holds(event.title!, text)) &&
    (isOpen !== true || event.openMarkets > 0) &&
    (start === undefined || (event.lastClose ?? Infinity) > start) &&
    (end === undefined || event.firstOpen < end)
  )
}

const some = <T>(chance: number, value: () => T): T | undefined =>
  random() < chance ? value() : undefined

function randomRange(): { start?: number; end?: number } {
  if (random() < 0.6) return {}
  const start = BEGIN + Math.floor(random() * 2000) * 1e6
  return random() < 0.5 ? { start } : { start, end: start + Math.floor(random() * 900) * 1e6 }
}

describe('lists by category, tag and event', () => {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-labels-'))
  const file = join(folder, 'tape.db')
  let records: MarketRecord[]
  let stores: readonly Store[]

  beforeAll(async () => {
    const store = openEmbeddedStore({ file })
    records = Array.from({ length: MARKETS }, (_, index) => recordOf(index))
    await write(store, records, 1)
    // Every seventh market changes what it is listed by, and some leave their event.
    const changed = records.map((record, index): MarketRecord => {
      if (index % 7 !== 0) return record
      const { marketId, openTime, venue } = record
      return { ...recordOf(index), marketId, venue, openTime: (openTime! + (index % 3)) as Micros }
    })
    await write(
      store,
      changed.filter((record, index) => record !== records[index]),
      20_000,
    )
    records = changed
    stores = [store, openEmbeddedStore({ file, readOnly: true })]
  })

  afterAll(async () => {
    for (const store of stores) await store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('have the markets that a look at every record finds, in order', async () => {
    let matched = 0
    for (let round = 0; round < 90; round++) {
      const query: Omit<MarketQuery, 'limit'> = {
        tag: some(0.6, () => pick([...TAGS, 'ALL', 'all', 'rare', 'RARE', 'unknown', 'ä-liga'])),
        category: some(0.4, () => pick(['politics', 'SPORTS', 'Crypto', 'économie', 'None'])),
        venue: some(0.2, () => pick(IDS)),
        series: some(0.2, () => 'KX2'),
        event: some(0.1, () => `EV-${Math.floor(random() * 20)}`),
        asset: some(0.2, () => 'BTC'),
        status: some(0.2, () => pick(['open', 'closed'] as const)),
        text: some(0.15, () => pick(['"candidate 12"', 'election', '"number 33"'])),
        sort: pick([undefined, 'open_time', 'close_time', 'volume'] as const),
        order: pick([undefined, 'desc'] as const),
        ...randomRange(),
      }
      const found = await walk(stores[round % 2]!, { ...query, limit: 1000 })
      const wanted = records
        .filter((record) => fits(record, query))
        .map((record) => {
          const { venue, marketId: name } = record
          return { venue, name, value: valueOf(record, query.sort) }
        })
      expect([query, found]).toEqual([query, sorted(wanted, query.order)])
      matched += found.length
    }
    expect(matched).toBeGreaterThan(20_000)
  })

  test('have the events that a look at every record finds, in order', async () => {
    const events = eventsOf(records)
    for (const event of events.filter((_, index) => index % 5 === 0)) {
      expect(await stores[0]!.event(event.venue, event.eventId)).toEqual(event)
    }
    let matched = 0
    for (let round = 0; round < 60; round++) {
      const query: Omit<EventQuery, 'limit'> = {
        tag: some(0.4, () => pick([...TAGS, 'ALL', 'rare', 'unknown'])),
        category: some(0.3, () => pick(['politics', 'SPORTS', 'None'])),
        venue: some(0.2, () => pick(IDS)),
        series: some(0.2, () => 'KX2'),
        text: some(0.2, () => pick(['"number 33"', 'election', 'nothing'])),
        isOpen: some(0.3, () => true),
        sort: pick([undefined, 'open_time', 'close_time'] as const),
        order: pick([undefined, 'desc'] as const),
        ...randomRange(),
      }
      const found = await walkEvents(stores[round % 2]!, { ...query, limit: 100 })
      const wanted = events
        .filter((event) => fitsEvent(event, query))
        .map((event) => {
          const { venue, eventId: name, firstOpen, lastClose = null } = event
          return { venue, name, value: query.sort === 'close_time' ? lastClose : firstOpen }
        })
      expect([query, found]).toEqual([query, sorted(wanted, query.order)])
      matched += found.length
    }
    expect(matched).toBeGreaterThan(5000)
  })

  test('count markets and events under every heading', async () => {
    const totals = await stores[1]!.categories()
    for (const category of CATEGORIES.slice(1)) {
      const own = totals.filter((one) => one.category === category)
      const count = (name: 'markets' | 'openMarkets' | 'events' | 'openEvents'): number =>
        own.reduce((sum, one) => sum + one[name], 0)
      const markets = records.filter((record) => record.category === category)
      const events = eventsOf(records).filter((event) => event.category === category)
      expect(count('markets')).toBe(markets.length)
      expect(count('openMarkets')).toBe(markets.filter(({ status }) => status === 'open').length)
      expect(count('events')).toBe(events.length)
      expect(count('openEvents')).toBe(events.filter((event) => event.openMarkets > 0).length)
    }
  })

  test('are whole for a check of the tape', async () => {
    expect((await stores[0]!.verify()).problems).toEqual([])
  })
})

const KEPT = 'kept lists and sums'

test.each([
  ['a market is not under its tag', 'DELETE FROM label', 'market venuea:M-3'],
  ['a market is under its tag with another volume', 'UPDATE label SET volume = 8', KEPT],
  ['a market is under its tag at another place', 'UPDATE label SET open = open + 1', KEPT],
  ['an event is not under its tag', 'DELETE FROM event_label', KEPT],
  ['an event is under its tag with another close', 'UPDATE event_label SET close = 1', KEPT],
])('a check of the tape tells that %s', async (_, damage, where) => {
  const folder = createTapeFolder()
  const store = folder.open()
  const record = { ...recordOf(3), eventTicker: 'EV', volume: '7', tags: ['Tag', 'TAG', 'two'] }
  const revision = { kind: 'market', received: BEGIN as Micros, journal: 1, record } as const
  await store.append({ ...MADE, venue: record.venue, position: 1, revisions: [revision] })
  expect((await store.verify()).problems).toEqual([])
  folder.sql(damage)
  const { problems } = await store.verify()
  expect(problems).toContainEqual({ code: 'corrupt_row', where, detail: expect.any(String) })
})
