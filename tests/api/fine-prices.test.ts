import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OrderBook, type ChangesRowJson } from '@priorbook/sdk/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  expectRebuilt,
  recordAndServe,
  runProgram,
  type RecordedService,
} from './recorded-service.ts'

/**
 * Rounds of venue A whose prices have two decimals in their first half and up to six in their second.
 * What the venue wrote on the wire, as text, is compared with every way in which a book is served.
 */
let service: RecordedService
let marketId: string
/** The books that the socket sent of the market, with their venue time. */
let wire: readonly { readonly time: string; readonly book: string }[]
/** All books that were sent, by socket or answer. */
let sent: ReadonlySet<string>
let rows: readonly Row[]

// Some price has six decimals; some price is not a whole cent.
const FINE = /[ba]0\.\d{6}×/
const OFF_CENTS = /[ba]0\.\d{3}/

type Side = { readonly price: readonly string[]; readonly size: readonly string[] }
type Level = { readonly price: string; readonly size: string }
type Row = {
  readonly id: string
  readonly sequence: number
  readonly received_time: string
  readonly source_time: string
  readonly best_bid: string | null
  readonly mid: string | null
  readonly bids: Side
  readonly asks: Side
}

beforeAll(async () => {
  service = await recordAndServe({
    seed: 11,
    speed: 50,
    venues: ['venuea'],
    fineTicks: true,
    rates: { ties: 0, pauses: 0 },
    // Longer than a round of 18 s, so that at any time of day some round is seen in both of its halves.
    ms: 22_000,
  })
  const books = service.sent.flatMap(({ text }) => bookIn(text))
  // The market that was seen longest in both of its halves.
  const counts = new Map<string, { fine: number; coarse: number }>()
  for (const { market, book } of books) {
    const count = counts.get(market) ?? { fine: 0, coarse: 0 }
    if (FINE.test(book)) count.fine++
    if (!OFF_CENTS.test(book)) count.coarse++
    counts.set(market, count)
  }
  const least = ([, { fine, coarse }]: [string, { fine: number; coarse: number }]): number =>
    Math.min(fine, coarse)
  marketId = [...counts].toSorted((a, b) => least(b) - least(a))[0]![0]
  wire = books.filter(({ market }) => market === marketId)
  sent = new Set([...books.map(({ book }) => book), ...service.sent.flatMap(answeredBook)])
  rows = await walk(`/v3/venuea-prediction/${marketId}/snapshots?include_orderbook=true`)
}, 180_000)

afterAll(() => service.close())

test('are recorded and served to the last digit, before and after the ticks became finer', () => {
  expect(rows.length).toBeGreaterThan(20)
  const texts = rows.map(textOf)
  expect(texts.some((text) => FINE.test(text))).toBe(true)
  expect(texts.some((text) => text !== '' && !OFF_CENTS.test(text))).toBe(true)
  expect(texts.filter((text) => !sent.has(text)).slice(0, 2)).toEqual([])
  // And nothing between the first row and the last one was refused.
  const served = new Set(texts)
  const missing = wire.filter(
    ({ time, book }) =>
      time >= rows[0]!.source_time && time <= rows.at(-1)!.source_time && !served.has(book),
  )
  // Of books with the same millisecond as the newest answer the recorder keeps one.
  expect(missing.length).toBeLessThanOrEqual(wire.length * 0.02)
})

test('are the same as JSON numbers, in CSV, at a time, sampled, and as changes', async () => {
  const path = `/v3/venuea-prediction/${marketId}`
  const numbers = await service.json(
    `${path}/snapshots?include_orderbook=true&order=desc&limit=900`,
  )
  const listed = numbers.data as unknown as { id: string; bids: { price: number[] } }[]
  const { id, bids } = listed.find(({ bids: { price } }) =>
    price.some((value) => /\.\d{6}/.test(String(value))),
  )!
  const same = rows.find((one) => one.id === id)!
  expect(bids.price.map(String)).toEqual(same.bids.price)

  const csv = decode(
    await service.get(`${path}/snapshots?include_orderbook=true&order=desc&limit=900&format=csv`),
  )
  expect(csv).toContain(`"[${same.bids.price.join(',')}]"`)

  const at = encodeURIComponent(same.received_time)
  const then = await service.json(`${path}/orderbook?at=${at}&number_format=string`)
  const found = then.data as unknown as Row
  const last = rows.findLast((one) => one.received_time === same.received_time)!
  expect([found.mid, textOf(found)]).toEqual([last.mid, textOf(last)])

  const sampled = await walk(`${path}/snapshots?include_orderbook=true&interval=1s`)
  const texts = new Set(rows.map(textOf))
  expect(sampled.length).toBeGreaterThan(3)
  expect(sampled.map(textOf).filter((text) => !texts.has(text))).toEqual([])

  const book = new OrderBook('venuea')
  const changes = await walk<ChangesRowJson>(`${path}/changes?limit=1000`)
  const built = changes.map((change) => {
    book.applyRow(change)
    return sidesText(book.bids(), book.asks())
  })
  expect(built).toEqual(rows.map(textOf))
})

test('cost what the ladder says, exactly', async () => {
  const row = rows.findLast(({ asks }) => asks.price.some((price) => price.length === 8))!
  const price = row.asks.price[0]!
  const path = `/v3/venuea-prediction/${marketId}/execution`
  const query = `side=buy&size=0.00000001&at=${encodeURIComponent(row.received_time)}`
  const answer = await service.json(`${path}?${query}&number_format=string`)
  expect(answer.data).toMatchObject({ vwap: price, best_price: price, vwap_is_exact: true })
})

test('are in downloads, and come back from them and from the journal', async () => {
  const query = `venue=venuea&market_id=${marketId}&dataset=books`
  const expected = rows.map((row) => `${row.id} ${textOf(row)}`)
  for (const format of ['tape', 'ndjson'] as const) {
    const file = join(service.home, `books.${format}`)
    writeFileSync(file, await service.get(`/v3/bulk?${query}&format=${format}`))
    const lines = (await runProgram('priorbook', 'replay', file)).trimEnd().split('\n')
    const books = lines
      .map((line) => JSON.parse(line) as Row & { readonly type: string })
      .filter(({ type }) => type === 'book')
    expect(books.map((row) => `${row.id} ${textOf(row)}`)).toEqual(expected)
    const report = JSON.parse(await runProgram('priorbook', 'verify', file, '--json')) as object
    expect(report).toMatchObject({ is_good: true, fault_count: 0 })
  }
  await expectRebuilt(service)
})

function bookIn(text: string): { market: string; time: string; book: string }[] {
  const frame = JSON.parse(text) as { readonly type?: string; readonly data?: unknown }
  if (frame.type !== 'TOPIC' || typeof frame.data !== 'string') return []
  const {
    marketId: market,
    updateTimestampMs,
    bids,
    asks,
  } = JSON.parse(frame.data) as {
    readonly marketId: number
    readonly updateTimestampMs: number
    readonly bids: readonly [string, string][]
    readonly asks: readonly [string, string][]
  }
  const levels = (side: readonly [string, string][]): Level[] =>
    side.map(([price, size]) => ({ price, size }))
  const time = new Date(updateTimestampMs).toISOString().replace('Z', '000Z')
  return [{ market: String(market), time, book: sidesText(levels(bids), levels(asks)) }]
}

function answeredBook({ text }: { readonly text: string }): string[] {
  const answer = JSON.parse(text) as Partial<Record<'bids' | 'asks', Level[]>> | null
  if (!Array.isArray(answer?.bids) || !Array.isArray(answer.asks)) return []
  return [sidesText(answer.bids, answer.asks)]
}

function textOf({ bids, asks }: Pick<Row, 'bids' | 'asks'>): string {
  const levels = ({ price, size }: Side): Level[] =>
    price.map((value, index) => ({ price: value, size: size[index]! }))
  return sidesText(levels(bids), levels(asks))
}

function sidesText(
  bids: readonly { readonly price: string; readonly size: string }[],
  asks: readonly { readonly price: string; readonly size: string }[],
): string {
  const side = (mark: string, levels: typeof bids): string[] =>
    levels.map(({ price, size }) => `${mark}${price}×${size}`)
  return [...side('b', bids), ...side('a', asks)].join(' ')
}

async function walk<T = Row>(path: string): Promise<T[]> {
  const all: T[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = await service.json(`${path}&number_format=string${more}`)
    all.push(...(page.data as unknown as readonly T[]))
    cursor = page.pagination.next_cursor
  }
  return all
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
