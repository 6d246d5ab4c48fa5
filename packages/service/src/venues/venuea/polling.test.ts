import { describe, expect, it } from 'vitest'
import { recordsOf } from '../capture/followed-markets.ts'
import { noteSilence } from './books.ts'
import { normalizeTopic } from './catalog.ts'
import { AT, topicObject, TOPIC_ID } from './fixtures.testing.ts'
import { Discovery, VenueAMarkets } from './markets.ts'
import { Polling } from './polling.ts'
import { toQuota, toVenueWindow } from './rest.ts'
import { createTestSink } from './upstream.testing.ts'

const OPEN = 1_790_000_100_000
const CLOSE = 1_790_001_000_000
const MINUTE = 60_000

function setUp(changes: Record<string, unknown> = {}, nowMs = OPEN + 1000) {
  const markets = new VenueAMarkets({
    isWanted: ({ asset = '' }) => ['BTC', 'ETH'].includes(asset),
    speed: 1,
  })
  const [record] = recordsOf(normalizeTopic(topicObject(changes), AT))
  markets.update(record!, nowMs)
  const [market] = [...markets]
  const polling = new Polling({
    markets,
    discovery: new Discovery(markets, 1),
    speed: 1,
    nowMs: () => nowMs,
    send: () => Promise.resolve({ ok: false, why: 'not called' }),
    onUnreadable: () => undefined,
    onMissedBook: () => undefined,
  })
  const jobOf = (kind: string, atMs: number) =>
    polling.list(atMs).find(({ call }) => call.kind === kind)
  return { markets, record: record!, market: market!, jobOf }
}

describe('the book of a market', () => {
  it('is requested at once, urgently inside the window', () => {
    const { jobOf } = setUp()
    expect(jobOf('book', OPEN + 1000)).toMatchObject({
      dueMs: OPEN + 1000,
      urgent: true,
      weight: 2,
    })
    const listed = setUp({}, OPEN - MINUTE)
    expect(listed.jobOf('book', OPEN - MINUTE)).toMatchObject({ urgent: false })
  })

  it('is requested again within a minute, sooner inside the window', () => {
    const { markets, market, jobOf } = setUp({ symbol: 'ETHUSDT' }, OPEN - MINUTE)
    markets.bookArrived(market.marketId, OPEN - MINUTE)
    expect(jobOf('book', OPEN - MINUTE)).toMatchObject({ dueMs: OPEN - MINUTE + 39_000, weight: 1 })
    markets.bookArrived(market.marketId, OPEN)
    expect(jobOf('book', OPEN)).toMatchObject({ dueMs: OPEN + 13_000, urgent: false })
  })

  it('that stays closed is requested ever more slowly', () => {
    const { markets, market, jobOf } = setUp()
    const now = OPEN + 1000
    const waits = [0, 1, 2, 3, 4, 5, 20].map((calls) => {
      market.requestedMs = now
      market.recoveryCalls = calls
      return jobOf('book', now)!.dueMs - now
    })
    expect(waits).toStrictEqual([0, 1000, 2000, 4000, 8000, 13_000, 13_000])
    markets.recover(market.marketId, now + 5000)
    expect(market.recoveryCalls).toBe(20)
    markets.recover(market.marketId, now + 21_000)
    expect(market.recoveryCalls).toBe(0)
  })

  it('is not requested before it trades, after its close, or without its token', () => {
    const { markets, market, jobOf } = setUp()
    expect(jobOf('book', CLOSE)).toBeUndefined()
    expect(jobOf('last_trade', CLOSE)).toBeUndefined()
    market.status = 'scheduled'
    expect(markets.isOpen(market, OPEN - 1)).toBe(false)
    expect(markets.isOpen(market, OPEN)).toBe(true)
    market.status = 'determined'
    expect(jobOf('book', OPEN)).toBeUndefined()
    market.status = 'open'
    market.tokenId = undefined
    expect(jobOf('book', OPEN)).toBeUndefined()
  })
})

describe('the details of a round', () => {
  it('are requested at once, at the start, and after the end until it resolves', () => {
    const { markets, record, jobOf } = setUp({}, OPEN - MINUTE)
    const topicId = String(TOPIC_ID)
    const due = (): number | undefined => jobOf('detail', 0)?.dueMs
    expect(due()).toBe(OPEN - MINUTE)
    markets.detailsAnswered(topicId, true, OPEN - MINUTE)
    expect(due()).toBe(OPEN + 3000)
    markets.detailsAnswered(topicId, false, OPEN + 3000)
    expect(due()).toBe(OPEN + 8000)
    markets.detailsAnswered(topicId, true, OPEN + 8000)
    expect(due()).toBe(CLOSE + 2000)
    const waits: number[] = []
    for (let now = CLOSE + 2000; due() !== undefined; now = due() ?? now) {
      markets.detailsAnswered(topicId, true, now)
      waits.push((due() ?? Infinity) - now)
    }
    expect(waits.slice(0, 9)).toStrictEqual(
      [3, 6, 12, 24, 48, 96, 192, 384, 600].map((seconds) => seconds * 1000),
    )
    expect(waits.at(-1)).toBe(Infinity)
    // Some hours: 9 waits of together 23 minutes, then one every 10 minutes.
    expect(waits).toHaveLength(44)
    markets.update({ ...record, status: 'resolved' }, CLOSE)
    expect(markets.size + markets.topics.size).toBe(0)
  })

  it('of other coins wait for the start', () => {
    const { jobOf } = setUp({ symbol: 'ETHUSDT' }, OPEN - MINUTE)
    expect(jobOf('detail', 0)).toMatchObject({ dueMs: OPEN + 3000 })
    expect(setUp({ symbol: 'DOGEUSDT' }).markets.size).toBe(0)
  })

  it('of a neighbour that is not over are requested, and forgotten when it is not followed', () => {
    const { markets } = setUp()
    markets.addNeighbour('7', OPEN - 1, OPEN)
    expect(markets.topics.has('7')).toBe(false)
    markets.addNeighbour('7', CLOSE, OPEN)
    expect(markets.topics.get('7')).toMatchObject({ dueMs: OPEN })
    markets.detailsAnswered('7', true, OPEN)
    markets.prune(CLOSE)
    expect(markets.topics.has('7')).toBe(true)
    markets.prune(CLOSE + 1)
    expect(markets.topics.has('7')).toBe(false)
  })
})

describe('silence', () => {
  it('counts from the opening of a market', () => {
    const sink = createTestSink()
    const { markets, market } = setUp({}, OPEN - 10 * MINUTE)
    market.status = 'scheduled'
    noteSilence(markets, sink, OPEN - 1)
    noteSilence(markets, sink, OPEN + MINUTE - 1)
    expect(sink.notes).toStrictEqual([])
    noteSilence(markets, sink, OPEN + MINUTE)
    expect(sink.notes).toHaveLength(1)
  })

  it('is the venue’s where a book was requested in vain, and the quota’s where none was', () => {
    const sink = createTestSink()
    const { markets, market } = setUp()
    market.bookMs = OPEN
    noteSilence(markets, sink, OPEN + MINUTE)
    expect(sink.notes).toStrictEqual([])
    noteSilence(markets, sink, OPEN + MINUTE + 1)
    noteSilence(markets, sink, OPEN + 2 * MINUTE)
    expect(sink.notes).toMatchObject([{ note: 'loss', reason: 'quota', keys: [market.marketId] }])
    markets.bookArrived(market.marketId, OPEN + 2 * MINUTE)
    market.requestedMs = OPEN + 2 * MINUTE + 1
    noteSilence(markets, sink, OPEN + 4 * MINUTE)
    expect(sink.notes[1]).toMatchObject({ reason: 'venue_silent', keys: [market.marketId] })
  })
})

describe('a quota for more speed', () => {
  it('is spent in shorter windows at the same rate', () => {
    const quota = { limit: 1200, windowMs: 60_000 }
    expect(toVenueWindow(quota, 20)).toStrictEqual({ limit: 60, windowMs: 3000 })
    expect(toVenueWindow({ ...quota, slackMs: 9 }, 20)).toMatchObject({ slackMs: 9 })
    expect(toVenueWindow({ ...quota, slackMs: 9 }, 1)).toStrictEqual({ ...quota, slackMs: 9 })
    expect(toVenueWindow({ limit: 20, windowMs: 400 }, 40)).toStrictEqual({
      limit: 20,
      windowMs: 400,
    })
  })

  it('is used as it is where it is shared', () => {
    const quota = toQuota({ limit: 60, windowMs: 60_000 }, 1)
    expect(toQuota(quota, 20)).toBe(quota)
  })
})
