import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Problem, STREAM_KEY_PROTOCOL, STREAM_PATH, STREAM_PROTOCOL } from '@priorbook/sdk/wire'
import { WebSocketServer } from 'ws'
import type { StreamPulse } from '../../lib/pulse.ts'
import { Hub, type SubscriberLimits } from '../../live/index.ts'
import type { Store } from '../../store/store.ts'
import type { Access } from '../auth/access.ts'
import type { PlanGrant } from '../auth/grant.ts'
import { redactKeys } from '../auth/key-text.ts'
import { toProblem, toProblemResponse } from '../http/problem.ts'
import type { RequestLog } from '../http/log.ts'
import { instrumentOf, type MarketInstrument } from '../markets/instruments.ts'
import type { ApiContext } from '../route.ts'
import { ROW_TEXT, type RowStyle } from './row-text.ts'
import { admitKey } from './admit.ts'
import { STREAM_TIMING, StreamSession, type SessionDesk, type StreamTiming } from './session.ts'

/** Where the stream of the demonstration is. */
export const DEMO_STREAM_PATH = '/v3/demo/stream'

/** What the stream serves, from where and to whom. */
export type StreamOptions = {
  readonly access: Access
  readonly context: ApiContext
  /** The demonstration, and what everybody may do with it. */
  readonly demo?: { readonly context: ApiContext; readonly grant: PlanGrant }
  readonly log: RequestLog | undefined
  readonly nextId: () => string
  readonly timing?: Partial<StreamTiming>
  readonly limits?: Partial<SubscriberLimits>
}

/** The sockets of one server. */
export interface StreamServer {
  /** Takes over the upgrades of a server. */
  attach(server: Server): void
  /** How many there are, and how many messages were sent in the last seconds. */
  pulse(): StreamPulse
  /** Sends what waits and closes every socket; those that take too long are cut. */
  close(deadlineMs: number): Promise<void>
}

const PULSE_MS = 400
// Larger than what is allowed, so that the client gets an error in words; beyond it the library closes.
const MAX_PAYLOAD = 1_048_576

/** True for requests that ask for a socket where there is one. */
export function isStreamUpgrade(request: IncomingMessage): boolean {
  const path = pathOf(request)
  const isStream = path === STREAM_PATH || path === DEMO_STREAM_PATH
  return isStream && request.headers.upgrade?.toLowerCase() === 'websocket'
}

/** Creates the stream; it serves once it is attached. */
export function createStreamServer(options: StreamOptions): StreamServer {
  const { access, context, demo, log } = options
  const timing = { ...STREAM_TIMING, ...options.timing }
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_PAYLOAD,
    handleProtocols: (names) => (names.has(STREAM_PROTOCOL) ? STREAM_PROTOCOL : false),
  })
  const hubs = new Map<Store, Hub<RowStyle, MarketInstrument>>()
  const sessions = new Set<StreamSession>()
  const prefix = randomBytes(4).toString('hex')
  let count = 0
  let sentBefore = 0
  let isClosing = false
  let rate = { at: performance.now(), sent: 0, perSecond: 0 }

  const deskOf = (one: ApiContext): SessionDesk => {
    let hub = hubs.get(one.store)
    if (hub === undefined) {
      hub = createHub(one, log)
      hubs.set(one.store, hub)
    }
    const { limits } = options
    return { hub, context: one, access, log, timing, ...(limits === undefined ? {} : { limits }) }
  }

  const sentSoFar = (): number => {
    let sent = sentBefore
    for (const { subscriber } of sessions) sent += subscriber.messages
    return sent
  }

  const timer = setInterval(() => {
    const now = performance.now()
    for (const session of sessions) session.pulse(now)
    if (now - rate.at < 2000) return
    const sent = sentSoFar()
    rate = { at: now, sent, perSecond: ((sent - rate.sent) / (now - rate.at)) * 1000 }
  }, PULSE_MS).unref()

  const open = (
    desk: SessionDesk,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    begin: (session: StreamSession) => void,
  ): void => {
    sockets.handleUpgrade(request, socket, head, (peer) => {
      const id = `${prefix}-${(++count).toString(36)}`
      // Frames go straight to it, in front of the library's own.
      const raw = socket as Socket
      raw.setNoDelay(true)
      const session = new StreamSession(id, desk, peer, raw, () => {
        sessions.delete(session)
        sentBefore += session.subscriber.messages
      })
      sessions.add(session)
      begin(session)
    })
  }

  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => undefined)
    const refuse = (problem: Problem): void => {
      const id = options.nextId()
      log?.info({ id, code: problem.code }, 'no stream')
      socket.end(toProblemResponse(problem, id))
    }
    if (isClosing) {
      socket.destroy()
      return
    }
    if (pathOf(request) === DEMO_STREAM_PATH) {
      if (demo === undefined) refuse(new Problem('unknown_route', 'there is no demonstration here'))
      else open(deskOf(demo.context), request, socket, head, (one) => one.begin(demo.grant))
      return
    }
    const desk = deskOf(context)
    const { authorization } = request.headers
    if (authorization === undefined) {
      const key = keyOf(request)
      open(desk, request, socket, head, (one) =>
        one.begin(key === undefined ? undefined : { authorization: `Bearer ${key}` }),
      )
      return
    }
    try {
      const grant = admitKey(access, authorization, context.now())
      open(desk, request, socket, head, (one) => {
        one.keep(authorization)
        one.begin(grant)
      })
    } catch (error) {
      const problem = toProblem(error)
      if (problem === undefined) log?.error({ error: redactKeys(String(error)) }, 'no stream')
      refuse(problem ?? new Problem('internal_error', 'it has been logged'))
    }
  }

  return {
    attach: (server) => void server.on('upgrade', upgrade),
    pulse() {
      let subscriptions = 0
      let instruments = 0
      for (const { counts } of hubs.values()) {
        subscriptions += counts.subscriptions
        instruments += counts.instruments
      }
      const messagesPerSecond = Math.round(rate.perSecond * 10) / 10
      const held = [...sessions].filter(({ subscriber }) => subscriber.lags).length
      return { connections: sessions.size, subscriptions, instruments, messagesPerSecond, held }
    },
    async close(deadlineMs) {
      isClosing = true
      clearInterval(timer)
      for (const hub of hubs.values()) await hub.close()
      for (const session of sessions) session.close('shutting_down')
      const end = performance.now() + deadlineMs
      while (sessions.size > 0 && performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      for (const session of sessions) session.terminate()
      sockets.close()
    },
  }
}

function createHub(
  context: ApiContext,
  log: RequestLog | undefined,
): Hub<RowStyle, MarketInstrument> {
  return new Hub<RowStyle, MarketInstrument>({
    source: context.store,
    now: context.now,
    encoder: ROW_TEXT,
    contextOf({ venue, market, key }, record) {
      return record === undefined
        ? { venue, key, marketId: market, index: 0 }
        : instrumentOf(record, key)
    },
    onError(error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      log?.error({ error: redactKeys(text) }, 'live rows failed')
    },
  })
}

// Browsers cannot set headers: the key comes as a second subprotocol.
function keyOf(request: IncomingMessage): string | undefined {
  const names = (request.headers['sec-websocket-protocol'] ?? '').split(',')
  const name = names.map((one) => one.trim()).find((one) => one.startsWith(STREAM_KEY_PROTOCOL))
  return name?.slice(STREAM_KEY_PROTOCOL.length)
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}
