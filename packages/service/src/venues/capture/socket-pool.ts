import { untilAborted } from '../../lib/wait.ts'
import { MAX_SLOT, type ConnectorStatus } from './contract.ts'
import type { Link } from './link.ts'

/** One socket of a pool. A venue's class knows how to subscribe on it. */
export interface PooledSocket {
  readonly slot: number
  readonly link: Link
  /** The keys that it carries. The pool changes them; the socket subscribes all of them when it opens. */
  readonly keys: Set<string>
  /** How many keys are subscribed now; all of them where it is absent. */
  readonly subscriptions?: number
  /** These keys were added; does nothing while the socket is not connected. */
  subscribe(keys: readonly string[]): void
  /** These keys were removed; does nothing while the socket is not connected. */
  unsubscribe(keys: readonly string[]): void
}

/** How a pool makes its sockets. */
export type SocketPoolOptions<Socket extends PooledSocket> = {
  readonly keysPerSocket: number
  /** True where the venue accepts no socket without a key: one that has none left is ended. */
  readonly endsIdle?: boolean
  /** The highest socket; `MAX_SLOT` where it is absent. */
  readonly maxSlot?: number
  create(slot: number): Socket
}

/** How many more sockets one call of `spread` opens: a venue may refuse a hundred connections at once. */
const OPENED_TOGETHER = 10

/** Spreads keys (tokens, topics, markets) over sockets, which it opens as keys need them. */
export class SocketPool<Socket extends PooledSocket> {
  readonly #options: SocketPoolOptions<Socket>
  readonly #sockets = new Map<number, Socket>()
  readonly #socketOf = new Map<string, Socket>()
  /** The sockets that run, with what ends them. */
  readonly #running = new Map<
    Socket,
    { readonly stop: AbortController; readonly end: Promise<void> }
  >()
  #signal: AbortSignal | undefined

  constructor(options: SocketPoolOptions<Socket>) {
    this.#options = options
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    for (const socket of this.#sockets.values()) this.#start(socket)
    await untilAborted(signal)
    await Promise.all([...this.#running.values()].map(({ end }) => end))
  }

  /** Carries exactly these keys from now on. */
  carry(keys: ReadonlySet<string>): void {
    // Added first, so that a socket whose keys are all replaced goes on.
    this.add([...keys])
    this.remove([...this.#socketOf.keys()].filter((key) => !keys.has(key)))
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

  /**
   * Adds groups of keys, each to the emptiest socket, over as many sockets as this number of keys needs: the last
   * groups are spread over all of them. Opens only some of them at a time. Returns keys that no socket has room for.
   */
  spread(groups: readonly (readonly string[])[], total: number): readonly string[] {
    const { keysPerSocket } = this.#options
    const needed = Math.ceil(total / keysPerSocket)
    const room = Math.min(needed, this.#sockets.size + OPENED_TOGETHER)
    while (this.#sockets.size < room && this.#open() !== undefined);
    const added = new Map<Socket, string[]>()
    const homeless: string[] = []
    for (const group of groups) {
      const fresh = group.filter((key) => !this.#socketOf.has(key))
      const socket = fresh.length === 0 ? undefined : this.#findEmptiest(fresh.length)
      if (socket !== undefined) {
        this.#place(socket, fresh)
        added.set(socket, [...(added.get(socket) ?? []), ...fresh])
      } else homeless.push(...fresh)
    }
    for (const [socket, keys] of added) this.#subscribe(socket, keys)
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

  /** How many more keys all sockets together can have. */
  get room(): number {
    const { keysPerSocket, maxSlot = MAX_SLOT } = this.#options
    return maxSlot * keysPerSocket - this.#socketOf.size
  }

  get status(): ConnectorStatus['sockets'] {
    return [...this.#sockets.values()].map((socket) => {
      const { slot, link, keys, subscriptions = keys.size } = socket
      const { connected, lastFrame } = link
      const shown = { slot, connected, subscriptions }
      return lastFrame === undefined ? shown : { ...shown, lastFrame }
    })
  }

  #findRoom(count: number, except?: Socket): Socket | undefined {
    const { keysPerSocket } = this.#options
    return (
      this.#sockets
        .values()
        .find((one) => one !== except && one.keys.size + count <= keysPerSocket) ?? this.#open()
    )
  }

  #findEmptiest(count: number): Socket | undefined {
    let emptiest: Socket | undefined
    for (const one of this.#sockets.values()) {
      if (emptiest === undefined || one.keys.size < emptiest.keys.size) emptiest = one
    }
    const hasRoom =
      emptiest !== undefined && emptiest.keys.size + count <= this.#options.keysPerSocket
    return hasRoom ? emptiest : this.#open()
  }

  #open(): Socket | undefined {
    const { maxSlot = MAX_SLOT } = this.#options
    for (let slot = 1; slot <= maxSlot; slot++) {
      if (this.#sockets.has(slot)) continue
      const socket = this.#options.create(slot)
      this.#sockets.set(slot, socket)
      return socket
    }
    return undefined
  }

  #start(socket: Socket): void {
    if (this.#signal === undefined || this.#running.has(socket)) return
    const stop = new AbortController()
    const signal = AbortSignal.any([this.#signal, stop.signal])
    const end = socket.link.run(signal).finally(() => this.#drop(socket))
    this.#running.set(socket, { stop, end })
  }

  /** The socket ended, or the venue refused it for good: its keys may be added again. */
  #drop(socket: Socket): void {
    this.#running.delete(socket)
    if (this.#sockets.get(socket.slot) === socket) this.#sockets.delete(socket.slot)
    for (const key of socket.keys) this.#socketOf.delete(key)
  }

  #assign(socket: Socket, keys: readonly string[]): void {
    this.#place(socket, keys)
    this.#subscribe(socket, keys)
  }

  #place(socket: Socket, keys: readonly string[]): void {
    for (const key of keys) {
      this.#socketOf.set(key, socket)
      socket.keys.add(key)
    }
  }

  // The address of a new socket may name its keys, so it starts when it has them.
  #subscribe(socket: Socket, keys: readonly string[]): void {
    this.#start(socket)
    socket.subscribe(keys)
  }

  #release(socket: Socket, keys: readonly string[]): void {
    for (const key of keys) {
      this.#socketOf.delete(key)
      socket.keys.delete(key)
    }
    if (socket.keys.size > 0 || this.#options.endsIdle !== true) {
      socket.unsubscribe(keys)
      return
    }
    this.#sockets.delete(socket.slot)
    this.#running.get(socket)?.stop.abort()
  }
}
