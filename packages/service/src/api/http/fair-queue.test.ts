import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FairQueue, type QueueLimits } from './fair-queue.ts'

// More than the buffers of the system take.
const BODY = Buffer.alloc(24_000_000, 'x')

/** A server whose answers are counted; `/busy` keeps the processor busy, `/large` sends 24 MB. */
async function start(limits: Partial<QueueLimits> = {}) {
  const queue = new FairQueue(limits, ({ headers }) => headers.authorization ?? '')
  const started: string[] = []
  let arrived = 0
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    started.push(request.url!)
    if (request.url!.startsWith('/busy')) {
      for (const end = performance.now() + 20; performance.now() < end;);
    }
    response.end(request.url!.startsWith('/large') ? BODY : 'small')
  }
  const server = createServer((request, response) => {
    arrived++
    queue.add(request, response, () => answer(request, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close().closeAllConnections()
  })
  let closed = 0
  server.on('connection', (socket) => socket.once('close', () => closed++))
  const { port } = server.address() as AddressInfo
  return { started, port, closed: () => closed, arrived: () => arrived }
}

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

function requests(path: string, count: number, key = 'a'): string {
  const one = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
  return one.repeat(count)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function ask(port: number, path: string, key: string): Promise<void> {
  const socket = open(port)
  socket.write(requests(path, 1, key))
  await new Promise((resolve) => socket.once('data', resolve))
  socket.destroy()
}

describe('a client that does not read', () => {
  it('gets one answer made at a time, however many it asks for', async () => {
    const { port, started } = await start()
    const socket = open(port)
    socket.pause()
    socket.write(requests('/large', 20))
    await ask(port, '/small', 'b')
    await pause(200)
    // An answer is larger than the buffers of the system, so that the first one is not taken yet.
    expect(started.filter((path) => path === '/large').length).toBe(1)
    let bytes = 0
    socket.on('data', (part) => (bytes += part.length))
    socket.resume()
    while (bytes < 20 * BODY.length) await pause(20)
    expect(started.filter((path) => path === '/large').length).toBe(20)
  })

  it('waits alone when its connections have too much unread', async () => {
    const { port, started } = await start({ clientBytes: 40_000_000 })
    for (let count = 0; count < 12; count++) {
      const socket = open(port)
      socket.pause()
      socket.write(requests('/large', 1))
      await pause(10)
    }
    await ask(port, '/small', 'b')
    expect(started.filter((path) => path === '/large').length).toBeLessThan(8)
    expect(started).toContain('/small')
  })

  it('is disconnected when the process has too much unread, and readers are served', async () => {
    const { port, started, closed } = await start({ totalBytes: 40_000_000, stallMs: 100 })
    for (let count = 0; count < 12; count++) {
      const socket = open(port)
      socket.pause()
      socket.write(requests('/large', 1, `key${count}`))
      await pause(10)
    }
    const reader = open(port)
    reader.write(requests('/small', 1, 'reader'))
    await new Promise((resolve) => reader.once('data', resolve))
    expect(closed()).toBeGreaterThan(0)
    expect(started).toContain('/small')
  })
})

describe('a flood of pipelined requests', () => {
  it('delays other clients by single requests', async () => {
    const { port, started } = await start()
    const flood = open(port)
    flood.resume()
    flood.write(requests('/busy', 200))
    while (started.length < 2) await pause(1)
    for (let count = 0; count < 10; count++) await ask(port, '/small', 'b')
    expect(started.filter((path) => path === '/busy').length).toBeLessThan(60)
  })

  it('over many connections of one key delays others by single requests too', async () => {
    const { port, started } = await start()
    for (let count = 0; count < 20; count++) {
      const flood = open(port)
      flood.resume()
      flood.write(requests('/busy', 10))
    }
    while (started.length < 5) await pause(1)
    const before = started.length
    for (let count = 0; count < 5; count++) await ask(port, '/small', 'b')
    expect(started.length - before).toBeLessThan(60)
  })

  it('is not read further than it is answered', async () => {
    const { port, started, arrived } = await start()
    const flood = open(port)
    flood.write(requests('/large', 1))
    flood.pause()
    flood.write(requests('/small', 20_000))
    await pause(300)
    // The packets that had been read when reading stopped hold some thousand requests.
    expect(arrived()).toBeLessThan(8000)
    flood.resume()
    while (started.length < 20_001) await pause(20)
  })

  it('ends with its connection', async () => {
    const { port, started } = await start()
    const flood = open(port)
    flood.resume()
    flood.write(requests('/busy', 3000))
    while (started.length < 3) await pause(1)
    flood.destroy()
    await pause(300)
    const count = started.length
    await pause(200)
    expect(started.length).toBe(count)
    expect(count).toBeLessThan(100)
  })
})
