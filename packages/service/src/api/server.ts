import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fastify, type FastifyHttpOptions, type FastifyInstance } from 'fastify'
import { toMicros, VENUE_IDS, type Micros } from '@priorbook/sdk/domain'
import { Problem, STREAM_PATH } from '@priorbook/sdk/wire'
import { RequestTally, type ApiTally } from '../lib/api-tally.ts'
import type { RecorderPulse } from '../lib/pulse.ts'
import type { Store } from '../store/store.ts'
import { createDocuments } from './docs/documents.ts'
import type { Access } from './auth/access.ts'
import { callerOf, createGrant } from './auth/grant.ts'
import { redactKeys } from './auth/key-text.ts'
import type { Plan } from './auth/plans.ts'
import { deriveSecret } from './auth/secrets.ts'
import { createClientErrorHandler } from './http/client-error.ts'
import { createDispatcher, createPost, type Post, type Task } from './http/dispatch.ts'
import { Exchange, type VerbedRequest } from './http/exchange.ts'
import { commonHeaders } from './http/headers.ts'
import { createOnFinished, createRequestIds, type RequestLog } from './http/request-log.ts'
import { TIMEOUTS, type Timeouts } from './http/timeouts.ts'
import { Turnstile } from './http/turnstile.ts'
import { createCursorCodec } from './cursor.ts'
import type { ApiContext, Notice, Route, ServerInfo } from './route.ts'
import { isInDemo, ROUTES, toDemoAddress } from './routes/index.ts'
import {
  createStreamServer,
  DEMO_STREAM_PATH,
  isStreamUpgrade,
  type StreamOptions,
  type StreamServer,
} from './stream/index.ts'
import { serveWeb } from './web/serve-web.ts'
import type { WebFiles } from './web/web-files.ts'

/** What a server serves, from where and to whom. */
export type ApiServerOptions = {
  readonly store: Store
  readonly access: Access
  /** A sentence for every answer, such as that the data are emulated. */
  readonly notice?: Notice
  readonly journalDir?: string
  readonly auditor?: ApiContext['auditor']
  /** What `/v3/demo` serves; absent where there is nothing to show. */
  readonly demo?: { readonly store: Store; readonly notice?: Notice }
  /** The one origin whose pages may read answers; absent for none. */
  readonly corsOrigin?: string
  readonly log?: RequestLog
  readonly recorder?: () => RecorderPulse | undefined
  /** The built explorer; without it `/` is a page with links. */
  readonly web?: WebFiles | undefined
  readonly now?: () => Micros
  readonly routes?: readonly Route[]
  readonly timeouts?: Partial<Timeouts>
  /** Clocks and bounds of the stream. */
  readonly stream?: Pick<StreamOptions, 'timing' | 'limits' | 'clock'>
}

/** A server of the interface. */
export type ApiServer = {
  readonly fastify: FastifyInstance
  /** How its sockets are doing. */
  readonly stream: Pick<StreamServer, 'pulse'>
  /** What it has done so far. */
  tally(): ApiTally
  /** Listens and gives the address. */
  listen(at: {
    readonly host: string
    readonly port: number
    /** Several processes on one port. */
    readonly reusePort?: boolean
  }): Promise<{ readonly url: string; readonly port: number }>
  /** Finishes what runs, at most so long, then closes. */
  close(deadlineMs?: number): Promise<void>
}

const MAX_HEADER = 16_384
const CLOSE_MS = 10_000
const CLOSE_IDLE_MS = 50

const OPEN_PLAN: Plan = {
  name: 'open',
  rank: 0,
  venues: [...VENUE_IDS],
  assets: null,
  days: null,
  per_second: null,
  per_minute: null,
  features: [],
  // Of one address.
  stream: { connections: 10, subscriptions: 3, instruments: 200, replays: 1 },
}
// Counted by address: enough for a page in a browser, too little to be a service for free.
const DEMO_PLAN: Plan = { ...OPEN_PLAN, name: 'demo', per_second: 50, per_minute: 1500 }

/** Creates the server of `/v3`; it listens when it is told to. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { access, log } = options
  const routes = options.routes ?? ROUTES
  const now = options.now ?? (() => toMicros(Date.now() * 1000))
  const nextRequestId = createRequestIds()
  const common = commonHeaders(options.corsOrigin)
  const tally = new RequestTally()
  const onFinished = createOnFinished(access, tally, log)
  const dispatch = createDispatcher({
    access,
    now,
    corsOrigin: options.corsOrigin,
    onFailure: (error, { id, routeId }) => {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
      log?.error({ id, route: routeId, error: redactKeys(stack) }, 'a request failed')
    },
  })
  const turnstile = new Turnstile<Task>(dispatch)
  const timeouts = { ...TIMEOUTS, ...options.timeouts }

  const settings: FastifyHttpOptions<Server> = {
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    keepAliveTimeout: timeouts.keepAliveMs,
    requestTimeout: timeouts.requestMs,
    connectionTimeout: timeouts.idleMs,
    http: {
      maxHeaderSize: MAX_HEADER,
      headersTimeout: timeouts.headersMs,
      connectionsCheckingInterval: timeouts.checkMs,
      requireHostHeader: false,
      // Everything else that wants another protocol is answered as if it did not.
      shouldUpgradeCallback: isStreamUpgrade,
    },
    // Handlers see GET alone: what another method means is decided with the key, not by the router.
    rewriteUrl(raw) {
      if (raw.method !== 'GET') {
        ;(raw as VerbedRequest).verb = raw.method ?? ''
        raw.method = 'GET'
      }
      return raw.url ?? '/'
    },
    routerOptions: {
      // Long values are refused by their own tables, with their names.
      maxParamLength: MAX_HEADER,
      // Parameters are read by the table of their route, so that repeated ones are seen.
      querystringParser: (text) => ({ text }),
    },
    frameworkErrors(_error, request, reply) {
      reply.hijack()
      pass(request.raw, reply.raw, undefined, {}, '', {
        refusal: new Problem('invalid_parameter', 'the address has percent signs without UTF-8', {
          hint: 'Write a percent sign itself as %25.',
        }),
      })
    },
    clientErrorHandler: createClientErrorHandler(nextRequestId, (problem, id) => {
      log?.info({ id, code: problem.code }, 'no request')
    }),
  }
  const app = fastify(settings)

  const pass = (
    request: VerbedRequest,
    response: Exchange['response'],
    post: Post | undefined,
    params: Readonly<Record<string, string>>,
    query: string,
    more: Pick<Task, 'refusal' | 'isOpen'> = {},
  ): void => {
    const exchange = new Exchange(request, response, nextRequestId(), common, onFinished)
    if (post !== undefined) exchange.routeId = post.route.id
    turnstile.pass({ exchange, post, params, query, ...more })
  }

  const serve = (address: string, post: Post): void => {
    app.get(address.replaceAll(/\{(\w+)\}/g, ':$1'), (request, reply) => {
      reply.hijack()
      const { text } = request.query as { text: string }
      pass(request.raw, reply.raw, post, request.params as Record<string, string>, text)
    })
  }

  const documents = createDocuments(routes, access.plans)
  const server: ServerInfo = {
    limits: (grant) => access.limiter.look(grant.keyId, callerOf(grant).terms, now() / 1000),
    usage: (keyId, firstDay) => access.usage.read(keyId, firstDay),
    recorder: () => options.recorder?.(),
    stream: () => stream.pulse(),
    document: documents,
  }
  const context: ApiContext = {
    store: options.store,
    cursors: createCursorCodec(access.cursorSecrets),
    server,
    now,
    ...(options.journalDir === undefined ? {} : { journalDir: options.journalDir }),
    ...(options.auditor === undefined ? {} : { auditor: options.auditor }),
    ...(options.notice === undefined ? {} : { notice: options.notice }),
  }
  const open = createGrant(OPEN_PLAN, [OPEN_PLAN], undefined, 'keyless')
  for (const route of routes) {
    const post = createPost(route, context, route.isKeyless === true ? open : undefined)
    for (const address of [route.address, ...(route.aliases ?? [])]) {
      // The explorer stands where the small page with links stood.
      if (address !== '/' || options.web === undefined) serve(address, post)
    }
  }
  if (options.web !== undefined) {
    serveWeb(
      app,
      options.web,
      (request, response) => new Exchange(request, response, nextRequestId(), common, onFinished),
    )
  }

  const { demo } = options
  let demoContext: ApiContext | undefined
  if (demo !== undefined) {
    const secrets = access.cursorSecrets.map((secret) => deriveSecret(secret, 'demo'))
    demoContext = {
      store: demo.store,
      cursors: createCursorCodec(secrets),
      now,
      // Emulated data are shown as they are recorded; samples are not recorded by anybody.
      ...(demo.store === options.store ? { server } : {}),
      ...(demo.notice === undefined ? {} : { notice: demo.notice }),
    }
    const grant = createGrant(DEMO_PLAN, [DEMO_PLAN], undefined, 'demo')
    for (const route of routes.filter(isInDemo)) {
      const post = createPost(route, demoContext, grant)
      for (const address of [route.address, ...(route.aliases ?? [])]) {
        serve(toDemoAddress(address), post)
      }
    }
  }
  const stream = createStreamServer({
    access,
    context,
    log,
    nextId: nextRequestId,
    ...options.stream,
    ...(demoContext === undefined
      ? {}
      : {
          demo: {
            context: demoContext,
            grant: createGrant(DEMO_PLAN, [DEMO_PLAN], undefined, 'demo'),
          },
        }),
  })
  stream.attach(app.server)
  for (const address of [STREAM_PATH, DEMO_STREAM_PATH]) {
    app.get(address, (request, reply) => {
      reply.hijack()
      const isOpen = address === DEMO_STREAM_PATH
      pass(request.raw, reply.raw, undefined, {}, '', { isOpen, refusal: upgradeRequired() })
    })
  }
  app.get('/v3/demo/*', (request, reply) => {
    reply.hijack()
    pass(request.raw, reply.raw, undefined, {}, '', { isOpen: true })
  })
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    pass(request.raw, reply.raw, undefined, {}, '')
  })
  await app.ready()
  // A server that cannot do what a client expects of it may answer all the same.
  app.server.on('checkExpectation', (request, response) => {
    app.server.emit('request', request, response)
  })

  return {
    fastify: app,
    stream,
    tally: () => tally.read({ memoryBytes: process.memoryUsage.rss(), stream: stream.pulse() }),
    async listen({ host, port, reusePort = false }) {
      await app.listen({ host, port, ...(reusePort ? { reusePort } : {}) })
      const bound = (app.server.address() as AddressInfo).port
      return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, port: bound }
    },
    async close(deadlineMs = CLOSE_MS) {
      const { server } = app
      const end = performance.now() + deadlineMs
      await stream.close(deadlineMs)
      // A connection that finishes its request now is idle, not closed.
      const idle = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_MS)
      const timer = setTimeout(() => server.closeAllConnections(), end - performance.now())
      try {
        await app.close()
      } finally {
        clearTimeout(timer)
        clearInterval(idle)
      }
    },
  }
}

function upgradeRequired(): Problem {
  return new Problem('upgrade_required', 'the stream is a WebSocket', {
    hint: 'Connect by wss:// or ws:// with a WebSocket client; /docs says how.',
  })
}
