import type { IncomingMessage, ServerResponse } from 'node:http'
import createRouter from 'find-my-way'
import { toMicros, VENUE_IDS, type Micros } from '@priorbook/sdk/domain'
import { Problem, SIGNUP_PATH, STREAM_PATH } from '@priorbook/sdk/wire'
import type { RequestTally } from '../lib/api-tally.ts'
import { socketAddress, type ClientAddress } from '../lib/client-address.ts'
import type { RecorderPulse, StreamPulse } from '../lib/pulse.ts'
import type { RequestSpan, Tracing } from '../lib/tracing.ts'
import type { StoreReader } from '../store/store.ts'
import type { Access } from './auth/access.ts'
import { callerOf, createGrant, type PlanGrant } from './auth/grant.ts'
import { redactKeys } from './auth/key-text.ts'
import type { Plan } from './auth/plans.ts'
import { deriveSecret } from './auth/control.ts'
import { BoundedSpace } from './bulk/temp-space.ts'
import { createCursorCodec } from './cursor.ts'
import { createDocuments } from './docs/documents.ts'
import { Dispatcher, mountRoute } from './http/dispatch.ts'
import { FairQueue, type ClientName, type QueueLimits } from './http/fair-queue.ts'
import { commonHeaders } from './http/headers.ts'
import { hostProblem } from './http/problem.ts'
import { createOnFinished, type RequestLog } from './http/log.ts'
import { PendingRequest, type MountedRoute, type OwnAnswer, type Target } from './http/request.ts'
import { createMcpEndpoint, MCP_PATH } from './mcp/endpoint.ts'
import type { ApiContext, Notice, Route, ServerInfo, TempSpace } from './route.ts'
import { createSignup, type SignupOptions } from './signup/endpoint.ts'
import { isInDemo, ROUTES, toDemoAddress } from './routes/index.ts'
import { DEMO_STREAM_PATH } from './stream/server.ts'
import { sendStartKey, START_KEY_PATH } from './web/start-key.ts'
import {
  EXPLORER_PLACES,
  isPageLoad,
  sendWebFile,
  type WebFile,
  type WebFiles,
} from './web/web-files.ts'

/** What an app serves, from where and to whom. */
export type AppOptions = {
  readonly store: StoreReader
  readonly access: Access
  /** A notice for every answer, such as that the data are emulated. */
  readonly notice?: Notice
  readonly auditor?: ApiContext['auditor']
  readonly proofs?: ApiContext['proofs']
  readonly contracts?: ApiContext['contracts']
  readonly alerts?: ApiContext['alerts']
  /** What `/v3/demo` serves; absent where there is nothing to show. */
  readonly demo?: { readonly store: StoreReader; readonly notice?: Notice }
  /** The one origin whose pages may read answers; absent for none. */
  readonly corsOrigin?: string
  readonly log?: RequestLog
  readonly recorder?: () => RecorderPulse | undefined
  /** The built explorer; without it `/` is a page with links. */
  readonly web?: WebFiles | undefined
  /** Lets anyone create a key of the cheapest plan after this much proof of work; absent where only the operator creates keys. */
  readonly signup?: Pick<SignupOptions, 'perMinute' | 'keys'> & { readonly bits: number }
  /** The key that the explorer gets in a browser on this machine; only for emulated data, which anyone may read. */
  readonly startKey?: string
  readonly now?: () => Micros
  /** The address that requests without a key are counted by; that of the socket by default. */
  readonly clientAddress?: ClientAddress
  /** Bounds of unread answers. */
  readonly queue?: Partial<QueueLimits>
  readonly routes?: readonly Route[]
  /** Max bytes on disk of files that are made before they are sent. */
  readonly tempBytes?: number
  /** Where requests are traced; absent for nowhere. */
  readonly tracing?: Tracing
}

/** The parts that an app shares with the server around it. */
export type AppParts = {
  readonly nextRequestId: () => string
  readonly tally: RequestTally
  readonly stream: () => StreamPulse
}

/** Every route over its stores, as one request handler. */
export type App = {
  readonly context: ApiContext
  /** The context and grant of the demo, where there is one. */
  readonly demo: { readonly context: ApiContext; readonly grant: PlanGrant } | undefined
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** The answers that are under way. */
  readonly queue: Pick<FairQueue, 'isAnswering' | 'hasUnsent'>
}

// Longer values are refused by their own parameter, which names them.
const MAX_PARAM_LENGTH = 16_384

const OPEN_PLAN: Plan = {
  name: 'open',
  rank: 0,
  venues: [...VENUE_IDS],
  assets: null,
  days: null,
  per_second: null,
  per_minute: null,
  features: [],
  // Per client address.
  stream: { connections: 10, subscriptions: 3, instruments: 200, replays: 1 },
  alerts: 0,
}
// Per client address: enough for a page in a browser, too little to serve as a free API.
const DEMO_PLAN: Plan = { ...OPEN_PLAN, name: 'demo', per_second: 50, per_minute: 1500 }

// Per key: messages around the questions to tools. What a tool reads counts by the plan of the key.
const MCP_PLAN: Plan = { ...DEMO_PLAN, name: 'mcp' }

/** Creates the handler of all requests. */
export function createApp(options: AppOptions, parts: AppParts): App {
  const { access, log, corsOrigin } = options
  const now = options.now ?? (() => toMicros(Date.now() * 1000))
  const routes = options.routes ?? ROUTES
  const server: ServerInfo = {
    limits: (grant) => access.limiter.look(grant.keyId, callerOf(grant).terms, now() / 1000),
    usage: (keyId, firstDay) => access.usage.read(keyId, firstDay),
    recorder: () => options.recorder?.(),
    stream: parts.stream,
    document: createDocuments(routes, access.plans, options.web !== undefined),
  }
  const temp = new BoundedSpace(options.tempBytes)
  const context: ApiContext = { ...createContext(options, server, now), temp }
  const demo = createDemo(options, server, now, temp)
  const places = new Places(options.web)
  addRoutes(places, routes, context, demo)
  const { clientAddress = socketAddress } = options
  const dispatcher = new Dispatcher({
    access,
    now,
    clientAddress,
    corsOrigin,
    onFailure: (error, { id, routeId }) => {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
      log?.error({ id, route: routeId, error: redactKeys(stack) }, 'a request failed')
    },
  })
  const queue = new FairQueue(options.queue, createClientName(access, clientAddress, now))
  const common = commonHeaders(corsOrigin)
  const onFinished = createOnFinished(access, parts.tally, log)
  const arrive = (request: IncomingMessage, response: ServerResponse): Arrival => {
    const id = parts.nextRequestId()
    const pending = new PendingRequest(request, response, id, common, onFinished)
    if (options.tracing !== undefined) pending.span = beginSpan(options.tracing, request, id)
    const found = places.find(request.url ?? '/')
    const { mounted, answer } = found.place
    if (mounted !== undefined) pending.routeId = mounted.route.id
    else if (answer !== undefined) pending.routeId = answer.name
    return { pending, found }
  }
  places.add(MCP_PATH, { answer: createTools(arrive, dispatcher) })
  const { bits, perMinute = 0, keys = 0 } = options.signup ?? {}
  const signup = createSignup({ access, bits, perMinute, keys, clientAddress, now })
  places.add(SIGNUP_PATH, { answer: signup, isOpen: true })
  return {
    context,
    demo,
    queue,
    handle(request, response) {
      const { pending, found } = arrive(request, response)
      // Who opens an address in a browser gets a page; programs get a problem, after their key was checked.
      const isLost = found === NOWHERE && isPageLoad(request)
      const { file: own, isStartKey = false } = found.place
      const file = isLost ? options.web?.page : own
      const answer = (): void => {
        const trouble = hostProblem(request)
        if (trouble !== undefined) {
          pending.problem(trouble)
          return
        }
        if (file !== undefined || isStartKey) pending.routeId = 'explorer'
        if (isStartKey) sendStartKey(pending, options.startKey)
        else if (file === undefined) dispatcher.start({ pending, target: toTarget(found) })
        else sendWebFile(pending, file, isLost ? 404 : 200)
      }
      const { span } = pending
      queue.add(request, response, span === undefined ? answer : () => span.run(answer))
    },
  }
}

function beginSpan(tracing: Tracing, request: IncomingMessage, id: string): RequestSpan {
  const attributes = { 'http.request.method': request.method ?? '', 'priorbook.request_id': id }
  return tracing.request(request.headers, attributes)
}

function addRoutes(
  places: Places,
  routes: readonly Route[],
  context: ApiContext,
  demo: App['demo'],
): void {
  const open = createGrant(OPEN_PLAN, [OPEN_PLAN], undefined, 'keyless')
  for (const route of routes) {
    const mounted = mountRoute(route, context, route.isKeyless === true ? open : undefined)
    for (const address of addressesOf(route)) places.add(address, { mounted })
    if (demo === undefined || !isInDemo(route)) continue
    const shown = mountRoute(route, demo.context, demo.grant)
    for (const address of addressesOf(route)) {
      places.add(toDemoAddress(address), { mounted: shown })
    }
  }
}

type Arrival = { readonly pending: PendingRequest; readonly found: Found }

function toTarget({ place, params, query }: Found): Target {
  const { mounted, refusal, isOpen, answer } = place
  return { mounted, params, query, refusal, isOpen, answer }
}

// Requests of tools have had their turn in the queue as the request that they are part of.
function createTools(
  arrive: (request: IncomingMessage, response: ServerResponse) => Arrival,
  dispatcher: Dispatcher,
): OwnAnswer {
  const run = createMcpEndpoint((request, response) => {
    const { pending, found } = arrive(request, response)
    dispatcher.start({ pending, target: toTarget(found) })
  })
  return { name: 'mcp', limits: createGrant(MCP_PLAN, [MCP_PLAN], undefined, 'mcp'), run }
}

// A key that was never issued is worth nothing: who invents keys is known by the address.
function createClientName(access: Access, address: ClientAddress, now: () => Micros): ClientName {
  return (request) => {
    const { authorization } = request.headers
    const keyId = authorization === undefined ? undefined : knownKey(access, authorization, now())
    return keyId === undefined ? address(request) : `key ${keyId}`
  }
}

function knownKey(access: Access, authorization: string, now: Micros): string | undefined {
  try {
    return access.authenticator.check(authorization, now).keyId
  } catch {
    return undefined
  }
}

function createContext(options: AppOptions, server: ServerInfo, now: () => Micros): ApiContext {
  const { store, access, auditor, proofs, contracts, alerts, notice } = options
  return {
    store,
    cursors: createCursorCodec(access.cursorSecrets),
    server,
    now,
    ...(auditor === undefined ? {} : { auditor }),
    ...(proofs === undefined ? {} : { proofs }),
    ...(contracts === undefined ? {} : { contracts }),
    ...(alerts === undefined ? {} : { alerts }),
    ...(notice === undefined ? {} : { notice }),
  }
}

function createDemo(
  options: AppOptions,
  server: ServerInfo,
  now: () => Micros,
  temp: TempSpace,
): App['demo'] {
  const { demo, access } = options
  if (demo === undefined) return undefined
  const secrets = access.cursorSecrets.map((secret) => deriveSecret(secret, 'demo'))
  const context: ApiContext = {
    store: demo.store,
    cursors: createCursorCodec(secrets),
    now,
    temp,
    // Emulated data are shown while they are recorded; sample data have no recorder.
    ...(demo.store === options.store ? { server } : {}),
    ...(demo.store === options.store && options.contracts !== undefined
      ? { contracts: options.contracts }
      : {}),
    ...(demo.notice === undefined ? {} : { notice: demo.notice }),
  }
  return { context, grant: createGrant(DEMO_PLAN, [DEMO_PLAN], undefined, 'demo') }
}

/** What stands at an address: a route, a file of the explorer, or a refusal. */
type Place = {
  readonly mounted?: MountedRoute
  readonly file?: WebFile
  readonly refusal?: Problem
  readonly isOpen?: boolean
  readonly answer?: OwnAnswer
  readonly isStartKey?: boolean
}

type Found = {
  readonly place: Place
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: string
}

/** The router of an app. The dispatcher checks methods after the key, so all routes are GET here. */
class Places {
  readonly #router = createRouter({
    maxParamLength: MAX_PARAM_LENGTH,
    // Parameters are parsed by the table of their route, which refuses repeated ones.
    querystringParser: (text) => text,
    onBadUrl: () => undefined,
  })

  constructor(web: WebFiles | undefined) {
    this.add(STREAM_PATH, { refusal: upgradeRequired() })
    this.add(DEMO_STREAM_PATH, { refusal: upgradeRequired(), isOpen: true })
    this.add('/v3/demo/*', { isOpen: true })
    this.add(START_KEY_PATH, { isStartKey: true })
    if (web === undefined) return
    for (const address of EXPLORER_PLACES) this.add(address, { file: web.page })
    for (const [address, file] of web.files) this.add(address, { file })
  }

  /** Adds a place; the first one at an address stays, so that the explorer replaces the page of links. */
  add(address: string, place: Place): void {
    const path = address.replaceAll(/\{(\w+)\}/g, ':$1')
    if (this.#router.hasRoute('GET', path)) return
    this.#router.on('GET', path, () => undefined, place)
  }

  find(url: string): Found {
    const found = this.#router.find('GET', url)
    if (found === null) return NOWHERE
    // Malformed percent-encoding finds `onBadUrl`, which has no place.
    if (found.store === null) return BAD_URL
    const query = found.searchParams as unknown as string
    return { place: found.store as Place, params: found.params, query }
  }
}

const NOWHERE: Found = { place: {}, params: {}, query: '' }
const BAD_URL: Found = {
  place: {
    refusal: new Problem('invalid_parameter', 'malformed percent-encoding in the address', {
      hint: 'Write a percent sign itself as %25.',
    }),
  },
  params: {},
  query: '',
}

function upgradeRequired(): Problem {
  return new Problem('upgrade_required', 'the stream is a WebSocket', {
    hint: 'Connect by wss:// or ws:// with a WebSocket client; /docs says how.',
  })
}

function addressesOf({ address, aliases = [] }: Route): readonly string[] {
  return [address, ...aliases]
}
