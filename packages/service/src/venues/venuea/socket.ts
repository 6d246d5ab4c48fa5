import type { Micros } from '@priorbook/sdk/domain'
import type { Clock, Timer } from '../../lib/clock.ts'
import {
  MAX_SLOT,
  type CaptureLog,
  type CaptureSink,
  type ConnectorStatus,
} from '../capture/contract.ts'
import { createLink, type Link } from '../capture/link.ts'
import { tryParseMessageJson } from '../../lib/message-json.ts'
import { BOOK_TOPIC } from './native.ts'
import { signSocket, type VenueACredentials } from './signing.ts'

/** What the sockets need, and whom they notify. */
export type SocketsOptions = {
  readonly wsUrl: string
  readonly credentials: VenueACredentials
  readonly sink: CaptureSink
  readonly log: CaptureLog
  readonly clock: Clock
  /** Now by the venue's clock, for signatures. */
  venueNowMs(): number
  /** A book of the market came. */
  onBook(marketId: string): void
  /** Returns true while the market is inside its window, so that its socket should send. */
  isLive(marketId: string): boolean
  /** The venue refused a socket for its credentials. */
  onRefused(status: number): void
  /** A socket is open. */
  onOpen(): void
}

/** The sockets that carry the books of all open markets; each is opened when it gets a market. */
export class VenueASockets {
  readonly #options: SocketsOptions
  readonly #sockets = new Map<number, VenueASocket>()
  readonly #socketOf = new Map<string, VenueASocket>()

  constructor(options: SocketsOptions) {
    this.#options = options
  }

  /** Carries exactly these markets from now on; sockets that it opens end when the signal aborts. */
  carry(marketIds: ReadonlySet<string>, signal: AbortSignal): void {
    for (const [slot, socket] of this.#sockets) if (socket.hasEnded) this.#sockets.delete(slot)
    for (const [marketId, socket] of this.#socketOf) {
      if (marketIds.has(marketId) && !socket.hasEnded) continue
      socket.remove(marketId)
      this.#socketOf.delete(marketId)
    }
    for (const marketId of marketIds) {
      if (this.#socketOf.has(marketId)) continue
      const socket = this.#socketWithRoom(signal)
      if (socket === undefined) break
      socket.add(marketId)
      this.#socketOf.set(marketId, socket)
    }
    for (const [slot, socket] of this.#sockets) {
      if (socket.size > 0) {
        socket.start()
        continue
      }
      // The venue opens no socket without a topic, so one that has none left is ended.
      void socket.stop()
      this.#sockets.delete(slot)
    }
  }

  /** Subscribes a market again whose books its socket does not bring. */
  renew(marketId: string): void {
    this.#socketOf.get(marketId)?.renew(marketId)
  }

  /** Ends all sockets. */
  async stop(): Promise<void> {
    const ends = [...this.#sockets.values()].map((socket) => socket.stop())
    this.#sockets.clear()
    this.#socketOf.clear()
    await Promise.all(ends)
  }

  status(): ConnectorStatus['sockets'] {
    return [...this.#sockets.values()].map((socket) => socket.status())
  }

  #socketWithRoom(signal: AbortSignal): VenueASocket | undefined {
    for (const socket of this.#sockets.values()) {
      if (!socket.hasEnded && socket.size < MAX_TOPICS) return socket
    }
    for (let slot = 1; slot <= MAX_SLOT; slot++) {
      if (this.#sockets.has(slot)) continue
      const socket = new VenueASocket(slot, this.#options, signal)
      this.#sockets.set(slot, socket)
      return socket
    }
    return undefined
  }
}

/** Max topics per socket. The venue publishes no limit; this many books 8 times a second are 1.6 MB/s. */
const MAX_TOPICS = 200
/** Max topics per command: topics have up to 40 characters, and servers accept addresses of 8 KB. */
const MAX_COMMAND_TOPICS = 50
/** The gateway accepts 5 messages a second. */
const COMMAND_EVERY_MS = 250

/** One socket and the markets that it carries. */
class VenueASocket {
  readonly #slot: number
  readonly #options: SocketsOptions
  readonly #signal: AbortSignal
  readonly #stopping = new AbortController()
  readonly #link: Link
  /** The markets it should carry, and those that commands of the present connection named. */
  readonly #wanted = new Set<string>()
  readonly #sent = new Set<string>()
  #running: Promise<void> | undefined
  #hasEnded = false
  #commandMs = -Infinity
  #timer: Timer | undefined

  constructor(slot: number, options: SocketsOptions, signal: AbortSignal) {
    this.#slot = slot
    this.#options = options
    this.#signal = signal
    this.#link = this.#createLink()
  }

  get size(): number {
    return this.#wanted.size
  }

  /** True once it was stopped, or refused by the venue for good. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  add(marketId: string): void {
    this.#wanted.add(marketId)
    this.#command()
  }

  remove(marketId: string): void {
    this.#wanted.delete(marketId)
    // The last topic stays: a socket without markets is ended as a whole.
    if (this.#wanted.size > 0) this.#command()
  }

  renew(marketId: string): void {
    if (!this.#wanted.has(marketId)) return
    this.#sent.delete(marketId)
    this.#command()
  }

  start(): void {
    this.#running ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#hasEnded = true
    this.#stopping.abort()
    this.#timer?.cancel()
    await this.#running
  }

  status(): ConnectorStatus['sockets'][number] {
    const { connected, lastFrame } = this.#link
    const subscriptions = connected ? this.#sent.size : 0
    const socket = { slot: this.#slot, connected, subscriptions }
    return lastFrame === undefined ? socket : { ...socket, lastFrame }
  }

  #createLink(): Link {
    const { sink, log, clock, wsUrl, credentials } = this.#options
    return createLink({
      slot: this.#slot,
      name: wsUrl,
      sink,
      log,
      clock,
      target: () => {
        this.#sent.clear()
        for (const marketId of this.#wanted) {
          if (this.#sent.size === MAX_COMMAND_TOPICS) break
          this.#sent.add(marketId)
        }
        const topics = [...this.#sent].map(toTopic)
        return signSocket(wsUrl, topics, credentials, this.#options.venueNowMs())
      },
      onOpen: () => {
        this.#options.onOpen()
        this.#command()
      },
      onText: (received, bytes) => this.#onText(received, bytes),
      expectsData: () => this.#wanted.values().some((id) => this.#options.isLive(id)),
      onRefused: (status) => {
        if (status !== 401 && status !== 403) return true
        this.#options.onRefused(status)
        return false
      },
    })
  }

  #onText(received: Micros, bytes: Uint8Array): boolean {
    const { sink, log } = this.#options
    const value = tryParseMessageJson(bytes)
    const { events } = sink.frame(this.#slot, received, bytes, value)
    const [book] = events
    if (book?.kind === 'snapshot') {
      this.#options.onBook(book.instrument.market)
      return true
    }
    if (isFailedCommand(value)) {
      const answer = Buffer.from(bytes.subarray(0, SHOWN_BYTES)).toString('latin1')
      log.warn({ slot: this.#slot, answer }, 'venue A refused a subscription command')
    }
    return false
  }

  /** Sends one command towards the wanted markets and schedules the next. */
  #command(): void {
    if (this.#timer !== undefined || !this.#link.connected) return
    const { clock } = this.#options
    const waitMs = this.#commandMs + COMMAND_EVERY_MS - clock.monotonicMs()
    if (waitMs > 0) {
      this.#timer = clock.setTimeout(() => {
        this.#timer = undefined
        this.#command()
      }, waitMs)
      return
    }
    if (this.#sendNext()) this.#command()
  }

  #sendNext(): boolean {
    const first = (ids: Iterable<string>, other: ReadonlySet<string>): string[] =>
      [...ids].filter((id) => !other.has(id)).slice(0, MAX_COMMAND_TOPICS)
    const added = first(this.#wanted, this.#sent)
    const removed = added.length > 0 ? [] : first(this.#sent, this.#wanted)
    const marketIds = added.length > 0 ? added : removed
    if (marketIds.length === 0) return false
    for (const marketId of added) this.#sent.add(marketId)
    for (const marketId of removed) this.#sent.delete(marketId)
    const command = added.length > 0 ? 'SUBSCRIBE' : 'UNSUBSCRIBE'
    this.#commandMs = this.#options.clock.monotonicMs()
    this.#link.send(JSON.stringify({ command, value: marketIds.map(toTopic).join('|') }))
    return true
  }

  async #run(): Promise<void> {
    try {
      await this.#link.run(AbortSignal.any([this.#signal, this.#stopping.signal]))
    } catch (error) {
      const fields = { slot: this.#slot, error: String(error) }
      this.#options.log.error(fields, 'a socket of venue A ended')
    } finally {
      this.#hasEnded = true
      this.#timer?.cancel()
    }
  }
}

function toTopic(marketId: string): string {
  return BOOK_TOPIC + marketId
}

function isFailedCommand(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { type, data } = value as { readonly type?: unknown; readonly data?: unknown }
  return type === 'COMMAND' && data !== 'SUCCESS'
}

const SHOWN_BYTES = 200
