import { afterEach, describe, expect, it } from 'vitest'
import { startEmulator, type Emulator, type EmulatorOptions } from './emulator.ts'
import { randomSchedule } from './faults/schedule.ts'
import { connect, get, type Client } from './venues/venueb/client.testing.ts'

const running: Emulator[] = []
const clients: Client[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  for (const emulator of running.splice(0)) await emulator.close()
})

async function start(options: EmulatorOptions): Promise<Emulator> {
  const emulator = await startEmulator(options)
  running.push(emulator)
  return emulator
}

/** Frames of one market from its first opening on, as a client hears them. */
async function listen(emulator: Emulator, count: number): Promise<string[]> {
  const address = emulator.addresses.venueb!
  const client = await connect(address, emulator.world.now('venueb') - Date.now())
  clients.push(client)
  const path = '/markets?status=unopened&series_ticker=KXBTC15M'
  const { markets } = (await get(address, path)) as { markets: { ticker: string }[] }
  // The last to open, so that the subscription is there first on a slow machine too.
  const { ticker } = markets[0]!
  const params = { channels: ['orderbook_delta', 'trade'], market_tickers: [ticker] }
  client.send({ id: 1, cmd: 'subscribe', params })
  await client.wait(({ sid, seq }) => sid === 1 && (seq ?? 0) >= count)
  return client.texts.slice(0, count)
}

describe('the emulator', () => {
  it('puts the same bytes on the wire for the same seed and start', async () => {
    const options = { speed: 300, venues: ['venueb'], start: 1_790_000_000_000 } as const
    const heard = await Promise.all(
      ['s', 's', 't'].map(async (seed) => listen(await start({ ...options, seed }), 150)),
    )
    expect(heard[1]).toEqual(heard[0])
    expect(heard[2]).not.toEqual(heard[0])
  })

  it('floods a venue with as many frames as asked for', async () => {
    const emulator = await start({
      venues: ['venueb'],
      markets: { venueb: 20 },
      flood: { venue: 'venueb', perSecond: 5_000 },
    })
    const address = emulator.addresses.venueb!
    const client = await connect(address)
    clients.push(client)
    const { markets } = (await get(address, '/markets?status=open')) as {
      markets: { ticker: string }[]
    }
    const tickers = markets.map(({ ticker }) => ticker)
    client.send({
      id: 1,
      cmd: 'subscribe',
      params: { channels: ['orderbook_delta'], market_tickers: tickers },
    })
    await client.wait(({ seq }) => (seq ?? 0) > 2_000)
    const numbers = client.messages.filter(({ sid }) => sid === 1).map(({ seq }) => seq)
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
    const changed = new Set(client.messages.map(({ msg }) => msg['market_ticker']))
    for (const ticker of tickers) expect(changed).toContain(ticker)
  })

  it('lives through a schedule of all faults on all venues', async () => {
    const venues = ['venuea', 'venueb', 'venuec'] as const
    const faults = randomSchedule(3, { durationMs: 3_000, venues, everyMs: 100 })
    const emulator = await start({
      speed: 60,
      faults: faults.map((item) => ({ ...item, forMs: Math.min(item.forMs, 200) })),
      log: { memory: true },
    })
    const count = (wanted: string): number =>
      emulator.truth.entries.filter((entry) => entry.type === 'fault' && entry.state === wanted)
        .length
    while (count('ended') < faults.length) {
      const client = await connect(emulator.addresses.venueb!).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, 100))
      await client?.close()
    }
    expect([count('begun'), count('ended')]).toEqual([faults.length, faults.length])
    const client = await connect(emulator.addresses.venueb!)
    await client.close()
  })

  it('shows what was resolved before its start', async () => {
    const emulator = await start({ history: 5, venues: ['venueb'] })
    const address = emulator.addresses.venueb!
    const path = '/markets?status=settled&series_ticker=KXBTC15M'
    const { markets } = (await get(address, path)) as {
      markets: { ticker: string; result: string; settlement_ts?: string; close_time: string }[]
    }
    expect(markets).toHaveLength(5)
    for (const { ticker, result, close_time } of markets) {
      expect(['yes', 'no']).toContain(result)
      expect(Date.parse(close_time)).toBeLessThanOrEqual(Date.now())
      const { market } = (await get(address, `/markets/${ticker}`)) as { market: object }
      expect(market).toMatchObject({ ticker, result })
    }
  })

  it('starts with 30,000 markets in a few seconds and pages through them', async () => {
    const before = process.cpuUsage()
    const emulator = await start({
      venues: ['venueb', 'venuec'],
      breadth: { venueb: 20_000, venuec: 10_000 },
    })
    // Of the processor, not of the clock: other tests run beside this one.
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1e6).toBeLessThan(8)
    const address = emulator.addresses.venueb!
    const seen = new Set<string>()
    for (let cursor = ''; ;) {
      const path = `/markets?status=open&mve_filter=exclude&limit=1000&cursor=${cursor}`
      const page = (await get(address, path)) as { cursor: string; markets: { ticker: string }[] }
      for (const { ticker } of page.markets) seen.add(ticker)
      cursor = page.cursor
      if (cursor === '') break
      // The quota of the venue allows 20 requests a second.
      await new Promise((resolve) => setTimeout(resolve, 60))
    }
    expect(seen.size).toBeGreaterThanOrEqual(20_000)
    const { gamma } = emulator.addresses.venuec!
    const last = await fetch(`${gamma}/markets?limit=500&offset=9900`)
    expect(await last.json()).toHaveLength(100)
  })

  it('refuses options that make no sense', async () => {
    await expect(startEmulator({ history: -1 })).rejects.toThrow('history')
    await expect(startEmulator({ speed: 0 })).rejects.toThrow('speed')
    await expect(startEmulator({ markets: { venuec: 7 } })).rejects.toThrow('at most 6')
    await expect(startEmulator({ breadth: { venuea: 0.5 } })).rejects.toThrow('not a number')
    const ports = { venuec: Number(new URL((await start({})).control).port) }
    await expect(startEmulator({ ports })).rejects.toThrow('venuec: listen EADDRINUSE')
    const credentials = { venueb: { keyId: 'k', privateKey: 'no key' } }
    await expect(startEmulator({ credentials })).rejects.toThrow('PEM')
  })
})
