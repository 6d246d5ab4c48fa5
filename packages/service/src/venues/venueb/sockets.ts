import type { Clock } from '../../lib/clock.ts'
import { sleep, untilAborted } from '../../lib/wait.ts'
import { MAX_SLOT, type ConnectorStatus } from '../capture/contract.ts'
import { FirstBooks } from '../capture/first-books.ts'
import type { VenueBSocket } from './socket.ts'

/** How many sockets there may be, and how one is made. */
export type VenueBSocketsOptions = {
  readonly clock: Clock
  /** Max markets per socket, and in all at first. */
  readonly perSocket: number
  readonly markets: number
  /** The socket of the first slot brings the lifecycles of all markets. */
  create(slot: number): VenueBSocket
  /** Runs a socket until the signal aborts, and starts it again where it fails. */
  supervise(socket: VenueBSocket, slot: number, signal: AbortSignal): Promise<void>
}

/** Where the socket of a market stands; `back_soon` where a reconnect is expected, or other books come first. */
export type SocketPlace = 'up' | 'back_soon' | 'down'

type Entry = {
  readonly slot: number
  readonly socket: VenueBSocket
  readonly keys: Set<string>
  awaySinceMs: number | undefined
}

/** Polling replaces a socket that has been away for longer than a reconnect takes. */
const RECONNECT_MS = 1_500
/** Sockets open this long after each other, so that their first books do not come all at once. */
const STAGGER_MS = 250

/** Spreads markets over sockets. A market stays on its socket, so a dead socket costs only its own books. */
export class VenueBSockets {
  readonly #options: VenueBSocketsOptions
  readonly #entries: Entry[] = []
  readonly #entryOf = new Map<string, Entry>()
  readonly #running: Promise<void>[] = []
  readonly #firsts: FirstBooks
  #signal: AbortSignal | undefined
  #bound: number

  constructor(options: VenueBSocketsOptions) {
    this.#options = options
    this.#bound = options.markets
    this.#firsts = new FirstBooks(options.clock)
    this.#open()
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    for (const entry of this.#entries) this.#start(entry)
    await untilAborted(signal)
    await Promise.all(this.#running)
  }

  /** Max markets in all from now on. */
  setBound(markets: number): void {
    this.#bound = markets
  }

  /** True for a market that has a socket. */
  isPlaced(key: string): boolean {
    return this.#entryOf.has(key)
  }

  /** The state of a market's socket, which it gets here; undefined where no socket has room for it. */
  place(key: string): SocketPlace | undefined {
    const known = this.#entryOf.get(key)
    if (known !== undefined) return this.#placeOn(known)
    const free = this.#entryOf.size < this.#bound ? this.#findRoom() : undefined
    if (free === undefined) return undefined
    // What a dead socket would take is polled: it must not keep others from their first books.
    if (this.#isDown(free)) return 'down'
    if (!this.#firsts.admit([key])) return 'back_soon'
    // One that leaves a socket and comes back stays there: two sockets would bring one book twice.
    const entry = this.#entries.find(({ socket }) => socket.holds(key)) ?? free
    entry.keys.add(key)
    this.#entryOf.set(key, entry)
    return this.#placeOn(entry)
  }

  #placeOn(entry: Entry): SocketPlace {
    if (entry.socket.connected) return 'up'
    return this.#isDown(entry) ? 'down' : 'back_soon'
  }

  #isDown({ awaySinceMs }: Entry): boolean {
    return awaySinceMs !== undefined && this.#nowMs() - awaySinceMs > RECONNECT_MS
  }

  /**
   * Looks at the connections, and opens as many as this number of markets needs, so that the busiest markets, whose
   * books open last, are spread over all of them; call it before `place`.
   */
  look(markets: number): void {
    const needed = Math.ceil(Math.min(markets, this.#bound) / this.#options.perSocket)
    while (this.#entries.length < needed && this.#open() !== undefined);
    for (const entry of this.#entries) {
      if (entry.socket.connected) entry.awaySinceMs = undefined
      else entry.awaySinceMs ??= this.#nowMs()
    }
    this.#settleFirsts()
  }

  /** True once when markets had to wait for the first books of others, and do not any more. */
  haveRoomAgain(): boolean {
    this.#settleFirsts()
    return this.#firsts.reopens()
  }

  /**
   * Takes the places of all other markets away, and subscribes these where their socket is up. Muted ones keep their
   * place: another socket would try them again at once.
   */
  carry(
    keys: ReadonlySet<string>,
    muted: ReadonlySet<string>,
    isFree: (key: string) => boolean,
  ): void {
    for (const [key, entry] of this.#entryOf) {
      if (keys.has(key) || muted.has(key)) continue
      this.#entryOf.delete(key)
      entry.keys.delete(key)
    }
    for (const { socket, keys: own } of this.#entries) {
      if (!socket.connected) continue
      socket.want(new Set([...own].filter((key) => !muted.has(key) && isFree(key))))
    }
  }

  /** Returns true while a socket brings this market's book or is about to. */
  holds(key: string): boolean {
    return this.#entries.some(({ socket }) => socket.holds(key))
  }

  isMuted(key: string): boolean {
    return this.#entryOf.get(key)?.socket.isMuted(key) === true
  }

  /** Requests full books of these markets soon. */
  recover(keys: readonly string[]): void {
    for (const [entry, part] of Map.groupBy(keys, (key) => this.#entryOf.get(key))) {
      entry?.socket.recover(part)
    }
  }

  /** True while every socket that has markets is connected. */
  get areConnected(): boolean {
    return this.#entries.every(({ socket, keys, slot }) =>
      slot === 1 || keys.size > 0 ? socket.connected : true,
    )
  }

  get status(): ConnectorStatus['sockets'] {
    return this.#entries.map(({ slot, socket: { connected, subscriptions, lastFrame } }) => {
      const socket = { slot, connected, subscriptions }
      return lastFrame === undefined ? socket : { ...socket, lastFrame }
    })
  }

  #settleFirsts(): void {
    this.#firsts.settle((key) => {
      const entry = this.#entryOf.get(key)
      return entry === undefined || this.#isDown(entry) || entry.socket.hasBook(key)
    })
  }

  // The emptiest socket, a dead one only where all others are full.
  #findRoom(): Entry | undefined {
    let alive: Entry | undefined
    let dead: Entry | undefined
    for (const entry of this.#entries) {
      if (entry.keys.size >= this.#options.perSocket) continue
      if (this.#isDown(entry)) dead = emptier(dead, entry)
      else alive = emptier(alive, entry)
    }
    return alive ?? dead ?? this.#open()
  }

  #open(): Entry | undefined {
    const slot = this.#entries.length + 1
    if (slot > MAX_SLOT) return undefined
    const socket = this.#options.create(slot)
    // It is not away before it could open.
    const awaySinceMs = this.#nowMs() + staggerMs(slot)
    const entry: Entry = { slot, socket, keys: new Set(), awaySinceMs }
    this.#entries.push(entry)
    this.#start(entry)
    return entry
  }

  #start({ slot, socket }: Entry): void {
    const signal = this.#signal
    if (signal === undefined) return
    const { clock } = this.#options
    this.#running.push(
      sleep(staggerMs(slot), signal, clock).then(() =>
        this.#options.supervise(socket, slot, signal),
      ),
    )
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}

function staggerMs(slot: number): number {
  return slot === 1 ? 0 : STAGGER_MS * (slot % 8)
}

function emptier(one: Entry | undefined, other: Entry): Entry {
  return one === undefined || other.keys.size < one.keys.size ? other : one
}
