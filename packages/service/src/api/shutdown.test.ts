import { connect } from 'node:net'
import { TEXT } from '@priorbook/sdk/wire'
import { expect, it, onTestFinished } from 'vitest'
import { defineRoute } from './route.ts'
import { createTestServer } from './server.testing.ts'

// More than the buffers of the system take.
const LARGE = 'x'.repeat(24_000_000)

const LARGE_ROUTE = defineRoute(
  {
    id: 'fake_large',
    address: '/v3/large',
    tag: 'Fake',
    summary: 'Much at once',
    description: 'An answer that is made at once and sent slowly.',
    path: {},
    query: {},
    data: TEXT,
    paramTexts: {},
  },
  async () => ({ kind: 'data', data: LARGE, count: 1, meta: {} }),
)

it('a server that closes sends the answers that it has made', async () => {
  const { server, keyOf } = await createTestServer({ routes: [LARGE_ROUTE] })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const key = keyOf('unlimited')
  socket.write(`GET /v3/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  await new Promise((resolve) => socket.once('readable', resolve))
  const closed = server.close(20_000)
  await new Promise((resolve) => setTimeout(resolve, 300))
  let bytes = 0
  let end = ''
  for await (const part of socket) {
    bytes += (part as Buffer).length
    end = (end + String(part)).slice(-100)
  }
  expect(bytes).toBeGreaterThan(LARGE.length)
  expect(end).toContain('"pagination"')
  const before = performance.now()
  await closed
  // The connection is closed as soon as all is sent, not at the deadline.
  expect(performance.now() - before).toBeLessThan(10_000)
})

it('a client that does not read keeps a server open until the deadline, not longer', async () => {
  const { server, keyOf } = await createTestServer({ routes: [LARGE_ROUTE] })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  const key = keyOf('unlimited')
  socket.write(`GET /v3/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  await new Promise((resolve) => socket.once('readable', resolve))
  const before = performance.now()
  await server.close(400)
  expect(performance.now() - before).toBeLessThan(10_000)
})
