import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { TruthEntry } from '../../packages/emulator/src/core/truth.ts'
import { toDataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { createEmulatedHome } from './emulated-home.ts'
import { withApi, type Api } from './past-api.ts'
import {
  candlesOf,
  happened,
  pricesOf,
  served,
  startCommand,
  type Ran,
  type TradeRow,
} from './past-trades.ts'

/** Rounds of 15 minutes take 15 s, and have far more trades than a page of either venue. */
const SPEED = 60
const TRADES = 20
/** Trades of the last moments are not fetched. */
const SETTLED_MS = 31_000

type MarketRow = {
  readonly market_id: string
  readonly status: string
  readonly winning_outcome: string | null
  readonly outcomes: readonly { readonly label: string; readonly token_id: string | null }[]
  readonly close_time: number | null
}

const EXACT = 'number_format=string&time_format=epoch_us'

const VENUES = [
  {
    venue: 'venueb',
    select: ['--series', 'KXBTC15M'],
    list: '/v3/venueb/markets?series=KXBTC15M',
    path: (id: string) => `/v3/venueb/${id}`,
    call: '/markets/trades',
    perSecond: 1000,
    metrics: ['open', 'high', 'low', 'close', 'volume'],
  },
  {
    venue: 'venuec',
    select: ['--asset', 'BTC', '--window', '15m'],
    list: '/v3/btc/markets?window=15m',
    path: (id: string) => `/v3/btc/markets/${id}`,
    call: '/data/trades',
    perSecond: 1,
    metrics: ['price'],
  },
] as const

type Venue = (typeof VENUES)[number]

type PriceRow = {
  readonly outcome: string
  readonly value: string
  readonly source_time: number
}

type CoverageRow = {
  readonly backfilled_trades: {
    readonly fetched_from: number
    readonly first_time: number | null
  } | null
}

type Served = {
  readonly market: MarketRow
  readonly coverage: readonly CoverageRow[]
  readonly past: TradeRow[]
  readonly observed: TradeRow[]
  readonly prices: Readonly<Record<string, PriceRow[]>>
}

/** Everything that is served of the markets of a scope. */
async function readAll(api: Api, { venue, list, path, metrics }: Venue): Promise<Served[]> {
  const markets = await api.all<MarketRow>(`${list}&limit=1000&${EXACT}`)
  const found = []
  for (const market of markets) {
    const trades = `${path(market.market_id)}/trades?limit=1000&${EXACT}`
    const past = await api.all<TradeRow>(`${trades}&origin=backfill`)
    const observed = await api.all<TradeRow>(trades)
    const prices: Record<string, PriceRow[]> = {}
    for (const metric of metrics) {
      const history = `${path(market.market_id)}/history?metric=${metric}&limit=1000&${EXACT}`
      prices[metric] = await api.all<PriceRow>(history)
    }
    const about = `/v3/coverage?venue=${venue}&market=${market.market_id}&time_format=epoch_us`
    const { data: coverage } = await api.get<CoverageRow>(about)
    found.push({ market, coverage, past, observed, prices })
  }
  return found
}

function expectCandles(prices: Served['prices'], candles: ReturnType<typeof candlesOf>): void {
  for (const metric of ['open', 'high', 'low', 'close', 'volume'] as const) {
    const scale = metric === 'volume' ? 1_000_000 : 10_000
    const shown = prices[metric]!.map(
      (row) => [row.source_time, Math.round(Number(row.value) * scale)] as const,
    )
    const truth = [...candles].map(([end, candle]) => [end, candle[metric]] as const)
    expect(new Map(shown)).toEqual(new Map(truth))
  }
}

/** Compares what is served of a market that ended with what happened; returns the number of trades. */
function expectTruth(
  venue: Venue,
  { market, coverage, past, prices }: Served,
  truth: readonly TruthEntry[],
): number {
  expect(market).toMatchObject({ status: 'resolved', winning_outcome: expect.any(String) })
  const { market_id: id, outcomes } = market
  const [first] = outcomes
  const key = venue.venue === 'venueb' ? id : first!.token_id!
  const trades = happened(truth, venue.venue, key, venue.perSecond)
  expect(served(past, first!.label, venue.perSecond)).toEqual(trades)
  expect(new Set(past.map(({ id: row }) => row)).size).toBe(past.length)
  const times = past.map((row) => row.source_time)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(past.every((row) => row.received_time > row.source_time)).toBe(true)
  for (const { backfilled_trades: fetched } of coverage) {
    expect(fetched!.fetched_from).toBeLessThanOrEqual(times[0] ?? Infinity)
  }
  if (venue.venue === 'venueb') expectCandles(prices, candlesOf(truth, key))
  // Of a market that never traded the emulator shows its first price.
  else if (trades.length > 0) expectPrices(prices, first!.label, pricesOf(truth, key))
  return trades.length
}

function expectPrices(
  { price = [] }: Served['prices'],
  label: string,
  truth: ReadonlyMap<number, number>,
): void {
  const shown = price
    .filter(({ outcome }) => outcome === label)
    .map((row) => [row.source_time, Math.round(Number(row.value) * 10_000)] as const)
  expect(new Map(shown)).toEqual(truth)
}

describe('the history of venues B and C', () => {
  it('is complete, apart from what was observed, and the same after kills and a rebuild', async (test) => {
    const home = await createEmulatedHome(test, {
      seed: 'past',
      speed: SPEED,
      venues: ['venueb', 'venuec'],
      history: 4,
      markets: { venueb: 4 },
      rates: { changes: 0.5, trades: TRADES },
      log: { memory: true, books: false },
    })
    const { emulator, data, env } = home
    const began = Date.now()
    await pause(8_000)
    const recorder = await home.startRecorder()
    await pause(8_000)
    await recorder.end('SIGTERM')
    const before = await withApi(home, async (api) => {
      const found = []
      for (const venue of VENUES) found.push(await readAll(api, venue))
      return found.map((one) => one.map(({ market, observed }) => [market.market_id, observed]))
    })
    expect(before.flat().some(([, observed]) => observed!.length > 100)).toBe(true)
    // Values of the minute in which the last market ended are settled half a minute after it.
    const settled = Math.ceil((began + 31_000) / 60_000) * 60_000 + SETTLED_MS
    await pause(Math.max(0, settled - Date.now()))

    const from = new Date(began - 600_000).toISOString()
    const to = new Date(began + 30_000).toISOString()
    const calls = (venue: Venue): number =>
      emulator.truth.entries.filter((one) => one.type === 'answer' && one.path.endsWith(venue.call))
        .length
    const range = ['--from', from, '--to', to]
    const where = ['--origin', 'live', '--data', data.path, '--json']
    const run = (venue: Venue): ReturnType<typeof startCommand> =>
      startCommand(env, 'backfill', venue.venue, ...venue.select, ...range, ...where)
    for (const venue of VENUES) {
      let kills = 0
      for (const kill of [1, 2, 3, 4]) {
        const start = calls(venue)
        const running = run(venue)
        while (calls(venue) < start + kill && !running.isOver()) await pause(2)
        running.kill()
        if ((await running.ended).code === null) kills++
      }
      expect(kills, 'it was killed in the middle').toBeGreaterThanOrEqual(2)
      const ran: Ran = await run(venue).ended
      expect(ran).toMatchObject({ code: 0, err: '' })
      const report = JSON.parse(ran.out) as Record<string, number>
      expect(report).toMatchObject({ quarantined: 0, gaps: 0, unresolved: 0 })
      const again = JSON.parse((await run(venue).ended).out) as Record<string, number>
      expect(again).toMatchObject({ trades: 0, markets: report['markets']! })
      expect(again['calls']).toBeLessThan(10)
    }

    const after = await withApi(home, async (api) => {
      const found = []
      for (const venue of VENUES) found.push(await readAll(api, venue))
      return found
    })
    let compared = 0
    for (const [index, venue] of VENUES.entries()) {
      const known = new Map(before[index]!.map(([id, observed]) => [id, observed] as const))
      for (const one of after[index]!) {
        const { market_id: id, close_time: close } = one.market
        expect(one.observed).toEqual(known.get(id) ?? [])
        if (close === null || close >= Date.parse(to) * 1000) continue
        compared += expectTruth(venue, one, emulator.truth.entries)
      }
    }
    expect(compared).toBeGreaterThan(1500)

    const verified = await startCommand(env, 'verify', '--journal', '--data', data.path, '--json')
      .ended
    expect(verified).toMatchObject({ code: 0 })
    expect(JSON.parse(verified.out)).toMatchObject({ problems: [] })
  }, 400_000)

  it('is complete where the archive of venue B has most of it, and takes the rest meanwhile', async (test) => {
    const [venue] = VENUES
    const home = await createEmulatedHome(test, {
      seed: 'archive',
      speed: SPEED,
      venues: ['venueb'],
      history: 4,
      markets: { venueb: 4 },
      rates: { changes: 0.5, trades: TRADES },
      // Seconds after it settled a market is in the archive alone; the cutoff moves on every ten seconds.
      limits: { archiveMs: 40_000 },
      log: { memory: true, books: false },
    })
    const { emulator, env } = home
    const began = Date.now()
    const settled = Math.ceil((began + 40_000) / 60_000) * 60_000 + SETTLED_MS
    await pause(Math.max(0, settled - Date.now()))
    const { rest } = emulator.addresses.venueb!
    const listed = async (path: string): Promise<{ ticker: string; event_ticker: string }[]> => {
      const answer = await fetch(`${rest}${path}?series_ticker=KXBTC15M&limit=1000`)
      return ((await answer.json()) as { markets: { ticker: string; event_ticker: string }[] })
        .markets
    }
    const archived = await listed('/historical/markets')
    const atHand = new Set((await listed('/markets')).map(({ ticker }) => ticker))
    expect(archived.length).toBeGreaterThan(4)
    expect(archived.some(({ ticker }) => atHand.has(ticker))).toBe(false)

    const to = Date.now() - 35_000
    const range = ['--from', new Date(began - 600_000).toISOString()]
    const until = ['--to', new Date(to).toISOString()]
    const where = ['--origin', 'live', '--json', '--data']
    const fetchAll = (...args: readonly string[]): Promise<Ran> =>
      startCommand(env, 'backfill', 'venueb', ...args).ended
    const ran = await fetchAll(...venue.select, ...range, ...until, ...where, home.data.path)
    expect(ran).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(ran.out)).toMatchObject({ quarantined: 0, gaps: 0, unresolved: 0 })
    const found = await withApi(home, (api) => readAll(api, venue))
    const ids = new Set(found.map(({ market }) => market.market_id))
    expect(archived.every(({ ticker }) => ids.has(ticker))).toBe(true)
    let compared = 0
    for (const one of found) compared += expectTruth(venue, one, emulator.truth.entries)
    expect(compared).toBeGreaterThan(400)
    const answers = emulator.truth.entries.filter(
      (one) => one.type === 'answer' && one.status === 200,
    )
    for (const path of [
      /historical\/trades$/,
      /markets\/trades$/,
      /historical\/markets\/KX.*candles/,
    ]) {
      expect(answers.some((one) => one.type === 'answer' && path.test(one.path))).toBe(true)
    }

    // The markets of an event that the venue still has are in the archive alone.
    const { ticker, event_ticker: named } = archived[0]!
    const other = toDataFolder(join(home.home, 'event'))
    const event = await fetchAll('--event', named, ...where, other.path)
    expect(event).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(event.out)).toMatchObject({ markets: 1, complete: 1, gaps: 0 })
    const [one] = await withApi({ ...home, data: other }, (api) => readAll(api, venue))
    expect(one!.market.market_id).toBe(ticker)
    expectTruth(venue, one!, emulator.truth.entries)
  }, 400_000)
})
