import type { Socket } from 'node:net'
import { STREAM_CLOSE_CODES, timeJson, RANGE_PARAMS } from '@priorbook/sdk/wire'
import type { RawData, WebSocket } from 'ws'
import { SerialQueue } from '../../lib/serial-queue.ts'
import { Subscriber } from '../../live/subscriber.ts'
import type { PlanGrant } from '../auth/grant.ts'
import { readText, refuseUnknownMembers } from '../members.ts'
import { admitKey, SessionAuth } from './auth.ts'
import { ClientOutput, SocketSink } from './client-output.ts'
import { DeflatingSink } from './deflate.ts'
import { Heartbeat } from './heartbeat.ts'
import { ReferenceSubscriptions } from './reference-subscriptions.ts'
import { Replays } from './replays.ts'
import {
  MAX_MESSAGE,
  parseContract,
  parseReference,
  parseRequest,
  parseSubscribe,
  readId,
  type RawRequest,
  StreamProblem,
} from './request.ts'
import { selectContract } from './select-contract.ts'
import { selectMarkets } from './select-markets.ts'
import type { SessionServices } from './services.ts'
import { Subscriptions } from './subscriptions.ts'

type CloseReason = keyof typeof STREAM_CLOSE_CODES

// Messages per second that a client may send, and how many at once.
const MESSAGE_RATE = 50
const MESSAGE_BURST = 200
// How many messages of a client wait at most before its socket is read on.
const MAX_WAITING = 16
// How often the use of a key is noted.
const USAGE_MS = 5000
// How long a client may take to answer a close before its socket is cut.
const CLOSE_MS = 2000

/** A client that has connected: the library's socket, which reads, and the one below, which frames are written to. */
export type ConnectedClient = {
  readonly socket: WebSocket
  readonly raw: Socket
  /** The window of compressed messages; undefined where the client takes none. */
  readonly window?: number | undefined
}

/** One connection: receives requests and runs them in order. */
export class StreamSession {
  readonly id: string
  readonly subscriber: Subscriber
  private readonly services: SessionServices
  private readonly socket: WebSocket
  private readonly onGone: () => void
  private readonly output: ClientOutput
  private readonly auth: SessionAuth
  private readonly heartbeat: Heartbeat
  private readonly subscriptions: Subscriptions
  private readonly references: ReferenceSubscriptions
  private readonly replays: Replays
  private readonly rateLimit = new TokenBucket(MESSAGE_RATE, MESSAGE_BURST)
  private readonly requests = new SerialQueue()
  private readonly openedMs: number
  private usageMs: number
  /** How many messages were received and are not answered yet. */
  private waiting = 0
  private isGone = false

  constructor(
    id: string,
    services: SessionServices,
    { socket, raw, window }: ConnectedClient,
    onGone: () => void,
    address: string,
  ) {
    const { hub, access, context, clock, timing, limits, log } = services
    this.id = id
    this.services = services
    this.socket = socket
    this.onGone = onGone
    this.openedMs = clock.monotonicMs()
    this.usageMs = this.openedMs
    const onStalled = (): void => this.refuse(new StreamProblem('slow_reader'), 'slow_reader')
    const sink = window === undefined ? new SocketSink(raw) : new DeflatingSink(raw, window)
    this.subscriber = new Subscriber(sink, onStalled, limits)
    this.output = new ClientOutput(id, this.subscriber, sink, log)
    this.auth = new SessionAuth(access, context, address)
    this.subscriptions = new Subscriptions(services, this.output)
    this.references = new ReferenceSubscriptions(services, this.output)
    this.replays = new Replays(services, this.output)
    const actions = {
      sendHeartbeat: () => this.sendHeartbeat(),
      ping: () => socket.ping(),
      terminate: () => this.terminate(),
      recover: () => this.recover(),
    }
    this.heartbeat = new Heartbeat(this.subscriber, timing, actions, this.openedMs)
    hub.addSubscriber(this.subscriber)
    raw.on('drain', () => {
      if (this.subscriber.drained()) this.recover()
    })
    socket.on('message', (data, isBinary) => this.receive(data, isBinary))
    socket.on('pong', () => this.heartbeat.answered())
    // The library closes the socket of a client that violates the protocol.
    socket.on('error', () => undefined)
    socket.on('close', () => this.gone())
  }

  /** Starts with a checked key and the header that it came in, if there is one. */
  welcome(grant: PlanGrant, authorization?: string): void {
    const { context, timing, log } = this.services
    try {
      this.auth.accept(grant, authorization)
    } catch (error) {
      this.refuse(error, 'plan_required')
      return
    }
    log?.info({ id: this.id, key: grant.keyId }, 'stream opened')
    const { subscriptions, instruments, replays } = grant.terms.stream
    this.output.send({
      type: 'welcome',
      connection: this.id,
      plan: grant.plan,
      server_time: this.serverTime(),
      heartbeat_ms: timing.heartbeatMs,
      limits: { subscriptions, instruments, replays },
      ...(context.notice === undefined ? {} : { notice: context.notice }),
    })
    this.subscriber.flush()
  }

  /** Checks the key of a new connection before anything that the client asks for. */
  begin(authorization: string): void {
    this.requests
      .run(() => this.authenticate(authorization))
      .catch((error: unknown) => this.output.logError(error))
  }

  /** Checks a key and starts with it, or closes the connection. */
  private async authenticate(authorization: string | undefined): Promise<void> {
    const { access, context } = this.services
    let grant: PlanGrant
    try {
      grant = await admitKey(access, authorization, context.now())
    } catch (error) {
      this.refuse(error, 'unauthenticated')
      return
    }
    if (!this.isGone) this.welcome(grant, authorization)
  }

  /** Call a few times per second. */
  pulse(nowMs: number): void {
    if (this.isGone) return
    if (this.auth.grant === undefined) {
      if (nowMs - this.openedMs > this.services.timing.authMs) {
        this.refuse(new StreamProblem('auth_timeout'), 'auth_timeout')
      }
      return
    }
    const refusal = this.auth.recheck()
    if (refusal !== undefined) {
      this.refuse(refusal.error, refusal.reason)
      return
    }
    this.heartbeat.pulse(nowMs)
    if (nowMs - this.usageMs < USAGE_MS) return
    this.usageMs = nowMs
    this.auth.noteUsage(this.subscriber)
  }

  /** Closes the connection with a reason; messages sent before still arrive. */
  close(reason: CloseReason): void {
    if (this.isGone) return
    this.subscriber.flush()
    this.subscriptions.close()
    this.references.close()
    this.replays.close()
    this.socket.close(STREAM_CLOSE_CODES[reason], reason)
    this.services.clock.setTimeout(() => this.terminate(), CLOSE_MS).unref()
  }

  /** Cuts the socket. */
  terminate(): void {
    this.socket.terminate()
  }

  private receive(data: RawData, isBinary: boolean): void {
    if (this.isGone || this.socket.readyState !== this.socket.OPEN) return
    const bytes = data as Buffer
    if (!this.rateLimit.acquire(this.services.clock.monotonicMs())) {
      this.refuse(new StreamProblem('flooding'), 'flooding')
      return
    }
    if (bytes.length > MAX_MESSAGE) {
      this.refuse(new StreamProblem('message_too_large'), 'message_too_large')
      return
    }
    this.waiting++
    // The client's next messages wait in its own buffers and those of the system, not in this process.
    if (this.waiting === MAX_WAITING) this.socket.pause()
    this.requests
      .run(() => this.handle(bytes, isBinary))
      .catch((error: unknown) => this.output.logError(error))
      .finally(() => {
        this.waiting--
        if (this.socket.isPaused && this.waiting < MAX_WAITING) this.socket.resume()
      })
  }

  private async handle(bytes: Buffer, isBinary: boolean): Promise<void> {
    if (this.isGone) return
    let id: string | undefined
    try {
      if (isBinary) throw new StreamProblem('malformed_message', 'messages must be text')
      const request = parseRequest(bytes.toString())
      id = typeof request['id'] === 'string' ? request['id'].slice(0, 64) : undefined
      await this.perform(request)
    } catch (error) {
      this.output.sendError(error, id)
    }
    this.subscriber.flush()
  }

  private async perform(request: RawRequest): Promise<void> {
    const { grant } = this.auth
    if (request.op === 'auth') {
      refuseUnknownMembers(request, ['op', 'key'])
      if (grant !== undefined) throw new StreamProblem('already_authenticated')
      await this.authenticate(`Bearer ${readText(request['key'], 'key', 200)}`)
      return
    }
    if (grant === undefined) {
      await this.authenticate(undefined)
      return
    }
    switch (request.op) {
      case 'ping': {
        refuseUnknownMembers(request, ['op', 'nonce'])
        const { nonce } = request
        const text = nonce === undefined ? null : readText(nonce, 'nonce', 200)
        this.output.send({ type: 'pong', nonce: text, server_time: this.serverTime() })
        break
      }
      case 'subscribe': {
        const subscribe = parseSubscribe(request)
        this.requireNewId(subscribe.id)
        this.requireRoom(grant)
        const find = selectMarkets.bind(undefined, subscribe.selector)
        await this.subscriptions.subscribe(subscribe, grant, find)
        break
      }
      case 'subscribe_contract': {
        const subscribe = parseContract(request)
        this.requireNewId(subscribe.id)
        this.requireRoom(grant)
        const find = selectContract.bind(undefined, subscribe)
        await this.subscriptions.subscribe(subscribe, grant, find)
        break
      }
      case 'subscribe_reference': {
        const subscribe = parseReference(request)
        this.requireNewId(subscribe.id)
        this.requireRoom(grant)
        await this.references.subscribe(subscribe, grant)
        break
      }
      case 'unsubscribe': {
        refuseUnknownMembers(request, ['op', 'id'])
        const id = readId(request)
        if (!this.references.unsubscribe(id)) this.subscriptions.unsubscribe(id)
        break
      }
      case 'replay':
        this.requireNewId(readId(request))
        await this.replays.start(request, grant)
        break
      case 'pause':
      case 'resume':
      case 'stop':
        refuseUnknownMembers(request, ['op', 'id'])
        this.replays.get(request)[request.op]()
        break
      case 'seek': {
        refuseUnknownMembers(request, ['op', 'id', 'time'])
        const { time } = request
        const text = typeof time === 'number' ? String(time) : readText(time, 'time', 40)
        this.replays.get(request).seek(RANGE_PARAMS.start_time.parse(text, 'time'))
        break
      }
    }
  }

  private requireNewId(id: string): void {
    const all = [this.subscriptions, this.references, this.replays]
    if (all.some((one) => one.has(id))) throw new StreamProblem('duplicate_id')
  }

  // Subscriptions of both kinds count together.
  private requireRoom({ plan, terms }: PlanGrant): void {
    const most = terms.stream.subscriptions
    if (this.subscriptions.size + this.references.size < most) return
    const detail = `the plan ${plan} allows ${most} subscriptions per connection`
    throw new StreamProblem('too_many_subscriptions', detail)
  }

  private sendHeartbeat(): void {
    const { messages } = this.subscriber
    this.output.send({ type: 'heartbeat', server_time: this.serverTime(), sent: messages })
    this.subscriber.flush()
  }

  private serverTime() {
    return timeJson(this.services.context.now(), {})!
  }

  private recover(): void {
    const { hub } = this.services
    hub.recover(this.subscriber).catch((error: unknown) => this.output.logError(error))
  }

  private refuse(error: unknown, reason: CloseReason): void {
    this.output.sendLastError(error)
    this.close(reason)
  }

  private gone(): void {
    if (this.isGone) return
    this.isGone = true
    this.subscriptions.close()
    this.references.close()
    this.replays.close()
    this.subscriber.close()
    const { hub, log } = this.services
    hub.removeSubscriber(this.subscriber)
    const { grant } = this.auth
    if (grant !== undefined) {
      this.auth.release()
      this.auth.noteUsage(this.subscriber)
      const { messages, bytes } = this.subscriber
      log?.info({ id: this.id, key: grant.keyId, messages, bytes }, 'stream closed')
    }
    this.onGone()
  }
}

/** Limits a rate: `perSecond` on average, and up to `burst` at once. */
class TokenBucket {
  private readonly perSecond: number
  private readonly burst: number
  private tokens: number
  private updatedMs = 0

  constructor(perSecond: number, burst: number) {
    this.perSecond = perSecond
    this.burst = burst
    this.tokens = burst
  }

  /** Acquires one token; false when there is none. */
  acquire(nowMs: number): boolean {
    const refill = ((nowMs - this.updatedMs) / 1000) * this.perSecond
    this.tokens = Math.min(this.burst, this.tokens + refill)
    this.updatedMs = nowMs
    if (this.tokens < 1) return false
    this.tokens--
    return true
  }
}
