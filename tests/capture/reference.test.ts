import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { compareWithJournal } from '../../packages/service/src/derive/rebuild.ts'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { createEmulatedHome } from './emulated-home.ts'
import { start } from './harness.ts'
import { judgeReferences } from './judge-references.ts'
import { until } from './recorder-process.ts'

const ORACLE = 'reference/chainlink/BTC'
const SPEED = 20
const RATES = { changes: 1, trades: 0.1, pauses: 0, ties: 0 }
const STARTED_MS = 30_000
const SETTLED_MS = 45_000

async function reasonsOf(store: Store, key: string): Promise<string[]> {
  return (await store.gaps({ venue: 'venuec', key })).map(({ reason }) => reason)
}

async function complaintsOf(
  run: Pick<Awaited<ReturnType<typeof start>>, 'emulator' | 'store'>,
  until: number,
): Promise<{ complaints: string[]; prices: number }> {
  const complaints: string[] = []
  const { entries } = run.emulator.truth
  const complain = (text: string): void => void complaints.push(text)
  return { complaints, prices: await judgeReferences(entries, run.store, until, complain) }
}

test('prices under faults are those that were sent, outside gaps with their reasons', async ({
  onTestFinished,
}) => {
  const run = await start({ seed: 41, speed: SPEED, venues: ['venuec'], rates: RATES })
  onTestFinished(() => run.destroy())
  await pause(2000)
  const target = { venue: 'venuec', market: ORACLE } as const
  run.emulator.inject({ fault: { kind: 'malformed', count: 4 }, target })
  await pause(1000)
  // Only this series is silent; the socket goes on with others.
  run.emulator.inject({ fault: { kind: 'stall' }, target, forMs: 7500 })
  await pause(8500)
  const sockets = run.emulator.connections('venuec')
  for (const connection of sockets) {
    const fault = { kind: 'disconnect' } as const
    run.emulator.inject({ fault, target: { venue: 'venuec', connection }, forMs: 10 })
  }
  await pause(2500)
  const until = (await run.stop()) - 300_000
  const { complaints, prices } = await complaintsOf(run, until)
  expect(complaints).toEqual([])
  expect(prices).toBeGreaterThan(500)
  const reasons = await reasonsOf(run.store, ORACLE)
  expect(new Set(reasons)).toEqual(
    new Set(['rejected', 'venue_silent', 'disconnected', 'recorder_down']),
  )
  // The others lost their connections, and nothing else.
  expect(await reasonsOf(run.store, 'reference/exchange/ETH')).toEqual([
    'disconnected',
    'recorder_down',
  ])
  await run.store.seal()
  const { differences, damage } = await compareWithJournal(run.store, run.data)
  expect([...differences, ...damage]).toEqual([])
})

test('a round settles on the prices that the feed showed at its start and end', async ({
  onTestFinished,
}) => {
  const run = await start({ seed: 43, speed: 60, venues: ['venuec'], rates: RATES })
  onTestFinished(() => run.destroy())
  // Rounds of five minutes take five seconds; one must open after the first prices, however late those come.
  await until('a round from its start to its end', SETTLED_MS, async () => {
    const rounds = wholeRounds(run, await firstPrices(run.store), Date.now() - 3000)
    return rounds.length > 0 ? true : undefined
  })
  const stopped = await run.stop()
  const pricesOf = async (feed: string): Promise<Map<number, string>> => {
    const query = { venue: 'venuec', key: `reference/${feed}/BTC`, metric: 'price' } as const
    const { rows } = await run.store.samples({ ...query, order: 'asc', limit: 100_000 })
    const shown = new Map<number, string>()
    for (let row = 0; row < rows.count; row++) {
      shown.set(rows.source[row]! / 1000, (rows.value[row]! / 1e8).toFixed(2))
    }
    return shown
  }
  // The average of the feed, not the price of that moment, decides.
  const feeds = { '5m': await pricesOf('twap30'), '15m': await pricesOf('twap60') }
  const moment = await pricesOf('chainlink')
  const rounds = wholeRounds(run, await firstPrices(run.store), stopped / 1000 - 2000)
  let unlike = 0
  for (const { window, openTime, closeTime, startPrice, outcome } of rounds) {
    const near = (shown: Map<number, string>, time: number): string | undefined =>
      [...shown].find(([at]) => at >= time && at < time + 5)?.[1]
    const prices = [near(feeds[window], openTime), near(feeds[window], closeTime)]
    expect(prices).toEqual([startPrice, outcome.endPrice])
    expect(outcome.winner).toBe(Number(prices[1]) >= Number(prices[0]) ? 'first' : 'second')
    if (near(moment, closeTime) !== prices[1]) unlike++
  }
  expect(rounds.length).toBeGreaterThan(0)
  expect(unlike).toBeGreaterThan(0)
})

/** When the last of the feeds told its first price, in milliseconds; Infinity before that. */
async function firstPrices(store: Store): Promise<number> {
  const times: number[] = []
  for (const feed of ['chainlink', 'twap30', 'twap60']) {
    const query = { venue: 'venuec', key: `reference/${feed}/BTC`, metric: 'price' } as const
    const { rows } = await store.samples({ ...query, order: 'asc', limit: 1 })
    times.push(rows.count === 0 ? Infinity : rows.source[0]! / 1000)
  }
  return Math.max(...times)
}

/** The rounds of BTC that opened after one time and were decided by another. */
function wholeRounds(
  { emulator }: Pick<Awaited<ReturnType<typeof start>>, 'emulator'>,
  from: number,
  to: number,
) {
  return emulator.world.propositions('venuec').flatMap((round) => {
    const { asset, window, openTime, closeTime, startPrice, outcome } = round
    if (asset !== 'BTC' || window === '1h' || outcome === undefined) return []
    return openTime <= from || closeTime > to
      ? []
      : [{ window, openTime, closeTime, startPrice, outcome }]
  })
}

test('a price feed that is dead disturbs no book', async (context) => {
  const place = await createEmulatedHome(context, {
    seed: 42,
    speed: SPEED,
    venues: ['venuec'],
    rates: RATES,
  })
  const recorder = await place.startRecorder({ PRIORBOOK_VENUEC_RTDS: 'ws://127.0.0.1:1' })
  await until('books', STARTED_MS, async () => {
    const { venues } = (await recorder.status()).recorder!
    return (venues.venuec?.books.open ?? 0) >= 4 ? true : undefined
  })
  await pause(3000)
  expect((await recorder.status()).recorder!.venues.venuec!.connector.state).toBe('recording')
  expect(await recorder.end('SIGTERM')).toBe(0)
  const store = openEmbeddedStore({ file: place.data.tape })
  context.onTestFinished(() => store.close())
  expect(await store.series('venuec', 'reference')).toEqual([])
  const gaps = await store.gaps({ venue: 'venuec' })
  expect(gaps.filter(({ reason }) => reason === 'disconnected')).toEqual([])
  expect(await store.quarantine({ limit: 10 })).toEqual([])
})

test('a recorder that is killed keeps its prices and declares what it missed', async (context) => {
  const place = await createEmulatedHome(context, {
    seed: 44,
    speed: SPEED,
    venues: ['venuec'],
    rates: RATES,
  })
  const { emulator, data } = place
  let recorder = await place.startRecorder()
  const untilPrices = (least: number): Promise<true> =>
    until('prices', STARTED_MS, async () => {
      const { venues } = (await recorder.status()).recorder!
      return (venues.venuec?.counts.samples ?? 0) >= least ? true : undefined
    })
  await untilPrices(200)
  const reader = openEmbeddedStore({ file: data.tape, readOnly: true })
  context.onTestFinished(() => reader.close())
  const query = { venue: 'venuec', key: ORACLE, metric: 'price', order: 'asc' } as const
  const before = await reader.samples({ ...query, limit: 100_000 })
  await recorder.end('SIGKILL')
  recorder = await place.startRecorder()
  await untilPrices(200)
  const end = Date.now() * 1000 - 500_000
  expect(await recorder.end('SIGTERM')).toBe(0)
  const store = openEmbeddedStore({ file: data.tape })
  context.onTestFinished(() => store.close())
  const after = await store.samples({ ...query, limit: 100_000 })
  expect(before.rows.count).toBeGreaterThan(10)
  expect(after.rows.value.slice(0, before.rows.count)).toEqual(before.rows.value)
  expect(await reasonsOf(store, ORACLE)).toEqual(['recorder_down', 'recorder_down'])
  const { complaints, prices } = await complaintsOf({ emulator, store }, end)
  expect(complaints).toEqual([])
  expect(prices).toBeGreaterThanOrEqual(400)
  await store.seal()
  const { differences, damage } = await compareWithJournal(store, data)
  expect([...differences, ...damage]).toEqual([])
  expect((await store.verify()).problems).toEqual([])
})
