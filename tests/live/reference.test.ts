import { expect, it, onTestFinished } from 'vitest'
import { createClient, type LiveMessage } from '../../packages/sdk/src/client/index.ts'
import { pause, start } from '../capture/harness.ts'
import { startCutProxy } from './cut-proxy.ts'
import { LiveApi } from './live-api.ts'

const SPEED = 20
const FEEDS = ['chainlink', 'exchange', 'twap30', 'twap60']

type Price = Extract<LiveMessage, { readonly type: 'reference' }>

it('sends every reference price once and in order, with gaps in place, over lost connections too', async () => {
  const run = await start({ seed: 31, speed: SPEED, venues: ['venuec'], rates: { changes: 0.2 } })
  onTestFinished(() => run.destroy())
  await pause(1500)
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
  await pause(1500)
  proxy.cut()
  await pause(1000)
  const target = { venue: 'venuec', market: 'reference/chainlink/BTC' } as const
  const count = heard.length
  // One feed is cut at the venue, and its next prices are malformed.
  run.emulator.inject({ fault: { kind: 'malformed', variant: 'not_json', count: 2 }, target })
  await pause(1500)
  expect(heard.length).toBeGreaterThan(count)
  await run.stop()
  await pause(300)
  abort.abort()
  await following
  const types = new Set(heard.map(({ type }) => type))
  expect(types.has('disconnected')).toBe(true)
  expect(types.has('hole')).toBe(false)
  const direct = createClient({ url: worker.url, key: api.key })
  for (const feed of FEEDS) {
    const key = `reference/${feed}/BTC`
    const prices = heard.filter((one): one is Price => one.type === 'reference' && one.key === key)
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
  const gaps = await run.store.gaps({ venue: 'venuec', key: target.market, reason: 'rejected' })
  expect(places.at(-1)!.gap.end_time).not.toBeNull()
  expect(new Set(places.map(({ gap }) => gap.after_sequence))).toEqual(
    new Set(gaps.map(({ afterSequence }) => afterSequence)),
  )
  expect(worker.errors).toEqual([])
})
