import type { Gap, Instrument, MarketRecord, Micros } from '@priorbook/sdk/domain'
import { VENUES } from '@priorbook/sdk/domain'
import { ABSENT, type Observation } from '@priorbook/sdk/tape'
import type { CalendarDayJson, ListedMarketJson, StatusJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import type { AppendBatch } from '../../store/store.ts'
import { createTestServer, type TestServer } from '../server.testing.ts'
import type { RecorderPulse } from '../../lib/pulse.ts'

const NOON = Date.UTC(2026, 7, 5, 12) * 1000
const at = (seconds: number): Micros => (NOON + seconds * 1e6) as Micros
const KEYS = ['one', 'two', 'three', 'four']
const made = { venue: 'venueb', origin: 'live', recorder: 'r', normalizer: 1 } as const

const row = (key: string, received: Micros, journal: number): Observation => {
  const instrument: Instrument = { venue: 'venueb', market: key, key }
  const place = { source: received, venueSeq: ABSENT, channel: ABSENT, journal, flags: 3 }
  return {
    ...place,
    instrument,
    received,
    priceDecimals: 4,
    keys: [4000 * 2, 6000 * 2 + 1],
    sizes: [100, 100],
  }
}

const gap = (key: string, journal: number, more: Partial<Gap> = {}): Gap => ({
  venue: 'venueb',
  scope: 'instrument',
  key,
  reason: 'disconnected',
  start: at(10),
  afterSequence: 1,
  journal,
  ...more,
})

async function serve(
  now: Micros,
  recorder?: () => RecorderPulse,
): Promise<{
  readonly append: (batch: Partial<AppendBatch>) => Promise<void>
  readonly get: <T>(path: string) => Promise<T>
}> {
  const { store, ask, keyOf }: TestServer = await createTestServer({
    now: () => now,
    ...(recorder !== undefined && { recorder }),
  })
  const key = keyOf('unlimited')
  let position = 0
  return {
    append: (batch) => store.append({ ...made, position: ++position, ...batch }),
    get: async <T>(path: string): Promise<T> => {
      const answer = await ask(path, { headers: { authorization: `Bearer ${key}` } })
      return (JSON.parse(answer.text) as { data: T }).data
    },
  }
}

describe('incidents of /v3/status', () => {
  it('are outages of most books of a venue, with begin, end and the books concerned', async () => {
    const { append, get } = await serve(at(3600))
    await append({ observations: KEYS.map((key, index) => row(key, at(index), 1)) })
    await append({ gaps: KEYS.map((key) => gap(key, 2)) })
    const open = await get<StatusJson>('/v3/status')
    expect(open.incidents).toMatchObject([
      { venue: 'venueb', state: 'open', reason: 'disconnected', books: 4, end_time: null },
    ])
    expect(open.venues.find(({ venue }) => venue === 'venueb')).toMatchObject({
      instruments: 4,
      open_gaps: 4,
      last_received_time: '2026-08-05T12:00:03.000000Z',
    })
    await append({
      gaps: KEYS.map((key, index) => gap(key, 2, { end: at(60 + index), endJournal: 3 })),
    })
    const over = await get<StatusJson>('/v3/status')
    expect(over.incidents).toMatchObject([
      {
        state: 'resolved',
        books: 4,
        start_time: '2026-08-05T12:00:10.000000Z',
        end_time: '2026-08-05T12:01:03.000000Z',
      },
    ])
  })

  it('are not the gaps of one book, unless the recorder itself was down', async () => {
    const { append, get } = await serve(at(3600))
    await append({ observations: KEYS.map((key) => row(key, at(0), 1)) })
    await append({ gaps: [gap('one', 2)] })
    expect((await get<StatusJson>('/v3/status')).incidents).toEqual([])
    await append({ gaps: [gap('two', 3, { reason: 'recorder_down' })] })
    expect((await get<StatusJson>('/v3/status')).incidents).toMatchObject([
      { reason: 'recorder_down', books: 1 },
    ])
  })
})

describe('a venue without credentials, whose books are polled', () => {
  const capture = { markets: 4, books: 4, sockets: 0, messages: 9, messagesPerSecond: 1 }
  const counts = { observations: 9, trades: 0, samples: 0, gaps: 0, quarantined: 0 }
  const pulseOf = (booksOpen: number): RecorderPulse => ({
    venues: {
      venueb: {
        state: 'no_credentials',
        detail: 'books are polled',
        booksOpen,
        capture: { ...capture, ...counts },
      },
    },
    lagP50Ms: 1,
    lagP99Ms: 2,
    isDiskFull: false,
  })

  it('is recorded while all of its books are open, and interrupted when one is missing', async () => {
    let booksOpen = KEYS.length
    const { append, get } = await serve(at(3600), () => pulseOf(booksOpen))
    const stateOf = async (): Promise<string | undefined> =>
      (await get<StatusJson>('/v3/status')).venues.find(({ venue }) => venue === 'venueb')?.state
    await append({ observations: KEYS.map((key, index) => row(key, at(index), 1)) })
    expect(await stateOf()).toBe('recording')
    await append({ gaps: [gap(KEYS[0]!, 2)] })
    booksOpen--
    expect(await stateOf()).toBe('interrupted')
    await append({ gaps: [gap(KEYS[0]!, 2, { end: at(20), endJournal: 3 })] })
    booksOpen++
    expect(await stateOf()).toBe('recording')
    booksOpen = 0
    expect(await stateOf()).toBe('interrupted')
  })
})

describe('the sums of a venue', () => {
  it('count rows, books, markets and closed gaps by day', async () => {
    const { append, get } = await serve(at(2 * 86_400))
    await append({ observations: KEYS.map((key) => row(key, at(0), 1)) })
    await append({
      observations: KEYS.slice(0, 2).map((key) => row(key, at(86_400), 2)),
      gaps: [gap('one', 2, { end: at(40), endJournal: 2 })],
    })
    const days = await get<CalendarDayJson[]>(
      `/v3/coverage/days?venue=venueb&start_time=${at(0)}&end_time=${at(86_400 + 60)}`,
    )
    expect(days).toMatchObject([
      {
        markets: 4,
        instruments: 4,
        observations: 4,
        condition: 'degraded',
        reasons: [{ reason: 'disconnected', gaps: 1, gap_ms: 30_000 }],
      },
      { markets: 2, instruments: 2, observations: 2, condition: 'available', reasons: [] },
    ])
  })
})

describe('lists of more than 2,000 markets', () => {
  const MARKETS = 2500
  const record = (index: number): MarketRecord => ({
    venue: 'venueb',
    marketId: `KXBTC15M-${index}`,
    status: index % 2 === 0 ? 'open' : 'closed',
    openTime: at(index),
    closeTime: at(index + 900),
    asset: 'BTC',
    outcomes: [],
    units: VENUES.venueb.units,
    native: {},
    ...(index % 3 === 0 ? {} : { volume: String((index * 7919) % 4001) }),
  })

  it('are sorted by any value, whole walks long', async () => {
    const { append, get } = await serve(at(0))
    const records = Array.from({ length: MARKETS }, (_, index) => record(index))
    await append({
      revisions: records.map((one) => ({
        kind: 'market',
        received: at(0),
        journal: 1,
        record: one,
      })),
    })
    const top = records
      .filter(({ status, volume }) => status === 'open' && volume !== undefined)
      .toSorted((a, b) => Number(b.volume) - Number(a.volume) || (a.marketId < b.marketId ? 1 : -1))
    const found = await get<ListedMarketJson[]>(
      '/v3/markets?sort=volume&order=desc&status=open&limit=800',
    )
    expect(found.map((one) => one.market_id)).toEqual(
      top.map(({ marketId }) => marketId).slice(0, 800),
    )
    const last = await get<ListedMarketJson[]>('/v3/markets?sort=close_time&order=desc&limit=3')
    expect(last.map((one) => one.market_id)).toEqual(
      [1, 2, 3].map((back) => `KXBTC15M-${MARKETS - back}`),
    )
  })
})
