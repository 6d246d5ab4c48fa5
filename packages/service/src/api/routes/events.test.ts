import { VENUES, type MarketRecord, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { expect, test, vi } from 'vitest'
import { createTestServer } from '../server.testing.ts'

const NOON = Date.UTC(2026, 7, 5, 12) * 1000
const DAY = 86_400_000_000

type Row = Readonly<Record<string, unknown>>

const recordOf = (index: number, more: Partial<MarketRecord>): MarketRecord => ({
  venue: 'venuec',
  marketId: `0x${index.toString(16).padStart(64, '0')}`,
  title: `Market ${index}`,
  status: 'open',
  openTime: (NOON + index * 1_000_000) as Micros,
  closeTime: (NOON + 20 * DAY) as Micros,
  eventId: `${index}`,
  outcomes: [],
  units: VENUES.venuec.units,
  native: {},
  ...more,
})

async function serve(records: readonly MarketRecord[], days = 1) {
  const server = await createTestServer({ now: () => (NOON + days * DAY) as Micros })
  const { store } = server
  for (const [venue, own] of Map.groupBy(records, (record): VenueId => record.venue)) {
    const revisions = own.map((record, at) => {
      return { kind: 'market', received: NOON as Micros, journal: at + 1, record } as const
    })
    const made = {
      origin: 'live',
      recorder: 'r1',
      normalizer: 1,
      position: own.length + 1,
    } as const
    await store.append({ ...made, venue, revisions })
  }
  const ask = async (url: string, plan: string) => {
    const { status, text } = await server.ask(url, { key: server.keyOf(plan) })
    const body = JSON.parse(text) as {
      readonly data: readonly Row[]
      readonly meta: { readonly notice?: Row | readonly Row[] }
      readonly pagination: { readonly next_cursor: string | null }
    }
    const notices = [body.meta.notice ?? []].flat().map(({ code }: Row) => code)
    return { status, text, body, notices }
  }
  return { store, ask }
}

test('a page of events that a plan mostly leaves out takes few searches', async () => {
  const tags = ['Politics']
  const shown = [3, 250, 251, 470, 599]
  const records = Array.from({ length: 600 }, (_, index) =>
    recordOf(index, { tags, ...(shown.includes(index) ? { asset: 'BTC' } : {}) }),
  )
  const { store, ask } = await serve(records)
  const events = vi.spyOn(store, 'events')
  for (const limit of [1, 2, 3, 5, 100]) {
    const found: unknown[] = []
    for (let cursor = ''; ;) {
      events.mockClear()
      const { body } = await ask(`/v3/events?tag=politics&limit=${limit}${cursor}`, 'explorer')
      expect(events.mock.calls.length).toBeLessThanOrEqual(5)
      expect(body.data.length).toBeLessThanOrEqual(limit)
      found.push(...body.data.map((row) => Number(row['event_id'])))
      if (body.pagination.next_cursor === null) break
      cursor = `&cursor=${body.pagination.next_cursor}`
    }
    expect([limit, found]).toEqual([limit, shown])
  }
})

test('a search tells the spelling of recorded words only to plans that show what has them', async () => {
  const hidden = {
    venue: 'venueb',
    marketId: 'KXMERGER-1',
    eventTicker: 'KXMERGER',
    title: 'Will zanzibarium merge?',
    event: { title: 'Zanzibarium merger' },
    units: VENUES.venueb.units,
  } as const
  const shown = { asset: 'BTC', title: 'Honolulu round', event: { title: 'Honolulu round' } }
  const { ask } = await serve([recordOf(1, hidden), recordOf(2, shown)])
  for (const list of ['markets', 'events']) {
    const mistyped = await ask(`/v3/${list}?q=zanzibarum`, 'explorer')
    expect(mistyped.notices).toEqual(['plan_required'])
    expect(mistyped.text).not.toContain('zanzibarium')
    expect((await ask(`/v3/${list}?q=honolulo`, 'explorer')).notices).toEqual(['search_corrected'])
    const whole = await ask(`/v3/${list}?q=zanzibarum`, 'unlimited')
    expect(whole.notices).toEqual(['search_corrected'])
    expect(whole.body.data).toHaveLength(1)
    // Nothing is listed after its end, and the plan hides nothing.
    const later = await ask(`/v3/${list}?q=zanzibarum&start_time=2027-01-01T00:00:00Z`, 'unlimited')
    expect(later.notices).toContain('search_corrected')
  }
})

test('events that ended before the history of the plan are neither shown nor counted', async () => {
  const ended = { status: 'closed', closeTime: (NOON + 1000) as Micros, asset: 'BTC' } as const
  const { ask } = await serve(
    [
      recordOf(1, { ...ended, category: 'Old', event: { title: 'Ended long ago' } }),
      recordOf(2, { ...ended, category: 'Crypto' }),
      recordOf(3, { asset: 'BTC', category: 'Crypto', closeTime: (NOON + 60 * DAY) as Micros }),
      recordOf(4, { ...ended, category: 'Late', closeTime: (NOON + 39 * DAY) as Micros }),
    ],
    40,
  )
  const old = await ask('/v3/events/1', 'explorer')
  expect([old.status, old.body.data, old.notices]).toEqual([200, null, ['plan_window']])
  expect(old.text).not.toContain('Ended long ago')
  expect((await ask('/v3/events/3', 'explorer')).body.data).toMatchObject({ event_id: '3' })
  expect((await ask('/v3/events/1', 'unlimited')).body.data).toMatchObject({ event_id: '1' })
  const counts = { market_count: null, event_count: null }
  const { body, notices } = await ask('/v3/categories', 'explorer')
  expect(notices).toEqual(['plan_window'])
  expect(body.data).toEqual([
    { venue: 'venuec', category: 'Crypto', open_market_count: 1, open_event_count: 1, ...counts },
    { venue: 'venuec', category: 'Late', open_market_count: 0, open_event_count: 0, ...counts },
  ])
  const whole = await ask('/v3/categories', 'unlimited')
  expect(whole.body.data.map((row) => [row['category'], row['market_count']])).toEqual([
    ['Crypto', 2],
    ['Late', 1],
    ['Old', 1],
  ])
})
