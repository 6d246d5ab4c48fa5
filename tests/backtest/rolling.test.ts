import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  backtest,
  findRollingMarkets,
  hashReport,
  type Report,
  type Strategy,
} from '../../packages/sdk/src/backtest/index.ts'
import { createClient } from '../../packages/sdk/src/client/index.ts'
import { printMicros, VENUE_IDS, type Micros } from '../../packages/sdk/src/domain/index.ts'
import { replayFiles } from '../../packages/sdk/src/replay/replay-node.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { runCommand } from '../sdk/run-command.ts'
import {
  askCents,
  BOOK_SECONDS,
  FIRST,
  marketOf,
  roundsOf,
  WINDOW,
  writeRounds,
} from './rolling-tape.ts'

const ROUNDS = roundsOf(8)
const folder = mkdtempSync(join(tmpdir(), 'priorbook-rolling-'))
const cache = join(folder, 'cache')
let env: Record<string, string>
let stop: () => Promise<void>

beforeAll(async () => {
  const store = await writeRounds(folder, ROUNDS, VENUE_IDS)
  const access = openAccess(folder)
  const begun = performance.now()
  const end = ROUNDS.at(-1)!.closes + 3_600_000_000
  const now = (): Micros => Math.round(end + (performance.now() - begun) * 1000) as Micros
  const server = createApiServer({ store, access, now })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  env = {
    PRIORBOOK_URL: url,
    PRIORBOOK_KEY: access.keys.create({ plan: 'unlimited', name: 't' }).key,
  }
  stop = async () => {
    await server.close(500)
    access.close()
    await store.close()
  }
})

afterAll(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

// Buys ten of the first outcome with the 40th book of every market, and notes when markets come and go.
const LATE = `{
  name: 'late',
  onMarketBegin({ id }, { now, log, book }) { log('begin ' + id + ' ' + (book(id) === undefined)) },
  onMarketEnd({ id }, { now, log }) { log('end ' + id) },
  onBook(book, { buy }) {
    if (book.outcome === 0 && book.sequence === 40) buy({ market: book.market.id, size: 10 })
  },
}`
const ASSUME = 'venueb-maker=none,venuea-tick=0.01,venueb-tick=0.01,venuec-tick=0.01'
const RANGE = ['--from', printMicros((FIRST - 120_000_000) as Micros)] as const
const TO = printMicros((FIRST + 8 * WINDOW + 60_000_000) as Micros)

async function run(name: string, ...more: readonly string[]) {
  const file = join(folder, 'strategy.ts')
  writeFileSync(file, `export const strategy = ${LATE}\n`)
  const out = join(folder, name)
  const words = ['--assume', ASSUME, '--queue', 'pessimistic', '--out', out, '-q']
  const ran = await runCommand(
    ['backtest', file, ...RANGE, '--cache', cache, ...words, ...more],
    env,
  )
  if (ran.status !== 0) throw new Error(ran.err)
  const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) as Report
  return { out: ran.out, report }
}

/** What venue B charges for ten contracts at a price in cents: its documented formula, in units of 0.0001. */
function feeOfTen(cents: number): number {
  const fee = Math.ceil((7 * 10 * cents * (100 - cents)) / 100)
  // The balance after cost and fee is rounded down to the cent.
  return Math.ceil(fee / 100) * 100
}

function expectSums(rows: readonly { fills: number; pnl: string; fees: string }[], report: Report) {
  const units = (text: string): number => Math.round(Number(text) * 1e8)
  const sum = (read: (row: { fills: number; pnl: string; fees: string }) => number): number =>
    rows.reduce((total, row) => total + read(row), 0)
  expect(sum(({ fills }) => fills)).toBe(report.fills.count)
  expect(Math.abs(sum(({ pnl }) => units(pnl)) - units(report.headline.pnl))).toBeLessThan(
    rows.length + 1,
  )
}

describe('rolling markets', () => {
  it('runs all markets of a series in one account, as computed by hand', async () => {
    const { report, out } = await run('series', '--series', 'KXBTC15M', '--to', TO)
    const expected = ROUNDS.map(({ number, winner }) => {
      const cents = askCents('venueb', number, 39)
      return { number, pnl: (winner === 0 ? 100_000 : 0) - cents * 1000 - feeOfTen(cents) }
    })
    expect(report.markets).toHaveLength(8)
    for (const { number, pnl } of expected) {
      const own = report.markets.find(
        ({ market }) => market === `venueb:${marketOf('venueb', number)}`,
      )!
      expect([own.market, Math.round(Number(own.pnl) * 10_000)]).toEqual([own.market, pnl])
    }
    const total = expected.reduce((sum, { pnl }) => sum + pnl, 0)
    expect(Math.round(Number(report.headline.pnl) * 10_000)).toBe(total)
    expect(report.exposure).toMatchObject({ markets_traded: 8, settled: 8, open: 0 })
    // The 40th book is 115 s before the close, and the order arrives 50 ms later.
    expect(BOOK_SECONDS[39]).toBe(785)
    expect(report.breakdown.by_time_to_close.map(({ name, fills }) => [name, fills])).toEqual([
      ['1 min to 5 min', 8],
    ])
    expect(report.breakdown.by_day.map(({ name, fills }) => [name, fills])).toEqual([
      ['2026-11-17', 3],
      ['2026-11-18', 5],
    ])
    expect(report.breakdown.by_hour.map(({ name, fills }) => [name, fills])).toEqual([
      ['00:00', 4],
      ['01:00', 1],
      ['23:00', 3],
    ])
    for (const rows of Object.values(report.breakdown)) expectSums(rows, report)
    expect(out).toMatch(/^by market +markets +fills +result +fees$/m)
    expect(out).toMatch(/^2026-11-18 +5 +5 +-?[\d.]+ +[\d.]+$/m)
  })

  it('says when each market begins and ends, once, on one clock', async () => {
    const { report } = await run('life', '--series', 'KXBTC15M', '--to', TO)
    const expected = ROUNDS.flatMap(({ number, opens, closes }) => [
      `${opens + 5_000_000} begin venueb:${marketOf('venueb', number)} true`,
      `${closes} end venueb:${marketOf('venueb', number)}`,
    ])
    expect(report.logs).toEqual(expected)
    expect(report.gaps.spans.length).toBeGreaterThan(0)
  })

  it(
    'runs a contract over all venues with the same bytes from any order of downloads',
    { timeout: 180_000 },
    async () => {
      const first = await run('contract', '--contract', 'BTC-15m', '--to', TO)
      const markets = first.report.markets.map(({ market }) => market)
      expect(markets).toHaveLength(24)
      expect(first.report.fills.count).toBe(24)
      const files = readdirSync(cache).filter((name) => name.endsWith('.pbx'))
      const written = files.map((name) => statSync(join(cache, name)).mtimeMs)
      const again = await run('again', '--contract', 'btc-15m', '--to', TO)
      expect(await hashReport(again.report)).toBe(await hashReport(first.report))
      // Files of a final range are kept.
      expect(files.map((name) => statSync(join(cache, name)).mtimeMs)).toEqual(written)
      const names = ['--markets', markets.toReversed().join()]
      const named = await run('named', ...names, '--to', TO)
      expect(await hashReport(named.report)).toBe(await hashReport(first.report))
      const client = createClient({ url: env['PRIORBOOK_URL'], key: env['PRIORBOOK_KEY'] })
      const range = { from: FIRST + WINDOW, to: FIRST + 2 * WINDOW }
      const found = await findRollingMarkets(client, { contract: 'BTC-15m' }, range)
      expect(found).toEqual(VENUE_IDS.map((venue) => ({ venue, market_id: marketOf(venue, 1) })))
      const strategy: Strategy = { onBook: () => undefined }
      const hashes = new Set<string>()
      for (const paths of [files, files.toReversed()]) {
        const events = replayFiles(paths.map((name) => join(cache, name)))
        hashes.add(
          await hashReport((await backtest({ events, strategy, queue: 'pessimistic' })).report),
        )
      }
      expect(hashes.size).toBe(1)
    },
  )

  it('shares its downloads with a run at the same time', async () => {
    const shared = join(folder, 'shared')
    const words = ['--series', 'KXBTC15M', '--to', TO, '--cache', shared]
    const runs = await Promise.all(['left', 'right'].map((name) => run(name, ...words)))
    const hashes = await Promise.all(runs.map(({ report }) => hashReport(report)))
    expect(hashes[1]).toBe(hashes[0])
    const kept = readdirSync(shared)
    expect(kept.filter((name) => !/\.pbx(\.manifest\.json)?$/.test(name))).toEqual([])
    for (const name of kept.filter((name) => name.endsWith('.pbx'))) {
      const verified = await runCommand(['verify', join(shared, name)], env)
      expect([name, verified.status]).toEqual([name, 0])
    }
  })

  it('plays series of one’s own on the same clock, from the time they were received', async () => {
    const data = join(folder, 'chances.csv')
    // Known 100 s after each opening: at the sixth book, of which the model says that it is cheap by 5 cents.
    const rows = ROUNDS.map(({ number, opens }) => {
      const chance = (askCents('venueb', number, 5) + 5) / 100
      return `${opens + 100_000_000},venueb:${marketOf('venueb', number)},${chance}`
    })
    writeFileSync(data, `known,market,chance\n${rows.join('\n')}\n`)
    const out = join(folder, 'model')
    const words = ['--series', 'KXBTC15M', '--to', TO, '--params', 'edge=0', '--out', out, '-q']
    const more = ['--assume', ASSUME, '--queue', 'pessimistic', '--cache', cache]
    const model = ['--data', `model=${data}:known`, '--parquet', join(out, 'parquet')]
    const ran = await runCommand(
      ['backtest', 'examples/follow-a-model.ts', ...RANGE, ...words, ...more, ...model],
      env,
    )
    if (ran.status !== 0) throw new Error(ran.err)
    const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) as Report
    expect(report.coverage.data).toEqual({ model: 8 })
    const file = readFileSync(join(out, 'parquet', 'fills.parquet'))
    const fills = await parquetReadObjects({ file: new Uint8Array(file).buffer })
    expect(fills.map(({ market, fee }) => [market, Number(fee).toFixed(8)])).toEqual(
      report.fills_kept.map(({ market, fee }) => [market, Number(fee).toFixed(8)]),
    )
    // Each order is sent with the first later book that is cheap enough, found here without the engine.
    const expected = ROUNDS.map(({ number, opens }) => {
      const most = askCents('venueb', number, 5) + 5
      const book = BOOK_SECONDS.findIndex(
        (second, index) => second > 100 && askCents('venueb', number, index) <= most,
      )
      return [marketOf('venueb', number), opens + BOOK_SECONDS[book]! * 1_000_000]
    })
    expect(report.orders_kept.map(({ market, sentAt }) => [market.slice(7), sentAt])).toEqual(
      expected,
    )
  })

  it.each([
    [['--series', 'KXBTC15M', '--to', TO, '--data', 'x'], 2, '--data is x'],
    [['--series', 'KXBTC15M', '--to', TO, '--data', 'x=no.csv'], 4, 'there is no file no.csv'],
    [['--series', 'KXBTC15M'], 2, 'needs a range'],
    [['--series', 'KXBTC15M', '--contract', 'BTC-15m', '--to', TO], 2, 'not both'],
    [['--series', 'KXBTC15M', '--markets', 'venueb:X', '--to', TO], 2, 'not both'],
    [['--series', 'KXNOTHING', '--to', TO], 7, 'no market of the series KXNOTHING'],
  ])('refuses %j', async (words, status, text) => {
    const file = join(folder, 'refused.ts')
    writeFileSync(file, 'export const strategy = {}\n')
    const ran = await runCommand(['backtest', file, ...RANGE, '--cache', cache, ...words], env)
    expect(ran.err).toContain(text)
    expect(ran.status).toBe(status)
  })
})
