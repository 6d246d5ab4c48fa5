import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { VENUE_IDS, VENUES } from '@priorbook/sdk/domain'
import { Problem, STREAM_KEY_PROTOCOL, STREAM_PATH, STREAM_PROTOCOL } from '@priorbook/sdk/wire'
import { WebSocketServer } from 'ws'
import { SYSTEM_CLOCK, type Clock, type Timer } from '../../lib/clock.ts'
import type { StreamPulse } from '../../lib/pulse.ts'
import { Hub } from '../../live/hub.ts'
import { ReferenceHub } from '../../live/reference-hub.ts'
import type { SubscriberLimits } from '../../live/subscriber.ts'
import type { StoreReader } from '../../store/store.ts'
import type { Access } from '../auth/access.ts'
import type { PlanGrant } from '../auth/grant.ts'
import { redactKeys } from '../auth/key-text.ts'
import { socketAddress, type ClientAddress } from '../../lib/client-address.ts'
import { hostProblem, toProblem, toProblemResponse } from '../http/problem.ts'
import type { RequestLog } from '../http/log.ts'
import { instrumentOf } from '../markets/instruments.ts'
import type { ApiContext } from '../route.ts'
import { admitKey } from './auth.ts'
import { keptOffers, windowOf } from './deflate.ts'
import { STREAM_TIMING, type SessionServices, type StreamTiming } from './services.ts'
import { StreamSession } from './session.ts'

/** The path of the demo stream. */
export const DEMO_STREAM_PATH = '/v3/demo/stream'

/** The data that the stream serves, the access rules and the timing. */
export type StreamOptions = {
  readonly access: Access
  readonly context: ApiContext
  /** The demo data and the grant of its clients, who need no key. */
  readonly demo?: { readonly context: ApiContext; readonly grant: PlanGrant }
  readonly log: RequestLog | undefined
  readonly nextId: () => string
  /** The address that connections without a key are counted by; that of the socket by default. */
  readonly clientAddress?: ClientAddress | undefined
  readonly timing?: Partial<StreamTiming>
  readonly limits?: Partial<SubscriberLimits>
  /** Runs heartbeats, timeouts and ticks; the system clock by default. */
  readonly clock?: Clock
  /** Offers compressed messages to clients that ask for them. */
  readonly isCompressed?: boolean
}

/** True for upgrade requests to a stream. */
export function isStreamUpgrade(request: IncomingMessage): boolean {
  const path = pathOf(request)
  const isStream = path === STREAM_PATH || path === DEMO_STREAM_PATH
  return isStream && request.headers.upgrade?.toLowerCase() === 'websocket'
}

// How often sessions are pulsed.
const PULSE_MS = 400
// How often the message rate is measured.
const RATE_MS = 2000
// Max bytes of a message that the library accepts. Larger than the documented limit, so that the client
// gets an error message before the connection is closed.
const MAX_PAYLOAD = 1_048_576

/** The WebSocket connections of one HTTP server; it serves once it is attached. */
export class StreamServer {
  private readonly options: StreamOptions
  private readonly clock: Clock
  private readonly sockets: WebSocketServer
  /** The extensions that were accepted, by upgrade request. */
  private readonly accepted = new WeakMap<IncomingMessage, string>()
  /** The demo may read the same store, and then shares its hub. */
  private readonly hubs = new Map<StoreReader, StoreHubs>()
  private readonly sessions = new Set<StreamSession>()
  private readonly timer: Timer
  private readonly idPrefix = randomBytes(4).toString('hex')
  private sessionCount = 0
  /** Messages sent by sessions that have ended. */
  private pastMessages = 0
  private rate: { readonly atMs: number; readonly sent: number; readonly perSecond: number }
  private isClosing = false
  private onEmpty: (() => void) | undefined

  constructor(options: StreamOptions) {
    this.options = options
    this.clock = options.clock ?? SYSTEM_CLOCK
    this.sockets = createSockets(options.isCompressed === true)
    this.sockets.on('headers', (lines, request) => {
      const line = lines.find((one) => /^sec-websocket-extensions:/i.test(one))
      if (line !== undefined) this.accepted.set(request, line)
    })
    this.rate = { atMs: this.clock.monotonicMs(), sent: 0, perSecond: 0 }
    this.timer = this.clock.setInterval(() => this.pulseSessions(), PULSE_MS).unref()
  }

  /** Handles the upgrade requests of a server. */
  attach(server: Pick<Server, 'on'>): void {
    server.on('upgrade', (request, socket, head) => this.upgrade(request, socket, head))
  }

  /** Counts of connections and subscriptions, and the recent message rate. */
  pulse(): StreamPulse {
    let subscriptions = 0
    let instruments = 0
    for (const { hub, references } of this.hubs.values()) {
      subscriptions += hub.counts.subscriptions + references.counts.subscriptions
      instruments += hub.counts.instruments + references.counts.instruments
    }
    const messagesPerSecond = Math.round(this.rate.perSecond * 10) / 10
    const held = [...this.sessions].filter(({ subscriber }) => subscriber.lags).length
    return { connections: this.sessions.size, subscriptions, instruments, messagesPerSecond, held }
  }

  /** Closes every connection; those still open after the deadline are cut. */
  async close(deadlineMs: number): Promise<void> {
    this.isClosing = true
    this.timer.cancel()
    for (const { hub, references } of this.hubs.values()) {
      await hub.close()
      await references.close()
    }
    for (const session of this.sessions) session.close('shutting_down')
    if (this.sessions.size > 0) {
      await new Promise<void>((resolve) => {
        const deadline = setTimeout(resolve, deadlineMs)
        this.onEmpty = () => {
          clearTimeout(deadline)
          resolve()
        }
      })
    }
    for (const session of this.sessions) session.terminate()
    this.sockets.close()
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined)
    if (this.isClosing) {
      socket.destroy()
      return
    }
    const trouble = upgradeProblem(request)
    if (trouble !== undefined) {
      this.refuse(socket, trouble)
      return
    }
    const { access, context, demo, log } = this.options
    if (pathOf(request) === DEMO_STREAM_PATH) {
      if (demo === undefined) {
        this.refuse(socket, new Problem('unknown_route', 'this server has no demo'))
        return
      }
      this.open(demo.context, request, socket, head, (session) => session.welcome(demo.grant))
      return
    }
    const { authorization } = request.headers
    if (authorization === undefined) {
      const key = keyOf(request)
      this.open(context, request, socket, head, (session) => {
        if (key !== undefined) session.begin(`Bearer ${key}`)
      })
      return
    }
    admitKey(access, authorization, context.now())
      .then((grant) => {
        if (socket.destroyed || this.isClosing) {
          socket.destroy()
          return
        }
        this.open(context, request, socket, head, (session) =>
          session.welcome(grant, authorization),
        )
      })
      .catch((error: unknown) => {
        const problem = toProblem(error)
        if (problem === undefined) {
          log?.error({ error: redactKeys(String(error)) }, 'stream upgrade failed')
        }
        this.refuse(socket, problem ?? new Problem('internal_error', 'it has been logged'))
      })
  }

  private refuse(socket: Duplex, problem: Problem): void {
    const id = this.options.nextId()
    this.options.log?.info({ id, code: problem.code }, 'stream refused')
    // A client that does not close its side would keep the socket for ever.
    socket.end(toProblemResponse(problem, id), () => socket.destroy())
  }

  private open(
    context: ApiContext,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    begin: (session: StreamSession) => void,
  ): void {
    const offers = keptOffers(request.headers['sec-websocket-extensions'])
    if (offers === undefined) delete request.headers['sec-websocket-extensions']
    else request.headers['sec-websocket-extensions'] = offers
    this.sockets.handleUpgrade(request, socket, head, (peer) => {
      const id = `${this.idPrefix}-${(++this.sessionCount).toString(36)}`
      // Frames are written to the raw socket, beside the library's control frames.
      const raw = socket as Socket
      raw.setNoDelay(true)
      const onGone = (): void => {
        this.sessions.delete(session)
        this.pastMessages += session.subscriber.messages
        if (this.sessions.size === 0) this.onEmpty?.()
      }
      const services = this.servicesOf(context)
      const address = (this.options.clientAddress ?? socketAddress)(request)
      const client = { socket: peer, raw, window: windowOf(this.accepted.get(request)) }
      const session = new StreamSession(id, services, client, onGone, address)
      this.sessions.add(session)
      begin(session)
    })
  }

  private servicesOf(context: ApiContext): SessionServices {
    const { access, log, timing, limits = {} } = this.options
    const { clock, hubs } = this
    let own = hubs.get(context.store)
    if (own === undefined) {
      own = createHubs(context, log, clock)
      hubs.set(context.store, own)
    }
    return { ...own, context, access, log, clock, timing: { ...STREAM_TIMING, ...timing }, limits }
  }

  private pulseSessions(): void {
    const nowMs = this.clock.monotonicMs()
    for (const session of this.sessions) session.pulse(nowMs)
    const elapsedMs = nowMs - this.rate.atMs
    if (elapsedMs < RATE_MS) return
    let sent = this.pastMessages
    for (const { subscriber } of this.sessions) sent += subscriber.messages
    this.rate = { atMs: nowMs, sent, perSecond: ((sent - this.rate.sent) / elapsedMs) * 1000 }
  }
}

// Neither side keeps a context between messages: what a connection costs in memory does not grow by compression.
function createSockets(isCompressed: boolean): WebSocketServer {
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: isCompressed && {
      serverNoContextTakeover: true,
      clientNoContextTakeover: true,
      concurrencyLimit: 4,
    },
    maxPayload: MAX_PAYLOAD,
    handleProtocols: (names) => (names.has(STREAM_PROTOCOL) ? STREAM_PROTOCOL : false),
  })
}

/** The hubs of one store. */
type StoreHubs = Pick<SessionServices, 'hub' | 'references'>

function createHubs(context: ApiContext, log: RequestLog | undefined, clock: Clock): StoreHubs {
  const { store } = context
  const onError = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    log?.error({ error: redactKeys(text) }, 'live rows failed')
  }
  const venues = VENUE_IDS.filter((venue) => VENUES[venue].references.length > 0)
  const references = new ReferenceHub({ store, venues, clock, onError })
  const hub = new Hub({
    store,
    now: context.now,
    clock,
    onError,
    contextOf({ venue, market, key }, record) {
      return record === undefined ? { venue, key, marketId: market } : instrumentOf(record, key)
    },
  })
  return { hub, references }
}

// Browsers cannot set headers, so the key may come as a second subprotocol.
function keyOf(request: IncomingMessage): string | undefined {
  const names = (request.headers['sec-websocket-protocol'] ?? '').split(',')
  const name = names.map((one) => one.trim()).find((one) => one.startsWith(STREAM_KEY_PROTOCOL))
  return name?.slice(STREAM_KEY_PROTOCOL.length)
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

const WEBSOCKET_VERSION = '13'

// The stream has no parameters; a key in an address would end up in logs.
function upgradeProblem(request: IncomingMessage): Problem | undefined {
  const host = hostProblem(request)
  if (host !== undefined) return host
  const version = request.headers['sec-websocket-version']
  if (version !== WEBSOCKET_VERSION) {
    const detail = `the stream speaks version ${WEBSOCKET_VERSION} of the WebSocket protocol`
    return new Problem('upgrade_required', detail, {
      hint: `Send Sec-WebSocket-Version: ${WEBSOCKET_VERSION}.`,
    })
  }
  const { url = '' } = request
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : ''
  const [name] = new URLSearchParams(query).keys()
  if (name === undefined) return undefined
  return new Problem('unknown_parameter', `the stream does not know ${JSON.stringify(name)}`, {
    param: name,
    hint: 'What to follow is said in messages after the connection is open; /docs says how.',
  })
}
