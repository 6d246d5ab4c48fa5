import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { fromMillis, type MarketRecord } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import { normalizeCatalogAnswer } from './catalog.ts'
import { AT } from './fixtures.testing.ts'
import { normalizeOrderbookAnswer, normalizeVenueB } from './normalize.ts'

/** Real payloads, found through PRIORBOOK_RECORDINGS and never committed. */
const root = process.env['PRIORBOOK_RECORDINGS']
const folder = join(resolve(root ?? '.'), 'venueb')

if (root === undefined) {
  console.warn(
    'recordings of venue B skipped: set PRIORBOOK_RECORDINGS to the folder of recordings',
  )
}

describe.skipIf(root === undefined)('recordings of venue B', () => {
  it.each(filesIn('ws-gold15m', '.ndjson.gz'))('normalizes every line of %s', (path) => {
    const lines = gunzipSync(readFileSync(path)).toString().trimEnd().split('\n')
    // Counted in the text, not in what was parsed from it.
    const raw = { snapshot: 0, change: 0, trade: 0 }
    const normalized = { snapshot: 0, change: 0, trade: 0 }
    let faults = 0
    lines.forEach((line, journal) => {
      if (line.includes('"type":"orderbook_snapshot"')) raw.snapshot++
      if (line.includes('"type":"orderbook_delta"')) raw.change++
      if (line.includes('"type":"trade"')) raw.trade++
      const { recv_ms, event } = JSON.parse(line) as Line
      const received = fromMillis(recv_ms)
      const events = normalizeVenueB(event, { received, journal })
      const [said] = events
      if (said?.kind !== 'snapshot' && said?.kind !== 'change' && said?.kind !== 'trade') return
      normalized[said.kind]++
      const { instrument, source } = said
      const millis = event.msg.ts_ms
      const isFaithful =
        events.length === 1 &&
        instrument.key === event.msg.market_ticker &&
        said.venueSeq === event.seq &&
        said.channel === event.sid &&
        said.received === received &&
        said.journal === journal &&
        (source === undefined ? undefined : Math.floor(source / 1000)) === millis
      if (!isFaithful) faults++
    })
    expect(normalized).toStrictEqual(raw)
    expect(raw.snapshot + raw.change + raw.trade).toBe(lines.length)
    expect(faults).toBe(0)
  })

  it.each(filesIn('events', '.json'))('accepts the event %s', (path) => {
    const { response } = readJson(path) as { response: unknown }
    const [record, ...others] = recordsOf(response)
    expect(others).toHaveLength(0)
    expect(record!.status).toBe('resolved')
    expect(record!.seriesTicker).toBe('KXGOLD15M')
    expect(record!.eventTicker).toBe(basename(path, '.json'))
    const payouts = record!.winningOutcome === 'Yes' ? ['1', '0'] : ['0', '1']
    expect(record!.resolution?.payouts).toStrictEqual(payouts)
    expect(record!.resolution?.source).toBe('Pyth - Gold')
    expect(record!.closeTime! - record!.openTime!).toBe(15 * 60 * 1_000_000)
    expect(record!.resolvedTime!).toBeGreaterThan(record!.closeTime!)
  })

  it.each(filesIn('rest', '.json', 'markets'))('accepts the markets %s', (path) => {
    const statuses = recordsOf(readJson(path)).map(({ status }) => status)
    expect(statuses).toStrictEqual(['open', 'open'])
  })

  it.each(filesIn('rest', '.json', 'orderbook'))('accepts the order book %s', (path) => {
    const ticker = /_([A-Z0-9]+-[^_]+?)(?:_\d{4}-\d\d-\d\d)?\.json$/.exec(basename(path))![1]!
    const { instrument, asks, flags } = normalizeOrderbookAnswer(ticker, readJson(path), AT, 100)
    expect(instrument.key).toBe(ticker)
    expect(asks.length).toBeGreaterThan(9)
    expect(flags).toBeUndefined()
  })

  it('accepts the order books of the demo exchange', () => {
    const books = readJson(join(folder, 'legacy/orderbook_data.json')) as Record<string, unknown>[]
    let levels = 0
    for (const answer of books) {
      for (const ticker of Object.keys(answer)) {
        const book = normalizeOrderbookAnswer(ticker, answer, AT)
        levels += book.bids.length + book.asks.length
      }
    }
    expect(books).toHaveLength(100)
    expect(levels).toBe(222)
  })

  it('accepts the events and markets of the demo exchange', () => {
    const events = readJson(join(folder, 'legacy/event_data.json')) as Record<string, unknown>[]
    const markets = readJson(join(folder, 'legacy/market_data.json')) as Record<string, unknown[]>[]
    const marketsOf = new Map(markets.flatMap((one) => Object.entries(one)))
    const refused: string[] = []
    let accepted = 0
    for (const event of events) {
      const list = marketsOf.get(event['_event_ticker'] as string)
      const answer = normalizeCatalogAnswer({ event, markets: list }, AT)
      for (const { record } of answer.events) {
        expect(record.seriesTicker).toBe(event['_series_ticker'])
        expect(record.status).toBeDefined()
        accepted++
      }
      refused.push(...answer.problems.map(({ error }) => error.message))
    }
    // One ticker of 2024 contains a slash, which our identifiers do not allow.
    expect(accepted).toBe(291)
    expect(refused).toStrictEqual([])
  })
})

type Line = {
  readonly recv_ms: number
  readonly event: {
    readonly sid: number
    readonly seq: number
    readonly msg: { readonly market_ticker: string; readonly ts_ms?: number }
  }
}

function recordsOf(answer: unknown): readonly MarketRecord[] {
  const { events, problems } = normalizeCatalogAnswer(answer, AT)
  expect(problems).toStrictEqual([])
  return events.map(({ record }) => record)
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function filesIn(name: string, ending: string, start = ''): string[] {
  if (root === undefined) return []
  return readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.startsWith(start) && path.endsWith(ending))
    .map((path) => join(folder, name, path))
    .sort()
}
