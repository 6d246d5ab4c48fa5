import { expect, it } from 'vitest'
import { createTestCaller } from '../api/caller.testing.ts'
import { violations } from '../api/pages/schema.testing.ts'
import { CATALOGUE_ROUTES } from '../api/routes/index.ts'
import { StreamClient } from '../api/stream/stream.testing.ts'
import { createTestServer } from '../api/server.testing.ts'
import { createDataFolder, read, record } from '../recorder/scripted.testing.ts'
import type { StoreReader } from '../store/store.ts'

const ROUND = 'KXBTC15M-26SEP211215-15'
const ABOVE = 'KXETHD-26SEP2112-T3449.99'
const SOCKET_ONLY = 'KXETH15M-26SEP211215-15'

type Row = { readonly market_id: string }

async function list(store: StoreReader, url: string): Promise<Row[]> {
  const { body } = await createTestCaller(CATALOGUE_ROUTES, { store }).get(url)
  return body.data as Row[]
}

const idsOf = (rows: readonly Row[]): string[] => rows.map(({ market_id: id }) => id).toSorted()

it('records of venue B have the asset, window, strike and reference that others have', async () => {
  const data = createDataFolder()
  await record(data, 'venueb', (script) => {
    const times = { open_time: '2026-09-21T16:00:00Z', close_time: '2026-09-21T16:15:00Z' }
    const round = {
      ticker: ROUND,
      event_ticker: 'KXBTC15M-26SEP211215',
      status: 'finalized',
      strike_type: 'greater_or_equal',
      floor_strike: 115_249.37,
      expiration_value: '115301.20',
      ...times,
    }
    const sources = [{ name: 'CF Benchmarks', url: 'https://example.org' }]
    const event = {
      event_ticker: 'KXBTC15M-26SEP211215',
      series_ticker: 'KXBTC15M',
      settlement_sources: sources,
      markets: [round],
    }
    script.answer({ kind: 'events' }, { events: [event] })
    const hour = { open_time: '2026-09-21T15:00:00Z', close_time: '2026-09-21T16:00:00Z' }
    script.answer({ kind: 'market', ticker: ABOVE }, { market: { ticker: ABOVE, ...hour } })
    script.note({ note: 'connected', slot: 1, url: 'ws://b' })
    script.frame(1, {
      type: 'orderbook_snapshot',
      sid: 1,
      seq: 1,
      msg: { market_ticker: SOCKET_ONLY, yes_dollars_fp: [['0.4000', '10.00']], no_dollars_fp: [] },
    })
  })
  await read(data, async (store) => {
    const rows = await list(store, '/v3/venueb/markets')
    const schema = CATALOGUE_ROUTES.find(({ id }) => id === 'venueb_markets')!.data
    expect(violations(schema, rows)).toEqual([])
    expect(rows.find(({ market_id: id }) => id === ROUND)).toMatchObject({
      asset: 'BTC',
      window: '15m',
      strike: 115_249.37,
      resolution: {
        reference: { feed: 'CF Benchmarks', start_price: 115_249.37, end_price: 115_301.2 },
      },
    })
    expect(rows.find(({ market_id: id }) => id === ABOVE)).toMatchObject({
      series_ticker: 'KXETHD',
      event_ticker: 'KXETHD-26SEP2112',
      asset: 'ETH',
      window: '1h',
      strike: 3_449.99,
    })
    // A book without a catalogue, as an imported recording has it.
    expect(idsOf(await list(store, '/v3/venueb/markets?series=KXETH15M'))).toEqual([SOCKET_ONLY])
    const byEvent = '/v3/venueb/markets?event=KXETH15M-26SEP211215'
    expect(idsOf(await list(store, byEvent))).toEqual([SOCKET_ONLY])
    expect(idsOf(await list(store, '/v3/markets?asset=btc'))).toEqual([ROUND])
    expect(idsOf(await list(store, '/v3/markets?asset=eth'))).toEqual(
      [SOCKET_ONLY, ABOVE].toSorted(),
    )
    const server = await createTestServer({ store })
    const key = server.keyOf('unlimited')
    const scope = 'venue=venueb&dataset=books&format=ndjson&day=2026-09-21'
    const eth = await server.ask(`/v3/bulk?${scope}&asset=eth&window=15m`, { key })
    expect(eth.text).toContain(`"market_id":"${SOCKET_ONLY}"`)
    const btc = await server.ask(`/v3/bulk?${scope}&asset=btc&window=15m`, { key })
    expect([btc.status, btc.text.includes(SOCKET_ONLY)]).toEqual([200, false])
    const { port } = await server.server.listen({ host: '127.0.0.1', port: 0 })
    const stream = await new StreamClient(`ws://127.0.0.1:${port}/v3/stream`, { key }).open()
    await stream.next('welcome')
    stream.send({ op: 'subscribe', id: 's', venue: 'venueb', asset: 'eth', window: '15m' })
    expect(await stream.next('subscribed')).toMatchObject({ id: 's' })
    expect(JSON.stringify(await stream.next('snapshot'))).toContain(SOCKET_ONLY)
  })
})
