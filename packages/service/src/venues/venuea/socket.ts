import type { Micros } from '@priorbook/sdk/domain'
import type { Clock, Timer } from '../../lib/clock.ts'
import { tryParseMessageJson } from '../../lib/message-json.ts'
import type { CaptureLog, CaptureSink, ConnectorStatus } from '../capture/contract.ts'
import { createLink, type Link } from '../capture/link.ts'
import { SocketPool, type PooledSocket } from '../capture/socket-pool.ts'
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
  readonly #pool: SocketPool<VenueASocket>

  constructor(options: SocketsOptions) {
    this.#pool = new SocketPool({
      keysPerSocket: MAX_TOPICS,
      // The venue opens no socket without a topic.
      endsIdle: true,
      create: (slot) => new VenueASocket(slot, options),
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#pool.run(signal)
  }

  /** Carries exactly these markets from now on. */
  carry(marketIds: ReadonlySet<string>): void {
    this.#pool.carry(marketIds)
  }

  /** Subscribes a market again whose books its socket does not bring. */
  renew(marketId: string): void {
    this.#pool.socketOf(marketId)?.renew(marketId)
  }

  get status(): ConnectorStatus['sockets'] {
    return this.#pool.status
  }
}

/** Max topics per socket. The venue publishes no limit; this many books 8 times a second are 1.6 MB/s. */
const MAX_TOPICS = 200
/** Max topics per command: topics have up to 40 characters, and servers accept addresses of 8 KB. */
const MAX_COMMAND_TOPICS = 50
/** The gateway accepts 5 messages a second. */
const COMMAND_EVERY_MS = 250

/** One socket and the markets that it carries. */
class VenueASocket implements PooledSocket {
  readonly slot: number
  readonly keys = new Set<string>()
  readonly link: Link
  readonly #options: SocketsOptions
  /** The markets that commands of the present connection named. */
  readonly #sent = new Set<string>()
  #commandMs = -Infinity
  #timer: Timer | undefined

  constructor(slot: number, options: SocketsOptions) {
    this.slot = slot
    this.#options = options
    this.link = this.#createLink()
  }

  get subscriptions(): number {
    return this.link.connected ? this.#sent.size : 0
  }

  subscribe(): void {
    this.#command()
  }

  unsubscribe(): void {
    this.#command()
  }

  renew(marketId: string): void {
    this.#sent.delete(marketId)
    this.#command()
  }

  #createLink(): Link {
    const { sink, log, clock, wsUrl, credentials } = this.#options
    return createLink({
      slot: this.slot,
      name: wsUrl,
      sink,
      log,
      clock,
      target: () => {
        this.#sent.clear()
        for (const marketId of this.keys) {
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
      expectsData: () => this.keys.values().some((id) => this.#options.isLive(id)),
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
    const { events } = sink.frame(this.slot, received, bytes, value)
    const [book] = events
    if (book?.kind === 'snapshot') {
      this.#options.onBook(book.instrument.market)
      return true
    }
    if (isFailedCommand(value)) {
      const answer = Buffer.from(bytes.subarray(0, SHOWN_BYTES)).toString('latin1')
      log.warn({ slot: this.slot, answer }, 'venue A refused a subscription command')
    }
    return false
  }

  /** Sends one command towards the wanted markets and schedules the next. */
  #command(): void {
    if (this.#timer !== undefined || !this.link.connected) return
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
    const added = first(this.keys, this.#sent)
    const removed = added.length > 0 ? [] : first(this.#sent, this.keys)
    const marketIds = added.length > 0 ? added : removed
    if (marketIds.length === 0) return false
    for (const marketId of added) this.#sent.add(marketId)
    for (const marketId of removed) this.#sent.delete(marketId)
    const command = added.length > 0 ? 'SUBSCRIBE' : 'UNSUBSCRIBE'
    this.#commandMs = this.#options.clock.monotonicMs()
    this.link.send(JSON.stringify({ command, value: marketIds.map(toTopic).join('|') }))
    return true
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
