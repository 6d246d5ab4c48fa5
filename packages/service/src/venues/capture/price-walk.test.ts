import { PriorbookError, toMicros, type MarketRecord } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { createVenueBNormalizer } from '../venueb/normalize.ts'
import { createVenueCNormalizer } from '../venuec/normalize.ts'
import type { CaptureRequest, Reading } from './contract.ts'
import type { TradesStep } from './history.ts'
import type { PatientRest } from './patient-rest.ts'
import { walkPrices, type PriceSpan } from './price-walk.ts'
import type { RestCall } from './rest.ts'

const START = 1_790_000_040
const AT = { received: toMicros((START + 9000) * 1e6), journal: 7 }

async function walk(
  record: Partial<MarketRecord>,
  since: number,
  now: number,
  isRefused: (call: number) => boolean = () => false,
  readingOf: (call: number) => Partial<Reading> = () => ({}),
): Promise<{ requests: CaptureRequest[]; steps: TradesStep[] }> {
  const requests: CaptureRequest[] = []
  const steps: TradesStep[] = []
  const rest = {
    send: ({ request }: RestCall) => {
      requests.push(request)
      const call = requests.length
      if (isRefused(call)) return { ok: false, status: 400, why: 'no' }
      return { ok: true, reading: readingOf(call) }
    },
  } as unknown as PatientRest
  const options = {
    rest,
    now: () => toMicros(now * 1e6),
    maxValues: 10,
    callsOf: (_record: MarketRecord, { from, to, minutes }: PriceSpan) => [
      { request: { kind: 'x', from, to, minutes }, path: '/x' },
    ],
  }
  const market = { marketId: 'm', ...record } as MarketRecord
  const { signal } = new AbortController()
  for await (const step of walkPrices(options, market, toMicros(since * 1e6), signal)) {
    steps.push(step)
  }
  return { requests, steps }
}

const minute = (time: number): number => Math.floor(time / 60) * 60

describe('a walk over the price history of a market', () => {
  const round = { openTime: toMicros(START * 1e6), closeTime: toMicros((START + 900) * 1e6) }

  it('begins with the listing of a market, which trades before it opens', async () => {
    const listed = { ...round, createdTime: toMicros((START - 600) * 1e6) }
    const { requests } = await walk(listed, 0, START + 9000)
    expect(requests[0]!['from']).toBe(minute(START - 600))
  })

  it('covers the life of the market in spans of one answer, without the current period', async () => {
    const { requests, steps } = await walk(round, 0, START + 9000)
    const spans = requests.map(({ from, to }) => [from, to])
    expect(spans[0]![0]).toBe(minute(START))
    expect(spans.at(-1)![1]).toBe(minute(START + 900) + 120)
    for (const [index, [from]] of spans.slice(1).entries()) expect(from).toBe(spans[index]![1])
    expect(steps.at(-1)!.reached).toBe((minute(START + 900) + 120) * 1e6)
    const early = await walk(round, 0, START + 300)
    expect(early.steps.at(-1)!.reached).toBe(minute(START + 270) * 1e6)
    // The next run goes on there.
    const later = await walk(round, minute(START + 270), START + 9000)
    expect(later.requests[0]!['from']).toBe(minute(START + 270))
    expect((await walk(round, minute(START + 900) + 120, START + 9000)).steps).toEqual([])
  })

  it('has values by the hour for markets that live long, and names what is refused', async () => {
    const long = { ...round, closeTime: toMicros((START + 30 * 86_400) * 1e6) }
    const { requests, steps } = await walk(long, 0, START + 90_000, (call) => call === 2)
    expect(requests.every(({ minutes }) => minutes === 60)).toBe(true)
    expect(steps[0]).not.toHaveProperty('missing')
    expect(steps[1]!.missing).toMatchObject({ end: steps[1]!.reached })
  })

  it('stops before a span whose answer could not be read', async () => {
    const error = new PriorbookError('invalid_message', 'history is missing')
    const broken = walk(round, 0, START + 9000, undefined, () => ({ error }))
    await expect(broken).rejects.toMatchObject({ code: 'upstream_failed' })
    // A value of it that could not be read is no reason to stop.
    const problems = [{ where: 'history[1]', error }]
    const { steps } = await walk(round, 0, START + 9000, undefined, () => ({ problems }))
    expect(steps.at(-1)!.reached).toBe((minute(START + 900) + 120) * 1e6)
  })
})

describe('the values of an answer', () => {
  const span = { since: START * 1e6, until: (START + 120) * 1e6 }

  it('are the parts of candlesticks, at the end of their periods', () => {
    const request = { kind: 'history_candles', ticker: 'KXT-1', minutes: 1, ...span }
    const candle = (end: number, close: string | null): object => ({
      end_period_ts: end,
      price: { open_dollars: close, high_dollars: close, low_dollars: close, close_dollars: close },
      yes_bid: { close_dollars: '0.4100' },
      yes_ask: { close_dollars: '0.4300' },
      volume_fp: '12.50',
      open_interest_fp: '99.00',
    })
    const candlesticks = [START, START + 60, START + 120, START + 180].map((end, at) =>
      candle(end, at === 1 ? null : '0.4200'),
    )
    const value = { ticker: 'KXT-1', candlesticks: [...candlesticks, { end_period_ts: 'x' }] }
    const { events, problems } = createVenueBNormalizer().answer(request, value, AT)
    const closes = events.filter((event) => event.kind === 'sample' && event.metric === 'close')
    expect(closes).toMatchObject([
      {
        instrument: { market: 'KXT-1', key: 'backfill/KXT-1' },
        value: '0.42',
        received: (START + 120) * 1e6,
        source: AT.received,
      },
    ])
    const bids = events.flatMap((event) =>
      event.kind === 'sample' && event.metric === 'bid' ? [event.received / 1e6] : [],
    )
    expect(bids).toEqual([START + 60, START + 120])
    expect(problems).toHaveLength(1)
    const [first, second, third] = candlesticks
    const mixed = { candlesticks: [first, { ...second, volume_fp: '99999999999.00' }, third] }
    const some = createVenueBNormalizer().answer(request, mixed, AT)
    expect(new Set(some.events.map((event) => event.kind === 'sample' && event.received))).toEqual(
      new Set([(START + 120) * 1e6]),
    )
    expect(some.problems).toMatchObject([
      { where: 'candlesticks[1]', error: { code: 'unrepresentable' } },
    ])
  })

  it('are parts of candlesticks of the archive, whose names have no unit', () => {
    const request = { kind: 'history_candles', ticker: 'KXT-1', minutes: 1, ...span }
    const side = { open: '0.4000', low: '0.4000', high: '0.4000', close: '0.4000' }
    const price = { open: '0.4100', high: '0.4400', low: '0.4050', close: null, previous: '0.4100' }
    const archived = { end_period_ts: START + 60, price, yes_bid: side, yes_ask: side }
    // Older answers had cents as numbers beside the texts.
    const cents = {
      end_period_ts: START + 120,
      price: { open: 41, open_dollars: '0.4100', high: 44 },
    }
    const candlesticks = [{ ...archived, volume: '12.50', open_interest: '99.00' }, cents]
    const { events, problems } = createVenueBNormalizer().answer(request, { candlesticks }, AT)
    const found = events.flatMap((event) =>
      event.kind === 'sample'
        ? [`${event.received / 1e6 - START} ${event.metric} ${event.value}`]
        : [],
    )
    expect(problems).toEqual([])
    expect(found).toEqual([
      '60 open 0.41',
      '60 high 0.44',
      '60 low 0.405',
      '60 bid 0.4',
      '60 ask 0.4',
      '60 volume 12.5',
      '60 open_interest 99',
      '120 open 0.41',
    ])
  })

  it('are prices of a token, exactly as the venue wrote them', () => {
    const request = { kind: 'history_prices', condition_id: '0xc', token_id: '77', ...span }
    const history = [
      { t: START + 60, p: 0.5525 },
      { t: START, p: 0.1 },
      { t: START + 120, p: 0.9 },
      { t: START + 61, p: 'x' },
    ]
    const { events, problems } = createVenueCNormalizer().answer(request, { history }, AT)
    expect(events).toMatchObject([
      { metric: 'price', value: '0.1', received: START * 1e6 },
      { metric: 'price', value: '0.5525', received: (START + 60) * 1e6 },
    ])
    expect(problems).toHaveLength(1)
  })

  it('that cannot be stored are left out, each with its problem', () => {
    const request = { kind: 'history_prices', condition_id: '0xc', token_id: '77', ...span }
    const prices = [0.5, 0.0015000000000000002, 0.6, 0.7]
    const history = prices.map((p, at) => ({ t: START + at, p }))
    const { events, problems } = createVenueCNormalizer().answer(request, { history }, AT)
    expect(events).toMatchObject([{ value: '0.5' }, { value: '0.6' }, { value: '0.7' }])
    expect(problems).toMatchObject([{ where: 'history[1]', error: { code: 'unrepresentable' } }])
  })
})
