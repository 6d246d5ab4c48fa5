import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type VenueId } from '@priorbook/sdk/domain'
import { marketPath } from '../../packages/service/src/api/markets/addresses.ts'
import { createTestCaller, type TestCaller } from '../../packages/service/src/api/caller.testing.ts'
import { CATALOGUE_ROUTES } from '../../packages/service/src/api/routes/index.ts'
import { violations } from '../../packages/service/src/api/pages/schema.testing.ts'
import { createAuditor } from '../../packages/service/src/derive/audit.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { WINDOW_MS } from '../../packages/emulator/src/world/families.ts'
import { calmSpeed } from '../capture/emulated-speed.ts'
import { pause, start, type Running } from '../capture/harness.ts'
import { hasEnough } from '../sdk/enough.ts'
import { findBusiest, type BusyMarket } from './busy-market.ts'

type Row = Readonly<Record<string, unknown>>

const METRICS = ['chance', 'price', 'last_trade']

let run: Running
let call: TestCaller

beforeAll(async () => {
  run = await start({ seed: 7, speed: calmSpeed(20, Object.values(WINDOW_MS)) })
  await pause(4000)
  const isReady = async (): Promise<boolean> =>
    (await hasEnough(run.store)) && (await findSampled()) !== undefined
  while (!(await isReady())) await pause(200)
  await run.stop()
  const auditor = createAuditor(run.store, run.data.journal)
  call = createTestCaller(CATALOGUE_ROUTES, { store: run.store, auditor })
}, 180_000)

afterAll(async () => {
  await run.destroy()
})

const routeOf = (id: string) => CATALOGUE_ROUTES.find((route) => route.id === id)!

/** Calls an address, checks its data against the schema of the route, and gives the rows. */
async function rows(route: string, url: string): Promise<readonly Row[]> {
  const { body } = await call.get(url)
  expect([url, ...violations(routeOf(route).data, body.data)]).toEqual([url])
  return body.data as readonly Row[]
}

/** Walks all pages and gives the ids. */
async function walk(url: string): Promise<unknown[]> {
  const ids: unknown[] = []
  for (let next = url; ;) {
    const { body } = await call.get(next)
    ids.push(...(body.data as readonly Row[]).map((row) => row['id'] ?? row['market_id']))
    if (body.pagination.next_cursor === null) return ids
    next = `${url}&cursor=${body.pagination.next_cursor}`
  }
}

/** The recorded market with the most observations. */
const busiest = async (venue: VenueId): Promise<BusyMarket> =>
  (await findBusiest(run.store, venue))!

/** A market of which all metrics were seen: one without a trade has no last one. */
async function findSampled(): Promise<string | undefined> {
  const { markets } = await run.store.markets({ venue: 'venuea', limit: 1000 })
  for (const { record } of markets) {
    const { marketId, asset } = record
    const series = await run.store.series('venuea', marketId)
    const seen = new Set(series.map(({ metric }) => metric))
    if (METRICS.every((metric) => seen.has(metric))) return marketPath('venuea', marketId, asset)
  }
  return undefined
}

describe('the catalogue of emulated venues', () => {
  it('lists and describes every market as its schema promises', async () => {
    expect(
      (await rows('venuea_markets', '/v3/venuea-prediction/markets?limit=1000')).length,
    ).toBeGreaterThan(3)
    expect((await rows('venueb_markets', '/v3/venueb/markets?limit=1000')).length).toBeGreaterThan(
      3,
    )
    expect((await rows('venuec_markets', '/v3/btc/markets?limit=1000')).length).toBeGreaterThan(0)
    const all = await rows('markets', '/v3/markets?limit=1000')
    expect(await walk('/v3/markets?limit=7')).toEqual(all.map((row) => row['market_id']))
    expect(all.some((row) => row['spread'] !== null && row['last_price'] !== null)).toBe(true)
    for (const row of all.slice(0, 20)) {
      const venue = row['venue'] as VenueId
      const path = marketPath(
        venue,
        row['market_id'] as string,
        (row['asset'] as string) ?? undefined,
      )
      await rows(`${venue}_market`, path)
      await rows(`${venue}_revisions`, `${path}/revisions`)
      await rows('coverage', `/v3/coverage?venue=${venue}&market=${String(row['market_id'])}`)
    }
    await rows('coverage', '/v3/coverage')
    await rows('gaps', '/v3/gaps?limit=1000')
  })

  it('gives trades and samples page by page, each once', async () => {
    for (const venue of ['venueb', 'venuec'] as const) {
      const { path } = await busiest(venue)
      const trades = await rows(`${venue}_trades`, `${path}/trades?limit=1000`)
      expect(trades.length).toBeGreaterThan(0)
      expect(await walk(`${path}/trades?limit=3`)).toEqual(trades.map((row) => row['id']))
    }
    const path = await findSampled()
    for (const metric of METRICS) {
      const url = `${path}/timeseries?metric=${metric}`
      const samples = await rows('venuea_timeseries', `${url}&limit=1000`)
      expect(samples.length).toBeGreaterThan(0)
      expect(samples.every((row) => metric in row)).toBe(true)
      expect(await walk(`${url}&limit=2`)).toEqual(samples.map((row) => row['id']))
    }
  })

  it('proves rows by their raw messages, and executions by rows', async () => {
    for (const venue of EMULATED_VENUES) {
      const { path, key, rows: count, last } = await busiest(venue)
      const steps = Math.min(count, 40)
      for (let step = 1; step <= steps; step++) {
        const sequence = Math.ceil((count * step) / steps)
        const { body } = await call.get(`${path}/audit?id=${venue}:${key}:${sequence}`)
        expect(body.data).toMatchObject({
          state: 'equal',
          differences: [],
          raw: { encoding: 'utf8' },
        })
      }
      await rows(`${venue}_audit`, `${path}/audit?id=${venue}:${key}:1`)
      const asked = venue === 'venuec' ? `&token_id=${key}` : ''
      const url = `${path}/execution?side=buy&size=1&at=${last}${asked}`
      const { body } = await call.get(url)
      expect(violations(routeOf(`${venue}_execution`).data, body.data)).toEqual([])
    }
  })
})
