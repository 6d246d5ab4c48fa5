import { toMicros, type Sample, type Trade } from '@priorbook/sdk/domain'
import type {
  ContractBooksJson,
  ContractSnapshotJson,
  PanelRowJson,
  ReferenceAtJson,
} from '@priorbook/sdk/wire'
import { expect, it } from 'vitest'
import {
  after,
  createContractStore,
  ROUND_ID,
  roundOfB,
  roundOfC,
} from '../contracts/contract-tape.testing.ts'
import { createTestServer } from '../server.testing.ts'

const MARKET = roundOfB().marketId
const TOKEN = roundOfC().outcomes[0]!.tokenId!
const SERIES = { venue: 'venuec', market: 'reference', key: 'reference/twap60/BTC' } as const
// A chunk of rows in the first ten seconds, and the next rows a minute after the round began.
const SECONDS = [...Array.from({ length: 1024 }, (_, index) => 1 + index / 100), 60, 61, 62]

/** Rounds of two venues with books, trades and reference prices of which retention removed the first chunk. */
async function serve() {
  const book = { bids: [['0.40', '10']], asks: [['0.45', '20']] } as const
  const books = SECONDS.map((seconds) => ({ seconds, ...book }))
  const store = await createContractStore([
    { record: roundOfB(), books },
    { record: roundOfC(), books },
  ])
  const made = { origin: 'emulator', recorder: 'r1', normalizer: 1, position: 2_000_000 } as const
  const samples = SECONDS.map((seconds, index): Sample => ({
    kind: 'sample',
    instrument: SERIES,
    metric: 'price',
    value: '95000',
    received: after(seconds),
    journal: 1_100_000 + index,
  }))
  const instrument = { venue: 'venuec', market: roundOfC().marketId, key: TOKEN } as const
  const trades = SECONDS.map((seconds, index): Trade => ({
    kind: 'trade',
    instrument,
    tradeId: `t${index}`,
    price: 4000 as Trade['price'],
    size: 1_000_000 as Trade['size'],
    taker: 'buy',
    received: after(seconds),
    journal: 1_200_000 + index,
  }))
  await store.append({ venue: 'venuec', ...made, samples, trades })
  await store.seal()
  const removed = await store.retain(after(30))
  expect(removed.rows).toBe(4 * 1024)
  const test = await createTestServer({ store, now: () => toMicros(after(3600)) })
  const key = test.keyOf('unlimited')
  return async (path: string) => {
    const { status, text } = await test.ask(path, { key })
    expect([status, text]).toEqual([200, expect.anything()])
    const body = JSON.parse(text) as { data: unknown; meta: { notice?: { code: string } } }
    return { data: body.data, notice: body.meta.notice?.code }
  }
}

const range = (from: number, to: number): string =>
  `start_time=${after(from)}&end_time=${after(to)}`

it.each([
  ['inside the removed rows', 5],
  ['at the first removed row', 1],
  ['between the last removed row and the first that is left', 30],
])('the last book %s is unknown because of retention', async (_, second) => {
  const get = await serve()
  const at = `at=${after(second)}`
  expect(await get(`/v3/venueb/${MARKET}/orderbook?${at}`)).toEqual({
    data: null,
    notice: 'retention',
  })
  expect(await get(`/v3/venueb/${MARKET}/execution?side=buy&size=1&${at}`)).toEqual({
    data: null,
    notice: 'retention',
  })
  const { data } = await get(`/v3/contracts/${ROUND_ID}/books?${at}`)
  expect((data as ContractBooksJson).members.map(({ reason }) => reason?.code)).toEqual([
    'retention',
    'retention',
  ])
  const reference = await get(`/v3/reference/btc/asof?${at}`)
  const prices = reference.data as readonly ReferenceAtJson[]
  expect(prices.map(({ gap }) => gap?.reason)).toEqual(['retention'])
  expect(reference.notice).toBeUndefined()
  const offset = second - 900
  const panel = await get(`/v3/panels?asset=btc&window=15m&at=${offset}s`)
  const told = (panel.data as readonly PanelRowJson[]).map(
    ({ venue, gap, reference_gap: price }) => [venue, gap, price],
  )
  expect(told).toEqual([
    ['venueb', 'retention', 'no_feed'],
    ['venuec', 'retention', 'retention'],
  ])
})

it('before the first removed row capture had not begun', async () => {
  const get = await serve()
  const at = `at=${after(0.5)}`
  expect((await get(`/v3/venueb/${MARKET}/orderbook?${at}`)).notice).toBe('before_capture')
  expect((await get(`/v3/reference/btc/asof?${at}`)).notice).toBe('before_capture')
  const trades = `/v3/btc/markets/${roundOfC().marketId}/trades`
  expect((await get(`${trades}?${range(-4000, -3700)}`)).notice).toBe('before_capture')
  const prices = await get(`/v3/reference/btc?${range(-60, 0)}`)
  expect(prices.notice).toBe('before_capture')
})

it('aligned buckets say retention where their rows were removed, and else that none was received', async () => {
  const get = await serve()
  const url = `/v3/contracts/${ROUND_ID}/snapshots?interval=10s&${range(0, 70)}`
  const { data } = await get(url)
  const reasons = (data as readonly ContractSnapshotJson[]).map(({ members }) =>
    members.map(({ reason }) => reason),
  )
  expect(reasons).toEqual([
    ['retention', 'retention'],
    ['retention', 'retention'],
    ...Array.from({ length: 4 }, () => ['no_observation', 'no_observation']),
    [null, null],
  ])
})

it.each([
  [2, 9, 'retention'],
  [9, 30, 'retention'],
  [20, 40, 'no_rows_in_range'],
])('an empty range from second %d to %d is explained by %s', async (from, to, code) => {
  const get = await serve()
  for (const path of [
    `/v3/venueb/${MARKET}/snapshots`,
    `/v3/btc/markets/${roundOfC().marketId}/trades`,
    '/v3/reference/btc',
  ]) {
    const { data, notice } = await get(`${path}?${range(from, to)}`)
    expect([path, data, notice]).toEqual([path, [], code])
  }
})
