import { DAY_MICROS, toMicros, type Sample } from '@priorbook/sdk/domain'
import type { ReferenceSeriesJson } from '@priorbook/sdk/wire'
import { expect, it } from 'vitest'
import { createTestServer } from '../server.testing.ts'

const NOW = Date.UTC(2026, 7, 5, 12) * 1000

function priceAt(received: number, journal: number): Sample {
  return {
    kind: 'sample',
    instrument: { venue: 'venuec', market: 'reference', key: 'reference/exchange/BTC' },
    metric: 'price',
    value: '64000',
    received: toMicros(received),
    journal,
  }
}

it('counts only the prices that the plan covers', async () => {
  const test = await createTestServer({ now: () => toMicros(NOW) })
  const days = [900, 800, 700, 0.2, 0.1]
  const samples = days.map((ago, index) => priceAt(NOW - ago * DAY_MICROS, index + 1))
  const made = { venue: 'venuec', origin: 'live', recorder: 'r1', normalizer: 1 } as const
  await test.store.append({ ...made, position: days.length, samples })
  const listed = async (plan: string): Promise<readonly ReferenceSeriesJson[]> => {
    const key = test.keyOf(plan)
    const answer = await test.ask('/v3/reference?time_format=epoch_us', { key })
    return (answer.json() as { data: ReferenceSeriesJson[] }).data
  }
  const first = { explorer: samples[3]!.received, unlimited: samples[0]!.received }
  expect(await listed('unlimited')).toMatchObject([{ prices: 5, first_time: first.unlimited }])
  expect(await listed('explorer')).toMatchObject([{ prices: 2, first_time: first.explorer }])
})
