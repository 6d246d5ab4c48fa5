import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Micros } from '@priorbook/sdk/domain'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { WebSocket } from 'ws'
import { ManualClock } from '../../lib/clock.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { createRecord, INSTRUMENTS } from '../../store/store-script.testing.ts'
import { createTestServer, type TestServer } from '../server.testing.ts'
import type { ApiServerOptions } from '../server.ts'
import { StreamClient } from './stream.testing.ts'

type Listening = TestServer & { readonly url: string; readonly port: number }

const { venue, market } = INSTRUMENTS[1]!
const SUBSCRIBE = { op: 'subscribe', id: 's', venue, market_id: market } as const

async function start(options: Partial<ApiServerOptions> = {}): Promise<Listening> {
  const test = await createTestServer(options)
  const received = (Date.now() * 1000) as Micros
  const soon = (received + 3_600_000_000) as Micros
  await test.store.append({
    venue,
    position: 1,
    origin: 'live',
    recorder: 'r1',
    normalizer: 1,
    revisions: [
      {
        kind: 'market',
        received,
        journal: 1,
        record: createRecord(INSTRUMENTS[1]!, '1', {
          seriesTicker: 'KXBTC',
          openTime: received,
          closeTime: soon,
        }),
      },
    ],
  })
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  return { ...test, port, url: `ws://127.0.0.1:${port}/v3/stream` }
}

/** Starts a server whose time passes only when the test advances the clock. */
async function startWithClock(): Promise<Listening & { readonly clock: ManualClock }> {
  const clock = new ManualClock(Date.now() * 1000)
  const test = await start({ now: () => clock.now(), stream: { clock } })
  return { ...test, clock }
}

async function connected(test: Listening, plan = 'quant'): Promise<StreamClient> {
  const client = await new StreamClient(test.url, { key: test.keyOf(plan) }).open()
  await client.next('welcome')
  return client
}

describe('a key', () => {
  it('may come in a header, as a subprotocol, or in the first message', async () => {
    const test = await start()
    const key = test.keyOf('quant')
    const protocols = ['priorbook.v3', `priorbook.key.${key}`]
    const browser = await new StreamClient(test.url, { protocols }).open()
    expect(await browser.next('welcome')).toMatchObject({ plan: 'quant' })
    expect(browser.socket.protocol).toBe('priorbook.v3')
    const late = await new StreamClient(test.url).open()
    late.send({ op: 'auth', key })
    expect(await late.next('welcome')).toMatchObject({
      limits: { subscriptions: 50, instruments: 2000, replays: 4 },
    })
    late.send({ op: 'auth', key })
    expect(await late.next('error')).toMatchObject({ code: 'already_authenticated' })
    expect(test.logs.join('\n')).not.toContain(key)
  })

  it('ends the connection with a code when it is wrong, missing or late', async () => {
    const test = await startWithClock()
    const wrong = `pb_live_${'x'.repeat(36)}`
    const header = new StreamClient(test.url, { key: wrong })
    await header.open()
    expect(header.socket.readyState).not.toBe(header.socket.OPEN)
    const protocols = ['priorbook.v3', `priorbook.key.${wrong}`]
    const browser = new StreamClient(test.url, { protocols })
    expect(await browser.next('error')).toMatchObject({ code: 'invalid_key' })
    expect(await browser.close()).toEqual({ code: 4401, reason: 'unauthenticated' })
    const early = await new StreamClient(test.url).open()
    early.send({ op: 'ping' })
    expect(await early.next('error')).toMatchObject({ code: 'missing_key' })
    expect((await early.close()).code).toBe(4401)
    const silent = await new StreamClient(test.url).open()
    await test.clock.advance(5000)
    expect(silent.messages).toEqual([])
    await test.clock.advance(500)
    expect(await silent.next('error')).toMatchObject({ code: 'auth_timeout' })
    expect((await silent.close()).code).toBe(4408)
    expect(test.logs.join('\n')).not.toContain(wrong)
  })

  it('closes its connections within 2 s when it is revoked or expires', async () => {
    const test = await startWithClock()
    const made = test.access.keys.create({ plan: 'quant', name: 'short' })
    const client = await new StreamClient(test.url, { key: made.key }).open()
    await client.next('welcome')
    const other = await connected(test)
    test.access.keys.revoke(made.id)
    await test.clock.advance(2000)
    expect(await client.next('error')).toMatchObject({ code: 'revoked_key' })
    expect(await client.close()).toEqual({ code: 4410, reason: 'revoked' })
    const expires = (test.clock.now() + 700_000) as Micros
    const { key } = test.access.keys.create({ plan: 'quant', name: 'short', expires })
    const brief = await new StreamClient(test.url, { key }).open()
    await brief.next('welcome')
    await test.clock.advance(2700)
    expect(await brief.next('error')).toMatchObject({ code: 'expired_key' })
    expect((await brief.close()).code).toBe(4410)
    other.send({ op: 'ping' })
    expect(await other.next('pong')).toMatchObject({ nonce: null })
  })

  it('ends its connections when the operator changes what its plan includes, or removes it', async () => {
    const test = await startWithClock()
    const file = join(test.path, 'plans.json')
    const team = {
      rank: 1,
      venues: ['venueb', 'venuec'],
      assets: null,
      days: null,
      per_second: 50,
      per_minute: null,
      features: [],
    }
    const write = (plans: object): void => writeFileSync(file, JSON.stringify({ plans }))
    write({ team })
    await test.clock.advance(1000)
    const client = await connected(test, 'team')
    // Rates are not terms of a connection.
    write({ team: { ...team, per_second: 5 } })
    await test.clock.advance(2000)
    client.send({ op: 'ping' })
    await client.next('pong')
    write({ team: { ...team, venues: ['venuec'] } })
    await test.clock.advance(2000)
    expect(await client.next('error')).toMatchObject({ code: 'plan_required' })
    expect((await client.close()).code).toBe(4403)
    const other = await connected(test, 'team')
    write({})
    await test.clock.advance(2000)
    expect(await other.next('error')).toMatchObject({ code: 'plan_required' })
    expect((await other.close()).code).toBe(4403)
  })

  it('has the connections, subscriptions and instruments of its plan', async () => {
    const test = await startWithClock()
    const key = test.keyOf('explorer')
    const first = await new StreamClient(test.url, { key }).open()
    await first.next('welcome')
    first.send({ op: 'subscribe', id: 'a', venue: 'venuea' })
    expect(await first.next('error')).toMatchObject({
      code: 'plan_required',
      id: 'a',
      plan: 'quant',
    })
    first.send({ op: 'subscribe', id: 'eth', venue: 'venueb', series: 'KXETH' })
    expect(await first.next('error')).toMatchObject({ code: 'plan_required' })
    first.send(SUBSCRIBE)
    expect(await first.next('subscribed')).toMatchObject({ id: 's' })
    const busy = await new StreamClient(test.url, { key }).open()
    // One request per second: the second connection comes too soon.
    expect(busy.socket.readyState).not.toBe(busy.socket.OPEN)
    const open = (): StreamClient =>
      new StreamClient(test.url, { protocols: ['priorbook.v3', `priorbook.key.${desk}`] })
    const desk = test.keyOf('unlimited')
    const terms = test.access.plans.find('unlimited')!.stream
    const before = { ...terms }
    onTestFinished(() => void Object.assign(terms, before))
    Object.assign(terms, { connections: 2, subscriptions: 1, instruments: 0 })
    const one = open()
    await one.next('welcome')
    const two = open()
    await two.next('welcome')
    const three = open()
    expect(await three.next('error')).toMatchObject({ code: 'too_many_connections' })
    expect((await three.close()).code).toBe(4403)
    one.send(SUBSCRIBE)
    expect(await one.next('error')).toMatchObject({ code: 'too_many_instruments', id: 's' })
    Object.assign(terms, { instruments: 1 })
    one.send(SUBSCRIBE)
    await one.next('subscribed')
    one.send({ ...SUBSCRIBE, id: 'second' })
    expect(await one.next('error')).toMatchObject({ code: 'too_many_subscriptions' })
    two.socket.close()
    await two.close()
    await expect(welcomed(open)).resolves.toBe(true)
  })

  it('counts subscriptions to books and to reference prices together', async () => {
    const test = await start()
    const received = (Date.now() * 1000) as Micros
    const key = 'reference/exchange/BTC'
    const instrument = { venue: 'venuec', market: 'reference', key } as const
    const head = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
    const price = { kind: 'sample', metric: 'price', value: '1', received, journal: 1 } as const
    const samples = [{ ...price, instrument }]
    await test.store.append({ ...head, venue: 'venuec', position: 1, samples })
    const terms = test.access.plans.find('unlimited')!.stream
    const before = { ...terms }
    onTestFinished(() => void Object.assign(terms, before))
    Object.assign(terms, { subscriptions: 1 })
    const prices = { op: 'subscribe_reference', id: 'p', asset: 'btc' } as const
    for (const [first, second] of [
      [prices, SUBSCRIBE],
      [SUBSCRIBE, prices],
    ] as const) {
      const client = await connected(test, 'unlimited')
      client.send(first)
      await client.next('subscribed')
      client.send(second)
      expect(await client.next('error')).toMatchObject({
        code: 'too_many_subscriptions',
        id: second.id,
      })
    }
  })
})

describe('an invalid message', () => {
  const cases: readonly (readonly [code: string, message: string | object])[] = [
    ['malformed_message', '{'],
    ['malformed_message', '[]'],
    ['malformed_message', 'null'],
    ['unknown_op', { op: 'sing' }],
    ['unknown_op', {}],
    ['invalid_parameter', { ...SUBSCRIBE, id: undefined }],
    ['invalid_parameter', { ...SUBSCRIBE, id: '' }],
    ['invalid_parameter', { ...SUBSCRIBE, id: 'x'.repeat(65) }],
    ['invalid_parameter', { ...SUBSCRIBE, venue: 'venuex' }],
    ['invalid_parameter', { ...SUBSCRIBE, series: 'KXBTC' }],
    ['invalid_parameter', { ...SUBSCRIBE, mode: 'some' }],
    ['invalid_parameter', { ...SUBSCRIBE, mode: 'changes', depth: 3 }],
    ['invalid_parameter', { ...SUBSCRIBE, depth: 0 }],
    ['invalid_parameter', { ...SUBSCRIBE, datasets: [] }],
    ['invalid_parameter', { ...SUBSCRIBE, datasets: ['books', 'books'] }],
    ['invalid_parameter', { ...SUBSCRIBE, conflate_ms: 1 }],
    ['invalid_parameter', { ...SUBSCRIBE, conflate_ms: '100' }],
    ['invalid_parameter', { ...SUBSCRIBE, resume: [1] }],
    ['invalid_parameter', { ...SUBSCRIBE, resume: { a: -1 } }],
    ['unknown_parameter', { ...SUBSCRIBE, speed: 3 }],
    ['unknown_market', { ...SUBSCRIBE, market_id: 'NOPE' }],
    ['unknown_market', { ...SUBSCRIBE, market_id: market.toLowerCase() }],
    ['unknown_market', { op: 'subscribe', id: 's', venue, series: 'KXNONE' }],
    ['unknown_asset', { op: 'subscribe', id: 's', venue: 'venuec', asset: 'doge' }],
    ['unknown_id', { op: 'unsubscribe', id: 'none' }],
    ['unknown_id', { op: 'pause', id: 'none' }],
    ['unknown_id', { op: 'seek', id: 'none', time: '2026-08-05T12:00:00Z' }],
    ['invalid_parameter', { op: 'seek', id: 'none' }],
    ['invalid_parameter', { op: 'replay', id: 'r', markets: [] }],
    ['unknown_parameter', { op: 'ping', nonsense: 1 }],
  ]

  it('gets a typed error, and the connection continues', async () => {
    const test = await start()
    const client = await connected(test, 'unlimited')
    for (const [code, message] of cases) {
      client.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
      expect([message, await client.next('error')]).toMatchObject([message, { code }])
    }
    client.socket.send(Buffer.from([1, 2, 3]))
    expect(await client.next('error')).toMatchObject({ code: 'malformed_message' })
    client.send(SUBSCRIBE)
    expect(await client.next('subscribed')).toMatchObject({ markets: 1, instruments: 1 })
    client.send(SUBSCRIBE)
    expect(await client.next('error')).toMatchObject({ code: 'duplicate_id', id: 's' })
    client.send({ ...SUBSCRIBE, id: 'twice' })
    expect(await client.next('error')).toMatchObject({ code: 'already_subscribed', id: 'twice' })
    client.send({ ...SUBSCRIBE, id: 'low', market_id: market.toLowerCase() })
    const { hint } = await client.next('error')
    expect(hint).toContain(market)
    client.send({ op: 'ping', nonce: 'still' })
    expect(await client.next('pong')).toMatchObject({ nonce: 'still' })
  })

  it('ends the connection when it is too long or one of too many', async () => {
    const test = await start()
    const long = await connected(test)
    long.send({ op: 'ping', nonce: 'x'.repeat(70_000) })
    expect(await long.next('error')).toMatchObject({ code: 'message_too_large' })
    expect((await long.close()).code).toBe(1009)
    const huge = await connected(test)
    huge.socket.send('x'.repeat(2_000_000))
    expect((await huge.close()).code).toBe(1009)
    const flood = await connected(test)
    for (let count = 0; count < 400; count++) flood.send({ op: 'ping' })
    await flood.until(() => flood.messages.some(({ type }) => type === 'error'))
    expect(flood.messages.find(({ type }) => type === 'error')).toMatchObject({ code: 'flooding' })
    expect((await flood.close()).code).toBe(4430)
  })

  it('to the address without an upgrade gets 426', async () => {
    const test = await start()
    const key = test.keyOf('quant')
    const asked = await test.ask('/v3/stream', { key })
    expect([asked.status, asked.json()['code']]).toEqual([426, 'upgrade_required'])
    expect((await test.ask('/v3/stream')).status).toBe(401)
    // An upgrade to another protocol is ignored.
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(test.port, '127.0.0.1')
      socket.write(
        'GET /v3/health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
      )
      socket.once('data', (data) => {
        resolve(data.toString())
        socket.destroy()
      })
    })
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('a connection', () => {
  it('sends heartbeats, and ends when two pings are not answered', async () => {
    const test = await startWithClock()
    const client = await connected(test)
    await test.clock.advance(9600)
    expect(client.messages).toHaveLength(1)
    await test.clock.advance(400)
    expect(await client.next('heartbeat')).toMatchObject({ sent: 1 })
    ;(client.socket as unknown as { _autoPong: boolean })._autoPong = false
    await test.clock.advance(35_000)
    expect(client.closed).toBeUndefined()
    await test.clock.advance(15_000)
    expect((await client.close()).code).toBe(1006)
  })

  it('without a key gets the demo, with small limits', async () => {
    const test = await start()
    const demo = await start({ demo: { store: test.store, notice: { code: 'n', message: 'N' } } })
    const url = demo.url.replace('/v3/', '/v3/demo/')
    const client = await new StreamClient(url).open()
    expect(await client.next('welcome')).toMatchObject({
      plan: 'demo',
      limits: { subscriptions: 3, instruments: 200, replays: 1 },
      notice: { code: 'n' },
    })
    client.send(SUBSCRIBE)
    await client.next('snapshots_done')
    const none = new StreamClient(test.url.replace('/v3/', '/v3/demo/'))
    await none.open()
    expect(none.socket.readyState).not.toBe(none.socket.OPEN)
  })

  it('leaves no subscription behind when it ends while subscribing', async () => {
    const { store } = await start()
    const reached = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const slow = followedBy(store, async () => {
      reached.resolve()
      await gate.promise
      return store.follow()
    })
    const test = await start({ store: slow })
    const client = await connected(test)
    client.send(SUBSCRIBE)
    await reached.promise
    client.socket.terminate()
    const pulse = () => test.server.stream.pulse()
    await expect.poll(() => pulse().connections).toBe(0)
    gate.resolve()
    const next = await connected(test)
    next.send(SUBSCRIBE)
    await next.next('snapshots_done')
    expect(pulse()).toMatchObject({ connections: 1, subscriptions: 1 })
    next.socket.terminate()
    await expect.poll(() => pulse()).toMatchObject({ connections: 0, subscriptions: 0 })
  })

  it('is not read while many of its requests wait, and all of them are answered', async () => {
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const folder = createTempFolder()
    const own = openEmbeddedStore({ file: join(folder, 'tape.db') })
    onTestFinished(() => own.close())
    const store = new Proxy(own, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        const bound = value.bind(target) as (...all: unknown[]) => unknown
        return name !== 'market'
          ? bound
          : async (...all: unknown[]) => gate.then(() => bound(...all))
      },
    })
    const test = await start({ store })
    const pauses = vi.spyOn(WebSocket.prototype, 'pause')
    const resumes = vi.spyOn(WebSocket.prototype, 'resume')
    onTestFinished(() => void vi.restoreAllMocks())
    const client = await connected(test)
    client.send(SUBSCRIBE)
    for (let count = 0; count < 100; count++) client.send({ op: 'ping', nonce: String(count) })
    await expect.poll(() => pauses.mock.calls.length).toBe(1)
    expect(resumes).not.toHaveBeenCalled()
    expect(client.messages.map(({ type }) => type)).toEqual(['welcome'])
    release()
    const pongs = (): unknown[] => client.messages.filter(({ type }) => type === 'pong')
    await client.until(() => pongs().length === 100)
    expect(resumes).toHaveBeenCalled()
  })

  it('continues when a subscription cannot be opened, and may retry', async () => {
    const { store } = await start()
    let attempts = 0
    const failing = followedBy(store, () => {
      if (++attempts === 1) throw new Error('the disk has gone for a moment')
      return store.follow()
    })
    const test = await start({ store: failing })
    const client = await connected(test)
    client.send(SUBSCRIBE)
    expect(await client.next('error')).toMatchObject({ code: 'internal_error', id: 's' })
    expect(test.server.stream.pulse()).toMatchObject({ connections: 1, subscriptions: 0 })
    expect(test.logs.join()).toContain('the disk has gone')
    client.send(SUBSCRIBE)
    expect(await client.next('snapshots_done')).toMatchObject({ id: 's' })
  })

  it('is counted for its key', async () => {
    const test = await start()
    const made = test.access.keys.create({ plan: 'quant', name: 'counted' })
    const client = await new StreamClient(test.url, { key: made.key }).open()
    await client.next('welcome')
    client.send(SUBSCRIBE)
    await client.next('snapshots_done')
    client.socket.close()
    await client.close()
    let rows = test.access.usage.read(made.id, 0)
    while ((rows[0]?.bytes ?? 0) === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      rows = test.access.usage.read(made.id, 0)
    }
    expect(rows).toMatchObject([{ route: 'stream', requests: 1, refused: 0 }])
  })
})

/** A store with another `follow`. */
function followedBy(store: EmbeddedStore, follow: () => ReturnType<EmbeddedStore['follow']>) {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = name === 'follow' ? follow : Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

// A closed connection is counted until the server has noticed that it closed.
async function welcomed(open: () => StreamClient): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const client = open()
    await client.until(() => client.messages.length > 0)
    if (client.messages[0]!.type === 'welcome') return true
  }
  return false
}
