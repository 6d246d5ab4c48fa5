import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  parsePrice,
  parseSize,
  toBackfillKey,
  toMicros,
  VENUES,
  type Gap,
  type MarketRecord,
  type Trade,
} from '@priorbook/sdk/domain'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { backfillFacts, newestPastTrade, pricesGapKey, tradesFamily } from '../../store/store.ts'
import { createAsker } from '../ask.testing.ts'
import { openAccess } from '../auth/access.ts'
import { at } from '../pages/fixture.testing.ts'
import { createApiServer } from '../server.ts'

const MARKET = 'KXBTC15M-26AUG051215-15'
const venue = 'venueb'
const record: MarketRecord = {
  venue,
  marketId: MARKET,
  status: 'resolved',
  openTime: at(0),
  closeTime: at(900),
  outcomes: [
    { label: 'Yes', index: 0 },
    { label: 'No', index: 1 },
  ],
  units: VENUES.venueb.units,
  seriesTicker: 'KXBTC15M',
  native: {},
}

const FETCHED = at(100_000)

function trade(key: string, id: string, seconds: number, journal: number): Trade {
  const isPast = key !== MARKET
  return {
    kind: 'trade',
    instrument: { venue, market: MARKET, key },
    tradeId: id,
    price: parsePrice('0.5', 4),
    size: parseSize('1', 2),
    taker: 'buy',
    received: at(seconds),
    source: isPast ? FETCHED : at(seconds),
    journal,
  }
}

/** A market that was recorded from its 500th second on, with its trades from before. */
async function serve(
  plan = 'unlimited',
  requestedFrom = at(0),
): Promise<(path: string) => Promise<Answer>> {
  const folder = createTempFolder()
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const key = toBackfillKey(MARKET)
  const names = backfillFacts(venue, tradesFamily(MARKET))
  const gap: Gap = {
    venue,
    scope: 'market',
    key,
    reason: 'unavailable',
    start: at(0),
    end: at(100),
    afterSequence: 0,
    detail: 'the venue lists no more',
    journal: 9,
    endJournal: 9,
  }
  await store.append({
    venue,
    position: 10,
    origin: 'live',
    recorder: 'r1',
    normalizer: 1,
    revisions: [{ kind: 'market', record, received: at(500), journal: 1 }],
    trades: [
      trade(MARKET, 'o1', 510, 2),
      trade(MARKET, 'o2', 520, 3),
      ...[100, 200, 200, 510, 520].map((seconds, index) =>
        trade(key, `b${index + 1}`, seconds, 4 + index),
      ),
    ],
    samples: [100, 160].map((seconds, index) => ({
      kind: 'sample',
      instrument: { venue, market: MARKET, key },
      metric: 'close',
      value: `0.4${index}`,
      received: at(seconds),
      source: FETCHED,
      journal: 9,
    })),
    gaps: [gap, { ...gap, key: toBackfillKey(pricesGapKey(MARKET)), start: at(700), end: at(800) }],
    facts: {
      [names.from]: requestedFrom,
      [names.reached]: at(2000),
      [newestPastTrade(venue)]: at(520),
    },
  })
  const home = join(folder, 'home')
  mkdirSync(home)
  const access = openAccess(home)
  const server = createApiServer({ store, access, now: () => toMicros(at(200_000)) })
  const asker = createAsker(server.handle)
  onTestFinished(async () => {
    asker.close()
    await server.close(500)
    access.close()
    await store.close()
  })
  return async (path) => {
    // A plan may allow one request per second, and the clock stands still.
    const { key: secret } = access.keys.create({ plan, name: 'test' })
    const { status, text } = await asker.ask(path, { key: secret })
    return { status, text, ...(text.startsWith('{') ? (JSON.parse(text) as object) : {}) } as Answer
  }
}

type Answer = {
  readonly status: number
  readonly text: string
  readonly data: readonly Record<string, unknown>[]
  readonly meta: Readonly<Record<string, unknown>>
  readonly pagination: { readonly next_cursor: string | null }
}

const idsIn = ({ data }: Answer): unknown[] => data.map((row) => row['trade_id'])

describe('trades of a venue’s history', () => {
  const path = `/v3/venueb/${MARKET}/trades`

  it('are apart from observed ones, and their range means the venue’s time', async () => {
    const get = await serve()
    expect(idsIn(await get(path))).toEqual(['o1', 'o2'])
    expect(idsIn(await get(`${path}?origin=observed`))).toEqual(['o1', 'o2'])
    const past = await get(`${path}?origin=backfill&time_format=epoch_us`)
    expect(idsIn(past)).toEqual(['b1', 'b2', 'b3', 'b4', 'b5'])
    expect(past.data[0]).toMatchObject({
      id: `venueb:backfill/${MARKET}/trade:1`,
      source_time: at(100),
      received_time: FETCHED,
    })
    expect(past.meta).toMatchObject({ origin: 'backfill', market: { market_id: MARKET } })
    const range = `start_time=${at(200)}&end_time=${at(520)}`
    expect(idsIn(await get(`${path}?origin=backfill&${range}`))).toEqual(['b2', 'b3', 'b4'])
    expect(idsIn(await get(`${path}?origin=backfill&order=desc&limit=2`))).toEqual(['b5', 'b4'])
  })

  it('are walked page by page, each with the gaps that belong to it', async () => {
    const get = await serve()
    const found: unknown[] = []
    const gaps: unknown[] = []
    for (let cursor = ''; ;) {
      const page = await get(`${path}?origin=backfill&limit=2${cursor}`)
      found.push(...idsIn(page))
      gaps.push(...(page.meta['gaps'] as unknown[]))
      if (page.pagination.next_cursor === null) break
      // A cursor of one kind is none of the other.
      const mixed = await get(`${path}?limit=2&cursor=${page.pagination.next_cursor}`)
      expect(mixed.status).toBe(400)
      cursor = `&cursor=${page.pagination.next_cursor}`
    }
    expect(found).toEqual(['b1', 'b2', 'b3', 'b4', 'b5'])
    expect(gaps).toMatchObject([{ reason: 'unavailable', key: `backfill/${MARKET}` }])
  })

  it('are named where an observed range begins before its first row', async () => {
    const get = await serve()
    const notice = { code: 'backfilled_trades', first_time: '2026-08-05T12:01:40.000000Z' }
    expect((await get(path)).meta).toMatchObject({ notice })
    expect((await get(`${path}?order=desc`)).meta).toMatchObject({ notice })
    const early = await get(`${path}?end_time=${at(300)}`)
    expect(early.meta).toMatchObject({ notice: [{ code: 'before_capture' }, notice] })
    expect((await get(`${path}?start_time=${at(505)}`)).meta).not.toHaveProperty('notice')
    expect((await get(`${path}?order=desc&limit=1`)).meta).not.toHaveProperty('notice')
  })

  it('do not go together with known_at', async () => {
    const get = await serve()
    const refused = await get(`${path}?origin=backfill&known_at=${at(600)}`)
    expect(refused).toMatchObject({ status: 400, code: 'invalid_parameter', param: 'known_at' })
    expect((await get(`${path}?origin=live`)).status).toBe(400)
  })

  it('are in the coverage of the market and of the venue', async () => {
    const get = await serve()
    const { data } = await get(`/v3/coverage?venue=venueb&market=${MARKET}&time_format=epoch_us`)
    expect(data[0]!['backfilled_trades']).toMatchObject({
      fetched_from: at(0),
      fetched_until: at(2000),
      first_time: at(100),
      last_time: at(520),
      gaps: [{ reason: 'unavailable' }],
    })
    const venues = await get('/v3/coverage?venue=venueb&time_format=epoch_us')
    const trades = venues.data.find(({ dataset }) => dataset === 'trades')
    expect(trades).toMatchObject({
      first_time: at(510),
      backfilled: true,
      backfilled_first_time: at(100),
      backfilled_last_time: at(520),
    })
  })

  it('are fetched from the first of them on, also where an older recorder noted a later time', async () => {
    const get = await serve('unlimited', at(150))
    const { data } = await get(`/v3/coverage?venue=venueb&market=${MARKET}&time_format=epoch_us`)
    const fetched = { fetched_from: at(100), first_time: at(100) }
    expect(data[0]!['backfilled_trades']).toMatchObject(fetched)
  })

  it('have the price history of the venue beside them', async () => {
    const get = await serve()
    const prices = `/v3/venueb/${MARKET}/history?time_format=epoch_us&number_format=string`
    const { data, meta } = await get(`${prices}&metric=close`)
    expect(data).toMatchObject([
      {
        id: `venueb:backfill/${MARKET}/close:1`,
        metric: 'close',
        value: '0.4',
        source_time: at(100),
        received_time: FETCHED,
      },
      { value: '0.41', source_time: at(160) },
    ])
    expect(meta).toMatchObject({ metric: 'close', origin: 'backfill' })
    expect((await get(`${prices}&metric=close&start_time=${at(101)}`)).data).toHaveLength(1)
    const none = await get(`${prices}&metric=volume`)
    expect(none).toMatchObject({ data: [], meta: { notice: { code: 'not_backfilled' } } })
    expect((await get(`${prices}&metric=chance`)).status).toBe(400)
    const csv = await get(`${prices}&metric=close&format=csv`)
    expect(csv.text.trim().split('\n')).toHaveLength(3)
  })

  it('are downloaded by origin alone', async () => {
    const get = await serve()
    const bulk = `/v3/bulk?venue=venueb&market_id=${MARKET}&dataset=trades&format=csv`
    const observed = (await get(bulk)).text.trim().split('\n')
    const past = (await get(`${bulk}&origin=backfill`)).text.trim().split('\n')
    expect([observed.length, past.length]).toEqual([3, 6])
    expect(past[1]).toContain(`venueb:backfill/${MARKET}/trade:1`)
    expect((await get(`${bulk.replace('trades', 'books')}&origin=backfill`)).status).toBe(400)
  })

  it.each(['explorer', 'unlimited'])('have their gaps in the list of plan %s', async (plan) => {
    const get = await serve(plan)
    const keysIn = ({ data }: Answer): unknown[] => data.map((gap) => gap['key'])
    const [trades, prices] = [`backfill/${MARKET}`, `backfill/prices/${MARKET}`]
    const listed = await get('/v3/gaps?venue=venueb&reason=unavailable')
    expect(keysIn(listed)).toEqual([trades, prices])
    expect(listed.meta).not.toHaveProperty('notice')
    for (const key of [trades, prices]) {
      expect(keysIn(await get(`/v3/gaps?key=${key}`))).toEqual([key])
      expect(keysIn(await get(`/v3/gaps?market=${MARKET}&key=${key}`))).toEqual([key])
    }
    const history = await get(`/v3/venueb/${MARKET}/history?metric=close`)
    expect(history.meta['gaps']).toMatchObject([{ key: prices }])
    const own = await get(`/v3/gaps?market=${MARKET}&reason=unavailable`)
    expect(keysIn(own)).toEqual([])
  })
})
