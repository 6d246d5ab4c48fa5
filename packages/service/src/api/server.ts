import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net'
import { Problem } from '@priorbook/sdk/wire'
import { RequestTally, type ApiTally } from '../lib/api-tally.ts'
import { createApp, type App, type AppOptions } from './app.ts'
import { readCertificate, watchCertificate, type CertificateFiles } from './certificate.ts'
import { createRequestIds } from './http/log.ts'
import { createClientErrorHandler, toProblemResponse } from './http/problem.ts'
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
  /** For a client that neither sends nor reads; work on an answer does not count. */
  readonly idleMs: number
}

/** What a server serves, and how. */
export type ApiServerOptions = AppOptions & {
  readonly timeouts?: Partial<Timeouts>
  /** Answers by TLS with this certificate; the files are read again when they change. */
  readonly tls?: CertificateFiles
  /** Clocks and bounds of the stream. */
  readonly stream?: Pick<StreamOptions, 'timing' | 'limits' | 'clock' | 'isCompressed'>
}

/** A server of the interface. */
export type ApiServer = {
  /** Answers one request of any HTTP server. */
  readonly handle: App['handle']
  readonly stream: Pick<StreamServer, 'pulse'>
  /** Reads the certificate again now, if there is one. */
  reloadCertificate(): void
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
    clientAddress: options.clientAddress,
    ...options.stream,
    ...(demo === undefined ? {} : { demo }),
  })
  const refuse = createClientErrorHandler(nextRequestId, (problem, id) => {
    log?.info({ id, code: problem.code }, 'unparsable request')
  })
  const trouble = (why: string): void =>
    log?.error({ why }, 'the certificate was not loaded; the one before is used')
  const timeouts = { ...TIMEOUTS, ...options.timeouts }
  const { server: http, certificate } = openServer(timeouts, options.tls, trouble)
  serve(http, app, timeouts, refuse, (socket) => {
    const problem = new Problem('not_implemented', 'this is no proxy: it does not take CONNECT')
    // A client that does not close its side would keep the socket for ever.
    socket.end(toProblemResponse(problem, nextRequestId()), () => socket.destroy())
  })
  stream.attach(http)
  return {
    reloadCertificate: () => certificate?.look(),
    handle: app.handle,
    stream,
    tally: () => tally.read({ memoryBytes: process.memoryUsage.rss(), stream: stream.pulse() }),
    listen: (at) => listen(http, at, certificate === undefined ? 'http' : 'https'),
    async close(deadlineMs = CLOSE_MS) {
      const end = performance.now() + deadlineMs
      certificate?.close()
      await stream.close(deadlineMs)
      await closeServer(http, app.queue, end - performance.now())
    },
  }
}

type AnyServer = Server | TlsServer

function openServer(
  timeouts: Timeouts,
  tls: CertificateFiles | undefined,
  onTrouble: (why: string) => void,
): { readonly server: AnyServer; readonly certificate?: { look(): void; close(): void } } {
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
    requireHostHeader: false,
    // Requests for any other protocol are answered as if they had not asked for it.
    shouldUpgradeCallback: isStreamUpgrade,
  }
  if (tls === undefined) return { server: createServer(options) }
  const first = readCertificate(tls)
  const server = createTlsServer({ ...options, ...first, minVersion: 'TLSv1.2' })
  const use = (next: typeof first): void => server.setSecureContext(next)
  return { server, certificate: watchCertificate(tls, first, use, onTrouble) }
}

function serve(
  server: AnyServer,
  app: App,
  timeouts: Timeouts,
  onClientError: (error: Error, socket: Socket) => void,
  onConnect: (socket: Socket) => void,
): void {
  closeIdleSockets(server, app.queue, timeouts.idleMs)
  server.on('request', (request, response) => {
    if (!server.listening) response.setHeader('Connection', 'close')
    app.handle(request, response)
  })
  // A server may answer a request whose expectation it cannot meet.
  server.on('checkExpectation', (request, response) => {
    server.emit('request', request, response)
  })
  // Without a listener Node would close the connection without a word.
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => undefined)
    onConnect(socket)
  })
  server.on('clientError', (error, socket) => onClientError(error, socket as Socket))
}

/**
 * Closes sockets without traffic. A socket whose answer is still being made stays open: a file is made once before its
 * first byte is sent where it has to be measured or converted, which can take minutes.
 */
function closeIdleSockets(server: AnyServer, queue: App['queue'], idleMs: number): void {
  server.setTimeout(idleMs)
  server.on('timeout', (socket: Socket) => {
    // Bytes that wait in the socket mean that the client does not read.
    const isMaking = queue.isAnswering(socket) && socket.writableLength === 0
    if (!isMaking) {
      socket.destroy()
      return
    }
    // A client that vanished without a word is found by the system's probes.
    socket.setKeepAlive(true, idleMs)
    socket.setTimeout(idleMs)
  })
}

async function listen(
  server: AnyServer,
  { host, port, reusePort = false }: ListenOptions,
  protocol: 'http' | 'https',
): Promise<{ readonly url: string; readonly port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, reusePort }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const bound = (server.address() as AddressInfo).port
  return { url: `${protocol}://${host.includes(':') ? `[${host}]` : host}:${bound}`, port: bound }
}

// Node takes a connection for idle as soon as its answer is made, and closes it with what is not sent yet. So
// none is closed, here or by `close` of an HTTP server, while a socket has something to send.
async function closeServer(
  server: AnyServer,
  queue: App['queue'],
  deadlineMs: number,
): Promise<void> {
  if (!server.listening) return
  const closeIdle = (): void => {
    if (!queue.hasUnsent()) server.closeIdleConnections()
  }
  const idle = setInterval(closeIdle, CLOSE_IDLE_MS)
  const timer = setTimeout(() => server.closeAllConnections(), deadlineMs)
  try {
    await new Promise<void>((resolve) => {
      NetServer.prototype.close.call(server, () => resolve())
      closeIdle()
    })
  } finally {
    clearTimeout(timer)
    clearInterval(idle)
    // Ends the checks of an HTTP server.
    server.close(() => undefined)
  }
}
