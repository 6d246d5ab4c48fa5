import { expect, it, onTestFinished } from 'vitest'
import { createClient, type LiveMessage } from '../../packages/sdk/src/client/index.ts'
import { start } from '../capture/harness.ts'
import { until } from '../capture/recorder-process.ts'
import { startCutProxy } from './cut-proxy.ts'
import { LiveApi } from './live-api.ts'

const SPEED = 20
const FEEDS = ['chainlink', 'exchange', 'twap30', 'twap60']
const PATIENCE_MS = 30_000
// Prices of each feed that are heard before something happens to it.
const PART = 12

type Price = Extract<LiveMessage, { readonly type: 'reference' }>

it('sends every reference price once and in order, with gaps in place, over lost connections too', async () => {
  const run = await start({ seed: 31, speed: SPEED, venues: ['venuec'], rates: { changes: 0.2 } })
  onTestFinished(() => run.destroy())
  const countOf = async (feed: string): Promise<number> => {
    const query = { venue: 'venuec', key: `reference/${feed}/BTC`, metric: 'price' } as const
    return (await run.store.samples({ ...query, order: 'asc', limit: 100_000 })).rows.count
  }
  await until('prices of every feed', PATIENCE_MS, async () => {
    const counts = await Promise.all(FEEDS.map(countOf))
    return counts.every((count) => count >= PART) ? true : undefined
  })
  const api = new LiveApi(run.data.tape)
  const worker = await api.start()
  const proxy = await startCutProxy(worker.port)
  const client = createClient({ url: proxy.url, key: api.key, number_format: 'string' })
  const abort = new AbortController()
  const heard: LiveMessage[] = []
  const following = (async () => {
    const subscription = { reference: 'BTC', number_format: 'string' } as const
    const options = { signal: abort.signal, retry: { baseDelayMs: 50, maxDelayMs: 200 } }
    for await (const message of client.live(subscription, options)) heard.push(message)
  })()
  const pricesOf = (feed: string): Price[] =>
    heard.filter(
      (one): one is Price => one.type === 'reference' && one.key === `reference/${feed}/BTC`,
    )
  const hear = (count: number): Promise<true> =>
    until(`${count} prices of every feed`, PATIENCE_MS, () =>
      FEEDS.every((feed) => pricesOf(feed).length >= count) ? true : undefined,
    )
  await hear(PART)
  proxy.cut()
  await hear(2 * PART)
  const target = { venue: 'venuec', market: 'reference/chainlink/BTC' } as const
  const gapsOf = () => run.store.gaps({ venue: 'venuec', key: target.market, reason: 'rejected' })
  // One feed is cut at the venue, and its next prices are malformed.
  run.emulator.inject({ fault: { kind: 'malformed', variant: 'not_json', count: 2 }, target })
  await until('a gap that has ended', PATIENCE_MS, async () =>
    (await gapsOf()).some(({ end }) => end !== undefined) ? true : undefined,
  )
  await hear(4 * PART)
  await run.stop()
  await until('all that is stored', PATIENCE_MS, async () => {
    const counts = await Promise.all(FEEDS.map(countOf))
    const isHeard = FEEDS.every((feed, at) => pricesOf(feed).at(-1)!.sequence >= counts[at]!)
    return isHeard ? true : undefined
  })
  abort.abort()
  await following
  const types = new Set(heard.map(({ type }) => type))
  expect(types.has('disconnected')).toBe(true)
  expect(types.has('hole')).toBe(false)
  const direct = createClient({ url: worker.url, key: api.key })
  for (const feed of FEEDS) {
    const prices = pricesOf(feed)
    const stored = await direct
      .referencePrices('BTC', { feed, number_format: 'string', end_time: '2100-01-01' })
      .toArray()
    const from = prices[0]!.sequence
    expect(prices.length).toBeGreaterThan(20)
    expect(prices.map(({ row }) => row)).toEqual(stored.slice(from - 1))
    expect(prices.map((one) => one.previous_sequence)).toEqual([
      null,
      ...prices.slice(0, -1).map(({ sequence }) => sequence),
    ])
  }
  // A gap stands behind the last price before it, and is told again when it ends.
  const places = heard.flatMap((one, at) =>
    one.type === 'gap' && one.gap.key === target.market && one.gap.reason === 'rejected'
      ? [{ at, gap: one.gap }]
      : [],
  )
  expect(places.length).toBeGreaterThan(0)
  for (const { at, gap } of places) {
    const before = heard
      .slice(0, at)
      .findLast((one): one is Price => one.type === 'reference' && one.key === target.market)
    expect(before!.sequence).toBe(gap.after_sequence)
  }
  const gaps = await gapsOf()
  expect(places.at(-1)!.gap.end_time).not.toBeNull()
  expect(new Set(places.map(({ gap }) => gap.after_sequence))).toEqual(
    new Set(gaps.map(({ afterSequence }) => afterSequence)),
  )
  expect(worker.errors).toEqual([])
})
