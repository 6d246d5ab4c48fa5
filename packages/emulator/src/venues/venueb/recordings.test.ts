import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmulator, type Emulator } from '../../emulator.ts'
import { connect, get, type Client, type ClientAddress, type Message } from './client.testing.ts'

const folder = process.env['PRIORBOOK_RECORDINGS']
if (folder === undefined) {
  console.log('venue B: PRIORBOOK_RECORDINGS is not set, shapes are not compared with recordings')
}

type Shape = readonly string[]

/** The names of an object's fields with the types of their values, nested ones too. */
function shapeOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : shapeOf(value[0], `${path}[]`)
  if (typeof value !== 'object' || value === null) return [`${path}: ${typeof value}`]
  return Object.entries(value).flatMap(([name, field]) => shapeOf(field, `${path}.${name}`))
}

function sorted(value: unknown): Shape {
  return [...new Set(shapeOf(value))].sort()
}

function recordedFrames(): Message[] {
  const files = globSync('venueb/ws-gold15m/*/*.ndjson.gz', { cwd: folder! })
  expect(files.length).toBeGreaterThan(5)
  const frames: Message[] = []
  for (const file of files.slice(0, 2)) {
    const lines = gunzipSync(readFileSync(join(folder!, file)))
      .toString()
      .trim()
      .split('\n')
    // Ends hold the snapshots, the middle is all alike.
    for (const line of [...lines.slice(0, 3_000), ...lines.slice(-5)]) {
      frames.push((JSON.parse(line) as { event: Message }).event)
    }
  }
  return frames
}

/** The shapes of frames by type; empty books are a type of their own. */
function shapes(frames: readonly Message[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const frame of frames) {
    const { type, msg } = frame
    if (!['orderbook_snapshot', 'orderbook_delta', 'trade'].includes(type)) continue
    const empty = type === 'orderbook_snapshot' && msg['yes_dollars_fp'] === undefined
    const name = empty && msg['no_dollars_fp'] === undefined ? 'empty' : type
    // A one-sided book has one key less; what is compared is the full form.
    if (name === 'orderbook_snapshot' && (empty || msg['no_dollars_fp'] === undefined)) continue
    const known = found.get(name) ?? new Set()
    found.set(
      name,
      known.add(`${Object.keys(frame).join()} ${Object.keys(msg).join()} ${sorted(frame).join()}`),
    )
  }
  return found
}

describe.skipIf(folder === undefined)('venue B beside its recordings', () => {
  let emulator: Emulator
  let address: ClientAddress
  let client: Client

  beforeAll(async () => {
    const rates = { changes: 2, trades: 1, pauses: 0 }
    emulator = await startEmulator({ seed: 3, speed: 300, venues: ['venueb'], rates })
    address = emulator.addresses.venueb!
    client = await connect(address)
  })
  afterAll(async () => {
    await client.close()
    await emulator.close()
  })

  it('sends frames with the recorded fields, in the recorded order and types', async () => {
    const page = (await get(address, '/markets?series_ticker=KXBTC15M')) as {
      markets: { ticker: string }[]
    }
    // Rounds to come too: the open one may be about to close.
    const tickers = page.markets.map(({ ticker }) => ticker)
    const channels = ['orderbook_delta', 'trade']
    // Books close to their end have one side; a full one is asked for until there is one.
    while (shapes(client.messages).size < 4) {
      client.send({ id: 1, cmd: 'subscribe', params: { channels, market_tickers: tickers } })
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    expect(shapes(client.messages)).toEqual(shapes(recordedFrames()))
  })

  it('answers with the recorded fields of events, markets and books', async () => {
    const file = globSync('venueb/events/*.json', { cwd: folder! })[0]!
    const { response } = JSON.parse(readFileSync(join(folder!, file), 'utf8')) as {
      response: { event: object; markets: object[] }
    }
    type Answer = { event: object; markets: Record<string, unknown>[] }
    client.send({ id: 2, cmd: 'subscribe', params: { channels: ['market_lifecycle_v2'] } })
    const { msg } = await client.wait(
      (message) =>
        message.msg['event_type'] === 'settled' &&
        String(message.msg['market_ticker']).startsWith('KXBTC15M'),
    )
    const event = String(msg['market_ticker']).replace(/-\d\d$/, '')
    const own = (await get(address, `/events/${event}`)) as Answer
    // The venue added this field after the recordings: its client 3.34 refuses markets without it.
    const markets = own.markets.map((market) => {
      const { settlement_bounds_type: added, ...recorded } = market
      expect(added).toBe('default')
      return recorded
    })
    expect(sorted({ ...own, markets })).toEqual(sorted(response))
    expect(Object.keys(markets[0]!)).toEqual(Object.keys(response.markets[0]!))
    const book = globSync('venueb/rest/orderbook_KX*.json', { cwd: folder! })[0]!
    const recorded: unknown = JSON.parse(readFileSync(join(folder!, book), 'utf8'))
    const open = (await get(address, '/markets?status=open&series_ticker=KXBTCD')) as {
      markets: { ticker: string }[]
    }
    // Books lose a side for a moment now and then, and this hour lasts twelve seconds.
    const full = sorted(recorded)
    const books = async (): Promise<readonly Shape[]> =>
      Promise.all(
        open.markets.map(async ({ ticker }) =>
          sorted(await get(address, `/markets/${ticker}/orderbook`)),
        ),
      )
    await expect.poll(books).toContainEqual(full)
    expect([...new Set((await books()).flat())].filter((one) => !full.includes(one))).toEqual([])
  })
})
