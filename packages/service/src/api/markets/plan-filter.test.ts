import { rmSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parsePrice, parseSize, toBackfillKey, VENUES } from '@priorbook/sdk/domain'
import { BookAssembler } from '@priorbook/sdk/tape'
import { StreamClient } from '../stream/stream.testing.ts'
import { createTestServer } from '../server.testing.ts'
import { A_MARKET, at, C_MARKET, createCatalogueStore, RECORDS } from '../pages/fixture.testing.ts'

type Row = Readonly<Record<string, unknown>>

const B_ETH = 'KXETH15M-26AUG051215-15'
const C_ETH = RECORDS.find(({ venue, asset }) => venue === 'venuec' && asset === 'ETH')!.marketId

/** A server over recorded markets, among them one of ETH with a book and a gap. */
async function server() {
  const store = await createCatalogueStore()
  const { priceDecimals, sizeDecimals } = VENUES.venueb
  const instrument = { venue: 'venueb', market: B_ETH, key: B_ETH } as const
  const book = new BookAssembler(instrument).take({
    kind: 'snapshot',
    instrument,
    bids: [{ price: parsePrice('0.4', priceDecimals), size: parseSize('1', sizeDecimals) }],
    asks: [],
    received: at(60),
    journal: 1500,
  })
  if (!('received' in book)) throw new Error('no book')
  const gap = { venue: 'venueb', scope: 'instrument', key: B_ETH, reason: 'disconnected' } as const
  await store.append({
    venue: 'venueb',
    position: 2000,
    origin: 'emulator',
    recorder: 'r1',
    normalizer: 1,
    observations: [book],
    gaps: [{ ...gap, start: at(60), end: at(90), afterSequence: 1, journal: 1501 }],
  })
  const test = await createTestServer({ store, now: () => at(400) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  // The plan allows one request per second, and the clock stands still: each request has a key of its own.
  const ask = async (url: string, plan = 'explorer') => {
    const { status, text } = await test.ask(url, { key: test.keyOf(plan) })
    return { status, body: JSON.parse(text) as Row & { data: Row[]; meta: { notice?: unknown } } }
  }
  const codes = async (url: string): Promise<unknown[]> => {
    const { body } = await ask(url)
    return [body.meta.notice ?? []].flat().map((notice) => (notice as Row)['code'])
  }
  return { ask, codes, test }
}

describe('what a plan leaves out is said', () => {
  it.each([
    '/v3/markets?asset=eth',
    '/v3/markets?asset=ETH&venue=venueb',
    '/v3/eth/markets',
    `/v3/eth/markets/${C_ETH}/snapshots`,
    `/v3/venueb/${B_ETH}/snapshots`,
    '/v3/bulk?venue=venueb&asset=eth&day=2026-08-05',
    '/v3/bulk?venue=venueb&series=KXETH15M&day=2026-08-05',
    `/v3/bulk/manifest?venue=venueb&market_id=${B_ETH}`,
    `/v3/gaps?market=${B_ETH}`,
    `/v3/gaps?market=${A_MARKET}`,
    `/v3/coverage?market=${B_ETH}`,
    `/v3/coverage?market=${A_MARKET}`,
    '/v3/coverage/days?venue=venuea',
  ])('by 403: %s', async (url) => {
    const { ask } = await server()
    const { status, body } = await ask(url)
    expect([url, status, body['code'], body['plan']]).toEqual([url, 403, 'plan_required', 'quant'])
  })

  it('by a notice in lists, search, gaps and coverage', async () => {
    const { ask, codes } = await server()
    for (const url of [
      '/v3/markets?q=eth',
      '/v3/markets?series=KXETH15M',
      '/v3/venueb/markets?series=KXETH15M',
      `/v3/gaps?key=${B_ETH}`,
    ]) {
      const { status, body } = await ask(url)
      expect([url, status, body.data]).toEqual([url, 200, []])
      expect(await codes(url)).toEqual(['plan_required'])
      expect(body.meta.notice).toMatchObject({ plan: 'quant' })
    }
    for (const url of ['/v3/markets', '/v3/venueb/markets', '/v3/gaps', '/v3/coverage']) {
      expect([url, await codes(url)]).toEqual([url, ['plan_required']])
    }
    expect(await codes('/v3/markets?q=nosuchname')).toEqual(['no_markets'])
    expect(await codes('/v3/btc/markets')).toEqual([])
    expect((await ask('/v3/markets', 'quant')).body.meta.notice).toBeUndefined()
  })

  it('but not what is missing of the history of its own tokens', async () => {
    const { ask, test } = await server()
    const place = { venue: 'venuec', scope: 'instrument', reason: 'retention' } as const
    const histories = [
      { market: C_MARKET, key: toBackfillKey('77001') },
      { market: C_ETH, key: toBackfillKey('77002') },
    ]
    await test.store.append({
      venue: 'venuec',
      position: 3000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      trades: histories.map((names, index) => ({
        kind: 'trade',
        instrument: { venue: 'venuec', ...names },
        tradeId: `past-${index}`,
        price: parsePrice('0.4', VENUES.venuec.priceDecimals),
        size: parseSize('1', VENUES.venuec.sizeDecimals),
        taker: 'buy',
        received: at(50),
        journal: 2999,
      })),
      gaps: histories.map(({ key }) => {
        return { ...place, key, start: at(60), end: at(61), afterSequence: 0, journal: 2999 }
      }),
    })
    const url = '/v3/gaps?venue=venuec&reason=retention'
    const keysOf = async (plan: string) => (await ask(url, plan)).body.data.map(({ key }) => key)
    expect(await keysOf('explorer')).toEqual([histories[0]!.key])
    expect(await keysOf('quant')).toEqual(histories.map(({ key }) => key))
  })

  it('by a calendar of its own markets', async () => {
    const { ask, codes } = await server()
    const days = '/v3/coverage/days?venue=venueb&start_time=2026-08-05T00:00:00Z'
    const [all] = (await ask(days, 'quant')).body.data
    const [own] = (await ask(days)).body.data
    expect([all!['markets'], all!['observations']]).toEqual([2, 6])
    expect([own!['markets'], own!['observations'], own!['gap_ms']]).toEqual([1, 5, 10_000])
    expect(await codes(days)).toEqual(['plan_required'])
  })

  it('by a calendar with the gaps of the whole venue', async () => {
    const { test, ask } = await server()
    const url = '/v3/coverage/days?venue=venueb&start_time=2026-08-05T00:00:00Z'
    const reasons = async (plan: string) => {
      const [day] = (await ask(url, plan)).body.data
      const all = day!['reasons'] as { reason: string; gaps: number; gap_ms: number }[]
      return all.find(({ reason }) => reason === 'recorder_down')
    }
    expect([await reasons('quant'), await reasons('explorer')]).toEqual([undefined, undefined])
    const gap = { venue: 'venueb', scope: 'venue', key: '', reason: 'recorder_down' } as const
    const place = { afterSequence: 0, journal: 2999 }
    await test.store.append({
      venue: 'venueb',
      position: 3000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      // The second one is still open; it lasts until now.
      gaps: [
        { ...gap, ...place, start: at(60), end: at(75) },
        { ...gap, ...place, start: at(80) },
      ],
    })
    const all = await reasons('quant')
    expect(all).toMatchObject({ gaps: 2 })
    expect(all!.gap_ms).toBeGreaterThan(15_000)
    expect(await reasons('explorer')).toEqual(all)
  })

  it('on the stream', async () => {
    const { test } = await server()
    const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
    const key = test.keyOf('explorer')
    const client = await new StreamClient(`ws://127.0.0.1:${port}/v3/stream`, { key }).open()
    await client.next('welcome')
    client.send({ op: 'subscribe', id: 'eth', venue: 'venueb', asset: 'eth' })
    client.send({ op: 'subscribe', id: 'series', venue: 'venueb', series: 'KXETH15M' })
    client.send({ op: 'subscribe', id: 'a', venue: 'venuea' })
    await client.until(() => client.messages.length > 3)
    expect(client.messages.slice(1)).toMatchObject(
      ['eth', 'series', 'a'].map((id) => ({ type: 'error', id, code: 'plan_required' })),
    )
    client.send({ op: 'subscribe', id: 'b', venue: 'venueb' })
    await client.until(() => client.messages.length > 4)
    expect(client.messages[4]).toMatchObject({
      type: 'subscribed',
      notice: { code: 'plan_required' },
    })
    client.send({
      op: 'replay',
      id: 'r',
      markets: [{ venue: 'venueb' }],
      start_time: '2026-08-05T11:00:00Z',
      end_time: '2026-08-05T12:06:00Z',
      speed: 'max',
    })
    await client.until(() => client.messages.some(({ type }) => type === 'replay_state'))
    const state = client.messages.find(({ type }) => type === 'replay_state')
    expect(JSON.stringify(state)).toContain('plan_required')
  })
})
