import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toMicros, type MarketRecord } from '@priorbook/sdk/domain'
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
  onCall: (path: string) => void = () => undefined,
): Promise<{ readonly history: VenueBHistory; readonly kept: CaptureRequest[] }> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://venue')
    const name = searchParams.has('tickers') ? `${pathname}?tickers` : pathname
    onCall(`${pathname}?${[...searchParams.keys()].join('&')}`)
    const answer = answers[name]
    response.statusCode = answer === undefined ? 404 : 200
    response.end(JSON.stringify(answer ?? { error: 'not found' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const kept: CaptureRequest[] = []
  let now = END
  const sink = {
    now: () => toMicros((now += 1000)),
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

it('lists the archive again where markets went there after it was listed', async () => {
  const answers: Record<string, unknown> = {
    ...series,
    ...cutoff,
    '/markets': { markets: [] },
    '/historical/markets': { markets: [market], cursor: '' },
  }
  const calls: string[] = []
  const { history, kept } = await openHistory(answers, (path) => {
    calls.push(path)
    if (!path.startsWith('/markets')) return
    // It was in the archive when the list was read.
    const moved = '2026-11-17T00:00:00Z'
    answers['/historical/cutoff'] = { market_settled_ts: moved, trades_created_ts: moved }
  })
  await list(history)
  expect(kept.filter(({ kind }) => kind === 'history_markets')).toHaveLength(1)
  const listed = calls.filter((path) => path.includes('markets'))
  // The venue refuses more than one filter of its archive.
  expect(listed.at(-1)).toBe('/historical/markets?series_ticker&limit')
})

it('requests markets of an event, and those without a result, from the archive too', async () => {
  const event = { event_ticker: 'KXA-1', series_ticker: 'KXA' }
  const answers = {
    ...cutoff,
    '/events/KXA-1': { event, markets: [] },
    '/historical/markets': { markets: [market], cursor: '' },
    '/markets?tickers': { markets: [] },
    '/historical/markets?tickers': { markets: [market] },
  }
  const calls: string[] = []
  const { history, kept } = await openHistory(answers, (path) => calls.push(path))
  const walk = history.catalogue({ ...scope, event: 'KXA-1' }, AbortSignal.timeout(20_000))
  for await (const _step of walk) continue
  expect(kept).toMatchObject([
    { kind: 'history_event', series: 'KXA' },
    { kind: 'history_markets', series: 'KXA' },
  ])
  const record = { marketId: TICKER, seriesTicker: 'KXA' } as MarketRecord
  await history.refresh([record], AbortSignal.timeout(20_000))
  expect(calls.slice(-2)).toEqual(['/markets?tickers&limit', '/historical/markets?tickers&limit'])
})

it('asks the archive for candlesticks of a market that went there meanwhile', async () => {
  const answers: Record<string, unknown> = { ...cutoff }
  const live = `/series/KXA/markets/${TICKER}/candlesticks`
  const archive = `/historical/markets/${TICKER}/candlesticks`
  const { history, kept } = await openHistory(answers, (path) => {
    if (!path.startsWith(live)) return
    const moved = '2026-11-17T00:00:00Z'
    answers['/historical/cutoff'] = { market_settled_ts: moved, trades_created_ts: moved }
    answers[archive] = { candlesticks: [] }
  })
  const [open, close] = [scope.start, toMicros(scope.start + 900_000_000)]
  const record = { marketId: TICKER, seriesTicker: 'KXA', openTime: open, closeTime: close }
  const resolved = { ...record, resolvedTime: close } as MarketRecord
  const steps = []
  for await (const step of history.prices(resolved, toMicros(0), AbortSignal.timeout(20_000))) {
    steps.push(step)
  }
  expect(steps.map(({ missing }) => missing)).toEqual([undefined])
  expect(kept).toMatchObject([{ kind: 'history_candles', ticker: TICKER }])
})
