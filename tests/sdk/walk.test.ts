import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createClient,
  OrderBook,
  type FullRow,
  type PriorbookClient,
} from '../../packages/sdk/src/client/index.ts'
import { openSharedApi, type EmulatedApi } from '../api/emulated-api.ts'
import { openFaultProxy, type Fault, type FaultProxy } from './fault-proxy.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

let api: EmulatedApi
let proxy: FaultProxy
let direct: PriorbookClient
let client: PriorbookClient
let isFaulty = true

// Every second request fails, each kind in turn: all of them are met within a few pages.
const FAULTS: readonly Fault[] = [
  'drop',
  'cut',
  { status: 429, retryAfter: '0' },
  { status: 503 },
  'cut',
  { status: 500 },
]

beforeAll(async () => {
  api = await openSharedApi()
  const { url } = await api.server.listen({ host: '127.0.0.1', port: 0 })
  proxy = await openFaultProxy(url, (number) =>
    isFaulty && number % 2 === 0 ? FAULTS[(number / 2) % FAULTS.length]! : 'none',
  )
  const key = api.keyOf()
  direct = createClient({ url, key })
  client = createClient({ url: proxy.url, key, retries: { baseDelayMs: 1, maxDelayMs: 10 } })
}, 180_000)

afterAll(async () => {
  await proxy.close()
  await api.close()
})

const nameOf = (venue: (typeof EMULATED_VENUES)[number]) => ({
  venue,
  market_id: api.busiest[venue].record.marketId,
})

describe('walks through a bad line', () => {
  it.each(EMULATED_VENUES)('have every row of %s once, in order', async (venue) => {
    const wanted = await direct.market(nameOf(venue)).snapshots({ limit: 1000 }).toArray()
    expect(wanted.length).toBeGreaterThan(20)
    const limit = Math.max(5, Math.ceil(wanted.length / 12))
    const rows = await client.market(nameOf(venue)).snapshots({ limit }).toArray()
    expect(rows).toEqual(wanted)
  })

  it('met every kind of failure', () => {
    for (const name of ['drop', 'cut', '429', '503', '500']) {
      expect([name, (proxy.done[name] ?? 0) > 0]).toEqual([name, true])
    }
  })

  it('give books from changes that are those of the pages', async () => {
    isFaulty = false
    for (const venue of EMULATED_VENUES) {
      const market = client.market(nameOf(venue))
      const style = { number_format: 'string', limit: 200 } as const
      const full = market.snapshots({ ...style, include_orderbook: true })[Symbol.asyncIterator]()
      const books = new Map<string, OrderBook>()
      let rows = 0
      for await (const row of market.changes(style)) {
        const key = row.token_id ?? ''
        const book = books.get(key) ?? new OrderBook(venue)
        books.set(key, book)
        book.applyRow(row)
        const { value } = await full.next()
        const whole = OrderBook.from(value as FullRow)
        expect(book.toJSON()).toEqual(whole.toJSON())
        expect([whole.mid ?? null, whole.spread ?? null]).toEqual([value!.mid, value!.spread])
        rows++
      }
      expect(rows).toBeGreaterThan(20)
      expect((await full.next()).done).toBe(true)
    }
  })

  it('answer every other route', async () => {
    for (const venue of EMULATED_VENUES) {
      const market = client.market(nameOf(venue))
      const record = (await market.record()).data
      expect(record?.market_id).toBe(api.busiest[venue].record.marketId)
      expect((await market.revisions().toArray()).length).toBeGreaterThan(0)
      const latest = (await market.latest({ depth: 2 })).data
      expect(latest).toHaveLength(venue === 'venuec' ? 2 : 1)
      const at = latest[0]!.received_time
      expect((await market.asOf({ at, depth: 2 })).data[0]).toEqual(latest[0])
      const trades = await market.trades().page()
      expect(venue === 'venuea' ? trades.notices.length : trades.data.length).toBeGreaterThan(0)
      const size = { side: 'buy', size: '1', at } as const
      const outcome = venue === 'venuec' ? { token_id: latest[0]!.token_id! } : {}
      const { data: paid } = await market.execution({ ...size, ...outcome })
      expect(paid?.evidence.row_id).toBe(latest[0]!.id)
      const { data: audited } = await market.audit({ id: latest[0]!.id })
      expect(audited?.state).toBe('equal')
      expect((await client.coverage({ venue, market: market.ref.market_id })).data.length).toBe(
        latest.length,
      )
    }
    const samples = client.market(nameOf('venuea')).timeseries({ metric: 'chance' })
    expect((await samples.toArray()).length).toBeGreaterThan(0)
    const lists = [
      client.venueMarkets('venuea', { coin: 'BTC' }),
      client.venueMarkets('venueb'),
      client.venueMarkets('venuec', { asset: 'btc' }),
    ]
    for (const list of lists) expect((await list.page()).data.length).toBeGreaterThan(0)
    expect((await client.markets({ q: 'bitcoin' }).page()).data.length).toBeGreaterThan(0)
    expect((await client.gaps({ venue: 'venueb' }).toArray()).length).toBeGreaterThan(0)
    expect((await client.coverage()).data.length).toBeGreaterThan(5)
    expect((await client.whoami()).data.plan).toBe('unlimited')
    expect((await client.limits()).data.page.max).toBe(1000)
    expect(Array.isArray((await client.usage({ days: 1 })).data)).toBe(true)
    expect((await client.status()).data.venues).toHaveLength(3)
    expect((await client.health()).data).toEqual({ status: 'ok' })
    expect((await client.openapi())['openapi']).toBe('3.1.0')
  })

  it('read the demonstration without a key', async () => {
    const demo = createClient({ url: proxy.url, demo: true })
    const [market] = (await demo.markets({ venue: 'venueb', limit: 1 }).page()).data
    expect((await demo.market(market!).record()).data?.venue).toBe('venueb')
    await expect(demo.whoami()).rejects.toMatchObject({ code: 'missing_key', status: 401 })
  })
})
