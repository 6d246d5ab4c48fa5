import fastify from 'fastify'

// Fastify alone, sending fixed bodies: `/latest` and `/page` of as many bytes as its arguments say.
const [port, latest, page] = process.argv.slice(2).map(Number)
const app = fastify({ logger: false })
for (const [path, length] of [
  ['/latest', latest],
  ['/page', page],
] as const) {
  const body = Buffer.alloc(length!, 'x')
  app.get(path, (_request, reply) => reply.type('application/json').send(body))
}
await app.ready()
await new Promise<void>((resolve) => {
  app.server.listen({ port: port!, host: '127.0.0.1', reusePort: true }, resolve)
})
process.stdout.write('listening\n')
process.stdin.resume()
process.stdin.once('end', () => process.exit(0))
