import { connect, type Socket } from 'node:net'
import { TEXT } from '@priorbook/sdk/wire'
import { expect, it, onTestFinished } from 'vitest'
import { defineRoute } from './route.ts'
import { createTestServer } from './server.testing.ts'

const started: string[] = []

/** A route for everyone that keeps the processor busy for 5 ms. */
const BUSY_ROUTE = defineRoute(
  {
    id: 'fake_busy',
    address: '/v3/busy',
    tag: 'Fake',
    summary: 'Work',
    description: 'Takes 5 ms.',
    path: {},
    query: {},
    data: TEXT,
    paramTexts: {},
    isKeyless: true,
  },
  async () => {
    started.push('flood')
    for (const end = performance.now() + 5; performance.now() < end;);
    return { kind: 'data', data: '', count: 1, meta: {} }
  },
)

const OWN_ROUTE = defineRoute(
  {
    id: 'fake_own',
    address: '/v3/own',
    tag: 'Fake',
    summary: 'Own',
    description: 'Needs a key.',
    path: {},
    query: {},
    data: TEXT,
    paramTexts: {},
  },
  async () => {
    started.push('own')
    return { kind: 'data', data: '', count: 1, meta: {} }
  },
)

it('a client with many invented keys waits as one', async () => {
  const { server, keyOf } = await createTestServer({ routes: [BUSY_ROUTE, OWN_ROUTE] })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const open = (): Socket => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.resume()
    onTestFinished(() => void socket.destroy())
    return socket
  }
  const request = (path: string, key: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n\r\n`
  const key = keyOf('unlimited')
  const attackers = Array.from({ length: 60 }, open)
  const own = open()
  await Promise.all(
    [...attackers, own].map((socket) => new Promise((resolve) => socket.once('connect', resolve))),
  )
  for (const [index, socket] of attackers.entries()) {
    socket.write(request('/v3/busy', `Bearer invented-${index}`).repeat(10))
  }
  own.write(request('/v3/own', `Bearer ${key}`).repeat(10))
  while (started.filter((name) => name === 'own').length < 10) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const between = started.slice(started.indexOf('own'), started.lastIndexOf('own'))
  // By turns: a few of the flood for each own request, and not one for each invented key.
  expect(between.filter((name) => name === 'flood').length).toBeLessThan(40)
})
