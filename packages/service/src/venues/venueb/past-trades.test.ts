import { printMicros, toMicros, type MarketRecord } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../lib/random.testing.ts'
import type { CaptureRequest, CaptureSink } from '../capture/contract.ts'
import { HeldAnswers } from '../capture/held-answers.ts'
import type { TradesStep } from '../capture/history.ts'
import type { PatientRest } from '../capture/patient-rest.ts'
import type { RestCall } from '../capture/rest.ts'
import { createVenueBNormalizer } from './normalize.ts'
import { PastTrades } from './past-trades.ts'

const TICKER = 'KXBTC15M-26NOV171200-00'
const START = 1_790_000_000
const record = { marketId: TICKER, openTime: toMicros(START * 1e6) } as MarketRecord

/** Trades by microsecond, in the list from the cutoff on and before it in the archive. */
type FakeVenue = {
  readonly times: number[]
  cutoff: number
  readonly paths: string[]
  refuses?: (min: number, max: number) => boolean
}

async function walk(
  venue: FakeVenue,
  since = 0,
  settled = START + 10_000,
): Promise<{ ids: number[]; steps: TradesStep[] }> {
  const normalizer = createVenueBNormalizer()
  const ids: number[] = []
  const target = {
    answer: (request: CaptureRequest, received: number, _bytes: Uint8Array, value: unknown) => {
      const at = { received: toMicros(received), journal: 1 }
      const reading = normalizer.answer(request, value, at)
      expect(reading.problems).toEqual([])
      for (const event of reading.events) {
        if (event.kind !== 'trade') continue
        expect(event.instrument.key).toBe(`backfill/${TICKER}`)
        ids.push(Number(event.tradeId.slice(2)))
      }
      return reading
    },
  } as unknown as CaptureSink
  const held = new HeldAnswers(target)
  const rest = {
    send: ({ query, path }: RestCall) => {
      if (venue.paths.push(path) > 500) throw new Error('too many calls')
      const value = pageOf(venue, path, query as Record<string, string>)
      if (value === undefined) return { ok: false, status: 400, why: 'bad request' }
      held.sink.answer({ kind: 'x' }, toMicros(1), new Uint8Array(), value)
      return { ok: true, value, reading: { events: [], problems: [] } }
    },
  } as unknown as PatientRest
  const trades = new PastTrades({
    rest,
    held,
    now: () => toMicros((settled + 30) * 1e6),
    cutoff: () => Promise.resolve(toMicros(venue.cutoff * 1e6)),
  })
  const steps: TradesStep[] = []
  const signal = new AbortController().signal
  for await (const step of trades.walk(record, toMicros(since * 1e6), signal)) steps.push(step)
  return { ids, steps }
}

// Both bounds lie outside of the span, as an unfriendly reading of the documents has it.
function pageOf(
  venue: FakeVenue,
  path: string,
  query: Readonly<Record<string, string>>,
): object | undefined {
  const [min, max] = [Number(query['min_ts']), Number(query['max_ts'])]
  if (venue.refuses?.(min, max) === true) return undefined
  const isArchive = path.startsWith('/historical')
  const rows = venue.times
    .map((time, id) => ({ time, id }))
    .filter(({ time }) => time > min * 1e6 && time < max * 1e6)
    .filter(({ time }) => time < venue.cutoff * 1e6 === isArchive)
    .toSorted((a, b) => b.time - a.time)
  const from = Number(query['cursor'] ?? 0)
  const page = rows.slice(from, from + 1000)
  return {
    cursor: from + 1000 < rows.length ? String(from + 1000) : '',
    trades: page.map(({ time, id }) => ({
      trade_id: `t-${id}`,
      ticker: TICKER,
      count_fp: '1.00',
      yes_price_dollars: '0.5000',
      no_price_dollars: '0.5000',
      taker_side: 'yes',
      created_time: printMicros(toMicros(time)),
    })),
  }
}

const sorted = (ids: readonly number[]): number[] => ids.toSorted((a, b) => a - b)

describe('the past trades of venue B', () => {
  it.each(Array.from({ length: 30 }, (_, seed) => seed))(
    'has each trade once and in order, however they are spread (seed %i)',
    async (seed) => {
      const random = createRandom(seed + 1)
      const venue: FakeVenue = { times: [], cutoff: 0, paths: [] }
      let time = START * 1e6
      const bursts = Math.floor(random() * 12)
      for (let burst = 0; burst < bursts; burst++) {
        // Whole seconds and equal times are where spans meet.
        time += Math.floor(random() * 300) * 1e6
        const count = Math.floor(random() * 1500)
        for (let at = 0; at < count; at++) {
          venue.times.push(time)
          if (random() < 0.5) time += Math.floor(random() * 5000)
          if (random() < 0.01) time = Math.ceil(time / 1e6) * 1e6
        }
      }
      venue.cutoff = START + Math.floor(random() * 2000) - 500
      const settled = Math.floor(START + random() * 3000)
      const first = await walk(venue, 0, settled)
      const isBefore = (id: number): boolean => venue.times[id]! < settled * 1e6
      const all = venue.times.map((_, id) => id)
      expect(sorted(first.ids)).toEqual(all.filter(isBefore))
      expect(first.steps.every(({ missing }) => missing === undefined)).toBe(true)
      const times = first.ids.map((id) => venue.times[id]!)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(first.steps.at(-1)!.reached).toBe(settled * 1e6)

      const second = await walk(venue, settled)
      expect(sorted([...first.ids, ...second.ids])).toEqual(all)
    },
  )

  it('reads a second with more trades than an answer page by page', async () => {
    const times = Array.from({ length: 3500 }, (_, at) => START * 1e6 + (at % 7) * 1000)
    const venue: FakeVenue = { times, cutoff: 0, paths: [] }
    const { ids, steps } = await walk(venue)
    expect(sorted(ids)).toEqual(times.map((_, id) => id))
    expect(steps.every(({ missing }) => missing === undefined)).toBe(true)
  })

  it('names a span that the venue refuses and goes on after it', async () => {
    const times = Array.from({ length: 3000 }, (_, at) => (START + at) * 1e6)
    const refuses = (min: number, max: number): boolean => min < START + 700 && max > START + 600
    const venue: FakeVenue = { times, cutoff: 0, paths: [], refuses }
    const { ids, steps } = await walk(venue)
    const missing = steps.flatMap((step) => (step.missing === undefined ? [] : [step.missing]))
    expect(missing.length).toBeGreaterThan(0)
    const isMissing = (time: number): boolean =>
      missing.some(({ start, end }) => time >= start && time < end)
    const wanted = times.flatMap((time, id) => (isMissing(time) ? [] : [id]))
    expect(sorted(ids)).toEqual(wanted)
    expect(missing[0]!.why).toContain('refused')
  })

  it('asks once for a quiet market', async () => {
    const venue: FakeVenue = { times: [START * 1e6 + 5], cutoff: 0, paths: [] }
    expect((await walk(venue)).ids).toEqual([0])
    expect(venue.paths).toEqual(['/markets/trades'])
  })
})
