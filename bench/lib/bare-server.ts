import { readFileSync } from 'node:fs'
import fastify from 'fastify'

/** What the bare server sends: the head and the body of an answer of ours, and pages of a length. */
export type BareAnswers = {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly pageBytes: number
}

// Fastify alone, sending what it holds in memory: `/latest` the same bytes as ours, head included;
// `/latest-body` and `/page` the body alone.
const { port, headers, body, pageBytes } = JSON.parse(
  readFileSync(process.argv[2]!, 'utf8'),
) as BareAnswers
const latest = Buffer.from(body)
const page = Buffer.alloc(pageBytes, 'x')
const app = fastify({ logger: false })
app.get('/latest', (_request, reply) => reply.headers(headers).send(latest))
app.get('/latest-body', (_request, reply) => reply.type('application/json').send(latest))
app.get('/page', (_request, reply) => reply.type('application/json').send(page))
await app.ready()
await new Promise<void>((resolve) => {
  app.server.listen({ port, host: '127.0.0.1', reusePort: true }, resolve)
})
process.stdout.write('listening\n')
process.stdin.resume()
process.stdin.once('end', () => process.exit(0))
