import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import type { PeerEngine } from './peer.ts'

/**
 * A peer behind the framework that our own routes use: `/page?ticker=T&from=N` gives 100 full books.
 * Prints its port and serves until its input ends.
 */
export async function servePeer(engine: PeerEngine, folder: string): Promise<void> {
  const peer = await engine.open(folder)
  const app = fastify({ logger: false })
  app.get<{ Querystring: { ticker: string; from: string } }>('/page', async (request, reply) => {
    const { ticker, from } = request.query
    const text = await peer.readPage({ ticker, from: Number(from), rows: 100 }, 'full')
    return reply.type('application/json').send(Buffer.from(text))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  process.stdout.write(`${(app.server.address() as AddressInfo).port}\n`)
  process.stdin.resume()
  await new Promise((resolve) => process.stdin.once('end', resolve))
  await app.close()
  await peer.close()
}
