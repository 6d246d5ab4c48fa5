import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import { ManualClock } from '../../lib/clock.testing.ts'
import type { CaptureNote } from './contract.ts'
import { createLink, type Link, type LinkOptions } from './link.ts'

/** A server, a link to it and everything that either of them saw; time stands still until it is advanced. */
class Rig {
  readonly clock = new ManualClock()
  readonly notes: CaptureNote[] = []
  readonly heard: string[] = []
  readonly said: string[] = []
  readonly stop = new AbortController()
  readonly sockets: WebSocket[] = []
  link!: Link
  readonly #server: WebSocketServer

  constructor(server: WebSocketServer) {
    this.#server = server
    server.on('connection', (socket) => {
      this.sockets.push(socket)
      socket.on('message', (data: Buffer) => this.said.push(data.toString()))
    })
  }

  run(options: Partial<LinkOptions> = {}): Promise<void> {
    const { port } = this.#server.address() as AddressInfo
    this.link = createLink({
      slot: 1,
      name: 'a test',
      target: () => ({ url: `ws://127.0.0.1:${port}` }),
      onOpen: () => undefined,
      onText: (_received, bytes) => {
        this.heard.push(Buffer.from(bytes).toString())
        return true
      },
      expectsData: () => true,
      sink: { now: () => this.clock.now(), note: (note) => void this.notes.push(note) },
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      clock: this.clock,
      ...options,
    })
    return this.link.run(this.stop.signal)
  }

  /** Sends a frame and waits until the link has it. */
  async send(text: string): Promise<void> {
    const before = this.heard.length
    this.sockets.at(-1)!.send(text)
    await until(() => this.heard.length > before)
  }

  get kinds(): string[] {
    return this.notes.map((note) => (note.note === 'loss' ? note.reason : note.note))
  }
}

async function openRig(onConnection?: (socket: WebSocket) => void): Promise<Rig> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  if (onConnection !== undefined) server.on('connection', onConnection)
  const rig = new Rig(server)
  onTestFinished(() => {
    rig.stop.abort()
    server.close()
  })
  return rig
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

it('delivers nothing more of a connection whose loss is noted', async () => {
  const rig = await openRig((socket) => {
    // One write, so that all of it is read at once.
    const raw = (socket as unknown as { _socket: { cork(): void; uncork(): void } })._socket
    raw.cork()
    for (const text of ['a', 'b', 'c']) socket.send(text)
    raw.uncork()
  })
  const running = rig.run({
    onText(_received, bytes) {
      rig.heard.push(Buffer.from(bytes).toString())
      if (rig.heard.length === 1) rig.link.restart('sequence_break', 'a test')
      if (rig.heard.length === 4) rig.stop.abort()
      return true
    },
  })
  await until(() => rig.clock.timers === 1 && !rig.link.connected)
  await rig.clock.advance(700)
  await running
  // One message of the first connection, all of the second.
  expect(rig.heard).toEqual(['a', 'a', 'b', 'c'])
  expect(rig.kinds).toEqual(['connected', 'sequence_break', 'connected'])
})

describe('silence', () => {
  it('is not what this process missed while it did not run', async () => {
    const rig = await openRig()
    const running = rig.run()
    await until(() => rig.link.connected)
    await rig.send('a')
    await rig.clock.advance(2_000)
    rig.clock.stall(60_000)
    await rig.clock.advance(1_000)
    expect(rig.kinds).toEqual(['connected'])
    // The venue is watched as before.
    await rig.clock.advance(3_000)
    expect(rig.kinds.slice(0, 2)).toEqual(['connected', 'venue_silent'])
    rig.stop.abort()
    await running
  })

  it('ends a connection within 6 s, and the next one starts at once', async () => {
    const rig = await openRig()
    void rig.run()
    await until(() => rig.link.connected)
    await rig.send('a')
    await rig.clock.advance(5_500)
    expect(rig.link.connected).toBe(true)
    await rig.clock.advance(100)
    expect(rig.link.connected).toBe(false)
    await until(() => rig.clock.timers === 1)
    await rig.clock.advance(50)
    await until(() => rig.link.connected)
    expect(rig.kinds).toEqual(['connected', 'venue_silent', 'connected'])
  })

  it('is twenty times the habit of a slow socket', async () => {
    const rig = await openRig()
    void rig.run()
    await until(() => rig.link.connected)
    for (let index = 0; index < 9; index++) {
      await rig.send('a')
      await rig.clock.advance(1_000)
    }
    await rig.clock.advance(19_000)
    expect(rig.link.connected).toBe(true)
    await rig.clock.advance(100)
    expect(rig.link.connected).toBe(false)
  })

  it('is not looked for while no data is expected, nor broken by other frames', async () => {
    const rig = await openRig()
    let isExpected = false
    void rig.run({
      expectsData: () => isExpected,
      onText: () => {
        rig.heard.push('a word')
        return false
      },
    })
    await until(() => rig.link.connected)
    await rig.clock.advance(60_000)
    expect(rig.link.connected).toBe(true)
    isExpected = true
    await rig.clock.advance(3_000)
    await rig.send('a word')
    await rig.clock.advance(2_600)
    expect(rig.link.connected).toBe(false)
  })
})

it('says what the venue expects from time to time', async () => {
  const rig = await openRig()
  void rig.run({ keepAlive: { text: 'PING', everyMs: 10_000 }, expectsData: () => false })
  await until(() => rig.link.connected)
  await rig.clock.advance(25_000)
  await until(() => rig.said.length === 2)
  expect(rig.said).toEqual(['PING', 'PING'])
})

it('tries again with growing waits, each below a second in the first minute', async () => {
  const rig = await openRig((socket) => socket.terminate())
  void rig.run()
  const isWaiting = (): boolean => !rig.link.connected && rig.clock.timers === 1
  while (rig.sockets.length < 6) {
    await until(isWaiting)
    await rig.clock.advance(50)
  }
  // 50 + 100 + 200 + 400 + 700 ms at most, each wait at least half of that.
  expect(rig.clock.monotonicMs()).toBeGreaterThan(700)
  expect(rig.clock.monotonicMs()).toBeLessThan(2_000)
  expect(rig.kinds.every((kind) => kind === 'connected' || kind === 'disconnected')).toBe(true)
})
