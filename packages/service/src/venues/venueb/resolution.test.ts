import type { MarketRecord } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { createQuota } from '../capture/quota.ts'
import { createRest, type RestAnswer, type RestCall } from '../capture/rest.ts'
import { TestLog, TestSink } from './capture.testing.ts'
import { VenueBMarkets } from './markets.ts'
import { ResolutionChecks } from './resolution.ts'

const MAX_WAIT_MS = 300_000
const DAY_MS = 86_400_000

it('markets that the venue removed are asked for ever more rarely, until they are back', async () => {
  const clock = new ManualClock()
  const sink = new TestSink(clock)
  const markets = new VenueBMarkets(120_000, 1_000)
  const asked: string[] = []
  // The venue knows neither of them until RETURNED is there again.
  let isReturned = false
  const closeTime = clock.now()
  const returned = { venue: 'venueb', marketId: 'RETURNED', closeTime } as MarketRecord
  const rest = {
    send: async ({ path, query }: RestCall): Promise<RestAnswer> => {
      const name = query === undefined ? path : String(query['tickers'])
      asked.push(name)
      const isNamed = isReturned && name.includes('RETURNED')
      if (query === undefined && !isNamed) return { ok: false, status: 404 } as never
      const events = isNamed ? [{ kind: 'market', record: returned }] : []
      return { ok: true, reading: { events } } as never
    },
  }
  const checks = new ResolutionChecks({
    rest,
    log: new TestLog(),
    sink,
    clock,
    markets,
    maxWaitMs: MAX_WAIT_MS,
    tickMs: 10_000,
    onMarkets: (records) => {
      for (const record of records) markets.update(record, sink.steadyNow() / 1000)
    },
  })
  for (const ticker of ['GONE', 'RETURNED']) {
    markets.resume(ticker, 0, undefined)
    markets.suspect(ticker, 0)
  }
  const stop = new AbortController()
  const running = checks.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  const askedFor = (ticker: string): number => asked.filter((one) => one.includes(ticker)).length
  // The first check, after which it waits by the clock.
  await clock.advance(0)
  await clock.advance(3 * DAY_MS)
  // Lists first, then both addresses by name; every five minutes would be 1,728 requests.
  expect(askedFor('GONE')).toBeGreaterThan(10)
  expect(askedFor('GONE')).toBeLessThan(60)
  const before = askedFor('GONE')
  await clock.advance(10 * DAY_MS)
  expect(askedFor('GONE') - before).toBeGreaterThanOrEqual(18)
  expect(askedFor('GONE') - before).toBeLessThanOrEqual(24)
  // One that is there again is checked like others from then on.
  isReturned = true
  await clock.advance(DAY_MS)
  const since = askedFor('RETURNED')
  await clock.advance(DAY_MS)
  expect(askedFor('RETURNED') - since).toBeGreaterThan(200)
})

it('the end of a market that nothing could be kept of is asked for again, no more often than others', async () => {
  const clock = new ManualClock()
  let isFull = true
  const sink = Object.assign(new TestSink(clock), { isFull: () => isFull })
  const markets = new VenueBMarkets(120_000, 1_000)
  let asked = 0
  vi.stubGlobal('fetch', async () => {
    asked++
    return Response.json({ markets: [{ ticker: 'M', event_ticker: 'E', status: 'finalized' }] })
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  const log = new TestLog()
  const quota = createQuota({ limit: 1000, windowMs: 1000 }, clock)
  const checks = new ResolutionChecks({
    rest: createRest({ base: 'http://venue', quota, sink, log }),
    log,
    sink,
    clock,
    markets,
    maxWaitMs: MAX_WAIT_MS,
    tickMs: 10_000,
    onMarkets: (records) => {
      for (const record of records) markets.update(record, sink.steadyNow() / 1000)
    },
  })
  markets.resume('M', 0, undefined)
  const stop = new AbortController()
  const running = checks.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  await clock.advance(0)
  await clock.advance(3_600_000)
  // Every five minutes in the end, as where the venue has not decided it.
  expect(asked).toBeGreaterThan(10)
  expect(asked).toBeLessThan(30)
  expect(markets.size).toBe(1)
  expect(quota.refusals).toBe(0)
  isFull = false
  await clock.advance(MAX_WAIT_MS)
  expect(markets.size).toBe(0)
  const before = asked
  await clock.advance(DAY_MS)
  expect(asked).toBe(before)
})
