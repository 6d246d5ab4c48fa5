import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toMicros } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished } from 'vitest'
import type { CaptureRequest, CaptureSink } from '../capture/contract.ts'
import { VenueBHistory } from './history.ts'

const END = Date.parse('2026-11-17T00:00:00Z') * 1000
const scope = {
  series: 'KXA',
  start: toMicros(END - 3_600_000_000),
  end: toMicros(END),
  withOpen: false,
}
const TICKER = 'KXA-1-YES'
const market = { ticker: TICKER, event_ticker: 'KXA-1', close_time: '2026-11-16T23:30:00Z' }

/** A venue whose answers are by path; others are refused. */
async function openHistory(
  answers: Readonly<Record<string, unknown>>,
): Promise<{ readonly history: VenueBHistory; readonly kept: CaptureRequest[] }> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://venue')
    const name = searchParams.has('tickers') ? `${pathname}?tickers` : pathname
    const answer = answers[name]
    response.statusCode = answer === undefined ? 404 : 200
    response.end(JSON.stringify(answer ?? { error: 'not found' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const kept: CaptureRequest[] = []
  const sink = {
    now: () => toMicros(END),
    steadyNow: () => toMicros(END),
    position: () => 0,
    note: () => undefined,
    answer: (request: CaptureRequest) => {
      kept.push(request)
      return { events: [], problems: [] }
    },
  } as unknown as CaptureSink
  const { port } = server.address() as AddressInfo
  const quiet = (): void => undefined
  const history = new VenueBHistory(
    { restBase: `http://127.0.0.1:${port}`, quota: { limit: 1000, windowMs: 1000 } },
    {
      sink,
      log: { info: quiet, warn: quiet, error: quiet },
      areComplete: () => Promise.resolve(false),
    },
  )
  return { history, kept }
}

async function list(history: VenueBHistory): Promise<void> {
  for await (const _step of history.catalogue(scope, AbortSignal.timeout(20_000))) continue
}

const series = { '/series/KXA': { series: { ticker: 'KXA' } } }
const cutoff = {
  '/historical/cutoff': {
    market_settled_ts: '2026-01-01T00:00:00Z',
    trades_created_ts: '2026-01-01T00:00:00Z',
  },
}

it('stops where the venue does not say what is in its archive', async () => {
  for (const answer of [{}, { '/historical/cutoff': {} }]) {
    const { history } = await openHistory({ ...series, ...answer, '/markets': { markets: [] } })
    await expect(list(history)).rejects.toMatchObject({ code: 'upstream_failed' })
  }
})

it('requests markets by name whose event the venue does not give', async () => {
  const lists = { '/markets': { markets: [market] }, '/markets?tickers': { markets: [market] } }
  const { history, kept } = await openHistory({ ...series, ...cutoff, ...lists })
  await list(history)
  expect(kept.at(-1)).toEqual({ kind: 'history_markets', series_of: { [TICKER]: 'KXA' } })
})

it('refuses an event that the venue does not have', async () => {
  const { history } = await openHistory({ ...series, ...cutoff })
  const walk = history.catalogue({ ...scope, event: 'KXA-TYPO' }, AbortSignal.timeout(20_000))
  await expect(walk.next()).rejects.toMatchObject({ code: 'invalid_argument' })
})
