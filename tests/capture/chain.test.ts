import { setTimeout as pause } from 'node:timers/promises'
import { createClient, type PriorbookClient } from '@priorbook/sdk/client'
import { VENUES } from '@priorbook/sdk/domain'
import type { GapJson, TradeJson } from '@priorbook/sdk/wire'
import { expect, test, type TestContext } from 'vitest'
import type { Emulator } from '../../packages/emulator/src/emulator.ts'
import type { Fault } from '../../packages/emulator/src/faults/fault.ts'
import { freePort, run } from '../service-process.ts'
import { callChain, headOf, readChainTrades, type ChainTrade } from './chain-oracle.ts'
import { createEmulatedHome, type EmulatedHome } from './emulated-home.ts'
import { startRecorderProcess, until, type RecorderProcess } from './recorder-process.ts'

const PATIENCE_MS = 60_000
const RATES = { changes: 4, trades: 3, pauses: 0, disputes: 0 }
const CONFIRMATIONS = 3
const TIMEOUT_MS = 240_000

/** A service over an emulated venue A, whose trades it reads from the emulated chain. */
type Installation = {
  readonly place: EmulatedHome
  readonly emulator: Emulator
  readonly client: PriorbookClient
  readonly recorder: RecorderProcess
  start(env?: Readonly<Record<string, string>>): Promise<void>
  /** A path of the API as text. */
  get(path: string): Promise<string>
  /** Injects a fault of the chain for a time. */
  during(fault: Fault, ms: number): Promise<void>
}

async function install(context: TestContext, seed: number): Promise<Installation> {
  const log = { memory: true, texts: 'full', books: false } as const
  const options = { seed, venues: ['venuea'], rates: RATES, log } as const
  const place = await createEmulatedHome(context, options)
  const { emulator, home, env } = place
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let recorder: RecorderProcess
  let key = ''
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<void> => {
    const args = ['--port', `${port}`]
    recorder = await startRecorderProcess(home, { ...env, ...more }, args)
    context.onTestFinished(async () => void (await recorder.end('SIGKILL')))
    const data = ['--data', place.data.path]
    if (key === '') {
      key = /pb_live_\w+/.exec(run('keys', 'create', '--plan', 'unlimited', ...data))![0]
    }
    await until('the API', PATIENCE_MS, async () => (await health(url)) || undefined)
  }
  return {
    place,
    emulator,
    start,
    get recorder() {
      return recorder
    },
    get client() {
      return createClient({ url, key, time_format: 'epoch_us', number_format: 'string' })
    },
    async get(path) {
      const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })
      return answer.text()
    },
    async during(fault, ms) {
      const id = emulator.inject({ fault, target: { venue: 'venuea' } })
      await pause(ms)
      emulator.end(id)
    },
  }
}

async function health(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/v3/health`)).ok
  } catch {
    return false
  }
}

function chainOf({ emulator }: Installation): Record<string, string> {
  return {
    PRIORBOOK_VENUEA_CHAIN_RPC: emulator.addresses.venuea!.chain,
    PRIORBOOK_VENUEA_CHAIN_CONFIRMATIONS: String(CONFIRMATIONS),
  }
}

/** The block after which reading began, from the log. */
async function startBlock({ recorder }: Installation): Promise<number> {
  const line = await until('the first block', PATIENCE_MS, () =>
    recorder.logs.find(({ msg }) => msg.startsWith('reading fills after')),
  )
  return (line as unknown as { block: number }).block
}

async function untilRead({ recorder }: Installation, block: number): Promise<void> {
  await until(`block ${block}`, PATIENCE_MS, async () => {
    const { detail } = (await recorder.status()).recorder!.venues['venuea']!.connector
    return Number(/fills up to block (\d+)/.exec(detail)?.[1] ?? 0) >= block ? true : undefined
  })
}

async function readTrades({ client }: Installation): Promise<TradeJson[]> {
  const trades: TradeJson[] = []
  for (const { market_id: id } of await client.venueMarkets('venuea').toArray()) {
    const market = client.market({ venue: 'venuea', market_id: id })
    trades.push(...(await market.trades({ limit: 17 }).toArray()))
  }
  return trades
}

const PRICE_DECIMALS = VENUES.venuea.priceDecimals

/** What the API should say of a trade: exact where its decimals allow it, rounded and flagged elsewhere. */
function expectTrade(row: TradeJson, trade: ChainTrade): void {
  const { collateral, shares, outcome } = trade
  const [scale, scaled] = [
    10n ** BigInt(PRICE_DECIMALS),
    BigInt(toUnits(row.price, PRICE_DECIMALS)),
  ]
  const own = outcome === 0 ? scaled : scale - scaled
  // Less than half a tick away, so it is the nearest price.
  const off = abs(collateral * scale - own * shares)
  expect(2n * off <= shares, `${row.price} of ${trade.id}`).toBe(true)
  const size = BigInt(toUnits(row.size, 8)) * 10n ** 10n
  expect(abs(size - shares) <= 5n * 10n ** 9n).toBe(true)
  const isRounded = size !== shares || off >= scale
  expect(row.flags.includes('rounded')).toBe(isRounded)
  const { origin, makerAmountFilled, takerAmountFilled } = row.native
  const amounts = [String(makerAmountFilled), String(takerAmountFilled)]
  expect(amounts.toSorted()).toEqual([String(collateral), String(shares)].toSorted())
  expect(origin).toBe('chain')
  expect({
    market: row.market_id,
    taker: row.taker_side,
    source: row.source_time,
    block: row.native.seq,
  }).toEqual({
    market: trade.market,
    taker: trade.taker,
    source: trade.time * 1_000_000,
    block: trade.block,
  })
}

function toUnits(text: unknown, decimals: number): string {
  const [whole, fraction = ''] = String(text).split('.')
  return `${whole}${fraction.padEnd(decimals, '0')}`
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value
}

/** The transaction and place of a fill; where it was read before in another block, its id has the block too. */
function readId(row: TradeJson): { readonly id: string; readonly isMoved: boolean } {
  const [transaction, place, block] = row.trade_id.split('-')
  const isMoved = block !== undefined
  if (isMoved) expect(Number(block)).toBe(row.native.seq)
  return { id: `${transaction}-${place}`, isMoved }
}

/** Compares all trades up to a block; returns the rows that are not on the chain. */
function compare(
  rows: readonly TradeJson[],
  chain: ReadonlyMap<string, ChainTrade>,
  block: number,
): TradeJson[] {
  const seen = new Set<string>()
  const found = new Set<string>()
  const others: TradeJson[] = []
  for (const row of rows) {
    if ((row.native.seq ?? 0) > block) continue
    expect(seen.has(row.trade_id), `${row.trade_id} twice`).toBe(false)
    seen.add(row.trade_id)
    const { id, isMoved } = readId(row)
    const trade = chain.get(id)
    // A fill that was mined again elsewhere is a row of its own; the first row is no longer true.
    const isReplaced = trade !== undefined && !isMoved && trade.block !== row.native.seq
    if (trade === undefined || isReplaced) others.push(row)
    else {
      expectTrade(row, trade)
      found.add(id)
    }
  }
  const missing = [...chain.keys()].filter((id) => !found.has(id))
  expect(missing).toEqual([])
  return others
}

test(
  'every fill on the chain is served once, through faults and kill -9',
  async (context) => {
    const one = await install(context, 71)
    await one.start()
    const [market] = await until('a market', PATIENCE_MS, async () => {
      const { data } = await one.client.venueMarkets('venuea', { status: 'open' }).page()
      return data.length > 0 ? data : undefined
    })
    const path = `/v3/venuea-prediction/${market!.market_id}/trades`
    const empty = JSON.parse(await one.get(path)) as { data: []; meta: { notice: object } }
    expect(empty.data).toEqual([])
    expect(JSON.stringify(empty.meta.notice)).toMatch(/trades_not_reconstructed.*needs an endpoint/)
    await one.recorder.end('SIGTERM')

    const chain = chainOf(one)
    await one.start(chain)
    const start = await startBlock(one)
    await one.during({ kind: 'chain_duplicate' }, 4_000)
    await one.during({ kind: 'chain_limit', share: 0.5 }, 5_000)
    await one.during({ kind: 'chain_range', blocks: 1 }, 5_000)
    // Fewer blocks than are waited for: it is never seen.
    await one.during({ kind: 'chain_reorg', depth: CONFIRMATIONS - 1, count: 2 }, 3_000)
    await one.recorder.end('SIGKILL')
    await pause(3_000)
    await one.start(chain)
    await one.during({ kind: 'http_5xx' }, 2_000)
    const block = (await headOf(one.emulator)) - CONFIRMATIONS
    await untilRead(one, block)

    const expected = await readChainTrades(one.emulator, start + 1, block)
    expect(expected.size).toBeGreaterThan(200)
    const rows = await readTrades(one)
    expect(compare(rows, expected, block)).toEqual([])
    const kinds = new Set([...expected.values()].map(({ outcome, taker }) => `${outcome} ${taker}`))
    expect(kinds.size).toBe(4)
    expect(rows.some(({ flags }) => flags.includes('rounded'))).toBe(true)
    await expectFormats(one, rows)

    await one.recorder.end('SIGTERM')
    const data = ['--data', one.place.data.path]
    expect(run('verify', '--journal', ...data)).toMatch(/all sound/)
    expect(run('rebuild', ...data)).toMatch(/all hashes equal/)
  },
  TIMEOUT_MS,
)

/** NDJSON, CSV, downloads, the stream and replay have the same trades as the pages. */
async function expectFormats(one: Installation, rows: readonly TradeJson[]): Promise<void> {
  const { client } = one
  const busiest = Object.groupBy(rows, ({ market_id: id }) => id)
  const [id, own] = Object.entries(busiest).toSorted(([, a], [, b]) => b!.length - a!.length)[0]!
  const end = Math.max(...own!.map(({ received_time: at }) => Number(at))) + 1
  const known = own!.map(({ trade_id: tradeId }) => tradeId)
  const path = `/v3/venuea-prediction/${id}/trades?end_time=${end}&limit=1000`
  const ndjson = (await one.get(`${path}&format=ndjson`)).trim().split('\n')
  const lines = ndjson.map((line) => JSON.parse(line) as { type: string; trade_id: string })
  expect(lines.flatMap((line) => line.trade_id ?? [])).toEqual(known)
  const csv = (await one.get(`${path}&format=csv`)).trim().split('\n')
  expect(csv.slice(1).map((line) => /0x[0-9a-f]{64}-\d+/.exec(line)![0])).toEqual(known)
  const range = { venue: 'venuea', market_id: id, dataset: 'trades', end_time: end } as const
  const file = await client.download({ ...range, format: 'ndjson' })
  const parts: Buffer[] = []
  for await (const part of file.body) parts.push(Buffer.from(part))
  const found = Buffer.concat(parts)
    .toString()
    .match(/"trade_id":"0x[0-9a-f]{64}-\d+"/g)
  expect(found?.map((text) => text.slice(12, -1))).toEqual(known)
  const replayed: string[] = []
  const first = Math.min(...own!.map(({ received_time: at }) => Number(at)))
  const markets = [{ venue: 'venuea', market_id: id }] as const
  const replay = { markets, start_time: first, end_time: end, speed: 'max' } as const
  for await (const message of client.socketReplay(replay)) {
    if (message.type === 'trade') replayed.push(message.row.trade_id)
  }
  expect(replayed).toEqual(known)
  const live = new Set<string>()
  for await (const message of client.live([{ venue: 'venuea', asset: 'BTC' }])) {
    if (message.type === 'trade') live.add(message.row.trade_id)
    if (live.size >= 5) break
  }
  const later = new Set((await readTrades(one)).map(({ trade_id: tradeId }) => tradeId))
  expect([...live].filter((tradeId) => !later.has(tradeId))).toEqual([])
}

test(
  'blocks that were replaced or cannot be read are gaps with bounds',
  async (context) => {
    const one = await install(context, 72)
    await one.start(chainOf(one))
    const start = await startBlock(one)
    await pause(6_000)
    await one.during({ kind: 'chain_reorg', depth: CONFIRMATIONS + 7, count: 1 }, 2_000)
    await pause(8_000)
    const [lostFrom, lostTo] = await lose(one)
    await pause(4_000)
    const block = (await headOf(one.emulator)) - CONFIRMATIONS
    await untilRead(one, block)
    const expected = await readChainTrades(one.emulator, start + 1, block)
    const rows = await readTrades(one)
    const voided = compare(rows, expected, block)
    expect(voided.length).toBeGreaterThan(0)

    const gaps = await one.client.gaps({ venue: 'venuea' }).toArray()
    const reorganized = gaps.filter(({ reason }) => reason === 'reorganized')
    expect(reorganized).toHaveLength(1)
    const [gap] = reorganized
    expect(gap).toMatchObject({ key: 'chain', scope: 'instrument' })
    for (const row of voided) {
      expect(isInside(row, gap!)).toBe(true)
      expect(gap!.detail).toMatch(new RegExp(`${row.trade_id}|and \\d+ more`))
    }
    const lost = gaps.filter(({ reason }) => reason === 'unavailable')
    const blocks = lost.map(({ detail }) => /blocks? (\d+)(?: to (\d+))?/.exec(detail ?? '')!)
    expect(blocks.map(([, from, to]) => [Number(from), Number(to ?? from)])).toEqual([
      [lostFrom, lostTo],
    ])
    // Pages of trades show those within the life of their market, pages of books none.
    const reasonsOf = async (id: string, route: string): Promise<string[]> => {
      const text = await one.get(`/v3/venuea-prediction/${id}/${route}?limit=1000`)
      const { meta } = JSON.parse(text) as { meta: { gaps: readonly GapJson[] } }
      return meta.gaps
        .map(({ reason }) => reason)
        .filter((reason) => /reorganized|unavailable/.test(reason))
    }
    expect(await reasonsOf(voided[0]!.market_id, 'trades')).toContain('reorganized')
    const shown = new Set<string>()
    for (const id of new Set(rows.map((row) => row.market_id))) {
      for (const reason of await reasonsOf(id, 'trades')) shown.add(reason)
      expect(await reasonsOf(id, 'snapshots')).toEqual([])
    }
    expect([...shown].toSorted()).toEqual(['reorganized', 'unavailable'])
    await one.recorder.end('SIGTERM')
    const data = ['--data', one.place.data.path]
    expect(run('verify', '--journal', ...data)).toMatch(/all sound/)
  },
  TIMEOUT_MS,
)

/** Makes some blocks unreadable; returns the first and the last of them. */
async function lose({ emulator }: Installation): Promise<[number, number]> {
  const before = await headOf(emulator)
  const id = emulator.inject({ fault: { kind: 'chain_gap' }, target: { venue: 'venuea' } })
  await until('blocks', PATIENCE_MS, async () =>
    (await headOf(emulator)) >= before + 4 ? true : undefined,
  )
  emulator.end(id)
  const lost: number[] = []
  for (let block = before; block <= (await headOf(emulator)); block++) {
    const hex = `0x${block.toString(16)}`
    const range = [{ fromBlock: hex, toBlock: hex }]
    await callChain(emulator, 'eth_getLogs', range).catch(() => void lost.push(block))
  }
  expect(lost.length).toBeGreaterThan(2)
  return [lost[0]!, lost.at(-1)!]
}

function isInside({ received_time: at }: TradeJson, gap: GapJson): boolean {
  return Number(at) >= Number(gap.start_time) && Number(at) < Number(gap.end_time)
}

test(
  'an endpoint that is away is a gap of trades, and nothing is lost',
  async (context) => {
    const one = await install(context, 73)
    await one.start(chainOf(one))
    const start = await startBlock(one)
    await pause(4_000)
    await one.during({ kind: 'chain_limit' }, 45_000)
    const block = (await headOf(one.emulator)) - CONFIRMATIONS
    await untilRead(one, block)
    const expected = await readChainTrades(one.emulator, start + 1, block)
    expect(compare(await readTrades(one), expected, block)).toEqual([])
    const gaps = await one.client.gaps({ venue: 'venuea' }).toArray()
    const own = gaps.filter(({ key }) => key === 'chain')
    expect(own.map(({ reason }) => reason)).toEqual(['quota'])
    expect(own[0]!.end_time).not.toBeNull()
  },
  TIMEOUT_MS,
)
