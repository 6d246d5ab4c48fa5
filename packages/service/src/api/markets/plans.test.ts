import { DatabaseSync } from 'node:sqlite'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { MARKET_SORTS } from '@priorbook/sdk/wire'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createTestCaller } from '../caller.testing.ts'
import { B_MARKET, createCatalogueStore } from '../pages/fixture.testing.ts'
import { CATALOGUE_ROUTES } from '../routes/index.ts'
import { readVenueState } from './venue-state.ts'

// Tables with a row for each market, instrument, gap, chunk or word: none may be read whole.
const LONG = 'market|revision|listing|stream|chunk|gap|posting|label|word|word_part|quarantine'
const SCAN = new RegExp(`^SCAN (${LONG})\\b`)
// All gaps of a venue, nearly all of them those of markets that ended.
const ALL_GAPS = /^SEARCH gap USING .*gap_(open|closed) \(venue=\?\)$/

// Only the markets of some words, by their numbers.
const BY_WORDS = 'SEARCH listing USING INTEGER PRIMARY KEY (rowid=?)'

const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
afterAll(() => prepare.mockRestore())

/** What SQLite does for the statements so far that read a long table whole, or sort it. */
function badPlans(): string[] {
  const found: string[] = []
  const asked = new Map(
    prepare.mock.calls.map(([sql], at) => [sql, prepare.mock.contexts[at] as DatabaseSync]),
  )
  for (const [sql, database] of asked) {
    if (!/^\s*SELECT/i.test(sql)) continue
    const values = Array.from({ length: sql.split('?').length - 1 }, () => null)
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values)
    const details = rows.map(({ detail }) => String(detail))
    const isSorted = details.some((detail) => /TEMP B-TREE FOR ORDER BY/.test(detail))
    // Gaps of more than a day are few, so they may be sorted; so are markets of words that few have, which
    // are counted first.
    const isFew = sql.includes('gap_long') || details.includes(BY_WORDS)
    const isLong = /FROM (listing|posting|gap)\b/.test(sql) && !isFew
    const isWhole = details.some((detail) => SCAN.test(detail) || ALL_GAPS.test(detail))
    if (isWhole || (isSorted && isLong)) {
      found.push(`${sql.replaceAll(/\s+/g, ' ')} → ${details.join('; ')}`)
    }
  }
  return found
}

describe('no list reads all markets, instruments or gaps', () => {
  const filters = [
    '',
    'venue=venueb',
    'status=open',
    'asset=btc',
    'window=15m',
    'series=KXBTC15M',
    'series=KXBTC15M&asset=btc',
    'status=resolved&asset=btc&venue=venuea',
    'start_time=2026-08-05T12:00:00Z',
    'end_time=2026-08-05T12:00:00Z',
    'start_time=2026-08-05T12:00:00Z&end_time=2026-08-05T12:10:00Z&status=open',
  ]
  const searches = ['', 'q=btc', 'q=up or down', 'q=1', 'q=nothing']
  const urls = [
    ...filters.flatMap((filter) =>
      MARKET_SORTS.flatMap((sort) =>
        ['asc', 'desc'].flatMap((order) =>
          searches.map((q) => `/v3/markets?limit=2&sort=${sort}&order=${order}&${filter}&${q}`),
        ),
      ),
    ),
    `/v3/venueb/markets?event=KXBTC15M-26AUG051215`,
    '/v3/btc/markets?limit=5',
    '/v3/coverage',
    `/v3/coverage?market=${B_MARKET}`,
    ...VENUE_IDS.map((venue) => `/v3/coverage/days?venue=${venue}`),
    '/v3/gaps',
    ...VENUE_IDS.map((venue) => `/v3/gaps?venue=${venue}&start_time=2026-08-05`),
    '/v3/gaps?venue=venueb&reason=disconnected',
    `/v3/gaps?market=${B_MARKET}`,
  ]

  it(`${urls.length} requests`, async () => {
    const store = await createCatalogueStore()
    const call = createTestCaller(CATALOGUE_ROUTES, { store })
    // The first request checks the tables of a short tape as a whole.
    await call.get('/v3/markets?limit=1')
    await call.get('/v3/gaps?limit=1')
    prepare.mockClear()
    for (const url of urls) await call.get(url.replaceAll(/&+$/g, ''))
    for (const venue of VENUE_IDS) await readVenueState(store, venue, Date.now() * 1000)
    expect(prepare.mock.calls.length).toBeGreaterThan(50)
    expect(badPlans()).toEqual([])
  })
})
