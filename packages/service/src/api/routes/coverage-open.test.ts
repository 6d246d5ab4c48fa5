import { rmSync } from 'node:fs'
import type { Gap } from '@priorbook/sdk/domain'
import type { CalendarDayJson } from '@priorbook/sdk/wire'
import { expect, it, onTestFinished } from 'vitest'
import type { AppendBatch } from '../../store/store.ts'
import { A_MARKET, A_TOKENS, at, B_MARKET, createCatalogueStore } from '../pages/fixture.testing.ts'
import { createTestServer } from '../server.testing.ts'

const NOON_SECONDS = 12 * 3600
const DAY_SECONDS = 86_400

type Calendar = {
  readonly data: readonly CalendarDayJson[]
  readonly meta: { readonly range: { readonly start_time: string; readonly end_time: string } }
}

/** Asks for calendars at a time, after further gaps were recorded. */
async function calendars(
  batch: Pick<AppendBatch, 'venue' | 'gaps'>,
  now: number,
): Promise<(query: string) => Promise<Calendar>> {
  const store = await createCatalogueStore()
  const more = { position: 5000, origin: 'emulator', recorder: 'r1', normalizer: 1 } as const
  await store.append({ ...more, ...batch })
  const test = await createTestServer({ store, now: () => at(now) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const key = test.keyOf('unlimited')
  return async (query) => {
    const url = `/v3/coverage/days?venue=${batch.venue}&${query}`
    return JSON.parse((await test.ask(url, { key })).text) as Calendar
  }
}

const gap = (venue: Gap['venue'], key: string, start: number): Gap => ({
  venue,
  scope: 'instrument',
  key,
  reason: 'disconnected',
  start: at(start),
  afterSequence: 999,
  journal: 4000,
})

const reasonsOf = ({ data }: Calendar): unknown[] =>
  data.map(({ reasons }) => reasons.find(({ reason }) => reason === 'disconnected'))

it('counts an open gap up to now, and no further than the close of its market', async () => {
  const range = 'start_time=2026-08-05&end_time=2026-08-07'
  const closed = await calendars({ venue: 'venueb', gaps: [] }, 500)
  const [before] = reasonsOf(await closed(range)) as { gaps: number; gap_ms: number }[]
  const open = { venue: 'venueb', gaps: [gap('venueb', B_MARKET, 400)] } as const
  const soon = await calendars(open, 500)
  expect(reasonsOf(await soon(range))).toEqual([
    { reason: 'disconnected', gaps: before!.gaps + 1, gap_ms: before!.gap_ms + 100_000 },
  ])
  // The recorder had stopped, so the gap stays open. The market closed 900 seconds after noon, which ends its missing time.
  const late = await calendars(open, DAY_SECONDS)
  expect(reasonsOf(await late(range))).toEqual([
    { reason: 'disconnected', gaps: before!.gaps + 1, gap_ms: before!.gap_ms + 500_000 },
    undefined,
  ])
})

it('counts an open gap on each of its days', async () => {
  // Nothing says when its market closes.
  const batch = { venue: 'venueb', gaps: [gap('venueb', 'KXUNKNOWN', 400)] } as const
  const ask = await calendars(batch, 3 * DAY_SECONDS)
  const { data } = await ask('start_time=2026-08-06&end_time=2026-08-09')
  const hours = data.map(({ reasons }) =>
    reasons.map(({ gaps, gap_ms: ms }) => [gaps, Number(ms) / 3.6e6]),
  )
  expect(hours).toEqual([[[1, 24]], [[1, 24]], [[1, 12]]])
})

it('counts no removed samples, which are not books', async () => {
  const range = 'start_time=2026-08-05&end_time=2026-08-06'
  const without = await calendars({ venue: 'venuea', gaps: [] }, 500)
  const series = { ...gap('venuea', A_TOKENS[0], 10), reason: 'retention', end: at(20) } as const
  const withGap = await calendars({ venue: 'venuea', gaps: [series] }, 500)
  expect(await withGap(range)).toEqual(await without(range))
  const book = await calendars({ venue: 'venuea', gaps: [{ ...series, key: A_MARKET }] }, 500)
  expect((await book(range)).data[0]!.reasons).toContainEqual({
    reason: 'retention',
    gaps: 1,
    gap_ms: 10_000,
  })
})

it('counts no gap of a feed of trades, which are not books', async () => {
  const range = 'start_time=2026-08-05&end_time=2026-08-06'
  const without = await calendars({ venue: 'venuea', gaps: [] }, 500)
  const chain = gap('venuea', 'chain', 100)
  const gaps = [chain, { ...chain, start: at(10), end: at(20), afterSequence: 0 }]
  const withGaps = await calendars({ venue: 'venuea', gaps }, 500)
  expect(await withGaps(range)).toEqual(await without(range))
})

it('counts days whole, and says so', async () => {
  const ask = await calendars({ venue: 'venueb', gaps: [] }, DAY_SECONDS)
  const whole = await ask('start_time=2026-08-05&end_time=2026-08-06')
  const part = await ask('start_time=2026-08-05T12:00:01Z&end_time=2026-08-05T12:00:02Z')
  expect(part).toEqual(whole)
  expect(part.meta.range).toEqual({
    start_time: '2026-08-05T00:00:00.000000Z',
    end_time: '2026-08-06T00:00:00.000000Z',
  })
  const today = await calendars({ venue: 'venueb', gaps: [] }, NOON_SECONDS - 1)
  const { meta } = await today('start_time=2026-08-05&end_time=2026-08-05T12:00:02Z')
  expect(meta.range.end_time).toBe('2026-08-05T23:59:59.000000Z')
})
