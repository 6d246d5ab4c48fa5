import { fromMillis, type Json } from '@priorbook/sdk/domain'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { backfillVenueA, type BackfillOptions, type BackfillProgress } from './backfill.ts'
import { findOffset } from './seek.ts'
import {
  createTestLog,
  createTestSink,
  KEY,
  openTestUpstream,
  roundObject,
  type TestUpstream,
} from './upstream.testing.ts'

const MINUTE = 60_000
const COUNT = 430
const now = Date.now()

let upstream: TestUpstream
let sink: ReturnType<typeof createTestSink>
let log: ReturnType<typeof createTestLog>
let stopping: AbortController

/** Round n ended n minutes ago; every third is of ETH, every fifth shows no winner in the list. */
function round(index: number): { [key: string]: Json } {
  const winner = (won: boolean) => (index % 5 === 0 ? null : won)
  const outcomes = [
    { name: 'Up', index: 0, tokenId: `${index}01`, winner: winner(true) },
    { name: 'Down', index: 1, tokenId: `${index}02`, winner: winner(false) },
  ]
  return roundObject(index, 0, 0, {
    topic: {
      symbol: index % 3 === 0 ? 'ETHUSDT' : 'BTCUSDT',
      startDate: endOf(index) - 15 * MINUTE,
      endDate: endOf(index),
    },
    market: { tradingStatus: 'CLOSED', outcomes },
  })
}

const endOf = (index: number): number => now - index * MINUTE

beforeEach(async () => {
  const rounds = Array.from({ length: COUNT }, (_, index) => round(index))
  upstream = await openTestUpstream({
    list(query) {
      const offset = Number(query.get('offset'))
      const limit = Number(query.get('limit'))
      const marketTopics = rounds.slice(offset, offset + limit)
      return { marketTopics, total: COUNT, offset, limit, hasMore: offset + limit < COUNT }
    },
    detail: (topicId) => rounds[Number(topicId)],
  })
  sink = createTestSink()
  log = createTestLog()
  stopping = new AbortController()
})

afterEach(() => upstream.close())

function walk(changes: Partial<BackfillOptions>): AsyncGenerator<BackfillProgress, void, void> {
  const options = {
    restBase: upstream.restBase,
    ...KEY,
    asset: 'BTC',
    start: fromMillis(endOf(COUNT)),
    end: fromMillis(now + 1),
    quota: { limit: 1000, windowMs: 1000 },
    sink,
    log,
    speed: 1000,
  }
  return backfillVenueA({ ...options, ...changes }, stopping.signal)
}

async function all(changes: Partial<BackfillOptions> = {}): Promise<BackfillProgress[]> {
  const progress: BackfillProgress[] = []
  for await (const one of walk(changes)) progress.push(one)
  return progress
}

const btc = (from: number, to: number, isWanted: (index: number) => boolean = () => true) =>
  Array.from({ length: to - from }, (_, index) => index + from).filter(
    (index) => index % 3 !== 0 && isWanted(index),
  )
const detailed = (): number[] =>
  upstream.seen
    .filter(({ path }) => path === '/market/detail')
    .map(({ query }) => Number(query.get('marketTopicId')))

describe('a backfill', () => {
  it('puts every page and the details of unresolved rounds of the coin through the sink', async () => {
    const progress = await all()
    expect(progress.at(-1)).toStrictEqual({
      done: btc(0, COUNT).length,
      total: COUNT,
      reached: fromMillis(endOf(COUNT - 1)),
    })
    const reached = progress.map((one) => one.reached)
    expect(reached).toStrictEqual(reached.toSorted((a, b) => b - a))
    expect(detailed()).toStrictEqual(btc(0, COUNT, (index) => index % 5 === 0))
    expect(sink.answers).toHaveLength(upstream.seen.length)
    const topics = new Set(
      sink.answers
        .flatMap(({ request, parsed }) =>
          request.kind === 'topics'
            ? (parsed as { marketTopics: { marketTopicId: number }[] }).marketTopics
            : [],
        )
        .map(({ marketTopicId }) => marketTopicId),
    )
    expect(topics.size).toBe(COUNT)
    expect(upstream.faults).toStrictEqual([])
  })

  it('keeps to its bounds', async () => {
    const start = fromMillis(endOf(220))
    const progress = await all({ start, end: fromMillis(endOf(99)) })
    expect(progress.at(-1)).toMatchObject({ done: btc(100, 221).length, reached: start })
    expect(detailed()).toStrictEqual(btc(100, 221, (index) => index % 5 === 0))
  })

  it('goes on where an earlier one was stopped, and misses nothing', async () => {
    const first = walk({})
    const { value } = await first.next()
    await first.return()
    const from = (value as BackfillProgress).reached
    expect(from).toBe(fromMillis(endOf(99)))
    const before = detailed()
    await all({ from })
    expect([...new Set(detailed())]).toStrictEqual(btc(0, COUNT, (index) => index % 5 === 0))
    expect(before.at(-1)).toBe(95)
  })

  it('tries again what failed, and goes on without details that cannot be had', async () => {
    let failures = 3
    upstream.script.refuse = ({ path, query }) => {
      if (query.get('marketTopicId') === '5') return { status: 500, body: {} }
      return path === '/market/list' && failures-- > 0 ? { status: 502, body: {} } : undefined
    }
    const progress = await all()
    expect(progress.at(-1)).toMatchObject({ done: btc(0, COUNT).length })
    expect(detailed().filter((index) => index === 5)).toHaveLength(3)
  })

  it('stops where the credentials are refused, once told', async () => {
    upstream.script.refuse = () => ({ status: 401, body: { code: -2014, msg: 'no' } })
    expect(await all()).toStrictEqual([])
    expect(log.errors).toHaveLength(1)
    expect(upstream.seen).toHaveLength(1)
  })

  it('stops after ten attempts at a page, and when it is told to', async () => {
    upstream.script.refuse = () => ({ status: 500, body: {} })
    expect(await all()).toStrictEqual([])
    expect(upstream.seen).toHaveLength(10)
    upstream.script.refuse = () => undefined
    const going = walk({})
    await going.next()
    stopping.abort()
    expect(await going.next()).toStrictEqual({ done: true, value: undefined })
  })

  it('has reached nothing before its end where the venue does not keep to its order', async () => {
    const list = upstream.script.list.bind(upstream.script)
    upstream.script.list = (query) => {
      const page = list(query) as { marketTopics: object[] }
      return { ...page, marketTopics: page.marketTopics.toReversed() }
    }
    const reached = (await all()).map((one) => one.reached)
    expect(new Set(reached.slice(0, -1))).toStrictEqual(new Set([fromMillis(now + 1)]))
    expect(reached.at(-1)).toBe(fromMillis(endOf(COUNT - 1)))
  })

  it('ends where pages repeat for ever', async () => {
    const list = upstream.script.list.bind(upstream.script)
    upstream.script.list = () => ({
      ...(list(new URLSearchParams({ offset: '0', limit: '100' })) as object),
      total: undefined,
      hasMore: true,
    })
    expect((await all()).at(-1)).toMatchObject({ done: btc(0, 100).length })
  })
})

describe('the place in the list', () => {
  const pageOf = (ends: readonly number[]) => (offset: number) =>
    Promise.resolve({
      topicIds: [],
      endsMs: ends.slice(offset, offset + 10),
      count: Math.max(0, Math.min(10, ends.length - offset)),
      hasMore: offset + 10 < ends.length,
      total: ends.length,
    })
  const ends = Array.from({ length: 5000 }, (_, index) => 100_000 - index)

  it.each([200_000, 100_000, 99_995, 97_500, 95_002, 0])(
    'before %s is found at most two pages too early',
    async (before) => {
      let calls = 0
      const offset = await findOffset(before, (at) => {
        calls++
        return pageOf(ends)(at)
      })
      const exact = ends.findIndex((end) => end < before)
      const place = exact < 0 ? ends.length : exact
      expect(offset).toBeLessThanOrEqual(place)
      expect(place - offset!).toBeLessThanOrEqual(30)
      expect(calls).toBeLessThan(15)
    },
  )

  it('is the beginning where the order is not kept', async () => {
    const shuffled = ends.map((_, index) => 100_000 + ((index * 7919) % 5000))
    expect(await findOffset(100_500, pageOf(shuffled))).toBe(0)
    expect(await findOffset(5, () => Promise.resolve(undefined))).toBeUndefined()
  })
})
