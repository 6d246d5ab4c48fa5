import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { paper, type Report, type Strategy } from '../../packages/sdk/src/backtest/index.ts'
import { main } from '../../packages/sdk/src/cli/main.ts'
import { createClient } from '../../packages/sdk/src/client/index.ts'
import { openSharedApi, type EmulatedApi } from '../api/emulated-api.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

const folder = mkdtempSync(join(tmpdir(), 'priorbook-backtest-service-'))
let api: EmulatedApi
let url: string
let key: string

beforeAll(async () => {
  api = await openSharedApi()
  url = (await api.server.listen({ host: '127.0.0.1', port: 0 })).url
  key = api.keyOf()
}, 180_000)

afterAll(async () => {
  await api.close()
  rmSync(folder, { recursive: true, force: true })
})

const QUOTES = `{
  name: 'all venues',
  onBook(book, { buy, orders, position, log }) {
    const { id } = book.market
    if (book.bestAsk === null || book.bestBid === null || book.outcome !== 0) return
    if (position(id).shares[0] === 0) buy({ market: id, size: 10 })
    if (orders(id).length === 0) buy({ market: id, price: book.bestBid, size: 10, postOnly: true })
  },
}`

describe('a backtest over the service', () => {
  it('runs three venues on one clock, with records at the time they became known', async () => {
    const file = join(folder, 'quotes.ts')
    writeFileSync(file, `export const strategy = ${QUOTES}\n`)
    const markets = EMULATED_VENUES.map((venue) => `${venue}:${api.busiest[venue].record.marketId}`)
    let out = ''
    let err = ''
    const status = await main(
      ['backtest', file, '--markets', markets.join(), '--assume', ASSUME, '--out', folder],
      {
        write: async (text) => void (out += text.toString()),
        note: (line) => void (err += `${line}\n`),
        draw: () => {},
        isTty: false,
        isErrorTty: false,
        env: { PRIORBOOK_URL: url, PRIORBOOK_KEY: key },
        paint: (_style, text) => text,
        size: () => ({ columns: 80, rows: 24 }),
      },
    )
    expect(`${err}${status}`).toBe(`${folder}: report.html, report.json, ${TABLES}\n0`)
    const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report
    const seen = report.markets.filter(({ observations }) => observations > 0)
    expect(seen.map(({ market }) => market).toSorted()).toStrictEqual(markets.toSorted())
    expect(report.status).toBe('complete')
    expect(report.fills.count).toBeGreaterThan(0)
    expect(out).toContain('sha256')
  })

  it('paper-trades on the live stream', async () => {
    const stop = new AbortController()
    const client = createClient({ url, key, number_format: 'string' })
    const strategy: Strategy = {
      onBook(book, { buy }) {
        if (book.bestAsk !== null) buy({ market: book.market.id, size: 10 })
        stop.abort()
      },
    }
    const { report } = await paper({
      messages: client.live(
        { venue: 'venueb', market_id: api.busiest.venueb.record.marketId },
        { signal: stop.signal },
      ),
      strategy,
      signal: stop.signal,
      assume: { rules: { venueb: { tick: '0.01' } } },
    })
    expect(report.status).toBe('complete')
    expect(report.coverage.observations).toBeGreaterThan(0)
  })
})

const ASSUME = 'venueb-maker=none,venueb-tick=0.01,venuec-tick=0.01,venuea-tick=0.01'
const TABLES = 'fills, orders, markets, equity, settlements'
