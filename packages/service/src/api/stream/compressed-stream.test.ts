import type { Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import {
  after,
  createContractStore,
  MarketWriter,
  roundOfB,
} from '../contracts/contract-tape.testing.ts'
import { createTestServer } from '../server.testing.ts'

const B = roundOfB()
const ROWS = 40

type Client = {
  readonly socket: WebSocket
  readonly texts: string[]
  /** The extensions that the server accepted. */
  readonly accepted: string
}

async function open(isCompressed: boolean) {
  const store = await createContractStore([{ record: B }])
  const test = await createTestServer({ store, now: () => after(120), stream: { isCompressed } })
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const key = test.keyOf('unlimited')
  const connect = async (perMessageDeflate: object | false): Promise<Client> => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v3/stream`, {
      headers: { authorization: `Bearer ${key}` },
      perMessageDeflate,
    })
    const texts: string[] = []
    socket.on('message', (data: Buffer) => texts.push(data.toString()))
    let accepted = ''
    socket.once('upgrade', ({ headers }) => {
      accepted = headers['sec-websocket-extensions'] ?? ''
    })
    onTestFinished(() => socket.terminate())
    await new Promise((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    // Compressed too, where that was agreed.
    const request = { op: 'subscribe', id: 's', venue: 'venueb', market_id: B.marketId }
    socket.send(JSON.stringify({ ...request, datasets: ['books'] }))
    return { socket, texts, accepted }
  }
  const until = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { writer: new MarketWriter(store, B), connect, until }
}

const rowsOf = ({ texts }: Client): string[] => texts.filter((text) => text.includes('"row":'))
const bytesOf = ({ socket }: Client): number =>
  (socket as unknown as { readonly _socket: Socket })._socket.bytesRead

it('sends the same rows to clients with any window and to those without compression', async () => {
  const { writer, connect, until } = await open(true)
  await writer.book(1, levels('0.4', 1), levels('0.6', 1))
  const plain = await connect(false)
  const packed = [
    await connect({}),
    await connect({ serverMaxWindowBits: 12 }),
    await connect({ serverMaxWindowBits: 9, clientMaxWindowBits: 10 }),
  ]
  const all = [plain, ...packed]
  await until(() =>
    all.every((client) => client.texts.some((text) => text.includes('snapshots_done'))),
  )
  for (let row = 2; row <= ROWS; row++)
    await writer.book(row, levels('0.4', row), levels('0.6', row))
  await until(() => all.every((client) => rowsOf(client).length >= ROWS))
  expect(plain.accepted).toBe('')
  for (const client of packed) {
    expect(client.accepted).toContain('permessage-deflate')
    expect(client.accepted).toContain('server_no_context_takeover')
    expect(rowsOf(client)).toEqual(rowsOf(plain))
    expect(bytesOf(client)).toBeLessThan(bytesOf(plain) / 2)
  }
})

it('refuses the extension where it is off, and a window that it cannot keep', async () => {
  const off = await open(false)
  expect((await off.connect({})).accepted).toBe('')
  const on = await open(true)
  expect((await on.connect({ serverMaxWindowBits: 8 })).accepted).toBe('')
})

// Twenty levels, so that a row is worth compressing.
function levels(best: '0.4' | '0.6', size: number): [string, string][] {
  const sign = best === '0.4' ? -1 : 1
  return Array.from({ length: 20 }, (_, index) => [
    (Number(best) + (sign * index) / 100).toFixed(2),
    String(size + index),
  ])
}
