import { request } from 'node:http'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openOpsServer, type OpsSources } from './server.ts'

const SOURCES: OpsSources = {
  status: () => ({
    role: 'all',
    upstream: 'none',
    disk: { usedBytes: 1, freeBytes: 1, bytesPerSecond: 0 },
    retention: [],
  }),
  store: () => undefined,
  metrics: new Registry(),
  keys: 'there are none',
}

const LISTEN = { host: '127.0.0.1', port: 0, names: ['recorder.internal'] }

let server: Awaited<ReturnType<typeof openOpsServer>>
beforeAll(async () => {
  server = await openOpsServer(LISTEN, SOURCES)
})
afterAll(() => server.close())

function ask(path: string, host?: string) {
  const { port } = new URL(server.url)
  return new Promise<{ status: number; headers: Record<string, unknown> }>((resolve, reject) => {
    const headers = host === undefined ? {} : { host }
    const sent = request({ host: '127.0.0.1', port, path, headers }, (answer) => {
      answer.resume()
      resolve({ status: answer.statusCode!, headers: answer.headers })
    })
    sent.on('error', reject)
    sent.end()
  })
}

test.each(['/', '/status', '/metrics', '/gaps', '/keys', '/nothing'])(
  '%s has security headers',
  async (path) => {
    const { headers } = await ask(path)
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    expect(headers['content-security-policy']).toContain("default-src 'none'")
  },
)

test('refuses a name that is not its own, as a page of another site sends it', async () => {
  const own = ['127.0.0.1', 'localhost', 'localhost:9464', 'LOCALHOST.', '[::1]:9464', '10.0.0.7:1']
  own.push('recorder.internal:9464')
  for (const host of own) expect([host, (await ask('/status', host)).status]).toEqual([host, 200])
  const others = ['evil.example', 'evil.example:9464', '127.0.0.1.evil.example', 'a b', '[']
  for (const host of others) {
    expect([host, (await ask('/status', host)).status]).toEqual([host, 421])
  }
})
