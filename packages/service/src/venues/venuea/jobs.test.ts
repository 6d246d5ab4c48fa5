import { describe, expect, it } from 'vitest'
import { toQuota, toVenueWindow } from './api.ts'
import { normalizeTopic } from './catalog.ts'
import { recordsOf } from './discovery.ts'
import { AT, topicObject, TOPIC_ID } from './fixtures.testing.ts'
import { createJobs } from './jobs.ts'
import { createRounds } from './rounds.ts'
import { noteSilence } from './silence.ts'
import { createTestSink } from './upstream.testing.ts'

const OPEN = 1_790_000_100_000
const CLOSE = 1_790_001_000_000
const MINUTE = 60_000

function setUp(changes: Record<string, unknown> = {}, nowMs = OPEN + 1000) {
  const rounds = createRounds({ assets: ['BTC', 'ETH'], speed: 1 })
  const [record] = recordsOf(normalizeTopic(topicObject(changes), AT))
  rounds.see(record!, nowMs)
  const market = rounds.markets.values().next().value!
  const jobs = createJobs(rounds, 1)
  const jobOf = (kind: string, atMs: number) => jobs(atMs).find(({ call }) => call.kind === kind)
  return { rounds, record: record!, market, jobOf }
}

describe('the book of a market', () => {
  it('is wanted at once, urgently inside the window', () => {
    const { jobOf } = setUp()
    expect(jobOf('book', OPEN + 1000)).toMatchObject({
      dueMs: OPEN + 1000,
      urgent: true,
      weight: 2,
    })
    const listed = setUp({}, OPEN - MINUTE)
    expect(listed.jobOf('book', OPEN - MINUTE)).toMatchObject({ urgent: false })
  })

  it('is wanted again within a minute, sooner inside the window', () => {
    const { rounds, market, jobOf } = setUp({ symbol: 'ETHUSDT' }, OPEN - MINUTE)
    rounds.heard(market.marketId, OPEN - MINUTE)
    expect(jobOf('book', OPEN - MINUTE)).toMatchObject({ dueMs: OPEN - MINUTE + 39_000, weight: 1 })
    rounds.heard(market.marketId, OPEN)
    expect(jobOf('book', OPEN)).toMatchObject({ dueMs: OPEN + 13_000, urgent: false })
  })

  it('that is refused again and again is asked for ever more slowly', () => {
    const { rounds, market, jobOf } = setUp()
    const now = OPEN + 1000
    const waits = [0, 1, 2, 3, 4, 5, 20].map((haste) => {
      market.askedMs = now
      market.haste = haste
      return jobOf('book', now)!.dueMs - now
    })
    expect(waits).toStrictEqual([0, 1000, 2000, 4000, 8000, 13_000, 13_000])
    rounds.want(market.marketId, now + 5000)
    expect(market.haste).toBe(20)
    rounds.want(market.marketId, now + 21_000)
    expect(market.haste).toBe(0)
  })

  it('is not wanted before it trades, after its close, or without its token', () => {
    const { rounds, market, jobOf } = setUp()
    expect(jobOf('book', CLOSE)).toBeUndefined()
    expect(jobOf('last_trade', CLOSE)).toBeUndefined()
    market.status = 'scheduled'
    expect(rounds.isOpen(market, OPEN - 1)).toBe(false)
    expect(rounds.isOpen(market, OPEN)).toBe(true)
    market.status = 'determined'
    expect(jobOf('book', OPEN)).toBeUndefined()
    market.status = 'open'
    market.tokenId = undefined
    expect(jobOf('book', OPEN)).toBeUndefined()
  })
})

describe('the details of a round', () => {
  it('are asked for at once, at the start, and after the end until it resolves', () => {
    const { rounds, record, jobOf } = setUp({}, OPEN - MINUTE)
    const topicId = String(TOPIC_ID)
    const due = (): number | undefined => jobOf('detail', 0)?.dueMs
    expect(due()).toBe(OPEN - MINUTE)
    rounds.answered(topicId, true, OPEN - MINUTE)
    expect(due()).toBe(OPEN + 3000)
    rounds.answered(topicId, false, OPEN + 3000)
    expect(due()).toBe(OPEN + 8000)
    rounds.answered(topicId, true, OPEN + 8000)
    expect(due()).toBe(CLOSE + 2000)
    const waits: number[] = []
    for (let now = CLOSE + 2000; due() !== undefined; now = due() ?? now) {
      rounds.answered(topicId, true, now)
      waits.push((due() ?? Infinity) - now)
    }
    expect(waits.slice(0, 9)).toStrictEqual(
      [3, 6, 12, 24, 48, 96, 192, 384, 600].map((seconds) => seconds * 1000),
    )
    expect(waits.at(-1)).toBe(Infinity)
    // Some hours: 9 waits of together 23 minutes, then one every 10 minutes.
    expect(waits).toHaveLength(44)
    rounds.see({ ...record, status: 'resolved' }, CLOSE)
    expect(rounds.markets.size + rounds.topics.size).toBe(0)
  })

  it('of other coins wait for the start', () => {
    const { jobOf } = setUp({ symbol: 'ETHUSDT' }, OPEN - MINUTE)
    expect(jobOf('detail', 0)).toMatchObject({ dueMs: OPEN + 3000 })
    expect(setUp({ symbol: 'DOGEUSDT' }).rounds).toMatchObject({ markets: new Map() })
  })

  it('of a neighbour that is not over are asked for, and forgotten when there is nothing', () => {
    const { rounds } = setUp()
    rounds.seeNeighbour('7', OPEN - 1, OPEN)
    expect(rounds.topics.has('7')).toBe(false)
    rounds.seeNeighbour('7', CLOSE, OPEN)
    expect(rounds.topics.get('7')).toMatchObject({ dueMs: OPEN })
    rounds.answered('7', true, OPEN)
    rounds.prune(CLOSE)
    expect(rounds.topics.has('7')).toBe(true)
    rounds.prune(CLOSE + 1)
    expect(rounds.topics.has('7')).toBe(false)
  })
})

describe('silence', () => {
  it('is none before a market trades, and counts from its opening', () => {
    const sink = createTestSink()
    const { rounds, market } = setUp({}, OPEN - 10 * MINUTE)
    market.status = 'scheduled'
    noteSilence(rounds, sink, OPEN - 1)
    noteSilence(rounds, sink, OPEN + MINUTE - 1)
    expect(sink.notes).toStrictEqual([])
    noteSilence(rounds, sink, OPEN + MINUTE)
    expect(sink.notes).toHaveLength(1)
  })

  it('is the venue where a book was asked for in vain, and the quota where none was', () => {
    const sink = createTestSink()
    const { rounds, market } = setUp()
    market.heardMs = OPEN
    noteSilence(rounds, sink, OPEN + MINUTE)
    expect(sink.notes).toStrictEqual([])
    noteSilence(rounds, sink, OPEN + MINUTE + 1)
    noteSilence(rounds, sink, OPEN + 2 * MINUTE)
    expect(sink.notes).toMatchObject([{ note: 'loss', reason: 'quota', keys: [market.marketId] }])
    rounds.heard(market.marketId, OPEN + 2 * MINUTE)
    market.askedMs = OPEN + 2 * MINUTE + 1
    noteSilence(rounds, sink, OPEN + 4 * MINUTE)
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

  it('is taken as it is where it is shared', () => {
    const quota = toQuota({ limit: 60, windowMs: 60_000 }, 1)
    expect(toQuota(quota, 20)).toBe(quota)
  })
})
