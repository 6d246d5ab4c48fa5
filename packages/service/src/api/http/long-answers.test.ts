import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { FAKE_ROUTES } from '../fake-routes.testing.ts'
import { takesLong } from '../route.ts'
import { BULK_ROUTES } from '../routes/bulk.ts'
import { createTestServer } from '../server.testing.ts'
import { LongAnswers } from './long-answers.ts'

// More bytes than the buffers of the system take: who does not read keeps the answer under way.
const DOWNLOAD = '/v3/stream-of-rows?pieces=1000'

async function start() {
  const routes = FAKE_ROUTES.map((one) => (one.id === 'fake_stream' ? takesLong(one) : one))
  const { server, keyOf } = await createTestServer({ routes })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const ask = (path: string, key: string): Client => new Client(port, path, key)
  return { ask, keyOf }
}

/** A client that reads the head of its answer and no more. */
class Client {
  readonly status: Promise<number>
  head = ''
  readonly #socket: Socket

  constructor(port: number, path: string, key: string) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    this.status = new Promise((resolve) => {
      socket.on('data', (part) => {
        this.head += part.toString('latin1').slice(0, 2000)
        socket.pause()
        resolve(Number(this.head.slice(9, 12)))
      })
    })
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`)
    this.#socket = socket
    onTestFinished(() => void socket.destroy())
  }

  get isAnswered(): boolean {
    return this.head !== ''
  }

  leave(): void {
    this.#socket.destroy()
  }
}

test('a client has four long answers at once, and its next ones wait in order', async () => {
  const { ask, keyOf } = await start()
  const [key, other] = [keyOf('unlimited'), keyOf('unlimited')]
  const running = []
  for (let count = 0; count < 4; count++) {
    const one = ask(DOWNLOAD, key)
    expect(await one.status).toBe(200)
    running.push(one)
  }
  const waiting = []
  for (let count = 0; count < 3; count++) {
    waiting.push(ask(DOWNLOAD, key))
    // Another client, and short answers of this one, are not held up; this one arrived before them.
    expect(await ask('/v3/venueb/X/rows', key).status).toBe(200)
    expect(await ask(DOWNLOAD, other).status).toBe(200)
  }
  expect(waiting.map((one) => one.isAnswered)).toEqual([false, false, false])
  // A client that leaves gives its place in the order up.
  waiting[0]!.leave()
  running[0]!.leave()
  expect(await waiting[1]!.status).toBe(200)
  expect(waiting[2]!.isAnswered).toBe(false)
  running[1]!.leave()
  expect(await waiting[2]!.status).toBe(200)
})

test('a request that waits too long is told to come later', async () => {
  const answers = new LongAnswers(20)
  const { signal } = new AbortController()
  for (let count = 0; count < 4; count++) await answers.begin('a', signal)
  await expect(answers.begin('a', signal)).rejects.toMatchObject({ code: 'busy' })
  // Who gave up holds no place in the order.
  const end = await answers.begin('b', signal)
  end()
  await answers.begin('b', signal)
})

test('an estimate does not wait for downloads', async () => {
  const [, manifest] = BULK_ROUTES
  const asked = (query: object) => manifest!.isLong!({ query } as never)
  expect([asked({ estimate: true }), asked({})]).toEqual([false, true])
})

test('requests beyond those that may wait are told to come later', async () => {
  const { ask, keyOf } = await start()
  const key = keyOf('unlimited')
  const all = Array.from({ length: 37 }, () => ask(DOWNLOAD, key))
  const refused = await Promise.any(
    all.map(async (one) => ((await one.status) === 503 ? one : Promise.reject(new Error('runs')))),
  )
  expect(refused.head).toMatch(/retry-after: 10/i)
  expect(refused.head).toContain('"code":"busy"')
  const answered = all.filter((one) => one.isAnswered)
  expect(answered.filter((one) => one.head.startsWith('HTTP/1.1 200')).length).toBe(4)
})
