import { connect as dial } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startEmulator, type Emulator } from '../emulator.ts'
import { connect, get, type Client, type ClientAddress } from '../venues/venueb/client.testing.ts'
import type { TruthEntry } from '../core/truth.ts'
import type { Fault, Injection } from './fault.ts'

let emulator: Emulator
let address: ClientAddress
let client: Client
let ticker: string

beforeEach(async () => {
  emulator = await startEmulator({
    seed: 9,
    // The pace of books at speed 10, with hours that last: one that ends in a test would leave it without changes.
    speed: 1,
    venues: ['venueb'],
    rates: { changes: 200, trades: 0, pauses: 0 },
    log: { memory: true, texts: 'full' },
  })
  address = emulator.addresses.venueb!
  client = await connect(address)
  const page = (await get(address, '/markets?status=open&series_ticker=KXBTCD')) as {
    markets: { ticker: string }[]
  }
  ticker = page.markets[0]!.ticker
  const tickers = page.markets.map((market) => market.ticker)
  client.send({
    id: 1,
    cmd: 'subscribe',
    params: { channels: ['orderbook_delta'], market_tickers: tickers },
  })
  await client.wait(({ seq }) => (seq ?? 0) > 20)
})
afterEach(async () => {
  await client.close()
  await emulator.close()
})

const inject = (
  fault: Fault,
  more: Partial<Injection['target']> & { forMs?: number } = {},
): string => {
  const { forMs, ...target } = more
  return emulator.inject({
    fault,
    target: { venue: 'venueb', ...target },
    ...(forMs === undefined ? {} : { forMs }),
  })
}

type FrameEntry = Extract<TruthEntry, { type: 'frame' }>
const frames = (delivered: string): FrameEntry[] =>
  emulator.truth.entries.filter(
    (entry): entry is FrameEntry => entry.type === 'frame' && entry.delivered === delivered,
  )
const seqOf = ({ payloads: [payload] }: FrameEntry): number =>
  payload?.kind === 'change' || payload?.kind === 'full' ? payload.seq! : NaN
/** Waits until a message arrives that was numbered after now. */
const later = async (count = 30): Promise<void> => {
  const last = Math.max(...client.messages.map(({ seq }) => seq ?? 0))
  await client.wait(({ seq }) => (seq ?? 0) > last + count)
}
const heard = (): number[] => client.messages.filter(({ sid }) => sid === 1).map(({ seq }) => seq!)

describe('faults of single frames', () => {
  it('drops frames and says which', async () => {
    inject({ kind: 'drop', count: 3 })
    await later()
    const lost = frames('dropped').map(seqOf)
    expect(lost.length).toBe(3)
    expect(heard().filter((seq) => lost.includes(seq))).toEqual([])
    const all = [...heard(), ...lost].sort((a, b) => a - b)
    expect(all).toEqual(all.map((_, index) => index + 1))
  })

  it('drops frames of one market alone', async () => {
    inject({ kind: 'drop', count: 5 }, { market: ticker })
    await later(200)
    expect(frames('dropped').length).toBe(5)
    expect(new Set(frames('dropped').map(({ payloads }) => payloads[0]!.key))).toEqual(
      new Set([ticker]),
    )
  })

  it('sends frames twice', async () => {
    inject({ kind: 'duplicate', count: 2 })
    await later()
    const twice = frames('duplicated').map(seqOf)
    expect(twice.length).toBe(2)
    for (const seq of twice) expect(heard().filter((other) => other === seq).length).toBe(2)
  })

  it('swaps a frame with its successor', async () => {
    inject({ kind: 'reorder', count: 2 })
    await later()
    const swapped = frames('reordered').map(seqOf)
    expect(swapped.length).toBe(2)
    for (const seq of swapped) expect(heard().indexOf(seq)).toBe(heard().indexOf(seq + 1) + 1)
    for (const frame of frames('reordered')) {
      const next = frames('sent').find((other) => seqOf(other) === seqOf(frame) + 1)!
      const times = [frame.held!, next.at, frame.at]
      expect(times).toEqual(times.toSorted((a, b) => a - b))
    }
  })

  it('spoils frames in every listed way, each as the log says', async () => {
    inject({ kind: 'malformed', count: 60 })
    await later(200)
    const spoiled = frames('malformed')
    expect(spoiled.length).toBe(60)
    for (const { text } of spoiled) expect(client.texts).toContain(text)
    expect(new Set(spoiled.map(({ variant }) => variant)).size).toBeGreaterThan(6)
  })

  it('delays frames and keeps their order', async () => {
    const id = inject({ kind: 'slow', delayMs: 150 })
    await later()
    expect(emulator.end(id)).toBe(true)
    await later()
    expect(frames('delayed').length).toBeGreaterThan(10)
    expect(heard()).toEqual(heard().toSorted((a, b) => a - b))
  })
})

describe('faults of sockets', () => {
  it('stalls: no data, pings answered, and data again afterwards', async () => {
    const id = inject({ kind: 'stall' })
    const before = client.texts.length
    const pong = new Promise((resolve) => client.socket.once('pong', resolve))
    client.socket.ping('x')
    await pong
    await until(() => frames('stalled').length > 20)
    expect(client.texts.length).toBeLessThanOrEqual(before + 1)
    emulator.end(id)
    await later()
    expect(client.socket.readyState).toBe(WebSocket.OPEN)
  })

  it('cuts and closes sockets', async () => {
    const code = new Promise<number>((resolve) => client.socket.once('close', resolve))
    inject({ kind: 'disconnect' }, { forMs: 0 })
    expect(await code).toBe(1006)
    const second = await connect(address)
    const polite = new Promise<number>((resolve) => second.socket.once('close', resolve))
    inject({ kind: 'disconnect', code: 1001 }, { forMs: 0 })
    expect(await polite).toBe(1001)
  })

  it('leaves open sockets half open while new ones work', async () => {
    const id = inject({ kind: 'half_open' })
    const before = client.texts.length
    let answered = false
    client.socket.on('pong', () => (answered = true))
    client.socket.ping('x')
    const second = await connect(address)
    const ready = new Promise((resolve) => second.socket.once('pong', resolve))
    second.socket.ping('y')
    await ready
    await until(() => frames('stalled').length > 20)
    expect(answered).toBe(false)
    expect(client.texts.length).toBe(before)
    expect(client.socket.readyState).toBe(WebSocket.OPEN)
    const cut = new Promise((resolve) => client.socket.once('close', resolve))
    emulator.end(id)
    await cut
    await second.close()
  })

  it('closes with frozen sockets still there', async () => {
    inject({ kind: 'half_open' })
    await until(() => frames('stalled').length > 0)
    await emulator.close()
    const last = emulator.truth.entries.at(-1)
    expect(last).toMatchObject({ type: 'connection', state: 'closed' })
  })

  it('sends a frame of 20 MB', async () => {
    inject({ kind: 'oversized' }, { connection: emulator.connections('venueb')[0]! })
    await until(() => client.texts.some((text) => text.length === 20_000_000))
    await later()
    expect(frames('oversized').map(({ bytes }) => bytes)).toEqual([20_000_000])
  })

  it('refuses connections and takes them again on the same port', async () => {
    const id = inject({ kind: 'refuse' })
    await expect(connect(address)).rejects.toThrow('ECONNREFUSED')
    await later()
    emulator.end(id)
    await until(async () => {
      try {
        await (await connect(address)).close()
        return true
      } catch {
        return false
      }
    })
  })
})

describe('faults of answers', () => {
  it('answers as the venue does when it refuses', async () => {
    const url = `${address.rest}/exchange/status`
    const ask = async (fault: Fault): Promise<{ status: number; body: unknown }> => {
      const id = inject(fault)
      const response = await fetch(url)
      emulator.end(id)
      return { status: response.status, body: await response.json() }
    }
    expect(await ask({ kind: 'http_429' })).toEqual({
      status: 429,
      body: { error: 'too many requests' },
    })
    expect((await ask({ kind: 'http_5xx' })).status).toBe(503)
    expect((await ask({ kind: 'http_5xx', status: 500 })).status).toBe(500)
    const expired = await ask({ kind: 'expired_signature' })
    expect(expired.status).toBe(401)
    expect(JSON.stringify(expired.body)).toContain('expired')
    const id = inject({ kind: 'expired_signature' })
    await expect(connect(address)).rejects.toThrow('401')
    emulator.end(id)
    expect((await fetch(url)).status).toBe(200)
  })

  it('keeps an answer back and makes the clock of the venue wrong', async () => {
    const url = `${address.rest}/exchange/status`
    inject({ kind: 'http_slow', delayMs: 120, count: 1 })
    const begun = performance.now()
    await fetch(url)
    expect(performance.now() - begun).toBeGreaterThanOrEqual(119)
    inject({ kind: 'clock_skew', skewMs: -3_600_000 })
    const date = Date.parse((await fetch(url)).headers.get('date')!)
    expect(Math.abs(date + 3_600_000 - Date.now())).toBeLessThan(60_000)
    const skewed = await client.wait(
      ({ msg }) => typeof msg['ts_ms'] === 'number' && msg['ts_ms'] < Date.now() - 3_000_000,
    )
    expect(skewed.type).toBe('orderbook_delta')
  })

  it('injects, lists and ends faults through the control port', async () => {
    const post = (body: string): Promise<Response> =>
      fetch(`${emulator.control}/faults`, { method: 'POST', body })
    const begun = await post('{"fault":{"kind":"http_5xx"},"target":{"venue":"venueb"}}')
    expect(begun.status).toBe(201)
    const { id } = (await begun.json()) as { id: string }
    expect((await fetch(`${address.rest}/exchange/status`)).status).toBe(503)
    expect(((await (await fetch(`${emulator.control}/faults`)).json()) as unknown[]).length).toBe(1)
    const ended = await fetch(`${emulator.control}/faults/${id}`, { method: 'DELETE' })
    expect(ended.status).toBe(200)
    expect(emulator.faults()).toEqual([])
    for (const bad of [
      '{',
      '{}',
      '{"fault":{"kind":"nonsense"},"target":{"venue":"venueb"}}',
      '{"fault":{"kind":"slow"},"target":{"venue":"venueb"}}',
      '{"fault":{"kind":"drop","delayMs":1},"target":{"venue":"venueb"}}',
      '{"fault":{"kind":"drop","share":"x"},"target":{"venue":"venueb"}}',
      '{"fault":{"kind":"malformed","variant":"x"},"target":{"venue":"venueb"}}',
      '{"fault":{"kind":"drop"},"target":{"venue":"venuex"}}',
      '{"fault":{"kind":"drop"},"target":{"venue":"venueb"},"forMs":-1}',
    ]) {
      const response = await post(bad)
      expect([bad, response.status]).toEqual([bad, 400])
      expect(await response.json()).toMatchObject({ code: 'invalid_argument' })
    }
    const quotas = (await (await fetch(`${emulator.control}/quotas`)).json()) as object
    expect(Object.keys(quotas)).toEqual(['venueb'])
  })
})

async function until(test: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await test())) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('answers', () => {
  it('that a client left unread are logged', async () => {
    const of = (type: 'answer' | 'untaken'): TruthEntry[] =>
      emulator.truth.entries.filter((entry) => entry.type === type)
    const before = of('answer').length
    const { hostname, port, pathname } = new URL(address.rest)
    const socket = dial(Number(port), hostname)
    socket.pause()
    socket.write(`GET ${pathname}/markets?status=open HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
    while (of('answer').length === before) await pause(5)
    // Its bytes lie in the socket of the client, which goes away without a look at them.
    await pause(50)
    socket.destroy()
    while (of('untaken').length === 0) await pause(5)
    const [answer, untaken] = [of('answer').at(-1), of('untaken')[0]] as { request: string }[]
    expect(untaken!.request).toBe(answer!.request)
    expect(of('untaken')).toHaveLength(1)
  })
})
