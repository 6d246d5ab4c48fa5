import type { Gap, MarketRecord, Micros } from '@priorbook/sdk/domain'
import { expect, test } from 'vitest'
import { expectAsOf, expectLines, expectStore } from './store-answers.testing.ts'
import { ModelStore } from './store-model.testing.ts'
import { CALM, DAY, ORDERS, write, type Open, type OpenWritten } from './store-opened.testing.ts'
import { createRandom } from '../lib/random.testing.ts'
import { BEGIN, createRecord, INSTRUMENTS, Script } from './store-script.testing.ts'
import type { EventPlace, ListedFacts, MarketQuery, Store } from './store.ts'

/** The catalogue: revisions, what was known when, filters and cursors. */
export function marketTests(open: Open): void {
  const MARKET = { venue: 'venueb', market: 'KXBTC-26AUG05-T1.5' } as const
  const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const

  test('every revision of a market, and the one known at any time', async () => {
    const { store, reopen } = await open()
    const model = new ModelStore(new WeakMap())
    // More than two dictionary bases, and a text that changes as a whole in between.
    for (let index = 1; index <= 80; index++) {
      const title = index > 40 ? 'x'.repeat(index * 50) : 'Will it be higher?'
      const record = createRecord(MARKET, String(index), { title, participantCount: index % 3 })
      const revision = {
        kind: 'market',
        journal: index,
        received: (BEGIN + index * 10) as Micros,
      } as const
      const batch = {
        ...made,
        venue: 'venueb',
        position: index,
        revisions: [{ ...revision, record }],
      } as const
      await write(store, model, [batch])
      await store.append(batch)
    }
    // Nothing new, except in the journal.
    const same = createRecord(MARKET, '80', { title: 'x'.repeat(4000), participantCount: 2 })
    const journal = { kind: 'market', journal: 81, received: (BEGIN + 810) as Micros } as const
    await write(store, model, [
      { ...made, venue: 'venueb', position: 81, revisions: [{ ...journal, record: same }] },
    ])
    const states = model.markets.get(`${MARKET.venue}:${MARKET.market}`)!
    expect(states.length).toBe(80)
    const { venue, market } = MARKET
    const expectStates = async (each: Store): Promise<void> => {
      expect(await each.revisions(venue, market, { limit: 1000 })).toEqual(states)
      expect(await each.revisions(venue, market, { after: 31, limit: 3 })).toEqual(
        states.slice(31, 34),
      )
      expect(await each.revisions(venue, market, { after: 80, limit: 3 })).toEqual([])
      expect(await each.revisions(venue, 'NEVER', { limit: 3 })).toEqual([])
      expect(await each.market(venue, market)).toEqual(states.at(-1))
      expect(await each.market(venue, 'NEVER')).toBeUndefined()
      expect(await each.market('venuea', market)).toBeUndefined()
      for (let at = BEGIN; at <= BEGIN + 900; at += 5) {
        const wanted = states.findLast(({ knownAt }) => knownAt <= at)
        expect(await each.market(venue, market, at)).toEqual(wanted)
      }
    }
    await expectStates(store)
    await expectStates(await reopen())
  })

  test('filters, both orders and cursors of the catalogue', async () => {
    const { store } = await open()
    const model = new ModelStore(new WeakMap())
    const random = createRandom(31)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const values = {
      seriesTicker: [undefined, 'KXBTC', 'KXETH'],
      asset: [undefined, 'btc', 'eth'],
      window: [undefined, '15m', '1h'],
      status: [undefined, 'open', 'closed', 'resolved'],
      eventTicker: [undefined, 'KXBTC-26AUG05', 'KXETH-26AUG05'],
      category: [undefined, 'Crypto', 'Politics'],
    } as const
    const tags = [undefined, ['Weekly'], ['weekly', 'Bitcoin'], []]
    const positions = { venuea: 0, venueb: 0, venuec: 0 }
    for (let index = 0; index < 90; index++) {
      const venue = pick(['venuea', 'venueb', 'venuec'] as const)
      // Some markets are heard of again with other values.
      const market = `M-${Math.floor(random() * 60)}`
      const opens = pick([undefined, BEGIN, BEGIN + 10, BEGIN + 20, BEGIN + 30]) as
        | Micros
        | undefined
      const closes = pick([undefined, BEGIN + 15, BEGIN + 30, BEGIN + 60]) as Micros | undefined
      const {
        openTime: _open,
        closeTime: _close,
        status: _status,
        ...plain
      } = createRecord({ venue, market }, '1')
      const words = Object.entries(values).map(([name, list]) => [
        name,
        pick<string | undefined>(list),
      ])
      const record = Object.fromEntries(
        [
          ...Object.entries({ ...plain, title: pick(['Bitcoin up?', 'ETHER down?', 'Wetter']) }),
          ...words,
          ['tags', pick(tags)],
          ['openTime', opens],
          ['closeTime', closes],
        ].filter(([, value]) => value !== undefined),
      ) as unknown as MarketRecord
      const position = ++positions[venue]
      const received = (BEGIN + index) as Micros
      const revision = { kind: 'market', journal: position, received, record } as const
      await write(store, model, [{ ...made, venue, position, revisions: [revision] }])
    }
    const queries: Omit<MarketQuery, 'limit'>[] = [{}]
    for (const text of ['bitcoin', 'DOWN', 'm-1', 'nothing of it', 'kxeth']) queries.push({ text })
    for (const hasAsset of [true, false]) {
      for (const more of [{}, { series: 'KXBTC' }, { event: 'KXETH-26AUG05' }, { text: 'bit' }]) {
        queries.push({ hasAsset, ...more })
      }
    }
    for (let index = 0; index < 60; index++) {
      const time = (): number => BEGIN + Math.floor(random() * 80) - 5
      const [a, b] = [time(), time()]
      queries.push({
        ...(random() < 0.3 ? { venue: pick(['venuea', 'venueb', 'venuec'] as const) } : {}),
        ...(random() < 0.2 ? { series: 'KXBTC' } : {}),
        ...(random() < 0.2 ? { event: 'KXETH-26AUG05' } : {}),
        ...(random() < 0.2 ? { asset: 'btc' } : {}),
        ...(random() < 0.2 ? { window: '1h' } : {}),
        ...(random() < 0.2 ? { status: pick(['open', 'closed'] as const) } : {}),
        ...(random() < 0.3 ? { text: pick(['bit', 'er', 'M-2']) } : {}),
        ...(random() < 0.2 ? { category: pick(['crypto', 'POLITICS']) } : {}),
        ...(random() < 0.2 ? { tag: pick(['WEEKLY', 'bitcoin']) } : {}),
        ...(random() < 0.4 ? { start: Math.min(a, b) } : {}),
        ...(random() < 0.4 ? { end: Math.max(a, b) } : {}),
      })
    }
    let matched = 0
    for (const query of queries) {
      for (const order of ORDERS) {
        const limit = pick([1, 2, 7, 100])
        const wanted = model.listMarkets({ ...query, order })
        const found: string[] = []
        let after: MarketQuery['after']
        for (let more = true; more;) {
          const page = await store.markets({ ...query, order, limit, ...(after ? { after } : {}) })
          for (const { record, sortTime } of page.markets) {
            found.push(JSON.stringify([sortTime, record]))
            after = { openTime: sortTime, venue: record.venue, marketId: record.marketId }
          }
          expect(page.hasMore).toBe(found.length < wanted.length)
          more = page.hasMore
        }
        expectLines(
          found,
          wanted.map(({ record, sortTime }) => JSON.stringify([sortTime, record])),
        )
        matched += found.length
      }
    }
    expect(matched).toBeGreaterThan(300)
    expect((await store.verify()).problems).toEqual([])
  })

  test('a list returns the markets that the caller chooses by what the list knows', async () => {
    const { store } = await open()
    const revisions = ['A', 'B', 'C'].map((market, at) => {
      const { seriesTicker: _, ...plain } = createRecord({ venue: 'venueb', market }, '1')
      const more = market === 'B' ? { asset: 'BTC', seriesTicker: 'KXBTC' } : {}
      const times = { openTime: (BEGIN + at) as Micros, closeTime: (BEGIN + 10 - at) as Micros }
      const record: MarketRecord = { ...plain, ...times, ...more, title: `Title ${market}` }
      return { kind: 'market', journal: 1, received: BEGIN as Micros, record } as const
    })
    await store.append({ ...made, venue: 'venueb', position: 1, revisions })
    let seen: readonly ListedFacts[] = []
    const choose = (listed: readonly ListedFacts[]): readonly ListedFacts[] => {
      seen = listed
      return listed.filter(({ marketId }) => marketId !== 'C')
    }
    const page = await store.markets({ sort: 'close_time', limit: 2, choose })
    expect(page.markets.map(({ record }) => record.title)).toEqual(['Title B'])
    expect(page.hasMore).toBe(true)
    expect(seen).toEqual([
      expect.objectContaining({ marketId: 'C', sortTime: BEGIN + 2, sortValue: BEGIN + 8 }),
      {
        venue: 'venueb',
        marketId: 'B',
        asset: 'BTC',
        series: 'KXBTC',
        text: expect.stringContaining('title b'),
        sortTime: BEGIN + 1,
        sortValue: BEGIN + 9,
      },
    ])
    expect(seen[0]).toMatchObject({ asset: undefined, series: undefined })
  })
}

/** Events: what their markets share and add up to. */
export function eventTests(open: Open): void {
  const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  const market = (market: string, more: Partial<MarketRecord>): MarketRecord => ({
    ...createRecord({ venue: 'venueb', market }, '1'),
    eventTicker: 'KXPRES-28',
    seriesTicker: 'KXPRES',
    category: 'Politics',
    tags: ['US', 'Elections'],
    event: { title: 'Who wins?', outcome: market, isExclusive: true },
    ...more,
  })
  let position = 0
  const writeMarkets = async (store: Store, ...records: readonly MarketRecord[]): Promise<void> => {
    const revisions = records.map((record) => {
      const received = (BEGIN + ++position) as Micros
      return { kind: 'market', journal: position, received, record } as const
    })
    await store.append({ ...made, venue: 'venueb', position, revisions })
  }

  test('an event has no end while a market of it has none', async () => {
    const { store } = await open()
    position = 0
    const openTime = BEGIN as Micros
    const closeTime = (BEGIN + 50) as Micros
    const endless = (name: string, more: Partial<MarketRecord>): MarketRecord => {
      const { closeTime: _, ...rest } = market(name, { openTime, status: 'open', ...more })
      return rest
    }
    const ids = async (start: number): Promise<readonly string[]> =>
      (await store.events({ start: BEGIN + start, isOpen: true, limit: 9 })).events.map(
        ({ eventId }) => eventId,
      )
    await writeMarkets(
      store,
      market('A', { openTime, closeTime, status: 'closed' }),
      endless('B', {}),
    )
    expect(await store.event('venueb', 'KXPRES-28')).not.toHaveProperty('lastClose')
    expect(await ids(1000)).toEqual(['KXPRES-28'])
    // It gets an end with the last close time, and loses it again with any of them.
    await writeMarkets(store, market('B', { openTime, closeTime: (BEGIN + 40) as Micros }))
    expect(await store.event('venueb', 'KXPRES-28')).toMatchObject({ lastClose: closeTime })
    await writeMarkets(store, endless('A', {}))
    expect(await ids(1000)).toEqual(['KXPRES-28'])
    await writeMarkets(store, endless('A', { eventTicker: 'KXOTHER' }))
    expect(await store.event('venueb', 'KXPRES-28')).toMatchObject({ lastClose: BEGIN + 40 })
    expect(await ids(1000)).toEqual(['KXOTHER'])
  })

  test('an event follows its markets as they come, change and leave', async () => {
    const { store, reopen } = await open()
    position = 0
    const times = (openTime: number, closeTime: number): Partial<MarketRecord> => ({
      openTime: (BEGIN + openTime) as Micros,
      closeTime: (BEGIN + closeTime) as Micros,
    })
    await writeMarkets(
      store,
      market('A', { ...times(10, 90), status: 'open' }),
      market('B', { ...times(20, 95), status: 'open' }),
      market('C', { ...times(5, 50), status: 'scheduled' }),
    )
    const shared = {
      venue: 'venueb',
      eventId: 'KXPRES-28',
      series: 'KXPRES',
      tags: ['US', 'Elections'],
    }
    const event = { ...shared, category: 'Politics', title: 'Who wins?', isExclusive: true }
    expect(await store.event('venueb', 'KXPRES-28')).toMatchObject({
      ...event,
      markets: 3,
      openMarkets: 2,
      firstOpen: BEGIN + 5,
      lastClose: BEGIN + 95,
    })
    // The first and the last one move inwards, and one leaves for an event of its own.
    await writeMarkets(
      store,
      market('C', { ...times(15, 50), status: 'open' }),
      market('B', { ...times(20, 80), status: 'closed' }),
      market('A', { ...times(10, 90), status: 'open', eventTicker: 'KXOTHER' }),
    )
    const check = async (each: Store): Promise<void> => {
      expect(await each.event('venueb', 'KXPRES-28')).toMatchObject({
        ...event,
        markets: 2,
        openMarkets: 1,
        firstOpen: BEGIN + 15,
        lastClose: BEGIN + 80,
      })
      expect(await each.event('venueb', 'KXOTHER')).toMatchObject({ markets: 1, openMarkets: 1 })
      expect(await each.event('venuea', 'KXPRES-28')).toBeUndefined()
      const { events, hasMore } = await each.events({ tag: 'us', category: 'POLITICS', limit: 9 })
      expect(events.map(({ eventId }) => eventId)).toEqual(['KXOTHER', 'KXPRES-28'])
      expect(hasMore).toBe(false)
      const { markets } = await each.markets({ event: 'KXPRES-28', limit: 9 })
      expect(markets.map(({ record }) => record.marketId)).toEqual(['C', 'B'])
      expect(await each.categories()).toEqual([
        expect.objectContaining({ category: 'Politics', markets: 3, openMarkets: 2, events: 2 }),
      ])
    }
    await check(store)
    const later = await reopen()
    await check(later)
    await writeMarkets(later, market('A', { ...times(10, 90), status: 'closed' }))
    expect(await later.event('venueb', 'KXOTHER')).toBeUndefined()
    expect((await later.verify()).problems).toEqual([])
  })

  test('a walk over events misses and repeats none, in both orders', async () => {
    const { store } = await open()
    position = 0
    const records = Array.from({ length: 40 }, (_, index) =>
      market(`M-${index}`, {
        eventTicker: `E-${index % 20}`,
        openTime: (BEGIN + (index % 3)) as Micros,
        closeTime: (BEGIN + 100) as Micros,
      }),
    )
    await writeMarkets(store, ...records)
    for (const sort of ['open_time', 'close_time'] as const) {
      const walks: string[][] = []
      for (const order of ORDERS) {
        const found: string[] = []
        for (let after: EventPlace | undefined, more = true; more;) {
          const page = await store.events({ sort, order, limit: 3, after })
          found.push(...page.events.map(({ eventId }) => eventId))
          const last = page.events.at(-1)!
          after = { value: last.sortValue, venue: last.venue, eventId: last.eventId }
          more = page.hasMore
        }
        expect(new Set(found).size).toBe(20)
        walks.push(found)
      }
      expect(walks[0]).toEqual(walks[1]!.toReversed())
    }
  })
}

/** Gaps, and what days they leave covered. */
export function gapTests(open: Open, openWritten: OpenWritten): void {
  const made = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
  const at = (offset: number): Micros => (BEGIN + offset) as Micros
  const gap = (more: Partial<Gap>): Gap => ({
    venue: 'venuec',
    scope: 'instrument',
    key: INSTRUMENTS[3]!.key,
    reason: 'disconnected',
    start: at(0),
    afterSequence: 0,
    journal: 1,
    ...more,
  })

  test('a gap opens and is closed later; filters; ranges that touch', async () => {
    const { store, reopen } = await open()
    const model = new ModelStore(new WeakMap())
    const key = INSTRUMENTS[4]!.key
    const opened = [
      gap({ start: at(10), afterSequence: 4, sourceStart: at(9) }),
      gap({ start: at(10), afterSequence: 4, reason: 'rejected' }),
      gap({ key, start: at(20), end: at(30), afterSequence: 2 }),
      gap({ key, start: at(30), end: at(40), afterSequence: 3, detail: '7 changes' }),
      gap({ scope: 'market', key: '0xc0ffee', reason: 'quota', start: at(5), end: at(50) }),
      gap({ scope: 'venue', key: '', reason: 'recorder_down', start: at(45) }),
    ]
    await write(store, model, [{ ...made, venue: 'venuec', position: 1, gaps: opened }])
    await expectStore(store, model)
    const closed = { ...opened[0]!, end: at(60), sourceEnd: at(58), detail: 'ended', journal: 2 }
    await write(store, model, [{ ...made, venue: 'venuec', position: 2, gaps: [closed] }])
    const other = gap({ venue: 'venuea', key: '5001', start: at(12), reason: 'quota' })
    await write(store, model, [{ ...made, venue: 'venuea', position: 1, gaps: [other] }])
    const each = await reopen()
    await expectStore(each, model)
    for (const query of [
      { venue: 'venuea' as const },
      { venue: 'venuec' as const, key },
      { key: '' },
      { reason: 'quota' as const },
      { sequence: { from: 3, to: 4 } },
      { sequence: { from: 4, to: 4 }, key },
      { limit: 2 },
      ...[0, 5, 10, 20, 29, 30, 31, 40, 45, 60, 61].flatMap((offset) => [
        { start: at(offset) },
        { end: at(offset) },
        { start: at(offset), end: at(offset + 1) },
        { start: at(offset), end: at(offset + 12) },
      ]),
    ]) {
      expect(await each.gaps(query)).toEqual(model.listGaps(query))
    }
    expect((await each.verify()).problems).toEqual([])
  })

  test('a gap of the market or of the whole venue is a gap of the instrument', async () => {
    const { store, model } = await openWritten(41, 40)
    const { venue, key, market } = INSTRUMENTS[3]!
    const rows = model.rows({ venue, key })
    const [early, late] = [rows[5]!.received, rows[rows.length >> 1]!.received]
    const position = model.applied.get('venuec')! + 1
    const gaps = [
      gap({
        scope: 'market',
        key: market,
        reason: 'quota',
        start: (early + 1) as Micros,
        end: (early + 9) as Micros,
        journal: position,
      }),
      gap({
        scope: 'venue',
        key: '',
        reason: 'recorder_down',
        start: (late + 1) as Micros,
        end: (late + 3) as Micros,
        journal: position,
      }),
    ]
    await write(store, model, [{ ...made, venue: 'venuec', position, gaps }])
    for (const time of [early, early + 1, early + 2, early + 9, late + 1, late + 2, late + 3]) {
      for (const ref of INSTRUMENTS) await expectAsOf(store, model, ref, time)
    }
    for (const ref of INSTRUMENTS) {
      const coverage = await store.coverage(ref)
      expect(coverage?.days).toEqual(model.days(ref, ref.market))
    }
  })

  test('a day begins with its first microsecond and ends before the next one', async () => {
    const { store } = await open()
    const script = new Script(43, { instruments: [CALM], calm: CALM.key })
    const model = new ModelStore(script.books)
    const midnight = Math.ceil(BEGIN / DAY) * DAY
    const times = [-1, -1, 0, 0, 1, DAY - 1, DAY, 3 * DAY].map((offset) => midnight + offset)
    const days = {
      [midnight - DAY]: 2,
      [midnight]: 4,
      [midnight + DAY]: 1,
      [midnight + 3 * DAY]: 1,
    }
    for (const [index, batch] of script.take(times.length, 1).entries()) {
      const [row] = batch.observations!
      const moved = { ...row!, received: times[index]! }
      script.books.set(moved, script.books.get(row!)!)
      const { venue, position, origin, recorder, normalizer } = batch
      const plain = { venue, position, origin, recorder, normalizer }
      await write(store, model, [{ ...plain, observations: [moved] }])
    }
    for (let round = 0; round < 2; round++) {
      const coverage = await store.coverage(CALM)
      expect(coverage?.days).toEqual(model.days(CALM, CALM.market))
      const seen = coverage!.days.filter(({ observations }) => observations > 0)
      expect(Object.fromEntries(seen.map((day) => [day.day, day.observations]))).toEqual(days)
      await store.seal()
    }
  })

  test('coverage of days with, without and full of holes', async () => {
    const { store, model } = await openWritten(42, 400)
    await store.seal()
    const conditions = new Set<string>()
    for (const { venue, key, market } of INSTRUMENTS) {
      const ref = { venue, key }
      const rows = model.rows(ref)
      const coverage = await store.coverage(ref)
      expect(coverage?.facts).toMatchObject({
        instrument: { venue, key, market },
        firstSequence: 1,
        lastSequence: rows.length,
        firstReceived: rows[0]!.received,
        lastReceived: rows.at(-1)!.received,
      })
      const days = model.days(ref, market)
      expect(coverage?.days).toEqual(days)
      expect(coverage?.gaps).toEqual(model.listGaps(ref))
      for (const { condition } of days) conditions.add(condition)
    }
    expect([...conditions].sort()).toEqual(['available', 'degraded', 'missing'])
  })
}
