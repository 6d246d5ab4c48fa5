import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import { ManualClock } from '../../lib/clock.testing.ts'
import { createTestSink, type TestSink } from '../capture/sink.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'
import { ReferenceSockets } from './reference-sockets.ts'

/** The sockets of one feed beside a server; time stands still until it is advanced. */
class Rig {
  readonly clock = new ManualClock()
  readonly sink: TestSink = createTestSink(createVenueCNormalizer(), () => this.clock.now())
  readonly stop = new AbortController()
  readonly errors: string[] = []
  server: WebSocket | undefined
  sockets!: ReferenceSockets

  run(url: string): Promise<void> {
    this.sockets = new ReferenceSockets({
      url,
      feeds: ['exchange'],
      assets: ['BTC', 'eth'],
      pingMs: 5000,
      sink: this.sink,
      log: {
        info: () => undefined,
        warn: () => undefined,
        error: (_fields, message) => void this.errors.push(message),
      },
      clock: this.clock,
    })
    return this.sockets.run(this.stop.signal)
  }

  /** Sends a price and waits until it was read. */
  async price(symbol: string): Promise<void> {
    const payload = { symbol, timestamp: 1_788_600_389_000, value: 5 }
    this.server!.send(JSON.stringify({ topic: 'crypto_prices', type: 'update', payload }))
    const ponged = once(this.server!, 'pong')
    this.server!.ping()
    await ponged
  }
}

async function openRig(): Promise<Rig> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const rig = new Rig()
  onTestFinished(() => {
    rig.stop.abort()
    server.close()
  })
  void rig.run(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [socket] = (await once(server, 'connection')) as [WebSocket]
  rig.server = socket
  await once(socket, 'message')
  return rig
}

it('keeps no price of an asset that is quoted in another form, and lives by it', async () => {
  const rig = await openRig()
  await rig.price('btcusdt')
  for (let second = 0; second < 30; second++) {
    await rig.price('btcusdc')
    await rig.clock.advance(1000)
  }
  expect(rig.sink.frames).toHaveLength(1)
  expect(rig.sockets.status).toMatchObject([{ slot: 249, connected: true }])
})

it('keeps prices of the assets that it was given, in capitals or not', async () => {
  const rig = await openRig()
  for (const symbol of ['btcusdt', 'ethusdt', 'solusdt']) await rig.price(symbol)
  expect(rig.sink.frames).toHaveLength(2)
})

it('goes on after a failure of its own, until it is stopped', async () => {
  const rig = new Rig()
  let isOver = false
  const running = rig.run('no address').finally(() => (isOver = true))
  await rig.clock.advance(45_000)
  expect(isOver).toBe(false)
  expect(rig.errors).toHaveLength(2)
  rig.stop.abort()
  await running
})

it('takes time in which its own process did not run for no silence', async () => {
  const rig = await openRig()
  for (let second = 0; second < 20; second++) {
    await rig.price('btcusdt')
    await rig.clock.advance(1000)
  }
  rig.clock.stall(60_000)
  await rig.clock.advance(100)
  await rig.price('btcusdt')
  await rig.clock.advance(2000)
  expect(rig.sink.notes.map(({ note }) => note)).toEqual(['connected'])
})
