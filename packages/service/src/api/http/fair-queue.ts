import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { socketAddress } from '../../lib/client-address.ts'

/** Bounds of a queue. */
export type QueueLimits = {
  /** Max bytes of answers that one client has not read yet; its next requests wait. */
  readonly clientBytes: number
  /** Max such bytes of all clients; above it connections that do not read are closed. */
  readonly totalBytes: number
  /** How long a connection may read nothing before it may be closed for `totalBytes`. */
  readonly stallMs: number
}

const LIMITS: QueueLimits = { clientBytes: 67_108_864, totalBytes: 268_435_456, stallMs: 1000 }
// Max requests that start per turn of the event loop, and their max total time, estimated from the earlier
// requests of their clients.
const MAX_STARTS_PER_TURN = 32
const TURN_MS = 10
// The first guess of the time of a request, and the weight of the newest one.
const FIRST_GUESS_MS = 0.2
const NEWEST = 0.2
// A connection with more requests waiting is not read from until it has at most half of them.
const MAX_WAITING = 64
// A connection with more requests waiting is closed: one packet does not hold as many.
const MAX_QUEUED = 16_384
// How often connections are looked at while too many bytes are unread.
const CHECK_MS = 250

/** Names the client of a request: connections of the same name share one turn. */
export type ClientName = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string

/** A client: all connections that send the same known key or, without one, come from the same address. */
type Client = {
  readonly name: string
  /** Connections whose next request may start, in order of arrival. */
  readonly ready: Connection[]
  connections: number
  /** Time that its requests took, in milliseconds; who has spent the least goes first. */
  spentMs: number
  /** How long one of its requests takes, by experience. */
  usualMs: number
  unreadBytes: number
}

/** A request that waits: its response, and what answers it. */
type Waiting = { readonly response: ServerResponse; readonly start: () => void }

/** A connection with its requests, which are answered one at a time and in order. */
type Connection = {
  readonly socket: Socket
  readonly client: Client
  readonly waiting: Waiting[]
  isBusy: boolean
  /** When its answer was started, in the present turn of the event loop; undefined after that turn. */
  startedMs: number | undefined
  unreadBytes: number
  /** How many bytes the socket had sent at a time, to see whether its client reads. */
  sentBytes: number
  readMs: number
  /** Called when its answer is sent, or its socket closed; one function for all its answers. */
  readonly onClose: () => void
}

/**
 * Decides which request is answered next. A connection has one answer at a time, and its next one is
 * made only after the socket has taken the answer before, so that a client that does not read costs the
 * memory of one answer. Among clients, the one that has used the least CPU time goes first: a flood of
 * pipelined requests delays other clients by one request, not by all of them. Requests of a closed
 * connection are dropped.
 */
export class FairQueue {
  readonly #limits: QueueLimits
  readonly #nameOf: ClientName
  readonly #clients = new Map<string, Client>()
  readonly #connections = new Map<Socket, Connection>()
  /** Clients with a connection that is ready. */
  readonly #ready = new Set<Client>()
  /** Connections that have an answer under way. */
  readonly #busy = new Set<Connection>()
  readonly #started: Connection[] = []
  #startedMs = 0
  /** The time that the started requests are expected to take. */
  #expectedMs = 0
  /** What the client that started last had spent: a client that was idle has no credit from before. */
  #virtualMs = 0
  #isArmed = false
  #unreadBytes = 0
  #isWatching = false

  constructor(limits: Partial<QueueLimits> = {}, nameOf: ClientName = socketAddress) {
    this.#limits = { ...LIMITS, ...limits }
    this.#nameOf = nameOf
  }

  /** Starts a request now, or when its turn comes. */
  add(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    const { socket } = request
    const connection = this.#connections.get(socket) ?? this.#open(request)
    if (connection.waiting.length === 0 && this.#mayRun(connection)) {
      this.#run(connection, { response, start })
      return
    }
    connection.waiting.push({ response, start })
    if (connection.waiting.length > MAX_WAITING) this.#pauseReading(connection)
    this.#offer(connection)
    this.#arm()
  }

  /** True while an answer to a connection is under way, or a request of it waits. */
  isAnswering(socket: Socket): boolean {
    const connection = this.#connections.get(socket)
    return connection !== undefined && (connection.isBusy || connection.waiting.length > 0)
  }

  /** True while a connection has something to send. */
  hasUnsent(): boolean {
    for (const { writableLength } of this.#connections.keys()) if (writableLength > 0) return true
    return false
  }

  // True when a connection can have its next answer made now, because no other client waits.
  #mayRun({ isBusy, client }: Connection): boolean {
    return !isBusy && this.#ready.size === 0 && this.#hasTime() && this.#hasRoom(client)
  }

  #hasTime(): boolean {
    if (this.#started.length === 0) return true
    if (this.#started.length >= MAX_STARTS_PER_TURN || this.#expectedMs >= TURN_MS) return false
    return performance.now() - this.#startedMs < TURN_MS
  }

  #hasRoom({ unreadBytes }: Client): boolean {
    const { clientBytes, totalBytes } = this.#limits
    return unreadBytes < clientBytes && this.#unreadBytes < totalBytes
  }

  #open(request: IncomingMessage): Connection {
    const { socket } = request
    const name = this.#nameOf(request)
    let client = this.#clients.get(name)
    if (client === undefined) {
      client = {
        name,
        ready: [],
        connections: 0,
        spentMs: this.#virtualMs,
        usualMs: FIRST_GUESS_MS,
        unreadBytes: 0,
      }
      this.#clients.set(name, client)
    }
    client.connections++
    const connection: Connection = {
      socket,
      client,
      waiting: [],
      isBusy: false,
      startedMs: undefined,
      unreadBytes: 0,
      sentBytes: 0,
      readMs: 0,
      onClose: () => this.#finish(connection),
    }
    this.#connections.set(socket, connection)
    socket.once('close', () => this.#close(connection))
    return connection
  }

  #close(connection: Connection): void {
    const { socket, client, waiting } = connection
    this.#connections.delete(socket)
    this.#busy.delete(connection)
    waiting.length = 0
    this.#withdraw(connection)
    this.#noteUnread(connection, 0)
    if (--client.connections === 0) this.#clients.delete(client.name)
    this.#arm()
  }

  // node:http resumes a socket after every message that it parses, so that the pause waits until all
  // messages of the packet are parsed.
  #pauseReading({ socket, waiting }: Connection): void {
    if (waiting.length > MAX_QUEUED) socket.destroy()
    else if (!socket.isPaused()) {
      setImmediate(() => {
        if (waiting.length > MAX_WAITING) socket.pause()
      })
    }
  }

  #offer(connection: Connection): void {
    const { client, isBusy, waiting } = connection
    if (isBusy || waiting.length === 0 || client.ready.includes(connection)) return
    client.spentMs = Math.max(client.spentMs, this.#virtualMs)
    client.ready.push(connection)
    this.#ready.add(client)
  }

  #withdraw(connection: Connection): void {
    const { client } = connection
    const at = client.ready.indexOf(connection)
    if (at >= 0) client.ready.splice(at, 1)
    if (client.ready.length === 0) this.#ready.delete(client)
  }

  #run(connection: Connection, { response, start }: Waiting): void {
    const { client } = connection
    connection.isBusy = true
    this.#busy.add(connection)
    this.#virtualMs = Math.max(this.#virtualMs, client.spentMs)
    client.spentMs = this.#virtualMs
    const now = performance.now()
    if (this.#started.length === 0) this.#startedMs = now
    connection.startedMs = now
    this.#started.push(connection)
    this.#expectedMs += client.usualMs
    // A response closes once.
    response.on('close', connection.onClose)
    this.#arm()
    start()
  }

  #finish(connection: Connection): void {
    const { waiting, socket, client, startedMs } = connection
    connection.isBusy = false
    this.#busy.delete(connection)
    this.#noteUnread(connection, 0)
    if (startedMs !== undefined) {
      // Answered within one turn: what passed since its start is what it took.
      const took = performance.now() - startedMs
      connection.startedMs = undefined
      client.spentMs += took
      client.usualMs += (took - client.usualMs) * NEWEST
    }
    if (waiting.length > MAX_WAITING) this.#pauseReading(connection)
    else if (waiting.length <= MAX_WAITING / 2 && socket.isPaused()) socket.resume()
    if (waiting.length > 0 && this.#mayRun(connection)) this.#run(connection, waiting.shift()!)
    else this.#offer(connection)
    if (this.#ready.size > 0) this.#arm()
  }

  #noteUnread(connection: Connection, bytes: number): void {
    const more = bytes - connection.unreadBytes
    if (more === 0) return
    connection.unreadBytes = bytes
    connection.client.unreadBytes += more
    this.#unreadBytes += more
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#isArmed = false
    this.#charge()
    while (this.#hasTime()) {
      const client = this.#nextClient()
      if (client === undefined) break
      const connection = client.ready[0]!
      const next = connection.waiting.shift()!
      this.#withdraw(connection)
      this.#run(connection, next)
    }
    if (this.#started.length > 0) this.#arm()
    else if (this.#ready.size > 0) this.#watchUnread()
  }

  // The client that spent the least time, with the expected time of what it started in this turn.
  #nextClient(): Client | undefined {
    let next: Client | undefined
    let least = Infinity
    for (const client of this.#ready) {
      if (!this.#hasRoom(client)) continue
      let spent = client.spentMs
      for (const started of this.#started) if (started.client === client) spent += client.usualMs
      if (spent >= least) continue
      next = client
      least = spent
    }
    return next
  }

  // Charges answers that go on after the turn they started in, such as downloads, with their share of it,
  // and counts the bytes that sockets have not taken.
  #charge(): void {
    if (this.#started.length === 0) return
    const share = (performance.now() - this.#startedMs) / this.#started.length
    for (const connection of this.#started) {
      if (connection.startedMs === undefined) continue
      connection.client.spentMs += share
      connection.startedMs = undefined
    }
    this.#started.length = 0
    this.#expectedMs = 0
    this.#countUnread()
  }

  #countUnread(): void {
    for (const connection of this.#busy) {
      this.#noteUnread(connection, connection.socket.writableLength)
    }
    if (this.#unreadBytes >= this.#limits.totalBytes) this.#watchUnread()
  }

  #watchUnread(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    setTimeout(this.#check, CHECK_MS).unref()
  }

  // While too much is unread, closes the connections that have read nothing for a while.
  readonly #check = (): void => {
    this.#isWatching = false
    const { totalBytes, stallMs } = this.#limits
    const now = performance.now()
    this.#countUnread()
    for (const connection of this.#busy) {
      const { socket, unreadBytes } = connection
      const sentBytes = socket.bytesWritten - unsentBytes(socket)
      if (unreadBytes === 0 || sentBytes !== connection.sentBytes || connection.readMs === 0) {
        connection.sentBytes = sentBytes
        connection.readMs = now
      } else if (now - connection.readMs >= stallMs && this.#unreadBytes >= totalBytes) {
        socket.destroy()
        this.#noteUnread(connection, 0)
      }
    }
    if (this.#ready.size > 0) this.#arm()
    if (this.#unreadBytes >= totalBytes) this.#watchUnread()
  }
}

// `writableLength` does not move while one large write is under way; the queue of its handle does.
function unsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as unknown as {
    readonly _handle?: { readonly writeQueueSize?: number } | null
  }
  return handle?.writeQueueSize ?? socket.writableLength
}
