import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ACCOUNT_ROUTES } from './routes/index.ts'
import { FAKE_ROUTES } from './fake-routes.testing.ts'
import { askHttp } from './ask.testing.ts'
import { createTestServer, type TestServer } from './server.testing.ts'
import type { ApiServerOptions } from './server.ts'

const ROUTES = [...FAKE_ROUTES, ...ACCOUNT_ROUTES]

type Listening = TestServer & { readonly url: string; readonly port: number; readonly key: string }

async function start(
  options: Partial<ApiServerOptions> & { path?: string } = {},
): Promise<Listening> {
  const test = await createTestServer({ routes: ROUTES, ...options })
  const { url, port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  return { ...test, url, port, key: test.keyOf('unlimited') }
}

/** Opens a socket and collects what comes until the other side closes it. */
function open(port: number): { socket: Socket; all: Promise<string> } {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let text = ''
  const all = new Promise<string>((resolve) => {
    socket.on('data', (part) => (text += part.toString('latin1')))
    socket.on('error', () => resolve(text))
    socket.on('close', () => resolve(text))
  })
  return { socket, all }
}

async function say(port: number, request: string): Promise<string> {
  const { socket, all } = open(port)
  socket.write(request)
  return all
}

/** Status, code and whether the head fits the body of a raw answer. */
function partsOf(answer: string): readonly unknown[] {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const status = Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1])
  const said = JSON.parse(body) as {
    status: number
    code: string
    type: string
    request_id: string
  }
  const fits =
    said.status === status &&
    said.type === `/docs/errors#${said.code}` &&
    /^content-type: application\/problem\+json/im.test(head) &&
    head.includes(`X-Request-Id: ${said.request_id}`)
  return [status, said.code, fits]
}

describe('unparsable requests', () => {
  it('get a status, a listed code and a closed connection', async () => {
    const { port } = await start()
    const end = 'Host: x\r\nConnection: close\r\n\r\n'
    expect(
      partsOf(await say(port, `GET / HTTP/1.1\r\nA: ${'x'.repeat(20_000)}\r\n${end}`)),
    ).toEqual([431, 'headers_too_large', true])
    expect(partsOf(await say(port, `GET /${'x'.repeat(60_000)} HTTP/1.1\r\n${end}`))).toEqual([
      414,
      'uri_too_long',
      true,
    ])
    expect(partsOf(await say(port, `GET /${'x'.repeat(9000)} HTTP/1.1\r\n${end}`))).toEqual([
      414,
      'uri_too_long',
      true,
    ])
    expect(partsOf(await say(port, `BREW /pot HTTP/1.1\r\n${end}`))).toEqual([
      501,
      'not_implemented',
      true,
    ])
    expect(partsOf(await say(port, 'hello\r\n\r\n'))).toEqual([501, 'not_implemented', true])
    expect(partsOf(await say(port, `GET / HTTP/9.9\r\n${end}`))).toEqual([
      400,
      'invalid_parameter',
      true,
    ])
    const body = 'Content-Length: 3\r\nConnection: close\r\n\r\nabc'
    expect(partsOf(await say(port, `GET /v3/health HTTP/1.1\r\nHost: x\r\n${body}`))).toEqual([
      413,
      'body_too_large',
      true,
    ])
  })

  it('are refused before a million bytes of header are read', async () => {
    const { port } = await start()
    const header = `X-${'y'.repeat(50)}: ${'z'.repeat(1000)}\r\n`.repeat(1000)
    expect(partsOf(await say(port, `GET / HTTP/1.1\r\n${header}\r\n`))).toEqual([
      431,
      'headers_too_large',
      true,
    ])
  })

  it('time out with 408 when they are slow', async () => {
    const { port } = await start({ timeouts: { headersMs: 300, requestMs: 400, checkMs: 50 } })
    const { socket, all } = open(port)
    socket.write('GET /v3/health HTTP/1.1\r\nHost')
    expect(partsOf(await all)).toEqual([408, 'request_timeout', true])
  })
})

describe('floods', () => {
  it('of pipelined requests are answered in order while other clients are served', async () => {
    const { port, url, key } = await start()
    const flood = 5000
    const { socket, all } = open(port)
    const one = (n: number): string =>
      `GET /v3/venueb/F${n}/rows?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
    socket.write(Array.from({ length: flood }, (_, n) => one(n)).join(''))
    const others = Array.from({ length: 20 }, () => askHttp(`${url}/v3/health`))
    for (const { status } of await Promise.all(others)) expect(status).toBe(200)
    socket.write('GET /v3/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const answers = (await all).match(/"market_id":"F\d+"/g) ?? []
    expect(answers.length).toBe(flood)
    expect(answers).toEqual(Array.from({ length: flood }, (_, n) => `"market_id":"F${n}"`))
  })

  it('over the quota admit exactly the quota, over processes and restarts', async () => {
    const first = await start()
    const second = await start({ path: first.path, store: first.store })
    const key = first.keyOf('desk')
    const agents = [1, 2].map(() => new Agent({ keepAlive: true, maxSockets: 4 }))
    onTestFinished(() => agents.forEach((agent) => agent.destroy()))
    const burst = async (urls: readonly string[], count: number) => {
      const started = Date.now()
      const answers = await Promise.all(
        Array.from({ length: count }, (_, n) =>
          askHttp(`${urls[n % 2]!}/v3/whoami`, { key, agent: agents[n % 2]! }),
        ),
      )
      return { answers, tookMs: Date.now() - started }
    }
    const { answers, tookMs } = await burst([first.url, second.url], 1000)
    const admitted = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 429)
    expect(admitted.length + refused.length).toBe(1000)
    // A slow machine may need more than the second that the quota is for.
    expect(admitted.length).toBeGreaterThanOrEqual(100)
    expect(admitted.length).toBeLessThanOrEqual(100 * Math.ceil(tookMs / 1000))
    for (const { headers, text } of refused) {
      expect(headers['retry-after']).toBe('1')
      expect(headers['ratelimit-policy']).toBe('"second";q=100;w=1')
      expect(headers['ratelimit']).toMatch(/^"second";r=0;t=[01]$/)
      expect(JSON.parse(text)).toMatchObject({ code: 'rate_limited', limit: 'second' })
    }
    const quant = first.keyOf('quant')
    const minute = Array.from({ length: 25 }, () => first.ask('/v3/whoami', { key: quant }))
    const left = (await Promise.all(minute)).map(({ headers }) => headers['ratelimit']!)
    expect(left.at(-1)).toContain('"minute";r=975;')
    const third = await start({ path: first.path, store: first.store })
    const again = await third.ask('/v3/limits', { key: quant })
    const remaining = /"minute";r=(\d+);/.exec(again.headers['ratelimit']!)?.[1]
    expect([974, 975]).toContain(Number(remaining))
  })
})

describe('streams', () => {
  it('arrive whole from a reused buffer, compressed or not', async () => {
    const { url, key } = await start()
    const { text } = await askHttp(`${url}/v3/stream-of-rows?pieces=60`, { key })
    expect(text.length).toBe(60 * 65_536)
    for (let piece = 0; piece < 60; piece++) {
      const letter = String.fromCodePoint(97 + (piece % 26))
      const slice = text.slice(piece * 65_536, (piece + 1) * 65_536)
      expect(slice === letter.repeat(65_536)).toBe(true)
    }
    for (const encoding of ['gzip', 'zstd']) {
      const response = await fetch(`${url}/v3/stream-of-rows?pieces=60`, {
        headers: { authorization: `Bearer ${key}`, 'accept-encoding': encoding },
      })
      expect(response.headers.get('content-encoding')).toBe(encoding)
      expect((await response.text()) === text).toBe(true)
    }
  })

  it('wait for clients that stop reading, and end when the client disconnects', async () => {
    const { port, key, logs } = await start()
    const { socket } = open(port)
    const before = process.memoryUsage().rss
    const query = '/v3/stream-of-rows?pieces=100000'
    socket.write(`GET ${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
    socket.destroy()
    while (!logs.some((line) => line.includes('"status":499'))) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })

  it('are cut off when their source fails, so that no client takes a part for the whole', async () => {
    const { url, key, logs } = await start()
    const asked = askHttp(`${url}/v3/stream-of-rows?pieces=9&fail_at=4`, { key })
    await expect(asked).rejects.toThrow(/aborted|hang up/)
    expect(logs.join()).toContain('the disk is gone')
  })
})

describe('closing', () => {
  it('finishes running requests and closes idle connections', async () => {
    const { url, key, server } = await start()
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    await askHttp(`${url}/v3/health`, { agent })
    const running = askHttp(`${url}/v3/stream-of-rows?pieces=200`, { key })
    await new Promise((resolve) => setTimeout(resolve, 20))
    const started = Date.now()
    await server.close(30_000)
    // Not by its deadline, and not by the keep-alive of the client.
    expect(Date.now() - started).toBeLessThan(20_000)
    expect((await running).text.length).toBe(200 * 65_536)
    const fresh = new Agent()
    await expect(askHttp(`${url}/v3/health`, { agent: fresh })).rejects.toThrow('ECONNREFUSED')
  })
})
