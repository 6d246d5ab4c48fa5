import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import type { ServiceProcess } from '../service-process.ts'

/** Spreads connections over nodes in turn; one that does not answer is passed over. */
export async function startBalancer(
  nodes: readonly ServiceProcess[],
  port = 0,
): Promise<{ readonly port: number; close(): void }> {
  let next = 0
  const server: Server = createServer((client) => {
    client.on('error', () => undefined)
    const tryNode = (left: number): void => {
      const node = connect(Number(new URL(nodes[next++ % nodes.length]!.url).port), '127.0.0.1')
      node.once('error', () => {
        if (left > 0) tryNode(left - 1)
        else client.destroy()
      })
      node.once('connect', () => {
        node.removeAllListeners('error').on('error', () => client.destroy())
        node.on('close', () => client.destroy())
        client.on('close', () => node.destroy())
        client.pipe(node).pipe(client)
      })
    }
    tryNode(nodes.length - 1)
  })
  const listen = (wanted: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted, '127.0.0.1', () => resolve())
    })
  await listen(port).catch(() => listen(0))
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}
