import { toMicros } from '@priorbook/sdk/domain'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import type { Connector, ConnectorContext } from '../capture/contract.ts'
import { createQuota, type Quota } from '../capture/quota.ts'
import { turnUntil } from '../capture/turn.testing.ts'
import { VenueAConnector, type VenueAOptions } from './connector.ts'
import {
  createTestLog,
  createTestSink,
  KEY,
  openTestUpstream,
  roundObject as createRound,
  type TestUpstream,
} from './upstream.testing.ts'

const HOUR = 3_600_000

let clock: ManualClock
let upstream: TestUpstream
let sink: ReturnType<typeof createTestSink>
let log: ReturnType<typeof createTestLog>
let stopping: AbortController
let running: Promise<void>

beforeEach(async () => {
  clock = new ManualClock()
  upstream = await openTestUpstream({}, clock)
  sink = createTestSink(clock)
  log = createTestLog()
  stopping = new AbortController()
  running = Promise.resolve()
})

afterEach(async () => {
  stopping.abort()
  await running
  await upstream.close()
})

function start(
  options: Partial<VenueAOptions> = {},
  unresolved: ConnectorContext['unresolved'] = [],
  asked: ConnectorContext['asked'] = [],
): Connector {
  const { restBase, wsUrl } = upstream
  const connector = new VenueAConnector(
    {
      restBase,
      wsUrl,
      ...KEY,
      assets: ['BTC', 'ETH', 'BNB'],
      quota: { limit: 1200, windowMs: 60_000 },
      speed: 20,
      ...options,
    },
    { sink, log, clock, unresolved, asked },
  )
  running = connector.run(stopping.signal)
  return connector
}

const until = (holds: () => boolean) => turnUntil(clock, String(holds), holds)
const nowMs = (): number => clock.now() / 1000

function roundObject(
  id: number,
  startMs: number,
  endMs: number,
  changes: Parameters<typeof createRound>[3] = {},
): ReturnType<typeof createRound> {
  return createRound(id, startMs, endMs, changes, nowMs())
}

function listRounds(...rounds: object[]): void {
  upstream.script.list = () => ({
    marketTopics: rounds,
    total: rounds.length,
    offset: 0,
    limit: 100,
    hasMore: false,
  })
  upstream.script.detail = (topicId) =>
    rounds.find((round) => String((round as { marketTopicId: number }).marketTopicId) === topicId)
}

const asked = (path: string, name: string, value: string): number =>
  upstream.seen.filter((one) => one.path === path && one.query.get(name) === value).length
const booksOf = (marketId: string): number => asked('/order-book', 'marketId', marketId)
const losses = () => sink.notes.filter(({ note }) => note === 'loss')
const frame = (marketId: number) => ({
  type: 'TOPIC',
  topic: `web3_prediction_orderbook_${marketId}`,
  data: JSON.stringify({
    msgType: 'orderbook',
    marketId,
    updateTimestampMs: nowMs(),
    bids: [['0.4', '1']],
    asks: [],
  }),
})

describe('books', () => {
  it('come by a signed socket for every open market of the configured assets', async () => {
    listRounds(
      roundObject(1, -1000, HOUR),
      roundObject(2, HOUR, 2 * HOUR, { topic: { symbol: 'ETHUSDT' } }),
      roundObject(3, -1000, HOUR, { topic: { symbol: 'DOGEUSDT' } }),
      roundObject(4, -2 * HOUR, -HOUR, { market: { tradingStatus: 'CLOSED' } }),
    )
    const connector = start()
    await until(() => upstream.opened.length > 0 && sink.notes.some((n) => n.note === 'connected'))
    expect(upstream.opened[0]).toStrictEqual([
      'web3_prediction_orderbook_1001',
      'web3_prediction_orderbook_1002',
    ])
    upstream.push(frame(1001))
    await until(() => sink.frames.length > 0)
    expect(sink.frames[0]).toStrictEqual({
      slot: 1,
      text: expect.stringContaining('TOPIC'),
      parsed: expect.objectContaining({ type: 'TOPIC' }),
    })
    await until(() => connector.status().state === 'recording')
    expect(connector.status()).toMatchObject({
      venue: 'venuea',
      markets: 2,
      sockets: [{ slot: 1, connected: true, subscriptions: 2 }],
    })
    expect(upstream.faults).toStrictEqual([])
  })

  it('are requested at once, again when the socket is quiet, and not while it sends', async () => {
    listRounds(roundObject(1, -1000, HOUR), roundObject(2, -1000, HOUR))
    start()
    await until(() => upstream.sockets > 0)
    const talking = clock.setInterval(() => upstream.push(frame(1001)), 50)
    await until(() => booksOf('1002') >= 1 && booksOf('1001') >= 1)
    const before = booksOf('1001')
    await until(() => booksOf('1002') >= 4)
    talking.cancel()
    expect(booksOf('1001')).toBe(before)
    // A market that stays quiet in its window is subscribed again.
    await until(() => upstream.commands.length > 0)
    expect(upstream.commands[0]).toStrictEqual({
      command: 'SUBSCRIBE',
      value: 'web3_prediction_orderbook_1002',
    })
    expect(sink.answers.find(({ request }) => request.kind === 'book')!.request).toStrictEqual({
      kind: 'book',
      market_id: expect.stringMatching(/^100[12]$/) as string,
      token_id: expect.stringMatching(/^[12]01$/) as string,
      outcome_index: 0,
    })
    const [query] = upstream.seen.filter(({ path }) => path === '/order-book')
    expect(query!.query.get('vendor')).toBe('PREDICT_FUN')
    expect(losses()).toStrictEqual([])
  })

  it('of new markets are subscribed and of closed ones unsubscribed on the same socket', async () => {
    const first = roundObject(1, -1000, HOUR)
    const short = roundObject(2, -1000, 700)
    listRounds(first, short)
    start()
    await until(() => upstream.sockets > 0)
    const talking = clock.setInterval(() => upstream.push(frame(1001)), 50)
    listRounds(first, short, roundObject(5, HOUR, 2 * HOUR))
    const sent = (command: string, market: string): boolean =>
      upstream.commands.some(
        (one) =>
          one['command'] === command &&
          String(one['value']).split('|').includes(`web3_prediction_orderbook_${market}`),
      )
    await until(() => sent('SUBSCRIBE', '1005') && sent('UNSUBSCRIBE', '1002'))
    talking.cancel()
    expect(upstream.opened).toHaveLength(1)
  })

  it('come again after a lost connection, which is noted', async () => {
    listRounds(roundObject(1, -1000, HOUR))
    const connector = start()
    await until(() => upstream.sockets > 0)
    upstream.disconnect()
    await until(() => upstream.opened.length === 2)
    expect(upstream.opened[1]).toStrictEqual(['web3_prediction_orderbook_1001'])
    await until(() => connector.status().sockets[0]?.connected === true)
    expect(losses()[0]).toMatchObject({ reason: 'disconnected', slot: 1 })
    expect(upstream.faults).toStrictEqual([])
  })

  it('that the recorder closed are requested before they are due', async () => {
    listRounds(roundObject(1, -1000, HOUR), roundObject(2, -1000, HOUR))
    const connector = start({ speed: 2 })
    await until(() => booksOf('1001') === 1 && booksOf('1002') === 1)
    await until(() => sink.answers.filter(({ request }) => request.kind === 'book').length === 2)
    connector.recover([{ venue: 'venuea', market: '1001', key: '1001' }], 'rejected')
    connector.recover([{ venue: 'venuea', market: '9', key: '9' }], 'rejected')
    await until(() => booksOf('1001') === 2)
    expect(booksOf('1002')).toBe(1)
  })

  it('that come neither by socket nor by request are a silence, noted once', async () => {
    listRounds(roundObject(1, -1000, HOUR))
    upstream.script.refuse = ({ path }) =>
      path === '/order-book' ? { status: 500, body: {} } : undefined
    start({ speed: 60, quota: { limit: 3600, windowMs: 60_000 } })
    await until(() => losses().some((note) => 'keys' in note))
    const calls = booksOf('1001')
    await until(() => booksOf('1001') > calls + 5)
    const silences = losses().filter((note) => 'keys' in note)
    expect(silences).toStrictEqual([
      {
        note: 'loss',
        reason: 'venue_silent',
        why: expect.stringContaining('neither a frame nor a book') as string,
        keys: ['1001'],
      },
    ])
    upstream.script.refuse = () => undefined
    await until(() => sink.answers.some(({ request }) => request.kind === 'book'))
    upstream.script.refuse = ({ path }) =>
      path === '/order-book' ? { status: 500, body: {} } : undefined
    await until(() => losses().filter((note) => 'keys' in note).length === 2)
  })
})

describe('markets', () => {
  it('are found over all pages of the list, also of one that repeats or never ends', async () => {
    const rounds = Array.from({ length: 250 }, (_, index) =>
      roundObject(index + 1, HOUR, 2 * HOUR - index),
    )
    upstream.script.list = (query) => {
      const offset = Math.min(Number(query.get('offset')), 200)
      const marketTopics = rounds.slice(offset, offset + Number(query.get('limit')))
      return { marketTopics, total: 1e6, offset, limit: 100, hasMore: true }
    }
    const connector = start()
    await until(() => connector.status().markets === 250)
    const offsets = upstream.seen
      .filter(({ path }) => path === '/market/list')
      .map(({ query }) => query.get('offset'))
    await until(() => upstream.seen.filter(({ path }) => path === '/market/list').length > 5)
    expect(offsets.slice(0, 3)).toStrictEqual(['0', '100', '200'])
    const [first] = upstream.seen
    expect(first!.query.get('l1Category')).toBe('crypto')
    expect(first!.query.get('l2Category')).toBe('up-down')
    // One more page that brought nothing new, then from the beginning.
    const all = upstream.seen.filter(({ path }) => path === '/market/list')
    expect(all.slice(3, 5).map(({ query }) => query.get('offset'))).toStrictEqual(['250', '0'])
    // Topics of 250 markets need more than one socket.
    await until(() => upstream.opened.length === 2)
    expect(upstream.opened[0]).toHaveLength(50)
    await until(
      () => connector.status().sockets.reduce((sum, one) => sum + one.subscriptions, 0) === 250,
    )
  })

  it('are found as neighbours of a round', async () => {
    const next = roundObject(2, HOUR, 2 * HOUR)
    const past = roundObject(3, -2 * HOUR, -HOUR)
    const timeline = [next, past].map(({ marketTopicId, startDate, endDate }) => ({
      marketTopicId,
      startDate,
      endDate,
    }))
    const first = roundObject(1, -1000, HOUR, { topic: { timeline } })
    upstream.script.list = () => ({ marketTopics: [first], hasMore: false })
    upstream.script.detail = (topicId) => (topicId === '1' ? first : next)
    const connector = start()
    await until(() => connector.status().markets === 2)
    expect(asked('/market/detail', 'marketTopicId', '3')).toBe(0)
  })

  it('are followed after their close until the venue names the winner', async () => {
    const open = roundObject(1, -1000, 300)
    upstream.script.list = () => ({ marketTopics: [open], hasMore: false })
    let polls = 0
    upstream.script.detail = () => {
      const isOver = nowMs() > (open['endDate'] as number)
      if (isOver) polls++
      const outcomes = ['Up', 'Down'].map((name, index) => ({
        name,
        index,
        tokenId: `10${index + 1}`,
        winner: polls < 3 ? null : index === 1,
      }))
      const [market] = open['markets'] as object[]
      const tradingStatus = isOver ? 'CLOSED' : 'OPEN'
      return { ...open, markets: [{ ...market, tradingStatus, outcomes }] }
    }
    start({ speed: 100, quota: { limit: 6000, windowMs: 60_000 } })
    await until(() => polls === 3)
    // The list no longer has it, so nothing is left to request.
    upstream.script.list = () => ({ marketTopics: [], hasMore: false })
    const lists = upstream.seen.filter(({ path }) => path === '/market/list').length
    await until(
      () => upstream.seen.filter(({ path }) => path === '/market/list').length > lists + 2,
    )
    expect(polls).toBe(3)
  })

  it('of an earlier run are followed to their end', async () => {
    const { markets, ...topic } = roundObject(7, -2 * HOUR, -HOUR)
    const [market] = markets as never[]
    start({}, [
      { marketId: '1007', native: { topic, market: market! } },
      { marketId: 'x', native: 5 },
    ])
    await until(() => asked('/market/detail', 'marketTopicId', '7') > 1)
    expect(booksOf('1007')).toBe(0)
  })
})

it('last trades are sampled for open markets in turn', async () => {
  listRounds(roundObject(1, -1000, HOUR), roundObject(2, -1000, HOUR))
  start()
  const trades = (marketId: string) => asked('/order-book/last-trade-price', 'marketId', marketId)
  await until(() => trades('1001') > 2 && trades('1002') > 2)
  expect(Math.abs(trades('1001') - trades('1002'))).toBeLessThanOrEqual(1)
  const { request } = sink.answers.find((one) => one.request.kind === 'last_trade')!
  expect(request).toMatchObject({ token_id: expect.stringMatching(/^[12]01$/) as string })
})

it('counts the calls of an earlier run against the quota', async () => {
  listRounds(...Array.from({ length: 40 }, (_, index) => roundObject(index + 1, -1000, HOUR)))
  const asked = [
    { until: toMicros(sink.now() - 61_000_000), count: 50 },
    { until: toMicros(sink.now() + 1_000_000), count: 53 },
  ]
  const connector = start({ speed: 1, quota: { limit: 60, windowMs: 60_000 } }, [], asked)
  await until(() => upstream.seen.length === 7)
  await clock.advance(300)
  expect(upstream.seen).toHaveLength(7)
  expect(connector.status().quota).toMatchObject({ limit: 60, used: 60, refused: 0 })
})

it('every call goes through the quota, also under full load', async () => {
  listRounds(...Array.from({ length: 40 }, (_, index) => roundObject(index + 1, -1000, HOUR)))
  const windowMs = 400
  const own = createQuota({ limit: 20, windowMs }, clock)
  // Measured when calls leave: on a busy machine they arrive closer together.
  const left: number[] = []
  const quota: Quota = {
    limit: own.limit,
    windowMs,
    used: 0,
    refusals: 0,
    refused: () => own.refused(),
    answered: () => own.answered(),
    resume: (cost, agoMs) => own.resume(cost, agoMs),
    async acquire(cost, urgent, signal) {
      const end = await own.acquire(cost, urgent, signal)
      left.push(clock.monotonicMs())
      return end
    },
  }
  start({ quota, speed: 40 })
  await until(() => upstream.seen.length > 90)
  expect(left.length).toBeGreaterThanOrEqual(upstream.seen.length)
  const within = (from: number): number =>
    left.filter((time) => time >= from && time < from + windowMs).length
  expect(Math.max(...left.map(within))).toBeLessThanOrEqual(20)
  const kinds = new Set(upstream.seen.map(({ path }) => path))
  expect([...kinds].sort()).toStrictEqual([
    '/market/detail',
    '/market/list',
    '/order-book',
    '/order-book/last-trade-price',
  ])
})

it('a refusal for too many calls pauses all of them', async () => {
  listRounds(roundObject(1, -1000, HOUR))
  let refusals = 1
  upstream.script.refuse = () =>
    refusals-- > 0 ? { status: 429, body: { code: -1003, msg: 'Too many requests' } } : undefined
  const connector = start({ quota: { limit: 20, windowMs: 1000 } })
  await until(() => connector.status().markets === 1)
  expect(connector.status().quota).toMatchObject({ limit: 20, windowMs: 1000, refused: 1 })
  const [first, second] = upstream.seen.map(({ atMs }) => atMs)
  expect(second! - first!).toBeGreaterThan(500)
})

describe('credentials', () => {
  it('that are missing are logged once, and nothing is requested', async () => {
    const connector = start({ apiSecret: '' })
    await until(() => connector.status().state === 'no_credentials')
    expect(log.errors).toHaveLength(1)
    stopping.abort()
    await running
    expect(connector.status().state).toBe('stopped')
    expect(upstream.seen).toStrictEqual([])
  })

  it.each([
    [401, -2014],
    [400, -2008],
    [400, -1022],
  ])(
    'refused with %s and %s are logged once, retried slowly, and used again when accepted',
    async (status, code) => {
      listRounds(roundObject(1, -1000, HOUR))
      upstream.script.refuse = () => ({ status, body: { code, msg: 'refused' } })
      const connector = start({ speed: 200 })
      await until(() => upstream.seen.length === 3)
      const [first, second, third] = upstream.seen.map(({ atMs }) => atMs)
      expect(second! - first!).toBeGreaterThan(290)
      expect(third! - second!).toBeGreaterThan(290)
      expect(connector.status().state).toBe('no_credentials')
      expect(connector.status().detail).toContain(String(code))
      expect(log.errors).toHaveLength(1)
      expect(upstream.sockets).toBe(0)
      upstream.script.refuse = () => undefined
      await until(() => connector.status().state === 'recording')
    },
  )

  it('refused by the socket leave the books to REST', async () => {
    listRounds(roundObject(1, -1000, HOUR))
    let refusals = 0
    upstream.script.refuseSocket = () => {
      refusals++
      return 401
    }
    const connector = start({ speed: 200 })
    await until(() => refusals === 3)
    expect(connector.status().state).toBe('no_credentials')
    expect(booksOf('1001')).toBeGreaterThan(0)
    expect(log.errors).toHaveLength(1)
    upstream.script.refuseSocket = () => undefined
    await until(() => connector.status().state === 'recording')
  })
})

it.each([-90_000, 90_000])(
  'signs by the clock of a venue that differs by %s ms',
  async (skewMs) => {
    listRounds(roundObject(1, -1000, HOUR))
    upstream.script.skewMs = skewMs
    upstream.script.refuse = ({ query }) => {
      const ahead = Number(query.get('timestamp')) - (nowMs() + skewMs)
      const isGood = ahead < 1000 && ahead > -Number(query.get('recvWindow'))
      return isGood ? undefined : { status: 400, body: { code: -1021, msg: 'outside' } }
    }
    const connector = start()
    await until(() => connector.status().state === 'recording')
    expect(upstream.faults).toStrictEqual([])
    expect(log.errors).toStrictEqual([])
  },
)

it('answers that are not JSON or have another shape do not stop the connector', async () => {
  listRounds(roundObject(1, -1000, HOUR))
  const list = upstream.script.list.bind(upstream.script)
  let answers = 0
  upstream.script.list = (query) => [null, [], { marketTopics: 5 }][answers++] ?? list(query)
  const connector = start({ speed: 100 })
  await until(() => connector.status().markets === 1)
  expect(log.errors).toStrictEqual([])
})
