import { fromMillis, toMicros, type Json } from '@priorbook/sdk/domain'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type {
  BackfillEnd,
  BackfillOptions,
  BackfillProgress,
  KnownRound,
} from '../capture/definition.ts'
import { backfillVenueA } from './backfill.ts'
import { SYSTEM_CLOCK } from '../../lib/clock.ts'
import { ManualClock } from '../../lib/clock.testing.ts'
import { createQuota, type Quota } from '../capture/quota.ts'
import { findOffset } from './rest.ts'
import {
  createTestSink,
  KEY,
  openTestUpstream,
  roundObject,
  type TestUpstream,
} from './upstream.testing.ts'

const MINUTE = 60_000
const COUNT = 60
// On a full hour, so that rounds of both windows end there.
const END = Math.floor(Date.now() / 3_600_000) * 3_600_000
const LENGTHS = { '5m': 5 * MINUTE, '15m': 15 * MINUTE } as const
type Window = keyof typeof LENGTHS

let upstream: TestUpstream
let sink: ReturnType<typeof createTestSink>
let warnings: string[]
let stopping: AbortController
/** Returns true for the rounds that the list shows; by default only those that have not ended. */
let listed: (endMs: number) => boolean
let timeline: { before: number; after: number }

const BASE = { '5m': 1_000_000, '15m': 2_000_000 } as const

/** Round n of a window ended n lengths before the end of the range; those below 0 are yet to end. */
function round(window: Window, index: number): { [key: string]: Json } {
  const endDate = END - index * LENGTHS[window]
  const isOver = index >= 0
  const outcomes = ['Up', 'Down'].map((name, place) => ({
    name,
    index: place,
    tokenId: `${BASE[window] + index}0${place}`,
    ...(isOver ? { winner: place === 0 } : {}),
  }))
  const id = BASE[window] - index
  const near: Json[] = []
  for (let at = index - timeline.after; at <= index + timeline.before; at++) {
    if (at === index || at < -3 || at >= COUNT) continue
    const end = END - at * LENGTHS[window]
    near.push({ marketTopicId: BASE[window] - at, startDate: end - LENGTHS[window], endDate: end })
  }
  return roundObject(id, 0, 0, {
    topic: {
      slug: `btc-updown-${window}-${id}`,
      startDate: endDate - LENGTHS[window],
      endDate,
      variantData: { startPrice: '1', endPrice: isOver ? '2' : null },
      timeline: near,
    },
    market: {
      status: isOver ? 'RESOLVED' : 'REGISTERED',
      tradingStatus: isOver ? 'CLOSED' : 'OPEN',
      outcomes,
    },
  })
}

function find(topicId: string): { [key: string]: Json } | undefined {
  for (const window of ['5m', '15m'] as const) {
    const index = BASE[window] - Number(topicId)
    if (index >= -3 && index < COUNT) return round(window, index)
  }
  return undefined
}

beforeEach(async () => {
  listed = (endMs) => endMs > END
  timeline = { before: 3, after: 6 }
  upstream = await openTestUpstream({
    list(query) {
      const offset = Number(query.get('offset'))
      const limit = 20
      const all = (['5m', '15m'] as const)
        .flatMap((window) => Array.from({ length: COUNT + 3 }, (_, at) => round(window, at - 3)))
        .filter(({ endDate }) => listed(Number(endDate)))
        .toSorted((a, b) => Number(b['endDate']) - Number(a['endDate']))
        .map((topic) => ({ ...topic, variantData: null, timeline: null }))
      const marketTopics = all.slice(offset, offset + limit)
      const hasMore = offset + limit < all.length
      return { marketTopics, total: all.length, offset, limit, hasMore }
    },
    detail: (topicId) => find(topicId),
  })
  sink = createTestSink(SYSTEM_CLOCK)
  warnings = []
  stopping = new AbortController()
})

afterEach(() => upstream.close())

type Changes = Partial<BackfillOptions>

function walk(changes: Changes): AsyncGenerator<BackfillProgress, BackfillEnd, void> {
  const options = {
    restBase: upstream.restBase,
    ...KEY,
    asset: 'BTC',
    start: fromMillis(END - COUNT * LENGTHS['5m']),
    end: fromMillis(END),
    known: [],
    quota: { limit: 50, windowMs: 50 },
    sink,
    log: {
      info: () => undefined,
      warn: (_fields: object, message: string) => void warnings.push(message),
      error: () => undefined,
    },
    ...changes,
  }
  return backfillVenueA(options, stopping.signal)
}

async function all(
  changes: Changes = {},
): Promise<BackfillEnd & { readonly progress: BackfillProgress[] }> {
  const progress: BackfillProgress[] = []
  const going = walk(changes)
  for (;;) {
    const { done, value } = await going.next()
    if (done === true) return { ...value, progress }
    progress.push(value)
  }
}

const asked = (window: Window): number[] =>
  upstream.seen
    .filter(({ path }) => path === '/market/detail')
    .map(({ query }) => BASE[window] - Number(query.get('marketTopicId')))
    .filter((index) => index > -100 && index < COUNT + 100)
const pagesRead = (): number => upstream.seen.filter(({ path }) => path === '/market/list').length
const upTo = (count: number, from = 0): number[] =>
  Array.from({ length: count - from }, (_, index) => index + from)
const inside = (window: Window): number[] => asked(window).filter((index) => index >= 0)

describe('a backfill', () => {
  it('walks both windows back from the open rounds and requests each round once', async () => {
    const { counts, calls, progress } = await all()
    expect(counts).toEqual({ expected: 80, complete: 80, unresolved: 0, missing: 0 })
    expect(inside('5m')).toEqual(upTo(60))
    expect(inside('15m')).toEqual(upTo(20))
    // The list once and one open round of each window.
    expect(calls).toBe(83)
    expect(upstream.seen).toHaveLength(calls)
    expect(upstream.faults).toEqual([])
    for (const window of ['5m', '15m']) {
      const reached = progress.filter((one) => one.window === window).map((one) => one.reached)
      expect(reached).toEqual(reached.toSorted((a, b) => b - a))
      expect(reached.at(-1)).toBe(fromMillis(END - COUNT * LENGTHS['5m']))
    }
    const kinds = sink.answers.map(({ request }) => request.kind)
    expect(new Set(kinds)).toEqual(new Set(['past_topics', 'past_topic']))
    expect(kinds).toHaveLength(calls)
  })

  it('walks both windows back side by side', async () => {
    const { progress } = await all()
    const last = new Map<string, number>()
    for (const { window, reached } of progress) {
      last.set(window, reached)
      const [one = 0, other = one] = [...last.values()]
      // Only one of them has begun, or they are at most one long round apart.
      expect(Math.abs(one - other)).toBeLessThanOrEqual(2 * LENGTHS['15m'] * 1000)
    }
  })

  it('names the next round with every step, so that a later backfill requests nothing twice', async () => {
    const known: KnownRound[] = []
    for (const steps of [1, 7, 30]) {
      const going = walk({ known })
      for (let step = 0; step < steps; step++) {
        const { value } = (await going.next()) as { value: BackfillProgress }
        const { window, reached, next } = value
        if (next === undefined) continue
        const length = LENGTHS[window as Window] * 1000
        const open = toMicros(reached - length)
        known.push({ window, topicId: next, open, close: reached, isComplete: false })
      }
      await going.return({
        counts: { expected: 0, complete: 0, unresolved: 0, missing: 0 },
        calls: 0,
      })
      for (const { request } of sink.answers) {
        const window = Number(request['topic_id']) > BASE['15m'] - 1000 ? '15m' : '5m'
        const index = BASE[window] - Number(request['topic_id'])
        if (request.kind !== 'past_topic' || index < 0) continue
        const endMs = END - index * LENGTHS[window]
        const times = { open: fromMillis(endMs - LENGTHS[window]), close: fromMillis(endMs) }
        known.unshift({ window, topicId: String(BASE[window] - index), ...times, isComplete: true })
      }
    }
    const { counts } = await all({ known })
    expect(counts).toMatchObject({ complete: 80, missing: 0 })
    expect(inside('5m').toSorted((a, b) => a - b)).toEqual(upTo(60))
    expect(inside('15m').toSorted((a, b) => a - b)).toEqual(upTo(20))
  })

  it('reaches a range in the past and stays inside it', async () => {
    const start = fromMillis(END - 45 * LENGTHS['5m'])
    const { counts } = await all({ start, end: fromMillis(END - 30 * LENGTHS['5m']) })
    expect(counts).toEqual({ expected: 20, complete: 20, unresolved: 0, missing: 0 })
    expect(asked('5m').filter((index) => index >= 30)).toEqual(upTo(45, 30))
    expect(asked('15m').filter((index) => index >= 10)).toEqual(upTo(15, 10))
  })

  it('finds past rounds in the list when the details name no neighbours', async () => {
    listed = () => true
    timeline = { before: 0, after: 0 }
    const { counts } = await all()
    expect(counts).toMatchObject({ complete: 80, missing: 0 })
    expect(inside('5m')).toEqual(upTo(60))
    expect(pagesRead()).toBeGreaterThan(5)
  })

  it('counts rounds that no answer names', async () => {
    timeline = { before: 0, after: 0 }
    const { counts } = await all()
    expect(counts).toEqual({ expected: 80, complete: 0, unresolved: 0, missing: 80 })
    expect(pagesRead()).toBe(1)
  })

  it('retries calls that failed temporarily', async () => {
    let left = 12
    upstream.script.refuse = () =>
      left-- > 0 ? { status: [429, 503, 500, 408, 418][left % 5]!, body: {} } : undefined
    const { counts } = await all()
    expect(counts).toMatchObject({ complete: 80, missing: 0 })
    expect(warnings).toHaveLength(12)
  })

  it('does not count a late signature as a refusal', async () => {
    let left = 5
    upstream.script.refuse = ({ path }) =>
      path === '/market/detail' && left-- > 0
        ? { status: 400, body: { code: -1021, msg: 'late' } }
        : undefined
    expect((await all()).counts).toMatchObject({ complete: 80, missing: 0 })
  })

  it('continues without a round that is missing or malformed', async () => {
    const gone = String(BASE['5m'] - 5)
    const other = String(BASE['5m'] - 9)
    const strange = String(BASE['15m'] - 4)
    upstream.script.refuse = ({ query }) =>
      query.get('marketTopicId') === gone
        ? { status: 400, body: { code: -1130, msg: 'no such topic' } }
        : undefined
    upstream.script.detail = (topicId) => {
      if (topicId === strange) return { marketTopicId: 'of no use' }
      return find(topicId === other ? gone : topicId)
    }
    const { counts } = await all()
    expect(counts).toEqual({ expected: 80, complete: 77, unresolved: 0, missing: 3 })
    expect(inside('5m').filter((index) => index === 5)).toHaveLength(3)
    expect(warnings.filter((text) => text.includes('are not available'))).toHaveLength(3)
  })

  it('counts rounds without a result and continues', async () => {
    upstream.script.detail = (topicId) => {
      const topic = find(topicId)!
      if (Number(topicId) !== BASE['5m'] - 2) return topic
      const [market] = topic['markets'] as unknown as [object]
      const outcomes = [
        { name: 'Up', index: 0 },
        { name: 'Down', index: 1 },
      ]
      return { ...topic, markets: [{ ...market, status: 'REGISTERED', outcomes }] }
    }
    expect((await all()).counts).toMatchObject({ complete: 79, unresolved: 1, missing: 0 })
  })

  it('fails at once when the credentials are refused', async () => {
    upstream.script.refuse = () => ({ status: 401, body: { code: -2014, msg: 'no' } })
    await expect(all()).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(upstream.seen).toHaveLength(1)
  })

  it.each([403, 451])('fails at once when the venue refuses this client (%i)', async (status) => {
    upstream.script.refuse = ({ path }) =>
      path === '/market/detail' ? { status, body: { msg: 'not from here' } } : undefined
    await expect(all()).rejects.toMatchObject({
      code: 'upstream_failed',
      message: expect.stringContaining('refuses this client') as string,
    })
    expect(upstream.seen.filter(({ path }) => path === '/market/detail')).toHaveLength(1)
  })

  it('fails when the venue does not answer for long, and when it gives no list', async () => {
    upstream.script.refuse = () => ({ status: 500, body: {} })
    await expect(all({ attempts: 4 })).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(upstream.seen).toHaveLength(4)
    upstream.script.refuse = () => ({ status: 451, body: { msg: 'restricted location' } })
    await expect(all()).rejects.toThrow('restricted location')
  })

  it('returns its counts when the signal aborts', async () => {
    const going = walk({})
    await going.next()
    stopping.abort()
    expect(await going.next()).toMatchObject({ done: true, value: { counts: { expected: 80 } } })
  })

  it('spreads its calls over the window of the quota', async () => {
    const clock = new ManualClock()
    const times: number[] = []
    const shared = createQuota({ limit: 10, windowMs: 400 }, clock)
    const acquire = shared.acquire.bind(shared)
    const quota: Quota = Object.assign(shared, {
      acquire(...call: Parameters<Quota['acquire']>) {
        times.push(clock.monotonicMs())
        return acquire(...call)
      },
    })
    const run = { isOver: false }
    const ending = all({ start: fromMillis(END - 6 * LENGTHS['5m']), quota, clock }).finally(
      () => (run.isOver = true),
    )
    while (!run.isOver) await clock.advance(1)
    await ending
    expect(times.length).toBeGreaterThan(10)
    for (let index = 1; index < times.length; index++) {
      expect(times[index]! - times[index - 1]!).toBeGreaterThan(39)
    }
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

  it('is the beginning when the list is not sorted', async () => {
    const shuffled = ends.map((_, index) => 100_000 + ((index * 7919) % 5000))
    expect(await findOffset(100_500, pageOf(shuffled))).toBe(0)
    expect(await findOffset(5, () => Promise.resolve(undefined))).toBeUndefined()
  })
})
