import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { toMicros } from '@priorbook/sdk/domain'
import type { CaptureNote } from './contract.ts'
import { createLink } from './link.ts'

it('hears nothing more of a connection whose loss is noted', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  server.on('connection', (socket) => {
    // One write, so that all of it is read at once.
    const raw = (socket as unknown as { _socket: { cork(): void; uncork(): void } })._socket
    raw.cork()
    for (const text of ['a', 'b', 'c']) socket.send(text)
    raw.uncork()
  })
  const heard: string[] = []
  const notes: CaptureNote['note'][] = []
  const stop = new AbortController()
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const { port } = server.address() as AddressInfo
  const link = createLink({
    slot: 1,
    name: 'a test',
    target: () => ({ url: `ws://127.0.0.1:${port}` }),
    onOpen: () => undefined,
    onText(_received, bytes) {
      heard.push(Buffer.from(bytes).toString())
      if (heard.length === 1) link.restart('sequence_break', 'a test')
      if (heard.length === 4) stop.abort()
      return true
    },
    expectsData: () => false,
    sink: {
      now: () => toMicros(Date.now() * 1000),
      note: ({ note }) => void notes.push(note),
    },
    log: silent,
  })
  await link.run(stop.signal)
  server.close()
  // Of the first connection one message, of the second all.
  expect(heard).toEqual(['a', 'a', 'b', 'c'])
  expect(notes).toEqual(['connected', 'loss', 'connected'])
})
