import { rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { createTestServer } from '../server.testing.ts'
import { at, B_MARKET, createCatalogueStore, RECORDS } from '../pages/fixture.testing.ts'

const B = `/v3/venueb/${B_MARKET}/execution`

async function server(series?: Readonly<Record<string, string | number>>) {
  const store = await createCatalogueStore()
  if (series !== undefined) {
    const record = RECORDS.find(({ marketId }) => marketId === B_MARKET)!
    await store.append({
      venue: 'venueb',
      position: 2000,
      origin: 'emulator',
      recorder: 'r1',
      normalizer: 1,
      revisions: [
        {
          kind: 'market',
          record: { ...record, native: { ...record.native, series } },
          received: at(330),
          journal: 1500,
        },
      ],
    })
  }
  const test = await createTestServer({ store, now: () => at(400) })
  onTestFinished(() => rmSync(test.path, { recursive: true, force: true }))
  const key = test.keyOf('unlimited')
  return async (url: string) => {
    const answer = await test.ask(url, { key })
    return answer.json() as {
      data: Record<string, unknown> | null
      meta: { notice?: Record<string, unknown> }
    } & Record<string, unknown>
  }
}

it('charges the fee of venue B by the schedule of the series', async () => {
  const ask = await server({ fee_type: 'quadratic', fee_multiplier: 0.5 })
  const { data } = await ask(`${B}?side=buy&size=5&at=2026-08-05T12:06:00Z`)
  // 0.035 × size × price × (1 − price) of 1 at 0.44, 2 at 0.45 and 2 at 0.46, each rounded up to $0.0001:
  // 0.0087 + 0.0174 + 0.0174; then the balance of every fill is rounded to the cent, whole cents are refunded.
  expect(data!['fee']).toEqual({
    amount: 0.05,
    rate: 0.035,
    formula: expect.stringContaining('price × (1 − price)') as unknown,
    source: 'fee_type and fee_multiplier of the series',
    reason: null,
  })
})

it('charges it by the published table where the record holds no schedule', async () => {
  const ask = await server()
  const { data } = await ask(`${B}?side=buy&size=5&at=2026-08-05T12:00:55.5Z`)
  expect(data!['fee']).toMatchObject({ amount: 0.09, rate: 0.07, reason: null })
  expect(String((data!['fee'] as Record<string, unknown>)['source'])).toContain('from 2025-01-01')
  const sell = await ask(`${B}?side=sell&size=11&at=2026-08-05T12:00:50Z`)
  expect(sell.data!['fee']).toMatchObject({ amount: 0.19 })
})

it('gives no amount where the series has a fee that is not known', async () => {
  const ask = await server({ fee_type: 'flat', fee_multiplier: 1 })
  const { data } = await ask(`${B}?side=buy&size=5&at=2026-08-05T12:06:00Z`)
  expect(data!['fee']).toMatchObject({ amount: null, reason: expect.any(String) as unknown })
})

it('meets the book at the time when the order arrives', async () => {
  const ask = await server()
  const early = await ask(`${B}?side=buy&size=1&at=2026-08-05T12:00:49.9Z`)
  expect(early.data).toMatchObject({ latency_ms: 0, evidence: { sequence: 4 } })
  const late = await ask(`${B}?side=buy&size=1&at=2026-08-05T12:00:49.9Z&latency_ms=250`)
  expect(late.data).toMatchObject({
    at: '2026-08-05T12:00:49.900000Z',
    latency_ms: 250,
    arrival_time: '2026-08-05T12:00:50.150000Z',
    evidence: { sequence: 5, book_age_ms: 150 },
  })
  // The connection is lost on the way: no book is known where the order arrives.
  const lost = await ask(`${B}?side=buy&size=1&at=2026-08-05T12:00:29Z&latency_ms=2000`)
  expect([lost.data, lost.meta.notice]).toMatchObject([null, { code: 'disconnected' }])
})

it('gives no quote from a book that is too old', async () => {
  const ask = await server()
  const url = `${B}?side=buy&size=1&at=2026-08-05T12:00:55Z`
  expect((await ask(`${url}&max_age_ms=5000`)).data).toMatchObject({ evidence: { sequence: 5 } })
  const stale = await ask(`${url}&max_age_ms=4999`)
  expect([stale.data, stale.meta.notice]).toMatchObject([
    null,
    {
      code: 'stale_book',
      book_age_ms: 5000,
      max_age_ms: 4999,
      last_before: { sequence: 5, received_time: '2026-08-05T12:00:50.000000Z' },
    },
  ])
  const later = await ask(`${url}&max_age_ms=5000&latency_ms=1`)
  expect(later.meta.notice).toMatchObject({ code: 'stale_book', book_age_ms: 5001 })
  for (const bad of ['latency_ms=-1', 'latency_ms=x', 'max_age_ms=1.5']) {
    expect((await ask(`${url}&${bad}`))['code']).toBe('invalid_parameter')
  }
})
