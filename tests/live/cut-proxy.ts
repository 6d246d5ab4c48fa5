import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Stands between clients and a server, and can cut all connections without a word. */
export type CutProxy = {
  readonly url: string
  /** Where connections go from now on. */
  target: number
  cut(): void
}

/** Starts one. */
export async function startCutProxy(target: number): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(proxy.target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address() as { readonly port: number }
  const proxy: CutProxy = {
    url: `http://127.0.0.1:${address.port}`,
    target,
    cut() {
      for (const socket of sockets) socket.destroy()
    },
  }
  onTestFinished(() => {
    proxy.cut()
    server.close()
  })
  return proxy
}
