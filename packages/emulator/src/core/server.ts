import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { ActiveFault, FaultBox } from '../faults/fault-box.ts'
import type { FaultKind } from '../faults/fault.ts'
import type { Random } from '../world/random.ts'
import { wallMicros } from './clock.ts'
import { createConnection, type Connection } from './connection.ts'
import { createQuotaMeter, type QuotaUse } from './quota-meter.ts'
import { refusalOf } from './refusals.ts'
import type { Truth } from './truth.ts'
import type {
  Refusal,
  Upstream,
  UpstreamAnswer,
  UpstreamRequest,
  World,
  WorldEvent,
} from './upstream.ts'

/** One venue on loopback. */
export interface VenueServer {
  readonly venue: VenueId
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string
  onEvent(event: WorldEvent): void
  /** Does what a fault does at its beginning and at its end to whole sockets and to the port. */
  begin(fault: ActiveFault): void
  end(fault: ActiveFault): void
  connections(): readonly string[]
  quotas(): Readonly<Record<string, QuotaUse>>
  /** Gathers the frames of one step into one write per socket. */
  cork(): void
  uncork(): void
  close(): Promise<void>
}

/** What a server works with. */
export type ServerParts = {
  readonly upstream: Upstream
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
  const { upstream, world, faults, truth } = parts
  const { venue } = upstream
  const connections = new Map<string, Connection>()
  const meters = new Map(
    Object.entries(upstream.quotas).map(([bucket, quota]) => [
      bucket,
      createQuotaMeter(quota, parts.speed),
    ]),
  )
  let requests = 0
  let opened = 0
  let refusing = 0
  let onLast = (): void => {}
  let isClosed = false
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, autoPong: false })
  const http = createServer({ keepAlive: true }, (request, response) => {
    void readBody(request).then((body) => serve(toRequest(request, body), response))
  })
  const answered = new WeakMap<Socket, string>()
  http.on('connection', (socket: Socket) => {
    // A socket that is closed with unread bytes in it is reset, one that was read to its end is not.
    socket.on('close', (isReset) => {
      const request = answered.get(socket)
      if (isReset && request !== undefined) truth.note({ type: 'untaken', venue, request })
    })
  })
  http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    upgrade(request, socket, head)
  })

  function refuse(why: Refusal): UpstreamAnswer {
    return upstream.refusal?.(why) ?? refusalOf(venue, why)
  }

  function answerOf(request: UpstreamRequest): UpstreamAnswer & { readonly fault?: FaultKind } {
    if (faults.touches(venue)) {
      if (faults.strike('http_429', venue)) return { ...refuse('quota'), fault: 'http_429' }
      const outage = faults.strike('http_5xx', venue)
      if (outage !== undefined) {
        const answer = refuse('outage')
        return { ...answer, status: outage.status ?? answer.status, fault: 'http_5xx' }
      }
      if (faults.strike('expired_signature', venue)) {
        return { ...refuse('signature'), fault: 'expired_signature' }
      }
    }
    const answer = upstream.answer(request)
    const meter = meters.get(answer.bucket ?? 'default')
    return meter === undefined || meter.take(answer.cost ?? 1) ? answer : refuse('quota')
  }

  function serve(request: UpstreamRequest, response: ServerResponse): void {
    const id = `${venue}-r${++requests}`
    const slow = faults.touches(venue) ? faults.strike('http_slow', venue) : undefined
    const answer = answerOf(request)
    const made = wallMicros()
    const { status, body, headers = {}, payloads = [], cost = 1, bucket = 'default' } = answer
    const reply = (): void => {
      const { socket } = response
      if (response.destroyed || socket === null || socket.readableEnded || !socket.writable) return
      const { path } = request
      const fault = answer.fault ?? slow?.kind
      const common = { type: 'answer', venue, request: id, path, status, cost, bucket } as const
      truth.note(
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
        date: new Date(world.now(venue)).toUTCString(),
      })
      answered.set(socket, id)
      response.end(body)
    }
    if (slow === undefined) afterTurns(LEAVING_TURNS, reply)
    else setTimeout(() => afterTurns(LEAVING_TURNS, reply), slow.delayMs)
  }

  function upgrade(message: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const id = `${venue}-c${++opened}`
    const connection = createConnection({ ...parts, id, venue })
    const expired = faults.touches(venue) && faults.strike('expired_signature', venue)
    const session = expired
      ? refuse('signature')
      : upstream.accept(toRequest(message, ''), connection)
    if ('status' in session) {
      truth.note({
        type: 'connection',
        venue,
        connection: id,
        state: 'refused',
        code: session.status,
      })
      socket.end(
        `HTTP/1.1 ${session.status} Refused\r\nContent-Type: application/json\r\n` +
          `Date: ${new Date(world.now(venue)).toUTCString()}\r\nConnection: close\r\n` +
          `Content-Length: ${Buffer.byteLength(session.body)}\r\n\r\n${session.body}`,
      )
      return
    }
    sockets.handleUpgrade(message, socket, head, (ws) => {
      socket.setNoDelay(true)
      connections.set(id, connection)
      truth.note({ type: 'connection', venue, connection: id, state: 'opened' })
      ws.on('message', (data: Buffer) => {
        if (!connection.frozen) session.onText(data.toString())
      })
      ws.on('ping', (data) => {
        if (!connection.frozen) ws.pong(data)
      })
      ws.on('error', () => ws.terminate())
      ws.on('close', (code) => {
        connections.delete(id)
        truth.note({ type: 'connection', venue, connection: id, state: 'closed', code })
        session.onClose()
        if (connections.size === 0) onLast()
      })
      connection.attach(ws)
    })
  }

  function listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const fail = (cause: Error): void => {
        reject(new PriorbookError('invalid_argument', `${venue}: ${cause.message}`, { cause }))
      }
      http.once('error', fail)
      http.listen(port, HOST, () => {
        http.off('error', fail)
        resolve((http.address() as AddressInfo).port)
      })
    })
  }

  // Another program may hold the port for a moment; it was ours and its address is given out.
  function listenAgain(): void {
    if (refusing > 0 || isClosed || http.listening) return
    listen(port).catch(() => setTimeout(listenAgain, 50))
  }

  function targets({ target }: ActiveFault): readonly Connection[] {
    const { connection } = target
    return [...connections.values()].filter(
      ({ id }) => connection === undefined || connection === id,
    )
  }

  const port = await listen(parts.port)

  return {
    venue,
    origin: `http://${HOST}:${port}`,
    onEvent: (event) => upstream.onEvent(event),
    begin(active) {
      const { fault } = active
      if (fault.kind === 'disconnect') {
        for (const connection of targets(active)) {
          if (fault.code === undefined) connection.cut()
          else connection.close(fault.code, '')
        }
      } else if (fault.kind === 'half_open') {
        for (const connection of targets(active)) connection.freeze()
      } else if (fault.kind === 'oversized') {
        const text = oversized(fault.bytes ?? OVERSIZED_BYTES)
        for (const connection of targets(active)) connection.inject(text, 'oversized')
      } else if (fault.kind === 'refuse' && refusing++ === 0) {
        http.close()
      }
    },
    end(active) {
      const { fault } = active
      if (fault.kind === 'half_open') {
        for (const connection of targets(active)) if (connection.frozen) connection.cut()
      } else if (fault.kind === 'refuse' && --refusing === 0) {
        listenAgain()
      }
    },
    connections: () => [...connections.keys()],
    quotas: () => Object.fromEntries([...meters].map(([bucket, meter]) => [bucket, meter.use])),
    cork() {
      for (const connection of connections.values()) connection.cork()
    },
    uncork() {
      for (const connection of connections.values()) connection.uncork()
    },
    async close() {
      isClosed = true
      const gone = new Promise<void>((resolve) => (onLast = resolve))
      const many = connections.size
      for (const connection of connections.values()) connection.cut()
      // The log gets the last lines of every socket before it is closed.
      if (many > 0) await gone
      http.closeAllConnections()
      sockets.close()
      if (http.listening) await new Promise((resolve) => http.close(resolve))
    },
  }
}

// A client that left while this process was busy is known to have left after some turns.
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
    // The client left in the middle of its request; whatever is answered reaches nobody.
  }
  return Buffer.concat(parts).toString()
}

// Valid JSON of no known type, so that only its size is wrong.
function oversized(bytes: number): string {
  return `{"type":"oversized","padding":"${'x'.repeat(Math.max(0, bytes - 33))}"}`
}
