import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import fastify from 'fastify'

/** What the bare servers send: the head and the body of an answer of ours, and pages of a length. */
export type BareAnswers = {
  readonly server: 'node' | 'fastify'
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly pageBytes: number
}

// Sends answers from memory: `/latest` the same bytes as ours, head included; `/latest-body` and `/page`
// the body with a content type alone.
const answers = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as BareAnswers
const latest = Buffer.from(answers.body)
const page = Buffer.alloc(answers.pageBytes, 'x')
const at = { port: answers.port, host: '127.0.0.1', reusePort: true }
await (answers.server === 'node' ? serveNode() : serveFastify())
process.stdout.write('listening\n')
process.stdin.resume()
process.stdin.once('end', () => process.exit(0))

function serveNode(): Promise<void> {
  const head = (headers: Readonly<Record<string, string>>, body: Buffer): string[] =>
    Object.entries({ ...headers, 'content-length': String(body.length) }).flat()
  const json = { 'content-type': 'application/json' }
  const routes = new Map([
    ['/latest', { head: head(answers.headers, latest), body: latest }],
    ['/latest-body', { head: head(json, latest), body: latest }],
    ['/page', { head: head(json, page), body: page }],
  ])
  const server = createServer((request, response) => {
    const route = routes.get(request.url ?? '')
    if (route === undefined) response.writeHead(404).end()
    else response.writeHead(200, route.head).end(route.body)
  })
  return new Promise((resolve) => {
    server.listen(at, resolve)
  })
}

async function serveFastify(): Promise<void> {
  const app = fastify({ logger: false })
  app.get('/latest', (_request, reply) => reply.headers(answers.headers).send(latest))
  app.get('/latest-body', (_request, reply) => reply.type('application/json').send(latest))
  app.get('/page', (_request, reply) => reply.type('application/json').send(page))
  await app.ready()
  await new Promise<void>((resolve) => {
    app.server.listen(at, resolve)
  })
}
