import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

/** `ws` alone: sends the text that it is given so often to everybody who is connected. */
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
let payload = Buffer.alloc(0)

process.on('message', (order: { readonly payload?: string; readonly times?: number }) => {
  if (order.payload !== undefined) payload = Buffer.from(order.payload)
  for (let round = 0; round < (order.times ?? 0); round++) {
    for (const client of server.clients) client.send(payload, { binary: false })
  }
})
server.once('listening', () => process.send!((server.address() as AddressInfo).port))
