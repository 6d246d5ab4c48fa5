import type { Socket } from 'node:net'
import { instrumentName } from '@priorbook/sdk/domain'
import {
  Problem,
  STREAM_CLOSE_CODES,
  timeJson,
  type StreamMessage,
  type StreamRequest,
} from '@priorbook/sdk/wire'
import type { RawData, WebSocket } from 'ws'
import { Subscriber, type Hub, type SubscriberLimits, type Subscription } from '../../live/index.ts'
import type { Access } from '../auth/access.ts'
import type { PlanGrant } from '../auth/grant.ts'
import { redactKeys } from '../auth/key-text.ts'
import type { RequestLog } from '../http/log.ts'
import { RANGE_PARAMS } from '../params.ts'
import { readText, refuseUnknownMembers } from '../members.ts'
import type { ApiContext } from '../route.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import { openReplay, type Replay } from '../replay/index.ts'
import { admitKey } from './admit.ts'
import { toFrame } from './frame.ts'
import { RateMeter } from './rate-meter.ts'
import {
  MAX_MESSAGE,
  parseRequest,
  parseSubscribe,
  readId,
  type RawRequest,
  type SubscribeOrder,
} from './request.ts'
import { ROW_TEXT, toRowStyle, type RowStyle } from './row-text.ts'
import { select } from './selection.ts'
import { SocketSink } from './socket-sink.ts'
import { StreamProblem, toErrorMessage } from './stream-problem.ts'

/** What all sessions of one store share. */
export type SessionDesk = {
  readonly hub: Hub<RowStyle, MarketInstrument>
  readonly context: ApiContext
  readonly access: Access
  readonly log: RequestLog | undefined
  readonly timing: StreamTiming
  readonly limits?: Partial<SubscriberLimits>
}

/** The clocks of a session, in milliseconds. */
export type StreamTiming = {
  /** How long a connection may be without a key. */
  readonly authMs: number
  readonly heartbeatMs: number
  /** How often a peer is asked whether it is there; two questions without an answer end it. */
  readonly pingMs: number
  /** A peer that has not answered for so long, while much was sent, is far behind. */
  readonly farMs: number
}

/** The clocks that the service uses. */
export const STREAM_TIMING: StreamTiming = {
  authMs: 5000,
  heartbeatMs: 10_000,
  pingMs: 15_000,
  farMs: 3500,
}

type CloseWord = keyof typeof STREAM_CLOSE_CODES
type Own = Subscription<RowStyle>

// Messages a second that a client may send, and how many at once.
const RATE = 50
const BURST = 200
// Rows that one connection may ask for again.
const RESUME_ROWS = 100_000
// After so much a peer is asked whether it is there, and left out rows when it has not answered for
// long and so much.
const OFTEN_BYTES = 65_536
const FAR_BYTES = 262_144
const USAGE_MS = 5000
const CLOSE_MS = 2000

/** One socket: its key, its subscriptions and replays, and what it may. */
export class StreamSession {
  readonly id: string
  readonly subscriber: Subscriber
  private readonly desk: SessionDesk
  private readonly socket: WebSocket
  private readonly raw: Socket
  private readonly meter = new RateMeter(RATE, BURST)
  private readonly subscriptions = new Map<string, Own>()
  private readonly replays = new Map<string, Replay>()
  private readonly opening = new Set<string>()
  private readonly onGone: () => void
  private readonly resume = { rows: RESUME_ROWS }
  private grant: PlanGrant | undefined
  /** The header that the key would be sent in; kept to ask again whether it still holds. */
  private authorization: string | undefined
  /** The name under which the connection is counted. */
  private countedAs = ''
  private work: Promise<void> = Promise.resolve()
  private openedMs = performance.now()
  private beatMs = performance.now()
  private pingedMs = performance.now()
  private pingedBytes = 0
  /** When the oldest question without an answer was asked, and what was sent before. */
  private askedMs = 0
  private askedBytes = 0
  private usedMs = performance.now()
  private unanswered = 0
  private counted = { rows: 0, bytes: 0 }
  private isGone = false

  constructor(id: string, desk: SessionDesk, socket: WebSocket, raw: Socket, onGone: () => void) {
    this.id = id
    this.desk = desk
    this.socket = socket
    this.raw = raw
    this.onGone = onGone
    this.subscriber = new Subscriber(
      new SocketSink(raw),
      () => this.refuse(new StreamProblem('slow_reader'), 'slow_reader'),
      desk.limits,
    )
    desk.hub.addSubscriber(this.subscriber)
    raw.on('drain', () => this.drained())
    socket.on('message', (data, isBinary) => this.receive(data, isBinary))
    socket.on('pong', () => this.answered())
    // What a peer sends against the protocol of sockets; they are closed by the library.
    socket.on('error', () => undefined)
    socket.on('close', () => this.gone())
  }

  /** Begins with a key that was checked, one that is to be checked, or none yet. */
  begin(key: { readonly authorization: string } | PlanGrant | undefined): void {
    if (key === undefined) return
    if ('plan' in key) this.welcome(key)
    else this.authenticate(key.authorization)
  }

  /** To be called a few times a second. */
  pulse(nowMs: number): void {
    if (this.isGone) return
    const { timing, access, context } = this.desk
    if (this.grant === undefined) {
      if (nowMs - this.openedMs > timing.authMs) {
        this.refuse(new StreamProblem('auth_timeout'), 'auth_timeout')
      }
      return
    }
    if (this.authorization !== undefined) {
      try {
        const { plan } = access.authenticator.check(this.authorization, context.now())
        if (plan !== this.grant.plan) {
          this.refuse(
            new Problem('plan_required', 'the plan of the key has changed'),
            'plan_required',
          )
          return
        }
      } catch (error) {
        this.refuse(error, 'revoked')
        return
      }
    }
    if (nowMs - this.beatMs >= timing.heartbeatMs) {
      this.beatMs = nowMs
      this.say({ type: 'heartbeat', server_time: this.now(), sent: this.subscriber.messages })
      this.subscriber.flush()
    }
    const isOften = this.unanswered === 0 && this.subscriber.bytes - this.pingedBytes > OFTEN_BYTES
    if (isOften || nowMs - this.pingedMs >= timing.pingMs) this.ping(nowMs)
    this.holdIfFar(nowMs)
    if (nowMs - this.usedMs >= USAGE_MS) this.count(nowMs)
  }

  /** Says why and closes; what was sent before still arrives. */
  close(word: CloseWord): void {
    if (this.isGone) return
    this.subscriber.flush()
    this.endAll()
    this.socket.close(STREAM_CLOSE_CODES[word], word)
    // A peer that does not answer, or cannot be reached, is cut off.
    setTimeout(() => this.terminate(), CLOSE_MS).unref()
  }

  /** Ends the socket without a word. */
  terminate(): void {
    this.socket.terminate()
  }

  private receive(data: RawData, isBinary: boolean): void {
    if (this.isGone || this.socket.readyState !== this.socket.OPEN) return
    const bytes = data as Buffer
    if (!this.meter.take(performance.now())) {
      this.refuse(new StreamProblem('flooding'), 'flooding')
      return
    }
    if (bytes.length > MAX_MESSAGE) {
      this.refuse(new StreamProblem('message_too_large'), 'message_too_large')
      return
    }
    // One after the other: what was asked first is done first.
    this.work = this.work
      .then(() => this.handle(bytes, isBinary))
      .catch((error: unknown) => this.trouble(error))
  }

  private async handle(bytes: Buffer, isBinary: boolean): Promise<void> {
    if (this.isGone) return
    let id: string | undefined
    try {
      if (isBinary)
        throw new StreamProblem('malformed_message', 'binary messages mean nothing here')
      const request = parseRequest(bytes.toString())
      id = typeof request['id'] === 'string' ? request['id'].slice(0, 64) : undefined
      await this.perform(request)
    } catch (error) {
      this.tell(error, id)
    }
    this.subscriber.flush()
  }

  private async perform(request: RawRequest): Promise<void> {
    if (request.op === 'auth') {
      refuseUnknownMembers(request, ['op', 'key'])
      if (this.grant !== undefined) throw new StreamProblem('already_authenticated')
      this.authenticate(`Bearer ${readText(request['key'], 'key', 200)}`)
      return
    }
    const { grant } = this
    if (grant === undefined) {
      this.authenticate(undefined)
      return
    }
    switch (request.op) {
      case 'ping': {
        refuseUnknownMembers(request, ['op', 'nonce'])
        const { nonce } = request
        const text = nonce === undefined ? null : readText(nonce, 'nonce', 200)
        this.say({ type: 'pong', nonce: text, server_time: this.now() })
        break
      }
      case 'subscribe':
        await this.subscribe(parseSubscribe(request), grant)
        break
      case 'unsubscribe': {
        refuseUnknownMembers(request, ['op', 'id'])
        const id = readId(request)
        const subscription = this.subscriptions.get(id)
        if (subscription === undefined) throw new StreamProblem('unknown_id')
        this.subscriptions.delete(id)
        this.desk.hub.unsubscribe(subscription)
        this.say({ type: 'unsubscribed', id })
        break
      }
      case 'replay':
        await this.replay(request, grant)
        break
      case 'pause':
      case 'resume':
      case 'stop':
        refuseUnknownMembers(request, ['op', 'id'])
        this.replayOf(request)[request.op]()
        break
      case 'seek': {
        refuseUnknownMembers(request, ['op', 'id', 'time'])
        const { time } = request
        const text = typeof time === 'number' ? String(time) : readText(time, 'time', 40)
        this.replayOf(request).seek(RANGE_PARAMS.start_time.parse(text, 'time'))
        break
      }
    }
  }

  private async subscribe(order: SubscribeOrder, grant: PlanGrant): Promise<void> {
    const { hub, context } = this.desk
    const { id, selector } = order
    const terms = grant.terms.stream
    this.requireNewId(id)
    if (this.subscriptions.size >= terms.subscriptions) {
      throw new StreamProblem(
        'too_many_subscriptions',
        `the plan ${grant.plan} allows ${terms.subscriptions} subscriptions a connection`,
      )
    }
    const since = context.now()
    const most = terms.instruments - this.instruments
    const known = new Set([...order.resume.books.keys(), ...order.resume.trades.keys()])
    const { markets, instruments, wants } = await select(context, grant, selector, known, most)
    if (this.isGone) return
    if (instruments.length > most) throw this.tooManyInstruments(grant)
    for (const instrument of instruments) {
      const other = this.findInstrument(instrumentName(instrument))
      if (other === undefined) continue
      const detail = `${instrumentName(instrument)} is in the subscription ${JSON.stringify(other)}`
      throw new StreamProblem('already_subscribed', detail)
    }
    let isTold = false
    const subscription: Own = {
      subscriber: this.subscriber,
      venue: selector.venue,
      style: toRowStyle(order),
      datasets: order.datasets,
      since,
      wants,
      admits: (name) => {
        if (this.findInstrument(name) !== undefined) return false
        if (this.instruments >= terms.instruments) {
          for (const one of this.subscriptions.values()) hub.detachEnded(one)
        }
        if (this.instruments < terms.instruments) return true
        if (!isTold) this.tell(this.tooManyInstruments(grant), id)
        isTold = true
        return false
      },
      pending: new Set(),
      attached: new Set(),
    }
    this.subscriptions.set(id, subscription)
    for (const instrument of instruments) subscription.pending.add(instrumentName(instrument))
    try {
      await hub.subscribe(subscription)
    } catch (error) {
      this.subscriptions.delete(id)
      hub.unsubscribe(subscription)
      throw error
    }
    if (this.subscriptions.get(id) !== subscription) {
      // The peer has left meanwhile: nobody would end it later.
      hub.unsubscribe(subscription)
      return
    }
    this.say({
      type: 'subscribed',
      id,
      venue: selector.venue,
      markets: markets.length,
      instruments: instruments.length,
    })
    // Snapshots come as fast as they are read; the next request need not wait for them.
    const join = async (): Promise<void> => {
      for (const { record } of order.datasets.has('markets') ? markets : []) {
        const market = await hub.marketRecord(record.venue, record.marketId)
        if (!hub.has(subscription) || market === undefined) continue
        this.subscriber.send(ROW_TEXT.market(subscription.style, market))
        await this.subscriber.room()
      }
      const { books, trades } = order.resume
      await hub.start(subscription, instruments, { books, trades, budget: this.resume })
      if (hub.has(subscription)) this.say({ type: 'snapshots_done', id })
      this.subscriber.flush()
    }
    join().catch((error: unknown) => {
      this.subscriptions.delete(id)
      hub.unsubscribe(subscription)
      this.tell(error, id)
    })
  }

  private async replay(request: RawRequest, grant: PlanGrant): Promise<void> {
    const id = readId(request)
    this.requireNewId(id)
    const most = grant.terms.stream.replays
    if (this.replays.size >= most) {
      const detail = `the plan ${grant.plan} allows ${most} replays a connection`
      throw new StreamProblem('too_many_replays', detail)
    }
    const { subscriber } = this
    this.opening.add(id)
    try {
      const replay = await openReplay(
        this.desk.context,
        grant,
        request as unknown as Extract<StreamRequest, { op: 'replay' }>,
        {
          send: (message) => {
            subscriber.send(toFrame(message))
            subscriber.rows++
            this.flushSoon()
            return !subscriber.isFull
          },
          drained: () => subscriber.room(),
        },
      )
      this.replays.set(id, replay)
      void replay.ended.then(() => {
        this.replays.delete(id)
        if (replay.failure !== undefined) this.trouble(replay.failure)
      })
      if (this.isGone) replay.stop()
    } finally {
      this.opening.delete(id)
    }
  }

  private replayOf(request: RawRequest): Replay {
    const replay = this.replays.get(readId(request))
    if (replay === undefined) throw new StreamProblem('unknown_id')
    return replay
  }

  private isFlushing = false

  // Messages of a replay leave together, at the end of the turn of the event loop.
  private flushSoon(): void {
    if (this.isFlushing) return
    this.isFlushing = true
    setImmediate(() => {
      this.isFlushing = false
      this.subscriber.flush()
    })
  }

  private authenticate(authorization: string | undefined): void {
    const { access, context } = this.desk
    try {
      const grant = admitKey(access, authorization, context.now())
      this.authorization = authorization
      this.welcome(grant)
    } catch (error) {
      this.refuse(error, 'unauthenticated')
    }
  }

  private welcome(grant: PlanGrant): void {
    const { access, context, timing, log } = this.desk
    const { connections, subscriptions, instruments, replays } = grant.terms.stream
    // Without a key the address of the peer is all that can be counted.
    const name = grant.key === undefined ? `${grant.keyId} ${this.raw.remoteAddress}` : grant.keyId
    if (!access.connections.open(name, connections)) {
      const detail = `the plan ${grant.plan} allows ${connections} connections at a time`
      this.refuse(new StreamProblem('too_many_connections', detail), 'plan_required')
      return
    }
    this.grant = grant
    this.countedAs = name
    if (grant.key !== undefined) access.usage.note(grant.keyId, 'stream', 101, 0, 0)
    log?.info({ id: this.id, key: grant.keyId }, 'stream opened')
    this.say({
      type: 'welcome',
      connection: this.id,
      plan: grant.plan,
      server_time: this.now(),
      heartbeat_ms: timing.heartbeatMs,
      limits: { subscriptions, instruments, replays },
      ...(context.notice === undefined ? {} : { notice: context.notice }),
    })
    this.subscriber.flush()
  }

  /** Keeps the header of a key that was checked at the door. */
  keep(authorization: string): void {
    this.authorization = authorization
  }

  private get instruments(): number {
    let count = 0
    for (const { attached, pending } of this.subscriptions.values()) {
      count += attached.size + pending.size
    }
    return count
  }

  private findInstrument(name: string): string | undefined {
    for (const [id, { attached, pending }] of this.subscriptions) {
      if (pending.has(name) || attached.has(name)) return id
    }
    return undefined
  }

  private tooManyInstruments(grant: PlanGrant): StreamProblem {
    const most = grant.terms.stream.instruments
    return new StreamProblem(
      'too_many_instruments',
      `the plan ${grant.plan} allows ${most} instruments a connection`,
      'Take a smaller family, or another connection.',
    )
  }

  private requireNewId(id: string): void {
    if (this.subscriptions.has(id) || this.replays.has(id) || this.opening.has(id)) {
      throw new StreamProblem('duplicate_id')
    }
  }

  private drained(): void {
    if (this.subscriber.drained()) this.recover()
  }

  private recover(): void {
    this.desk.hub.recover(this.subscriber).catch((error: unknown) => this.trouble(error))
  }

  // A reader that does not read answers no questions: what it has not answered for, it has not read. The
  // buffers of the system hide that for megabytes.
  private holdIfFar(nowMs: number): void {
    if (this.unanswered === 0 || nowMs - this.askedMs < this.desk.timing.farMs) return
    if (this.subscriber.bytes - this.askedBytes > FAR_BYTES) this.subscriber.suspend()
  }

  private answered(): void {
    this.unanswered = 0
    if (this.subscriber.unsuspend()) this.recover()
  }

  private ping(nowMs: number): void {
    this.pingedMs = nowMs
    this.pingedBytes = this.subscriber.bytes
    if (this.unanswered === 0) {
      this.askedMs = nowMs
      this.askedBytes = this.pingedBytes
    }
    if (this.unanswered >= 2) {
      this.terminate()
      return
    }
    this.unanswered++
    this.socket.ping()
  }

  private count(nowMs: number): void {
    this.usedMs = nowMs
    const { grant, subscriber, counted } = this
    if (grant?.key === undefined || subscriber.bytes === counted.bytes) return
    const rows = subscriber.rows - counted.rows
    const bytes = subscriber.bytes - counted.bytes
    this.counted = { rows: subscriber.rows, bytes: subscriber.bytes }
    this.desk.access.usage.note(grant.keyId, 'stream', 101, rows, bytes, 0)
  }

  private now() {
    return timeJson(this.desk.context.now(), {})!
  }

  private say(message: StreamMessage): void {
    this.subscriber.send(toFrame(JSON.stringify(message)))
  }

  private tell(error: unknown, id?: string): void {
    const message = toErrorMessage(error, id)
    if (message === undefined) this.trouble(error)
    const text =
      message ??
      JSON.stringify({ type: 'error', code: 'internal_error', message: 'it has been logged', id })
    this.subscriber.send(toFrame(text))
    this.subscriber.flush()
  }

  private refuse(error: unknown, word: CloseWord): void {
    // A reader who was let go takes nothing more from its queue; the socket itself still may.
    if (this.subscriber.isClosed) {
      const message = toErrorMessage(error)
      if (message !== undefined) this.raw.write(toFrame(message))
    } else this.tell(error)
    this.close(word)
  }

  private trouble(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.desk.log?.error({ id: this.id, error: redactKeys(text) }, 'stream failed')
  }

  private endAll(): void {
    const { hub } = this.desk
    for (const subscription of this.subscriptions.values()) hub.unsubscribe(subscription)
    this.subscriptions.clear()
    for (const replay of this.replays.values()) replay.stop()
  }

  private gone(): void {
    if (this.isGone) return
    this.isGone = true
    this.endAll()
    this.subscriber.close()
    const { hub, access, log } = this.desk
    hub.removeSubscriber(this.subscriber)
    if (this.grant !== undefined) {
      access.connections.end(this.countedAs)
      this.count(performance.now())
      const { messages, bytes } = this.subscriber
      log?.info({ id: this.id, key: this.grant.keyId, messages, bytes }, 'stream closed')
    }
    this.onGone()
  }
}
