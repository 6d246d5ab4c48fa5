import { expect, it } from 'vitest'
import type { Micros } from '@priorbook/sdk/domain'
import { NO_TALLY, RequestTally } from '../lib/api-tally.ts'
import { createMetrics, METRICS } from './metrics.ts'
import type { ServiceStatus } from './status.ts'

const NONE: ServiceStatus = {
  role: 'all',
  upstream: 'emulator',
  disk: { usedBytes: 5, freeBytes: 7, bytesPerSecond: 0 },
  retention: [],
}

const PRESENT = { memoryBytes: 9, stream: { connections: 3, subscriptions: 4, held: 1 } }

async function linesOf(status: ServiceStatus): Promise<string[]> {
  const text = await createMetrics(() => status).metrics()
  return text
    .split('\n')
    .filter((line) => !line.includes('_nodejs_') && !line.includes('_process_'))
}

it('writes response times as one histogram for each route and class of status', async () => {
  const tally = new RequestTally()
  tally.note('latest', 200, 0.0005, 10)
  tally.note('latest', 206, 0.3, 10)
  tally.note('latest', 404, 0.3, 10)
  const lines = await linesOf({ ...NONE, api: tally.read(PRESENT) })
  const name = 'priorbook_api_request_seconds'
  const ok = '{route="latest",class="2xx"'
  const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, '+Inf']
  const below = [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
  const from = lines.indexOf(`# TYPE ${name} histogram`)
  expect(lines.slice(from + 1, from + 16)).toEqual([
    ...bounds.map((le, at) => `${name}_bucket${ok},le="${le}"} ${below[at]}`),
    `${name}_sum${ok}} 0.3005`,
    `${name}_count${ok}} 2`,
  ])
  expect(lines).toContain(`${name}_count{route="latest",class="4xx"} 1`)
  expect(lines).toContain('priorbook_api_requests_total{route="latest",status="206"} 1')
  expect(lines).toContain('priorbook_stream_slow_connections 1')
})

it('tells of a venue how fresh it is, what is missing, and how deep its markets are recorded', async () => {
  const ago = (seconds: number) => ((Date.now() - seconds * 1000) * 1000) as Micros
  const venue = {
    connector: {
      state: 'degraded',
      sockets: [],
      tiers: { full: 3, polled: 1, catalogue: 0, none: 9 },
    },
    counts: { parity: {} },
    books: { tracks: 8, open: 6, missing: 2, missingSince: ago(60) },
    newest: { trades: ago(10) },
    gapMicros: { disconnected: 2_500_000 },
    clockOffsetMicros: -1_500_000,
  }
  const lag = { p50Ms: 5, p99Ms: 20, maxMs: 50, totalCount: 4, totalMs: 80 }
  const recorder = { since: ago(100), venues: { venueb: venue }, lag }
  const lines = await linesOf({ ...NONE, recorder } as unknown as ServiceStatus)
  const valueOf = (series: string): number =>
    Number(lines.find((line) => line.startsWith(`priorbook_${series} `))?.split(' ')[1])
  const of = '{venue="venueb"'
  expect(valueOf(`venue_recording${of}}`)).toBe(0)
  // No book was stored since the start, which was 100 s ago.
  expect(valueOf(`newest_row_age_seconds${of},kind="observations"}`)).toBeGreaterThanOrEqual(100)
  const trades = valueOf(`newest_row_age_seconds${of},kind="trades"}`)
  expect([trades >= 10, trades < 100]).toEqual([true, true])
  expect(valueOf(`books_missing${of}}`)).toBe(2)
  expect(valueOf(`oldest_gap_age_seconds${of}}`)).toBeGreaterThanOrEqual(60)
  expect(valueOf(`gap_seconds_total${of},reason="disconnected"}`)).toBe(2.5)
  expect(valueOf(`clock_offset_seconds${of}}`)).toBe(-1.5)
  expect(valueOf(`tier_markets${of},tier="none"}`)).toBe(9)
  expect(lines).toContain('# TYPE priorbook_lag_seconds summary')
  expect(valueOf('lag_seconds{quantile="0.99"}')).toBe(0.02)
  expect([valueOf('lag_seconds_sum'), valueOf('lag_seconds_count')]).toEqual([0.08, 4])
  expect(valueOf('recorder_up')).toBe(1)
})

it('reads the status once per scrape', async () => {
  let reads = 0
  const metrics = createMetrics(() => {
    reads++
    return { ...NONE, api: NO_TALLY }
  })
  await metrics.metrics()
  expect(reads).toBe(1)
})

it('is not the recorder where it only serves', async () => {
  const up = async (status: Partial<ServiceStatus>): Promise<string | undefined> =>
    (await linesOf({ ...NONE, ...status })).find((line) => line.startsWith('priorbook_recorder_up'))
  expect(await up({})).toBe('priorbook_recorder_up 0')
  expect(await up({ role: 'api' })).toBeUndefined()
  expect(await up({ upstream: 'none' })).toBeUndefined()
})

it('names every metric once', () => {
  const names = METRICS.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
