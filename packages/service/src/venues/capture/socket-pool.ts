import { MAX_SLOT, type ConnectorStatus } from './contract.ts'
import type { Link } from './link.ts'

/** One socket of a pool. A venue's class knows how to subscribe on it. */
export interface PooledSocket {
  readonly slot: number
  readonly link: Link
  /** The keys that it carries. The pool changes them; the socket subscribes all of them when it opens. */
  readonly keys: Set<string>
  /** These keys were added; does nothing while the socket is not connected. */
  subscribe(keys: readonly string[]): void
  /** These keys were removed; does nothing while the socket is not connected. */
  unsubscribe(keys: readonly string[]): void
}

/** How a pool makes its sockets. */
export type SocketPoolOptions<Socket extends PooledSocket> = {
  readonly keysPerSocket: number
  create(slot: number): Socket
}

/** Spreads keys (tokens, topics, markets) over sockets, which it opens as keys need them. */
export class SocketPool<Socket extends PooledSocket> {
  readonly #options: SocketPoolOptions<Socket>
  readonly #sockets: Socket[] = []
  readonly #socketOf = new Map<string, Socket>()
  readonly #running: Promise<void>[] = []
  #signal: AbortSignal | undefined

  constructor(options: SocketPoolOptions<Socket>) {
    this.#options = options
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    for (const { link } of this.#sockets) this.#running.push(link.run(signal))
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
    await Promise.all(this.#running)
  }

  /** Adds keys, together where one socket has room for all; returns those that no socket has room for. */
  add(keys: readonly string[]): readonly string[] {
    const { keysPerSocket } = this.#options
    const fresh = keys.filter((key) => !this.#socketOf.has(key))
    const homeless: string[] = []
    for (let from = 0; from < fresh.length; from += keysPerSocket) {
      const part = fresh.slice(from, from + keysPerSocket)
      const socket = this.#findRoom(part.length)
      if (socket === undefined) homeless.push(...part)
      else this.#assign(socket, part)
    }
    return homeless
  }

  remove(keys: readonly string[]): void {
    const bySocket = Map.groupBy(keys, (key) => this.#socketOf.get(key))
    for (const [socket, part] of bySocket) if (socket !== undefined) this.#release(socket, part)
  }

  /** Moves a key to another socket; false where no other one has room. */
  move(key: string): boolean {
    const from = this.#socketOf.get(key)
    const to = from === undefined ? undefined : this.#findRoom(1, from)
    if (from === undefined || to === undefined) return false
    this.#release(from, [key])
    this.#assign(to, [key])
    return true
  }

  socketOf(key: string): Socket | undefined {
    return this.#socketOf.get(key)
  }

  get status(): ConnectorStatus['sockets'] {
    return this.#sockets.map(({ slot, link: { connected, lastFrame }, keys }) => ({
      slot,
      connected,
      subscriptions: keys.size,
      ...(lastFrame === undefined ? {} : { lastFrame }),
    }))
  }

  #findRoom(count: number, except?: Socket): Socket | undefined {
    const { keysPerSocket } = this.#options
    return (
      this.#sockets.find((one) => one !== except && one.keys.size + count <= keysPerSocket) ??
      this.#open()
    )
  }

  #open(): Socket | undefined {
    if (this.#sockets.length === MAX_SLOT) return undefined
    const socket = this.#options.create(this.#sockets.length + 1)
    this.#sockets.push(socket)
    if (this.#signal !== undefined) this.#running.push(socket.link.run(this.#signal))
    return socket
  }

  #assign(socket: Socket, keys: readonly string[]): void {
    for (const key of keys) {
      this.#socketOf.set(key, socket)
      socket.keys.add(key)
    }
    socket.subscribe(keys)
  }

  #release(socket: Socket, keys: readonly string[]): void {
    for (const key of keys) {
      this.#socketOf.delete(key)
      socket.keys.delete(key)
    }
    socket.unsubscribe(keys)
  }
}
