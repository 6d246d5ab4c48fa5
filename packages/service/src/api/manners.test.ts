import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createTestServer } from './server.testing.ts'

// What a server answers to bytes, as they come over the socket.
async function say(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (bytes: Buffer) => (answer += bytes.toString('latin1')))
  socket.write(text)
  await new Promise<void>((done) => {
    const timer = setTimeout(() => socket.destroy(), 30_000)
    socket.once('close', () => {
      clearTimeout(timer)
      done()
    })
  })
  return answer
}

test('closes a connection that asked for a tunnel, whether or not the client closes its side', async () => {
  const { server } = await createTestServer()
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const closed = new Promise<void>((done) => socket.once('end', done))
  socket.write('CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n')
  socket.resume()
  await closed
  // The server has gone: a write is answered with a reset.
  const reset = new Promise<string | undefined>((done) =>
    socket.once('error', (error: NodeJS.ErrnoException) => done(error.code)),
  )
  const timer = setInterval(() => socket.write('x'), 20)
  expect(['ECONNRESET', 'EPIPE']).toContain(await reset)
  clearInterval(timer)
})

const END = 'Connection: close\r\n\r\n'
const WEBSOCKET =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

test.each([
  ['no Host', `GET /v3/health HTTP/1.1\r\n${END}`, 400, 'has no Host'],
  [
    'two Hosts',
    `GET /v3/health HTTP/1.1\r\nHost: a\r\nhost: b\r\n${END}`,
    400,
    'more than one Host',
  ],
  ['no Host of a page', `GET / HTTP/1.1\r\n${END}`, 400, 'has no Host'],
  ['HTTP/1.0 without Host', `GET /v3/health HTTP/1.0\r\n\r\n`, 200, '"ok"'],
  ['an unknown method', `BREW /v3/health HTTP/1.1\r\nHost: a\r\n${END}`, 501, 'no method of HTTP'],
  ['CONNECT', `CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n`, 501, 'no proxy'],
  ['another version', `GET / HTTP/9.9\r\nHost: a\r\n${END}`, 400, 'version of HTTP'],
  [
    'a bad header',
    `GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n${END}`,
    400,
    'a header has a character',
  ],
  [
    'a bad length',
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n${END}`,
    400,
    'Content-Length',
  ],
  [
    'an old WebSocket',
    `GET /v3/stream HTTP/1.1\r\nHost: a\r\n${WEBSOCKET}Sec-WebSocket-Version: 8\r\n\r\n`,
    426,
    'Sec-WebSocket-Version: 13',
  ],
  [
    'a parameter of the stream',
    `GET /v3/stream?venue=venueb HTTP/1.1\r\nHost: a\r\n${WEBSOCKET}Sec-WebSocket-Version: 13\r\n\r\n`,
    400,
    'does not know',
  ],
])('answers %s', async (_, text, status, words) => {
  const { server } = await createTestServer()
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const answer = await say(port, text)
  expect(answer.split(' ')[1]).toBe(String(status))
  expect(answer).toContain(words)
  // Who may not do something is told what is possible.
  expect(answer.includes('Allow: GET, HEAD, OPTIONS')).toBe(status === 501)
})
