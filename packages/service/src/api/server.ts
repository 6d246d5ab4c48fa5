import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { RequestTally, type ApiTally } from '../lib/api-tally.ts'
import { createApp, type App, type AppOptions } from './app.ts'
import { createRequestIds } from './http/log.ts'
import { createClientErrorHandler } from './http/problem.ts'
import { isStreamUpgrade, StreamServer, type StreamOptions } from './stream/server.ts'

/** How long the server waits, in milliseconds. */
type Timeouts = {
  /** For the whole header. */
  readonly headersMs: number
  /** For the whole request. */
  readonly requestMs: number
  /** How often slow requests are looked for. */
  readonly checkMs: number
  readonly keepAliveMs: number
  /** For a socket without traffic. */
  readonly idleMs: number
}

/** What a server serves, and how. */
export type ApiServerOptions = AppOptions & {
  readonly timeouts?: Partial<Timeouts>
  /** Clocks and bounds of the stream. */
  readonly stream?: Pick<StreamOptions, 'timing' | 'limits' | 'clock'>
}

/** A server of the interface. */
export type ApiServer = {
  /** Answers one request of any HTTP server. */
  readonly handle: App['handle']
  readonly stream: Pick<StreamServer, 'pulse'>
  /** Totals of this process since its start. */
  tally(): ApiTally
  /** Listens and gives the address. */
  listen(at: ListenOptions): Promise<{ readonly url: string; readonly port: number }>
  /** Lets running requests finish until the deadline, then closes. */
  close(deadlineMs?: number): Promise<void>
}

/** Where to listen. */
type ListenOptions = {
  readonly host: string
  readonly port: number
  /** True where several processes share the port. */
  readonly reusePort?: boolean
}

const TIMEOUTS: Timeouts = {
  headersMs: 10_000,
  requestMs: 15_000,
  checkMs: 500,
  keepAliveMs: 30_000,
  idleMs: 60_000,
}
const MAX_HEADER_BYTES = 16_384
const CLOSE_MS = 10_000
// How often connections that became idle are closed while the server waits for running requests.
const CLOSE_IDLE_MS = 50

/** Creates the server of `/v3`; it serves once `listen` is called. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { access, log } = options
  const nextRequestId = createRequestIds()
  const tally = new RequestTally()
  const app = createApp(options, { nextRequestId, tally, stream: () => stream.pulse() })
  const { context, demo } = app
  const stream = new StreamServer({
    access,
    context,
    log,
    nextId: nextRequestId,
    ...options.stream,
    ...(demo === undefined ? {} : { demo }),
  })
  const refuse = createClientErrorHandler(nextRequestId, (problem, id) => {
    log?.info({ id, code: problem.code }, 'unparsable request')
  })
  const http = createHttpServer(app, { ...TIMEOUTS, ...options.timeouts }, refuse)
  stream.attach(http)
  return {
    handle: app.handle,
    stream,
    tally: () => tally.read({ memoryBytes: process.memoryUsage.rss(), stream: stream.pulse() }),
    listen: (at) => listen(http, at),
    async close(deadlineMs = CLOSE_MS) {
      const end = performance.now() + deadlineMs
      await stream.close(deadlineMs)
      await closeServer(http, end - performance.now())
    },
  }
}

function createHttpServer(
  app: App,
  timeouts: Timeouts,
  onClientError: (error: Error, socket: Socket) => void,
): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
    requireHostHeader: false,
    // Requests for any other protocol are answered as if they had not asked for it.
    shouldUpgradeCallback: isStreamUpgrade,
  })
  server.setTimeout(timeouts.idleMs)
  server.on('request', (request, response) => {
    if (!server.listening) response.setHeader('Connection', 'close')
    app.handle(request, response)
  })
  // A server may answer a request whose expectation it cannot meet.
  server.on('checkExpectation', (request, response) => {
    server.emit('request', request, response)
  })
  server.on('clientError', (error, socket) => onClientError(error, socket as Socket))
  return server
}

async function listen(
  server: Server,
  { host, port, reusePort = false }: ListenOptions,
): Promise<{ readonly url: string; readonly port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, reusePort }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const bound = (server.address() as AddressInfo).port
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, port: bound }
}

async function closeServer(server: Server, deadlineMs: number): Promise<void> {
  if (!server.listening) return
  const idle = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_MS)
  const timer = setTimeout(() => server.closeAllConnections(), deadlineMs)
  try {
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
    })
  } finally {
    clearTimeout(timer)
    clearInterval(idle)
  }
}
