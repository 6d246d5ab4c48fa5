import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { fromMillis, toMicros, type Micros } from '@priorbook/sdk/domain'
import { journalStats } from '@priorbook/sdk/journal'
import type { DataFolder } from '../lib/data-folder.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import {
  backfillCatalogue,
  type BackfillReport,
  type CatalogueBackfillOptions,
} from './backfill.ts'
import {
  byPlace,
  contentsIn,
  contentsOf,
  expectedRounds,
  HISTORY,
  startPast,
  toRound,
  type PastVenue,
} from './backfill.testing.ts'
import { withRebuilt } from './rebuild.ts'
import {
  booksOf,
  createDataFolder,
  differences,
  gapsOf,
  read,
  record,
  START_MS,
} from '../recorder/scripted.testing.ts'

const QUOTA = { limit: 60, windowMs: 1000 }
/** All short rounds and the long ones that lie in the same time as a whole. */
const ROUNDS_AT_LEAST = HISTORY + Math.floor(HISTORY / 3) - 1

type Changes = Partial<CatalogueBackfillOptions>

async function run(
  venue: PastVenue,
  data: DataFolder,
  changes: Changes = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<BackfillReport> {
  const store = openEmbeddedStore({ file: data.tape })
  try {
    return await backfillCatalogue(
      {
        store,
        venue: 'venuea',
        journalDir: data.journal,
        origin: 'emulator',
        recorder: 'r1',
        log: { info: () => undefined, warn: () => undefined, error: () => undefined },
        upstream: { ...venue.upstream, quota: QUOTA },
        asset: 'BTC',
        start: venue.start,
        end: venue.end,
        ...changes,
      },
      signal,
    )
  } finally {
    await store.close()
  }
}

const rounds = (data: DataFolder): Promise<object[]> =>
  read(data, async (store) => {
    const { markets } = await store.markets({ limit: 10_000 })
    return markets.map((market) => toRound(market.record)).toSorted(byPlace)
  })

/**
 * The end of the first short round after the range up to which every round is resolved, those of the other window
 * too: each takes its own time to be resolved, and the list shows those that are not.
 */
async function untilNextResolved(venue: PastVenue): Promise<Micros> {
  for (;;) {
    const since = venue.emulator.world
      .propositions('venuea')
      .filter(({ asset, closeTime }) => asset === 'BTC' && closeTime * 1000 > venue.end)
    const isResolvedUntil = (end: number): boolean =>
      since.every(({ closeTime, phase }) => closeTime > end || phase === 'resolved')
    const found = since.find(
      ({ window, closeTime }) => window === '5m' && isResolvedUntil(closeTime),
    )
    if (found !== undefined) return fromMillis(found.closeTime)
    await delay(20)
  }
}

/** What the journal gives from nothing. */
const rebuilt = (data: DataFolder): Promise<object> =>
  withRebuilt({ data }, (store) => contentsOf(store))

describe('a backfill of the catalogue', () => {
  it('stores every round of the range as the venue has it, and nothing else', async () => {
    const venue = await startPast()
    const data = createDataFolder()
    const seen: number[] = []
    // Fewer than there are rounds, and slack for the way to the venue on a busy machine.
    const quota = { limit: 30, windowMs: 1500, slackMs: 300 }
    const report = await run(venue, data, {
      upstream: { ...venue.upstream, quota },
      onProgress: ({ counts }) => seen.push(counts.complete),
    })
    const expected = expectedRounds(venue, 'BTC')
    expect(expected.length).toBeGreaterThanOrEqual(ROUNDS_AT_LEAST)
    expect(new Set(expected.map((one) => (one as { winner?: string }).winner))).toEqual(
      new Set(['Up', 'Down', undefined]),
    )
    expect(await rounds(data)).toEqual(expected)
    expect(report).toMatchObject({
      expected: expected.length,
      complete: expected.length,
      unresolved: 0,
      missing: 0,
      quarantined: 0,
      isStopped: false,
    })
    expect(seen.at(-1)).toBe(expected.length)
    expect(await contentsIn(data)).toMatchObject({ gaps: [], instruments: [], quarantine: [] })
    expect(await rebuilt(data)).toEqual(await contentsIn(data))
    // One call a round, the list, and an open round of each window to begin with.
    expect(report.calls).toBeLessThanOrEqual(expected.length + 5)
    expect(venue.calls()).toBe(report.calls)
    expect(venue.peak(quota.windowMs)).toBeLessThanOrEqual(quota.limit)
    expect(venue.emulator.quotaPeaks().venuea!['default']!.refused).toBe(0)
  })

  it('changes nothing and asks for nothing when it is run again', async () => {
    const venue = await startPast()
    const data = createDataFolder()
    await run(venue, data)
    const before = await contentsIn(data)
    const { last } = journalStats(data.journal, 'venuea')
    const calls = venue.calls()
    const again = await run(venue, data)
    expect(again).toMatchObject({ calls: 0, missing: 0 })
    expect(again.complete).toBe(again.expected)
    expect(venue.calls()).toBe(calls)
    expect(await contentsIn(data)).toEqual(before)
    expect(journalStats(data.journal, 'venuea').last).toBe(last)
  })

  it('adds only what has ended since, in a later run up to then', async () => {
    const venue = await startPast()
    const data = createDataFolder()
    const first = await run(venue, data)
    const known = (await rounds(data)).length
    const end = await untilNextResolved(venue)
    const second = await run(venue, data, { end })
    const added = second.expected - first.expected
    expect(added).toBeGreaterThan(0)
    expect((await rounds(data)).length).toBe(known + added)
    expect(second.calls).toBeLessThanOrEqual(added + 8)
    const { markets } = await read(data, (store) => store.markets({ limit: 10_000 }))
    expect(new Set(markets.map(({ revision }) => revision))).toEqual(new Set([1]))
  })

  it('fills in other ranges around what is there', async () => {
    const venue = await startPast()
    const data = createDataFolder()
    const third = (venue.end - venue.start) / 3
    const inner = {
      start: toMicros(Math.round(venue.start + third)),
      end: toMicros(Math.round(venue.end - third)),
    }
    const part = await run(venue, data, inner)
    expect(part.complete).toBe(part.expected)
    expect(part.expected).toBeGreaterThan(10)
    await run(venue, data)
    expect(await rounds(data)).toEqual(expectedRounds(venue, 'BTC'))
    const { markets } = await read(data, (store) => store.markets({ limit: 10_000 }))
    expect(new Set(markets.map(({ revision }) => revision))).toEqual(new Set([1]))
  })

  it('survives refusals, failures and answers that do not come', async () => {
    const venue = await startPast('trouble')
    const data = createDataFolder()
    const target = { venue: 'venuea' } as const
    venue.emulator.inject({ fault: { kind: 'http_429', share: 0.5, count: 3 }, target })
    venue.emulator.inject({ fault: { kind: 'http_5xx', share: 0.2, count: 10 }, target })
    // Longer than a call waits for its answer.
    venue.emulator.inject({ fault: { kind: 'http_slow', delayMs: 6_000, count: 1 }, target })
    const report = await run(venue, data)
    expect(report).toMatchObject({ missing: 0, complete: report.expected })
    expect(report.calls).toBeGreaterThanOrEqual(report.expected + 10)
    expect(await rounds(data)).toEqual(expectedRounds(venue, 'BTC'))
    expect(await rebuilt(data)).toEqual(await contentsIn(data))
  })

  it('keeps what it has when it is stopped or the venue goes away', async () => {
    const venue = await startPast()
    const data = createDataFolder()
    const stop = new AbortController()
    const onProgress = ({ counts }: { counts: { complete: number } }): void => {
      if (counts.complete === 10) stop.abort()
    }
    const report = await run(venue, data, { onProgress }, stop.signal)
    expect(report).toMatchObject({ isStopped: true, complete: 10 })
    expect(await rounds(data)).toHaveLength(10)
    const calls = venue.calls()
    const id = venue.emulator.inject({ fault: { kind: 'http_5xx' }, target: { venue: 'venuea' } })
    const upstream = { ...venue.upstream, quota: QUOTA, attempts: 3 }
    await expect(run(venue, data, { upstream })).rejects.toMatchObject({ code: 'upstream_failed' })
    venue.emulator.end(id)
    await run(venue, data)
    expect(await rounds(data)).toEqual(expectedRounds(venue, 'BTC'))
    expect(venue.calls()).toBeLessThanOrEqual(expectedRounds(venue, 'BTC').length + 5 + 3 + 1)
    expect(calls).toBeLessThan(20)
  })

  it.each([2, 3, 5])('goes on after it was stopped with call %i', async (calls) => {
    const venue = await startPast()
    const data = createDataFolder()
    const stop = new AbortController()
    const onProgress = (progress: { calls: number }): void => {
      if (progress.calls >= calls) stop.abort()
    }
    expect(await run(venue, data, { onProgress }, stop.signal)).toMatchObject({ isStopped: true })
    const report = await run(venue, data)
    expect(report.complete).toBe(report.expected)
    expect(await rounds(data)).toEqual(expectedRounds(venue, 'BTC'))
    expect(venue.calls()).toBeLessThanOrEqual(report.expected + 8)
  })

  it('keeps emulated rounds out of a folder with live data', async () => {
    const venue = await startPast()
    const data = createDataFolder()
    await record(data, 'venueb', () => undefined, { origin: 'live' })
    await expect(run(venue, data)).rejects.toMatchObject({ code: 'origin_mismatch' })
    expect(venue.calls()).toBe(0)
  })
})

describe('what a backfill hears of a recorded market', () => {
  const topic = (isOver: boolean): object => ({
    marketTopicId: 5,
    symbol: 'BTCUSDT',
    startDate: START_MS - 300_000,
    endDate: START_MS,
    markets: [
      {
        marketId: 1005,
        status: isOver ? 'RESOLVED' : 'REGISTERED',
        tradingStatus: isOver ? 'CLOSED' : 'OPEN',
        outcomes: ['Up', 'Down'].map((name, index) => ({
          name,
          index,
          tokenId: `50${index}`,
          ...(isOver ? { winner: index === 0 } : {}),
        })),
      },
    ],
  })
  const book = { bids: [{ price: '0.4', size: '1' }], asks: [{ price: '0.6', size: '1' }] }

  it.each([
    ['topic', ['market_closed 0–']],
    ['past_topic', ['recorder_down 0–']],
  ])('as %s: gaps %j', async (kind, gaps) => {
    const data = createDataFolder()
    await record(data, 'venuea', (script) => {
      script.answer({ kind: 'topic', topic_id: '5' }, topic(false))
      const request = { kind: 'book', market_id: '1005', token_id: '500', outcome_index: 0 }
      script.answer(request, book)
      script.wait(1000)
      const scope = { asset: 'BTC', start: 0, end: START_MS * 1000 }
      script.answer({ kind, topic_id: '5', ...scope }, topic(true))
    })
    expect((await booksOf(data, 'venuea', '1005')).length).toBe(1)
    const found = await gapsOf(data, 'venuea', '1005')
    expect(found.slice(-1)).toEqual(gaps)
    const state = await read(data, (store) => store.market('venuea', '1005'))
    expect(state?.record.status).toBe('resolved')
    expect(await differences(data)).toEqual([])
  })

  it('has both versions of a round that is resolved between the list and its details', async () => {
    const data = createDataFolder()
    await record(data, 'venuea', async (script) => {
      const scope = { asset: 'BTC', start: 0, end: START_MS * 1000 }
      script.answer({ kind: 'past_topics', offset: 0, ...scope }, { marketTopics: [topic(false)] })
      await script.stored()
      script.answer({ kind: 'past_topic', topic_id: '5', ...scope }, topic(true))
    })
    const versions = await read(data, (store) => store.revisions('venuea', '1005', { limit: 9 }))
    expect(versions.map(({ record: { status } }) => status)).toEqual(['open', 'resolved'])
    expect(await differences(data)).toEqual([])
  })
})
