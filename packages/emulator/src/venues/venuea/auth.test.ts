import { describe, expect, it } from 'vitest'
import { createAuth, sign } from './auth.ts'
import { EMULATED_VENUE_A } from './index.ts'
import { tooManyRequests } from './refusal.ts'
import { CREDENTIALS, handshake, request, signed } from './signed.testing.ts'
import { createTestWire, createTestWorld } from './world.testing.ts'

describe('the check of key, clock and signature', () => {
  const world = createTestWorld('venuea')
  const upstream = EMULATED_VENUE_A.create(world, { speed: 1, credentials: CREDENTIALS })
  const good = signed(world, 'category/list')

  function codeOf(asked: typeof good): [number, unknown] {
    const { status, body } = upstream.answer(asked)
    return [status, (JSON.parse(body) as { code?: number }).code]
  }

  function at(timestamp: number, recvWindow?: string): typeof good {
    const query = new URLSearchParams({ timestamp: String(timestamp) })
    if (recvWindow !== undefined) query.set('recvWindow', recvWindow)
    query.set('signature', sign(query.toString(), CREDENTIALS.apiSecret))
    return request(good.path, query)
  }

  it('takes a good request', () => {
    expect(codeOf(good)).toEqual([200, undefined])
  })

  it('refuses in the words of the venue', () => {
    expect(codeOf({ ...good, headers: {} })).toEqual([401, -2014])
    expect(codeOf({ ...good, headers: { 'x-mbx-apikey': 'another' } })).toEqual([400, -2008])
    const forged = new URLSearchParams(good.query)
    forged.set('signature', '0'.repeat(64))
    expect(codeOf({ ...good, query: forged })).toEqual([400, -1022])
    const changed = new URLSearchParams([['limit', '5'], ...good.query])
    expect(codeOf({ ...good, query: changed })).toEqual([400, -1022])
    expect(codeOf({ ...good, query: new URLSearchParams() })).toEqual([400, -1102])
    const unsigned = new URLSearchParams({ timestamp: String(world.at) })
    expect(codeOf({ ...good, query: unsigned })).toEqual([400, -1102])
  })

  it('takes a timestamp within the window and not a second ahead', () => {
    expect(codeOf(at(world.at - 5_000))).toEqual([200, undefined])
    expect(codeOf(at(world.at - 5_001))).toEqual([400, -1021])
    expect(codeOf(at(world.at - 59_000, '60000'))).toEqual([200, undefined])
    expect(codeOf(at(world.at - 59_000, '60001'))).toEqual([400, -1131])
    expect(codeOf(at(world.at + 999))).toEqual([200, undefined])
    expect(codeOf(at(world.at + 1_000))).toEqual([400, -1021])
  })

  it('takes percent signs where the query has a plus', () => {
    const text = `query=Up%20or%20Down&timestamp=${world.at}`
    const query = new URLSearchParams(`${text}&signature=${sign(text, CREDENTIALS.apiSecret)}`)
    const asked = request(good.path.replace('category/list', 'market/search'), query)
    expect(upstream.answer(asked).status).toBe(200)
  })

  it('wants the parameters of the socket sorted', () => {
    const wire = createTestWire()
    const topic = 'web3_prediction_orderbook_1|web3_prediction_orderbook_2'
    const sorted = handshake(world, topic)
    expect(upstream.accept(sorted, wire)).toHaveProperty('onText')
    // The order of the url does not matter, that of the signed text does.
    const url = new URLSearchParams([...sorted.query].reverse())
    expect(upstream.accept({ ...sorted, query: url }, wire)).toHaveProperty('onText')
    const unsorted = new URLSearchParams({ topic, timestamp: String(world.at), random: '1' })
    unsorted.set('signature', sign(unsorted.toString(), CREDENTIALS.apiSecret))
    expect(upstream.accept({ ...sorted, query: unsorted }, wire)).toMatchObject({ status: 400 })
    expect(upstream.accept({ ...sorted, headers: {} }, wire)).toMatchObject({ status: 401 })
  })

  it('needs both credentials from whoever starts it', () => {
    expect(() => createAuth(world, { apiKey: 'alone' })).toThrow(/apiKey and apiSecret/)
  })

  it('has words for a spent quota', () => {
    const { status, body, headers } = tooManyRequests(7)
    expect([status, headers?.['retry-after']]).toEqual([429, '7'])
    expect(JSON.parse(body)).toMatchObject({ code: -1003 })
    expect(upstream.quotas['default']).toEqual({ limit: 60, windowMs: 60_000 })
    const refusals = (['quota', 'outage', 'signature'] as const).map((why) => {
      const answer = EMULATED_VENUE_A.refusal(why)
      return [answer.status, (JSON.parse(answer.body) as { code: number }).code]
    })
    expect(refusals).toEqual([
      [429, -1003],
      [503, -1001],
      [400, -1021],
    ])
  })
})
