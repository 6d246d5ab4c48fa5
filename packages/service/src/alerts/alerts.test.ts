import { createHmac } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { MarketRecord, Micros } from '@priorbook/sdk/domain'
import type { AlertCreatedJson, AlertDeliveryJson, AlertEventJson } from '@priorbook/sdk/wire'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CONTROL_FILE, copyDatabase, openControl } from '../api/auth/control.ts'
import {
  after,
  createContractStore,
  MarketWriter,
  ROUND_ID,
  roundOfA,
  roundOfB,
  roundOfC,
} from '../api/contracts/contract-tape.testing.ts'
import { createCursorCodec } from '../api/cursor.ts'
import { createTestServer, type TestServer } from '../api/server.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { createTempFolder } from '../store/embedded/temp-folder.testing.ts'
import type { Store } from '../store/store.ts'
import { openAlerts, type AlertOptions } from './alert-worker.ts'
import type { KeySource } from './key-owners.ts'

const ALERTS_PAGE = '../../../../docs/reference/alerts.md'

type Received = { readonly headers: IncomingHttpHeaders; readonly body: string }

/** A receiver that answers with the given statuses in turn, and then with 200. */
async function createReceiver(statuses: number[] = []): Promise<{
  readonly url: string
  readonly received: Received[]
}> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      received.push({ headers: request.headers, body })
      const status = statuses.shift() ?? 200
      response.writeHead(status, status === 302 ? { location: 'http://127.0.0.1:1/' } : {})
      response.end()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received }
}

type Home = TestServer & {
  readonly key: string
  clock: Micros
  create(rule: object, key?: string): Promise<AlertCreatedJson>
  deliveries(id: string, key?: string): Promise<readonly AlertDeliveryJson[]>
  /** Waits until a rule has `count` events; gives them oldest first. */
  events(id: string, count: number): Promise<readonly AlertEventJson[]>
}

async function open(store: Store, options: Partial<AlertOptions> = {}): Promise<Home> {
  const home = { clock: after(0) }
  const path = createTempFolder()
  const now = (): Micros => home.clock
  // Rules and routes share keys, which the server opens.
  const source: KeySource = {
    get knownKeys() {
      return test.access.knownKeys
    },
    get plans() {
      return test.access.plans
    },
  }
  const alerts = openAlerts(
    {
      file: join(path, 'alerts.db'),
      queue: 1000,
      allowNetworks: ['127.0.0.0/8'],
      timeoutMs: 2000,
      retryMinMs: 5,
      retryMaxMs: 20,
      giveUpMs: 60_000,
      ...options,
    },
    source,
    now,
  )
  const test: TestServer = await createTestServer({ store, path, now, alerts: alerts.rules })
  const errors: unknown[] = []
  const cursors = createCursorCodec([Buffer.from('secret')])
  alerts.start({ store, cursors, now }, (error) => errors.push(error))
  onTestFinished(async () => {
    await alerts.stop()
    expect(errors).toEqual([])
  })
  // Without a limit: tests ask until something has happened, by a clock that stands still.
  const key = test.keyOf('unlimited')
  const json = { 'content-type': 'application/json' }
  const deliveries: Home['deliveries'] = async (id, by = key) => {
    const answer = await test.ask(`/v3/alerts/${id}/deliveries?limit=1000`, { key: by })
    return answer.json()['data'] as AlertDeliveryJson[]
  }
  const made: Home = {
    ...test,
    key,
    get clock() {
      return home.clock
    },
    set clock(at) {
      home.clock = at
    },
    async create(rule, by = key) {
      const body = JSON.stringify(rule)
      const answer = await test.ask('/v3/alerts', { key: by, method: 'POST', headers: json, body })
      expect(answer.json()).toMatchObject({ data: expect.anything() as unknown })
      return answer.json()['data'] as AlertCreatedJson
    },
    deliveries,
    async events(id, count) {
      for (;;) {
        const found = await deliveries(id)
        if (found.length >= count) return found.map(({ event }) => event).reverse()
        await pause(10)
      }
    },
  }
  return made
}

const B = roundOfB()
const MARKET = { venue: 'venueb', market_id: B.marketId }
const middle = (price: number): readonly [[[string, string]], [[string, string]]] => [
  [[(price - 0.01).toFixed(2), '10']],
  [[(price + 0.01).toFixed(2), '20']],
]

/** A rule about the edge of a contract, with equal books of venues A and B. */
async function openEdge(records: readonly MarketRecord[]) {
  const store = await createContractStore(records.map((record) => ({ record })))
  const { url: webhook } = await createReceiver()
  const home = await open(store)
  const [a, b] = [new MarketWriter(store, records[0]!), new MarketWriter(store, records[1]!)]
  for (const writer of [a, b]) await writer.book(1, [['0.50', '10']], [['0.52', '10']])
  home.clock = after(2)
  const rule = { kind: 'edge', contract_id: ROUND_ID, above: '0.05', webhook }
  const { alert_id: id } = await home.create(rule)
  return { home, a, b, id }
}

describe('a rule', () => {
  it('fires when the value passes the threshold, again after it came back, and never over a gap', async () => {
    const store = await createContractStore([{ record: B }])
    const { url, received } = await createReceiver()
    const home = await open(store)
    const writer = new MarketWriter(store, B)
    await writer.book(1, ...middle(0.4))
    home.clock = after(2)
    const rule = { ...MARKET, kind: 'price', above: '0.5', rearm: '0.05', webhook: url, name: 'up' }
    const { alert_id: id } = await home.create(rule)
    // Sequences from 1: 0.4, then these.
    await writer.book(3, ...middle(0.6)) // 2 fires
    await writer.book(4, ...middle(0.48)) // not far enough
    await writer.book(5, ...middle(0.7)) // still fired
    await writer.book(6, ...middle(0.45)) // armed again
    await writer.book(7, ...middle(0.51)) // 6 fires
    await writer.book(8, ...middle(0.3)) // armed
    await writer.gap('instrument', 8, 9, 7)
    await writer.book(9, ...middle(0.8)) // the first after a gap
    await writer.book(10, ...middle(0.4)) // armed
    await writer.gap('venue', 10, 11, 0)
    await writer.book(12, ...middle(0.9)) // the first after a gap of the venue
    await writer.book(13, ...middle(0.2))
    await writer.book(14, ...middle(0.55)) // 12 fires
    const events = await home.events(id, 3)
    expect(events.map(({ row_id }) => row_id)).toEqual(
      [2, 6, 12].map((sequence) => `venueb:${B.marketId}:${sequence}`),
    )
    expect(events.map(({ value }) => value)).toEqual(['0.6', '0.51', '0.55'])
    expect(events[0]).toMatchObject({ kind: 'price', above: '0.5', name: 'up', number: 1 })
    // Rows are read in order, so that the last event shows that no other one came before.
    expect(events).toHaveLength(3)
    while (received.length < 3) await pause(5)
    expect(received.map(({ body }) => JSON.parse(body) as unknown)).toEqual(events)
  })

  it('watches spread, depth, gaps and the resolution of a market', async () => {
    const store = await createContractStore([{ record: B }])
    const { url: webhook } = await createReceiver()
    const home = await open(store)
    const writer = new MarketWriter(store, B)
    await writer.book(1, [['0.40', '10']], [['0.45', '20']])
    home.clock = after(2)
    const spread = await home.create({ ...MARKET, kind: 'spread', above: '0.1', webhook })
    const thin = { ...MARKET, kind: 'depth', side: 'bid', within: '0.02', below: 9, webhook }
    const depth = await home.create(thin)
    const gap = await home.create({ ...MARKET, kind: 'gap', webhook })
    const resolved = await home.create({ ...MARKET, kind: 'resolved', webhook })
    // Levels at 0.30 and 0.28 count, that at 0.27 does not.
    const deep: [string, string][] = [
      ['0.30', '5'],
      ['0.28', '3.5'],
      ['0.27', '100'],
    ]
    await writer.book(3, deep, [['0.45', '20']])
    await writer.gap('instrument', 3, undefined, 2)
    expect(await home.events(spread.alert_id, 1)).toMatchObject([{ value: '0.15' }])
    expect(await home.events(depth.alert_id, 1)).toMatchObject([{ value: '8.5', below: '9' }])
    await home.events(gap.alert_id, 1)
    await writer.gap('instrument', 3, 8, 2)
    const gaps = await home.events(gap.alert_id, 2)
    expect(gaps.map((event) => event.gap?.moment)).toEqual(['begun', 'ended'])
    expect(gaps[1]!.gap!.gap).toMatchObject({ reason: 'disconnected', after_sequence: 2 })
    await writer.record({ ...B, status: 'resolved', winningOutcome: 'Yes' }, 20)
    expect(await home.events(resolved.alert_id, 1)).toMatchObject([
      { kind: 'resolved', resolution: { status: 'resolved', winning_outcome: 'Yes' } },
    ])
  })

  it('watches the edge between venues, after fees', async () => {
    const { home, b, id } = await openEdge([roundOfA(), B, roundOfC()])
    await b.book(3, [['0.70', '10']], [['0.72', '10']])
    const [event] = await home.events(id, 1)
    // Yes of A at 0.52 and No of B at 0.30 cost 0.82, and fees less than 0.05.
    expect(Number(event!.value)).toBeGreaterThan(0.13)
    expect(Number(event!.value)).toBeLessThan(0.18)
    expect(event!.edge).toMatchObject({
      contract_id: ROUND_ID,
      yes_row: expect.stringMatching(/^venuea:.*:1$/) as unknown,
      no_row: `venueb:${B.marketId}:2`,
    })
    // The route that searches the past finds the same edge at the same time.
    home.clock = after(10)
    const path = `/v3/contracts/${ROUND_ID}/spreads?min_edge=0.05&start_time=${after(0)}&number_format=string`
    const [found] = (await home.ask(path, { key: home.key })).json()['data'] as object[]
    expect(found).toMatchObject({ best_edge: event!.value, start_time: event!.time })
  })

  it('uses the fees that a record named when a book was received', async () => {
    const { home, a, b, id } = await openEdge([roundOfA(), B])
    await b.book(3, [['0.70', '10']], [['0.72', '10']])
    await home.events(id, 1)
    await b.book(4, [['0.50', '10']], [['0.52', '10']])
    const free = {
      ...roundOfA(),
      native: { topic: { chartType: 'CRYPTO_UP_DOWN', feeRateBps: 0 } },
    }
    await a.record(free, 5)
    await b.book(6, [['0.70', '10']], [['0.72', '10']])
    const [before, now] = await home.events(id, 2)
    // 2 % of the smaller of the price and what is left of 1, in shares, is what venue A took before.
    expect(Number(now!.value) - Number(before!.value)).toBeGreaterThan(0.004)
    home.clock = after(10)
    const path = `/v3/contracts/${ROUND_ID}/spreads?min_edge=0.05&start_time=${after(0)}&number_format=string`
    const found = (await home.ask(path, { key: home.key })).json()['data'] as object[]
    expect(found).toMatchObject([{ best_edge: before!.value }, { best_edge: now!.value }])
  })

  it('watches every market of a family, also those that open later', async () => {
    const store = await createContractStore([{ record: B }])
    const { url: webhook } = await createReceiver()
    const home = await open(store)
    home.clock = after(2)
    const rule = { kind: 'price', venue: 'venueb', series: B.seriesTicker, above: 0.5, webhook }
    const { alert_id: id } = await home.create(rule)
    const other = { ...B, marketId: `${B.marketId}-NEXT` }
    const writer = new MarketWriter(store, other)
    await writer.record(other, 3)
    await writer.book(4, ...middle(0.4))
    await writer.book(5, ...middle(0.6))
    const [event] = await home.events(id, 1)
    expect(event).toMatchObject({ market_id: other.marketId, value: '0.6' })
  })
})

/** Reads the file of alerts itself, past the rights of keys: the events of a rule, and the state of its only watch. */
function stored({ path }: Home, id: string): { readonly events: number; readonly state: string } {
  const database = new DatabaseSync(join(path, 'alerts.db'), { readOnly: true })
  try {
    const count = database.prepare('SELECT count(*) AS n FROM event WHERE rule_id = ?').get(id)
    const watch = database.prepare('SELECT state FROM watch WHERE rule_id = ?').get(id)
    return { events: Number(count!['n']), state: String(watch?.['state'] ?? '') }
  } finally {
    database.close()
  }
}

const idOf = ({ access }: Home, key: string): string =>
  access.keys.list().find(({ lastFour }) => key.endsWith(lastFour))!.id

describe('the owner of a rule', () => {
  const crossing = async (writer: MarketWriter, seconds: number): Promise<void> => {
    await writer.book(seconds, ...middle(0.6))
    await writer.book(seconds + 1, ...middle(0.4))
  }

  async function openTwo(plan: string, expires?: Micros) {
    const store = await createContractStore([{ record: B }])
    const { url: webhook } = await createReceiver()
    const home = await open(store)
    const writer = new MarketWriter(store, B)
    await writer.book(1, ...middle(0.4))
    home.clock = after(2)
    const rule = { ...MARKET, kind: 'price', above: '0.5', webhook }
    const key =
      expires === undefined
        ? home.keyOf(plan)
        : home.access.keys.create({ plan, name: 'ends', expires }).key
    const [own, other] = [await home.create(rule, key), await home.create(rule)]
    let [seconds, count] = [3, 0]
    const cross = async (): Promise<number> => {
      await crossing(writer, seconds)
      seconds += 2
      await home.events(other.alert_id, ++count)
      return stored(home, own.alert_id).events
    }
    // Rules read rows step by step: with the second event of the other rule, this one has read those of the first.
    const crossTwice = async (): Promise<number> => {
      await cross()
      return cross()
    }
    expect(await crossTwice()).toBeGreaterThan(0)
    /** Crosses until the rule takes no part any more, and then it does for good. */
    const crossUntilStopped = async (): Promise<void> => {
      for (let before = -1, now = stored(home, own.alert_id).events; before !== now;) {
        before = now
        now = await crossTwice()
      }
      const { events } = stored(home, own.alert_id)
      expect(await crossTwice()).toBe(events)
    }
    return { home, cross, crossUntilStopped, key, own: own.alert_id, other: other.alert_id }
  }

  it('stops it when the key is revoked', async () => {
    const { home, crossUntilStopped, key, own } = await openTwo('desk')
    home.access.keys.revoke(idOf(home, key))
    await crossUntilStopped()
    const { events } = stored(home, own)
    await crossUntilStopped()
    expect(stored(home, own).events).toBe(events)
  })

  it.each([
    ['was revoked', undefined],
    ['has expired', after(1000)],
  ])('stops it with the first evaluation after the key %s', async (_, expires) => {
    const { home, cross, key } = await openTwo('desk', expires)
    const before = await cross()
    if (expires === undefined) home.access.keys.revoke(idOf(home, key))
    else home.clock = expires
    // An evaluation that had begun may have read the first crossing. It stored its events together, so that the
    // second crossing, which was written after they were seen, is read by a later one.
    const last = await cross()
    expect(last - before).toBeLessThanOrEqual(1)
    for (let turn = 0; turn < 3; turn++) expect(await cross()).toBe(last)
  })

  it('ends its deliveries too when the key is revoked', async () => {
    const store = await createContractStore([{ record: B }])
    const home = await open(store)
    const failing = Array.from({ length: 10_000 }, () => 503)
    const [own, other] = [await createReceiver([...failing]), await createReceiver([...failing])]
    const rule = { ...MARKET, kind: 'price', above: '0.5' }
    const key = home.keyOf('desk')
    const mine = await home.create({ ...rule, webhook: own.url }, key)
    const theirs = await home.create({ ...rule, webhook: other.url })
    await home.ask(`/v3/alerts/${mine.alert_id}/deliveries`, { key, method: 'POST' })
    const test = `/v3/alerts/${theirs.alert_id}/deliveries`
    await home.ask(test, { key: home.key, method: 'POST' })
    const tried = async ({ received }: typeof own, count: number): Promise<void> => {
      while (received.length < count) await pause(2)
    }
    await tried(own, 2)
    home.access.keys.revoke(idOf(home, key))
    // Both are tried at the same pace. Of twenty attempts at most two are the revoked key's: one that was on its way,
    // and one of an evaluation that had begun.
    const before = own.received.length
    await tried(other, other.received.length + 20)
    expect(own.received.length - before).toBeLessThanOrEqual(2)
  })

  it('stops it when the plan leaves out what it watches, and goes on when the plan is back', async () => {
    const { home, crossUntilStopped, key, own, other } = await openTwo('quant')
    const file = join(home.path, 'plans.json')
    const limits = { rank: 1, days: null, per_second: null, per_minute: null, features: [] }
    const write = (plan: object): void =>
      writeFileSync(file, JSON.stringify({ plans: { quant: { ...limits, ...plan } } }))
    write({ venues: ['venuea'], assets: null })
    await crossUntilStopped()
    home.clock = after(100)
    const path = `/v3/alerts/${own}`
    expect((await home.ask(path, { key })).json()['data']).toMatchObject({ state: 'paused' })
    // Another asset of the same venue.
    write({ venues: ['venueb'], assets: ['eth'] })
    await crossUntilStopped()
    home.clock = after(110)
    expect((await home.ask(path, { key })).json()['data']).toMatchObject({ state: 'paused' })
    // Nothing is delivered meanwhile: an event of the other key that was made later arrives first.
    await home.ask(`${path}/deliveries`, { key, method: 'POST' })
    await home.ask(`/v3/alerts/${other}/deliveries`, { key: home.key, method: 'POST' })
    let [last] = await home.deliveries(other)
    while (last?.state !== 'delivered') {
      await pause(5)
      ;[last] = await home.deliveries(other)
    }
    expect((await home.deliveries(own, key))[0]).toMatchObject({ state: 'pending', attempts: 0 })
    write({ venues: ['venueb'], assets: null })
    const rowsOf = async (id: string, by: string): Promise<readonly (string | null)[]> => {
      const rows = (await home.deliveries(id, by)).map(({ event }) => event.row_id)
      return rows.filter((row) => row !== null).reverse()
    }
    const all = await rowsOf(other, home.key)
    while (stored(home, own).events < all.length + 1) await pause(5)
    home.clock = after(120)
    expect((await home.ask(path, { key })).json()['data']).toMatchObject({ state: 'active' })
    expect(await rowsOf(own, key)).toEqual(all)
  })

  it('stays the one of the control file, also when another one takes its place', async () => {
    const { home, crossUntilStopped, other } = await openTwo('desk')
    const [folder, ring] = [createTempFolder(), home.access.keys]
    // The other file has the key of one rule, and not that of the other.
    copyDatabase(CONTROL_FILE, home.path, folder)
    const database = openControl(join(folder, CONTROL_FILE))
    const kept = idOf(home, home.key)
    database.prepare('DELETE FROM key WHERE id <> ?').run(kept)
    database.exec('PRAGMA journal_mode = DELETE')
    database.close()
    for (const end of ['-wal', '-shm']) rmSync(join(home.path, CONTROL_FILE + end), { force: true })
    renameSync(join(folder, CONTROL_FILE), join(home.path, CONTROL_FILE))
    await crossUntilStopped()
    // What is written afterwards is in the new file.
    expect(home.access.keys).not.toBe(ring)
    home.access.keys.revoke(kept)
    home.clock = after(100)
    const answer = await home.ask(`/v3/alerts/${other}`, { key: home.key })
    expect(answer.json()).toMatchObject({ status: 401, code: 'revoked_key' })
  })
})

describe('a rebuilt tape', () => {
  /** Replaces the tape of a store by one that these steps write. */
  async function rebuild(store: Store, write: (writer: MarketWriter) => Promise<void>) {
    const file = join(createTempFolder(), 'rebuilt.db')
    const rebuilt = openEmbeddedStore({ file })
    const writer = new MarketWriter(rebuilt, B)
    await writer.record(B, -600)
    await write(writer)
    await rebuilt.seal()
    await rebuilt.close()
    const own = store as EmbeddedStore
    await own.seal()
    expect(await own.adopt(file, after(60))).toHaveLength(1)
  }

  it('is read from the time on that a rule had reached, whatever its rows are numbered', async () => {
    const store = await createContractStore([{ record: B }])
    const { url: webhook } = await createReceiver()
    const home = await open(store)
    const writer = new MarketWriter(store, B)
    await writer.book(1, ...middle(0.4))
    home.clock = after(2)
    const { alert_id: id } = await home.create({ ...MARKET, kind: 'price', above: '0.5', webhook })
    await writer.book(3, ...middle(0.6)) // fires
    for (const [index, price] of [0.4, 0.3, 0.35].entries()) {
      await writer.book(4 + index, ...middle(price))
    }
    while (!stored(home, id).state.includes('"sequence":5')) await pause(5)
    await rebuild(store, async (again) => {
      await again.book(1, ...middle(0.4))
      await again.book(3, ...middle(0.6))
      await again.book(6, ...middle(0.35))
      await again.book(7, ...middle(0.6)) // 4 fires
      await again.book(8, ...middle(0.3))
      await again.book(9, ...middle(0.7)) // 6 fires
    })
    const events = await home.events(id, 3)
    expect(events.map(({ row_id: row, value }) => [row, value])).toEqual([
      [`venueb:${B.marketId}:2`, '0.6'],
      [`venueb:${B.marketId}:4`, '0.6'],
      [`venueb:${B.marketId}:6`, '0.7'],
    ])
  })

  it('does not report a gap again that follows another row now', async () => {
    const store = await createContractStore([{ record: B }])
    const { url: webhook } = await createReceiver()
    const home = await open(store)
    const writer = new MarketWriter(store, B)
    await writer.book(1, ...middle(0.4))
    home.clock = after(2)
    const { alert_id: id } = await home.create({ ...MARKET, kind: 'gap', webhook })
    await writer.book(3, ...middle(0.5))
    await writer.book(4, ...middle(0.4))
    await writer.gap('instrument', 4, undefined, 3)
    await home.events(id, 1)
    await rebuild(store, async (again) => {
      await again.book(1, ...middle(0.4))
      await again.book(4, ...middle(0.4))
      await again.gap('instrument', 4, undefined, 2)
    })
    await writer.gap('instrument', 4, 9, 2)
    const events = await home.events(id, 2)
    expect(events.map(({ gap }) => [gap?.moment, gap?.gap.after_sequence])).toEqual([
      ['begun', 3],
      ['ended', 2],
    ])
  })
})

describe('a delivery', () => {
  it('is signed as the Standard Webhooks say, and repeated with the same id until it is taken', async () => {
    const store = await createContractStore([{ record: B }])
    const { url, received } = await createReceiver([500, 302, 404])
    const home = await open(store)
    const { alert_id: id, secret } = await home.create({ ...MARKET, kind: 'gap', webhook: url })
    await home.ask(`/v3/alerts/${id}/deliveries`, { key: home.key, method: 'POST' })
    let [delivery] = await home.deliveries(id)
    while (delivery?.state !== 'delivered') {
      await pause(5)
      ;[delivery] = await home.deliveries(id)
    }
    expect(delivery).toMatchObject({ attempts: 4, status: 200, error: null })
    expect(received).toHaveLength(4)
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    for (const { headers, body } of received) {
      const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
      const own = Buffer.from(secret.replace('whsec_', ''), 'base64')
      const mac = createHmac('sha256', own).update(signed).digest('base64')
      expect(headers['webhook-signature']).toBe(`v1,${mac}`)
      expect(JSON.parse(body)).toMatchObject({ kind: 'test', id: headers['webhook-id'] })
    }
  })

  it('is genuine for the example of the docs, and a changed, foreign or old one is not', async () => {
    const page = readFileSync(join(import.meta.dirname, ALERTS_PAGE), 'utf8')
    const [, code] = /### Verify a delivery[^]*?```ts\n([^]*?)```/.exec(page)!
    const file = join(createTempFolder(), 'verify.ts')
    writeFileSync(file, code!)
    const { isGenuine } = (await import(pathToFileURL(file).href)) as {
      isGenuine: (secret: string, headers: Headers, body: string) => boolean
    }
    const store = await createContractStore([{ record: B }])
    const { url, received } = await createReceiver()
    const home = await open(store)
    const { alert_id: id, secret } = await home.create({ ...MARKET, kind: 'gap', webhook: url })
    await home.ask(`/v3/alerts/${id}/deliveries`, { key: home.key, method: 'POST' })
    while (received.length === 0) await pause(5)
    const { headers: sent, body } = received[0]!
    const headersWith = (change: Record<string, string>): Headers =>
      new Headers({ ...(sent as Record<string, string>), ...change })
    expect(isGenuine(secret, headersWith({}), body)).toBe(true)
    expect(isGenuine(secret, headersWith({}), body.replace('test', 'tent'))).toBe(false)
    expect(isGenuine(secret, headersWith({ 'webhook-id': 'evt_other-1' }), body)).toBe(false)
    expect(isGenuine(secret, headersWith({ 'webhook-signature': 'v1,AAAA' }), body)).toBe(false)
    expect(isGenuine(`whsec_${'A'.repeat(43)}=`, headersWith({}), body)).toBe(false)
    // Signed with the secret, and sent an hour ago.
    const old = String(Number(sent['webhook-timestamp']) - 3600)
    const own = Buffer.from(secret.replace('whsec_', ''), 'base64')
    const mac = createHmac('sha256', own).update(`${String(sent['webhook-id'])}.${old}.${body}`)
    const replayed = { 'webhook-timestamp': old, 'webhook-signature': `v1,${mac.digest('base64')}` }
    expect(isGenuine(secret, headersWith(replayed), body)).toBe(false)
  })

  it('is given up where too many wait, and says so', async () => {
    const store = await createContractStore([{ record: B }])
    const home = await open(store, { queue: 3 })
    // Nothing listens at the port.
    const webhook = 'http://127.0.0.1:9/'
    const { alert_id: id } = await home.create({ ...MARKET, kind: 'gap', webhook })
    for (let count = 0; count < 5; count++) {
      await home.ask(`/v3/alerts/${id}/deliveries`, { key: home.key, method: 'POST' })
    }
    const states = (await home.deliveries(id)).map(({ number, state }) => [number, state])
    expect(states).toEqual([
      [5, 'pending'],
      [4, 'pending'],
      [3, 'pending'],
      [2, 'dropped'],
      [1, 'dropped'],
    ])
    const answer = await home.ask(`/v3/alerts/${id}`, { key: home.key })
    expect(answer.json()['data']).toMatchObject({ fired: 5, pending: 3, dropped: 2, delivered: 0 })
  })
})

describe('the routes', () => {
  it('show a rule to its key alone, its secret once, and go with a key that is rolled', async () => {
    const store = await createContractStore([{ record: B }])
    const home = await open(store)
    const webhook = 'http://127.0.0.1:9/'
    const { alert_id: id, secret } = await home.create({ ...MARKET, kind: 'gap', webhook })
    expect(secret).toMatch(/^whsec_/)
    const again = await home.ask(`/v3/alerts/${id}`, { key: home.key })
    expect(again.text).not.toContain('whsec_')
    const other = home.keyOf('desk')
    for (const method of ['GET', 'DELETE']) {
      const answer = await home.ask(`/v3/alerts/${id}`, { key: other, method })
      expect([answer.status, answer.json()['code']]).toEqual([404, 'unknown_alert'])
    }
    const own = home.access.keys.list().find(({ lastFour }) => home.key.endsWith(lastFour))
    const next = home.access.keys.roll(own!.id, 0).key
    const list = await home.ask('/v3/alerts', { key: next })
    expect(list.json()['data']).toMatchObject([{ alert_id: id }])
    expect((await home.ask(`/v3/alerts/${id}`, { key: next, method: 'DELETE' })).status).toBe(200)
    expect((await home.ask('/v3/alerts', { key: next })).json()['data']).toEqual([])
  })

  it.each([
    ['loopback', { webhook: 'https://127.0.0.2/x' }, 'webhook'],
    ['a private network', { webhook: 'https://10.1.2.3/' }, 'webhook'],
    ['the addresses of clouds', { webhook: 'https://169.254.169.254/latest' }, 'webhook'],
    ['IPv6 loopback', { webhook: 'https://[::1]/' }, 'webhook'],
    ['IPv4 inside IPv6', { webhook: 'https://[::ffff:10.0.0.1]/' }, 'webhook'],
    ['a number as a host', { webhook: 'https://2130706433/' }, 'webhook'],
    ['plain http', { webhook: 'http://example.org/' }, 'webhook'],
    ['a password', { webhook: 'https://a:b@example.org/' }, 'webhook'],
    ['no address', { webhook: 'nothing' }, 'webhook'],
    ['two thresholds', { above: 1, below: 1 }, 'above'],
    ['no threshold', { above: undefined }, 'above', 'a rule has either above or below'],
    ['no scope', { market_id: undefined }, 'market_id', 'one of market_id, asset and series'],
    ['an unknown kind', { kind: 'noise' }, 'kind', 'price, spread, depth, edge, gap, resolved'],
    ['a threshold that is no number', { above: 'much' }, 'above'],
    ['an unknown member', { colour: 'red' }, 'colour'],
    ['a member of another kind', { contract_id: 'x' }, 'contract_id'],
    ['two scopes', { asset: 'BTC' }, 'market_id'],
    ['an outcome where there is one book', { outcome: 'Yes' }, 'outcome'],
    ['an unknown market', { market_id: 'NOTHING' }, 'market_id'],
  ])('refuse %s', async (_, change, param, words = '') => {
    const store = await createContractStore([{ record: B }])
    const home = await open(store, { allowNetworks: [] })
    const rule = { ...MARKET, kind: 'price', above: '0.5', webhook: 'https://example.org/hook' }
    const body = JSON.stringify({ ...rule, ...change })
    const headers = { 'content-type': 'application/json' }
    const answer = await home.ask('/v3/alerts', { key: home.key, method: 'POST', headers, body })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(405)
    expect(answer.json()).toMatchObject({ param, detail: expect.stringContaining(words) })
  })

  it('keep to the number of the plan, and to methods and bodies that exist', async () => {
    const store = await createContractStore([{ record: B }])
    const home = await open(store)
    const key = home.keyOf('explorer')
    const rule = { ...MARKET, kind: 'gap', webhook: 'http://127.0.0.1:9/' }
    const post = (body: string, type = 'application/json') =>
      home.ask('/v3/alerts', { key, method: 'POST', headers: { 'content-type': type }, body })
    const statuses: number[] = []
    for (let count = 0; count < 3; count++) {
      // Explorers may ask once a second.
      home.clock = after(10 + count * 2)
      statuses.push((await post(JSON.stringify(rule))).status)
    }
    expect(statuses).toEqual([200, 200, 403])
    home.clock = after(30)
    const put = await home.ask('/v3/alerts', { key: home.key, method: 'PUT' })
    expect([put.status, put.headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS, POST'])
    const ask = { key: home.key, method: 'POST' } as const
    const plain = { 'content-type': 'text/plain' }
    expect((await home.ask('/v3/alerts', { ...ask, headers: plain, body: '{}' })).status).toBe(400)
    const broken = { 'content-type': 'application/json' }
    expect((await home.ask('/v3/alerts', { ...ask, headers: broken, body: '{' })).status).toBe(400)
    const large = `"${'x'.repeat(70_000)}"`
    expect((await home.ask('/v3/alerts', { ...ask, headers: broken, body: large })).status).toBe(
      413,
    )
  })

  it('say where alerts are not kept', async () => {
    const { ask, keyOf } = await createTestServer()
    const key = keyOf('desk')
    const empty = await ask('/v3/alerts', { key })
    expect(empty.json()).toMatchObject({ data: [], meta: { notices: [{ code: 'no_alerts' }] } })
    const headers = { 'content-type': 'application/json' }
    const answer = await ask('/v3/alerts', { key, method: 'POST', headers, body: '{}' })
    expect(answer.json()).toMatchObject({ status: 501, code: 'not_implemented' })
  })
})
