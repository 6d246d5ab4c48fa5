import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { ActiveFault, FaultBox } from '../faults/fault-box.ts'
import type { FaultKind } from '../faults/fault.ts'
import type { Random } from '../world/random.ts'
import { Connection } from './connection.ts'
import { createQuotaMeter, type QuotaMeter, type QuotaUse } from './quota-meter.ts'
import { wallMicros, type Truth } from './truth.ts'
import type {
  Refusal,
  Upstream,
  UpstreamAnswer,
  UpstreamRequest,
  World,
  WorldEvent,
} from './upstream.ts'

/** The parts of a venue server. */
export type ServerParts = {
  readonly upstream: Upstream
  readonly refusal: (why: Refusal) => UpstreamAnswer
  readonly world: World
  readonly speed: number
  readonly port: number
  readonly faults: FaultBox
  readonly truth: Truth
  readonly random: Random
}

const HOST = '127.0.0.1'
const MAX_BODY_BYTES = 1024 * 1024
const OVERSIZED_BYTES = 20_000_000

/** Opens a venue on a loopback port (0: any). */
export async function startServer(parts: ServerParts): Promise<VenueServer> {
  const server = new VenueServer(parts)
  await server.start()
  return server
}

/** One venue on loopback. */
export class VenueServer {
  readonly venue: VenueId
  private readonly parts: ServerParts
  private readonly upstream: Upstream
  private readonly world: World
  private readonly faults: FaultBox
  private readonly truth: Truth
  private readonly open = new Map<string, Connection>()
  private readonly meters: ReadonlyMap<string, QuotaMeter>
  private readonly sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    autoPong: false,
  })
  private readonly http: Server
  private readonly answered = new WeakMap<Socket, string>()
  private port = 0
  private requests = 0
  private opened = 0
  private refusing = 0
  private isClosed = false
  private onLast = (): void => {}

  constructor(parts: ServerParts) {
    const { upstream, speed } = parts
    this.parts = parts
    this.upstream = upstream
    this.venue = upstream.venue
    this.world = parts.world
    this.faults = parts.faults
    this.truth = parts.truth
    this.meters = new Map(
      Object.entries(upstream.quotas).map(([bucket, quota]) => [
        bucket,
        createQuotaMeter(quota, speed),
      ]),
    )
    this.http = createServer({ keepAlive: true }, (request, response) => {
      void readBody(request).then((body) => this.serve(toRequest(request, body), response))
    })
    this.http.on('connection', (socket: Socket) => this.watch(socket))
    this.http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.upgrade(request, socket, head)
    })
  }

  async start(): Promise<void> {
    this.port = await this.listen(this.parts.port)
  }

  /** `http://127.0.0.1:PORT`. */
  get origin(): string {
    return `http://${HOST}:${this.port}`
  }

  onEvent(event: WorldEvent): void {
    this.upstream.onEvent(event)
  }

  onStep(at: number): void {
    this.upstream.onStep?.(at)
  }

  /** Applies and removes the effects of a fault on whole sockets and on the port. */
  begin(active: ActiveFault): void {
    const { fault } = active
    if (fault.kind === 'disconnect') {
      for (const connection of this.targets(active)) {
        if (fault.code === undefined) connection.cut()
        else connection.close(fault.code, '')
      }
    } else if (fault.kind === 'half_open') {
      for (const connection of this.targets(active)) connection.freeze()
    } else if (fault.kind === 'oversized') {
      const text = oversized(fault.bytes ?? OVERSIZED_BYTES)
      for (const connection of this.targets(active)) connection.inject(text, 'oversized')
    } else if (fault.kind === 'refuse' && this.refusing++ === 0) {
      this.http.close()
    }
  }

  end(active: ActiveFault): void {
    const { fault } = active
    if (fault.kind === 'half_open') {
      for (const connection of this.targets(active)) if (connection.frozen) connection.cut()
    } else if (fault.kind === 'refuse' && --this.refusing === 0) {
      this.listenAgain()
    }
  }

  connections(): readonly string[] {
    return [...this.open.keys()]
  }

  quotas(): Readonly<Record<string, QuotaUse>> {
    return Object.fromEntries([...this.meters].map(([bucket, meter]) => [bucket, meter.use]))
  }

  /** Buffers the frames of one step into one write per socket. */
  cork(): void {
    for (const connection of this.open.values()) connection.cork()
  }

  uncork(): void {
    for (const connection of this.open.values()) connection.uncork()
  }

  async close(): Promise<void> {
    this.isClosed = true
    const { http } = this
    const gone = new Promise<void>((resolve) => (this.onLast = resolve))
    const many = this.open.size
    for (const connection of this.open.values()) connection.cut()
    // Wait until every socket has closed, so that the truth log has its last lines.
    if (many > 0) await gone
    http.closeAllConnections()
    this.sockets.close()
    if (http.listening) await new Promise((resolve) => http.close(resolve))
  }

  // A socket closed with unread bytes in it is reset; one that was read to its end is not.
  private watch(socket: Socket): void {
    socket.on('close', (isReset) => {
      const request = this.answered.get(socket)
      const { venue } = this
      if (isReset && request !== undefined) this.truth.note({ type: 'untaken', venue, request })
    })
  }

  private refuse(why: Refusal): UpstreamAnswer {
    return this.parts.refusal(why)
  }

  private answerOf(request: UpstreamRequest): UpstreamAnswer & { readonly fault?: FaultKind } {
    if (this.faults.touches(this.venue)) {
      if (this.faults.strike('http_429', this.venue))
        return { ...this.refuse('quota'), fault: 'http_429' }
      const outage = this.faults.strike('http_5xx', this.venue)
      if (outage !== undefined) {
        const answer = this.refuse('outage')
        return { ...answer, status: outage.status ?? answer.status, fault: 'http_5xx' }
      }
      if (this.faults.strike('expired_signature', this.venue)) {
        return { ...this.refuse('signature'), fault: 'expired_signature' }
      }
    }
    const answer = this.upstream.answer(request)
    const meter = this.meters.get(answer.bucket ?? 'default')
    return meter === undefined || meter.spend(answer.cost ?? 1) ? answer : this.refuse('quota')
  }

  private serve(request: UpstreamRequest, response: ServerResponse): void {
    const id = `${this.venue}-r${++this.requests}`
    const slow = this.faults.touches(this.venue)
      ? this.faults.strike('http_slow', this.venue)
      : undefined
    const answer = this.answerOf(request)
    const made = wallMicros()
    const { status, body, headers = {}, payloads = [], cost = 1, bucket = 'default' } = answer
    const reply = (): void => {
      const { socket } = response
      if (response.destroyed || socket === null || socket.readableEnded || !socket.writable) return
      const { path } = request
      const fault = answer.fault ?? slow?.kind
      const common = {
        type: 'answer',
        venue: this.venue,
        request: id,
        path,
        status,
        cost,
        bucket,
      } as const
      this.truth.note(
        {
          ...common,
          ...(fault === undefined ? {} : { fault }),
          made,
          bytes: Buffer.byteLength(body),
          payloads,
        },
        body,
      )
      response.sendDate = false
      response.writeHead(status, {
        'content-type': 'application/json',
        ...headers,
        date: new Date(this.world.now(this.venue)).toUTCString(),
      })
      this.answered.set(socket, id)
      response.end(body)
    }
    if (slow === undefined) afterTurns(LEAVING_TURNS, reply)
    else setTimeout(() => afterTurns(LEAVING_TURNS, reply), slow.delayMs)
  }

  private upgrade(message: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const id = `${this.venue}-c${++this.opened}`
    const connection = new Connection({ ...this.parts, id, venue: this.venue })
    const expired =
      this.faults.touches(this.venue) && this.faults.strike('expired_signature', this.venue)
    const session = expired
      ? this.refuse('signature')
      : this.upstream.accept(toRequest(message, ''), connection)
    if ('status' in session) {
      this.truth.note({
        type: 'connection',
        venue: this.venue,
        connection: id,
        state: 'refused',
        code: session.status,
      })
      socket.end(
        `HTTP/1.1 ${session.status} Refused\r\nContent-Type: application/json\r\n` +
          `Date: ${new Date(this.world.now(this.venue)).toUTCString()}\r\nConnection: close\r\n` +
          `Content-Length: ${Buffer.byteLength(session.body)}\r\n\r\n${session.body}`,
      )
      return
    }
    this.sockets.handleUpgrade(message, socket, head, (ws) => {
      socket.setNoDelay(true)
      this.open.set(id, connection)
      this.truth.note({ type: 'connection', venue: this.venue, connection: id, state: 'opened' })
      ws.on('message', (data: Buffer) => {
        if (!connection.frozen) session.onText(data.toString())
      })
      ws.on('ping', (data) => {
        if (!connection.frozen) ws.pong(data)
      })
      ws.on('error', () => ws.terminate())
      ws.on('close', (code) => {
        this.open.delete(id)
        this.truth.note({
          type: 'connection',
          venue: this.venue,
          connection: id,
          state: 'closed',
          code,
        })
        session.onClose()
        if (this.open.size === 0) this.onLast()
      })
      connection.attach(ws)
    })
  }

  private listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const fail = (cause: Error): void => {
        reject(new PriorbookError('invalid_argument', `${this.venue}: ${cause.message}`, { cause }))
      }
      this.http.once('error', fail)
      this.http.listen(port, HOST, () => {
        this.http.off('error', fail)
        resolve((this.http.address() as AddressInfo).port)
      })
    })
  }

  // Another program may hold the port for a moment. Retry: clients know this address.
  private listenAgain(): void {
    if (this.refusing > 0 || this.isClosed || this.http.listening) return
    this.listen(this.port).catch(() => setTimeout(() => this.listenAgain(), 50))
  }

  private targets({ target }: ActiveFault): readonly Connection[] {
    const { connection } = target
    return [...this.open.values()].filter(({ id }) => connection === undefined || connection === id)
  }
}

// Turns of the event loop until a client's disconnect during a busy period is noticed.
const LEAVING_TURNS = 3

function afterTurns(turns: number, then: () => void): void {
  if (turns === 0) then()
  else setImmediate(() => afterTurns(turns - 1, then))
}

function toRequest(message: IncomingMessage, body: string): UpstreamRequest {
  const url = new URL(message.url ?? '/', 'http://localhost')
  const headers: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(message.headers)) {
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  const { method = 'GET' } = message
  return { method, path: url.pathname, query: url.searchParams, headers, body }
}

async function readBody(message: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of message as AsyncIterable<Buffer>) {
      bytes += part.length
      if (bytes <= MAX_BODY_BYTES) parts.push(part)
    }
  } catch {
    // The client disconnected during its request; the answer will not be delivered.
  }
  return Buffer.concat(parts).toString()
}

// Valid JSON of an unknown type: only its size is wrong.
function oversized(bytes: number): string {
  return `{"type":"oversized","padding":"${'x'.repeat(Math.max(0, bytes - 33))}"}`
}
