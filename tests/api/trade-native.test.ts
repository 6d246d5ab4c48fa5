import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Store } from '../../packages/service/src/store/store.ts'
import { expectRebuilt, recordAndServe, type RecordedService } from './recorded-service.ts'

/**
 * What the messages of trades said, in the venues' own words, is served beside what it means. The
 * messages are compared as the emulator wrote them on the wire.
 */
let service: RecordedService

type Said = Readonly<Record<string, string | number | boolean | null>>
type Trade = {
  readonly id: string
  readonly market_id: string
  readonly trade_id: string
  readonly taker_side: string | null
  readonly native: Said
}

const VENUES = ['venueb', 'venuec'] as const
const NAMES_B = [
  'taker_side',
  'taker_outcome_side',
  'taker_book_side',
  'is_block_trade',
  'yes_price_dollars',
  'no_price_dollars',
  'count_fp',
]
const NAMES_C = ['side', 'price', 'size', 'fee_rate_bps', 'transaction_hash']

const LEAST_TRADES = 20

beforeAll(async () => {
  service = await recordAndServe({
    seed: 5,
    speed: 20,
    venues: ['venueb', 'venuec'],
    rates: { trades: 3 },
    ms: 4_000,
    // A busy machine records fewer in the same time.
    async until(store) {
      const counts = await Promise.all(VENUES.map((venue) => countTrades(store, venue)))
      return counts.every((count) => count > LEAST_TRADES)
    },
  })
}, 180_000)

afterAll(() => service.close())

test('venue B: sides, flags, prices and counts are those of the message', async () => {
  const said = new Map<string, string[]>()
  const note = (message: Said): void => {
    const id = String(message['trade_id'])
    said.set(id, [...(said.get(id) ?? []), pick(message, NAMES_B)])
  }
  for (const value of texts()) {
    if (value['type'] === 'trade') note(value['msg'] as Said)
    for (const trade of listOf(value['trades'])) note(trade)
  }
  const trades = await tradesOf('venueb')
  expect(trades.length).toBeGreaterThan(LEAST_TRADES)
  for (const { trade_id: id, native, taker_side: side } of trades) {
    expect(said.get(id)).toContain(pick(native, NAMES_B))
    expect(side).toBe(native['taker_outcome_side'] === 'yes' ? 'buy' : 'sell')
  }
})

test('venue C: side, price, size, fee and transaction are those of the message', async () => {
  const said = texts()
    .flatMap((value) => [value, ...listOf(value)])
    .filter(({ event_type: type }) => type === 'last_trade_price')
    .map((message) => pick(message as Said, NAMES_C))
  const trades = await tradesOf('venuec')
  expect(trades.length).toBeGreaterThan(LEAST_TRADES)
  for (const { native, taker_side: side } of trades) {
    expect(said).toContain(pick(native, NAMES_C))
    expect(native['taker_side']).toBe(native['side'])
    expect(side).toBe(native['side'] === 'BUY' ? 'buy' : 'sell')
  }
})

test('CSV, downloads, hosted downloads and a rebuilt tape say the same', async () => {
  for (const venue of VENUES) {
    const [trade] = await tradesOf(venue)
    const { id, market_id: market, native } = trade!
    const query = `venue=${venue}&market_id=${market}&dataset=trades`
    const csv = decode(await service.get(`/v3/bulk?${query}&format=csv`))
    const { taker_side: taker, sid, seq, ...words } = native
    const said = JSON.stringify('side' in words ? words : { taker_side: taker, ...words })
    const cells = [taker, sid, seq, `"${said.replaceAll('"', '""')}"`]
    const row = csv.split('\n').find((one) => one.startsWith(`${id},`))!
    expect(row.endsWith(`,,${cells.map((cell) => cell ?? '').join(',')}`)).toBe(true)
    expect(csv.split('\n')[0]).toMatch(/,flags,native_taker_side,native_sid,native_seq,native$/)
    const lines = decode(await service.get(`/v3/bulk?${query}&format=ndjson`)).split('\n')
    const line = lines.find((one) => one.includes(`"${id}"`))!
    expect((JSON.parse(line) as Trade).native).toEqual(native)
    for (const format of ['tape', 'ndjson']) {
      const file = join(service.home, `${venue}.${format}`)
      writeFileSync(file, await service.get(`/v3/bulk?${query}&format=${format}`))
    }
  }
  await expectRebuilt(service)
})

function texts(): Record<string, unknown>[] {
  return service.sent.flatMap(({ text }) => {
    try {
      return [JSON.parse(text) as Record<string, unknown>]
    } catch {
      return []
    }
  })
}

function listOf(value: unknown): Said[] {
  return Array.isArray(value) ? (value as Said[]) : []
}

function pick(message: Said, names: readonly string[]): string {
  return JSON.stringify(names.map((name) => [name, message[name]]))
}

async function countTrades(store: Store, venue: (typeof VENUES)[number]): Promise<number> {
  let count = 0
  for (const { instrument } of await store.instruments(venue)) {
    const { key } = instrument
    const { rows } = await store.trades({ venue, key, order: 'asc', limit: 1000 })
    count += rows.count
  }
  return count
}

async function tradesOf(venue: (typeof VENUES)[number]): Promise<Trade[]> {
  const all: Trade[] = []
  const markets = await service.json(`/v3/markets?venue=${venue}&limit=1000`)
  for (const row of markets.data) {
    const { market_id: id, asset } = row as unknown as { market_id: string; asset: string }
    const path =
      venue === 'venueb' ? `/v3/venueb/${id}` : `/v3/${asset.toLowerCase()}/markets/${id}`
    const page = await service.json(`${path}/trades?limit=1000`)
    all.push(...(page.data as unknown as Trade[]))
  }
  return all
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
