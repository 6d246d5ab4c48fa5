import type { Clock } from '../../lib/clock.ts'
import {
  MAX_BOOK_SLOT,
  type CaptureLog,
  type CaptureSink,
  type Reading,
} from '../capture/contract.ts'
import { createLink, type Link } from '../capture/link.ts'
import { tryParseMessageJson } from '../../lib/message-json.ts'
import { SocketPool, type PooledSocket } from '../capture/socket-pool.ts'

/** What the sockets of venue C need. */
export type TokenSocketsOptions = {
  readonly url: string
  readonly tokensPerSocket: number
  readonly pingMs: number
  readonly sink: CaptureSink
  readonly log: CaptureLog
  readonly clock: Clock
  /** These tokens were subscribed just now; their full books are on the way. */
  onSubscribed(tokens: Iterable<string>): void
  /** A frame was read; returns true when it is about a subscribed token. */
  onFrame(reading: Reading): boolean
  /** True while frames about one of these tokens are expected. */
  expectsData(tokens: ReadonlySet<string>): boolean
}

/** The market channel, with the subscribed tokens spread over several sockets. */
export class TokenSockets {
  readonly #options: TokenSocketsOptions
  readonly #pool: SocketPool<TokenSocket>
  /** Tokens that no socket had room for. */
  readonly #homeless = new Set<string>()

  constructor(options: TokenSocketsOptions) {
    this.#options = options
    this.#pool = new SocketPool({
      keysPerSocket: options.tokensPerSocket,
      maxSlot: MAX_BOOK_SLOT,
      create: (slot) => new TokenSocket(slot, options),
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#pool.run(signal)
  }

  /**
   * Subscribes the tokens of these markets. `total` is how many tokens all markets together will have: it decides how
   * many sockets open.
   */
  add(markets: readonly (readonly string[])[], total: number): void {
    const homeless = this.#pool.spread(markets, total)
    if (homeless.length === 0) return
    for (const token of homeless) this.#homeless.add(token)
    this.#options.log.error(
      { tokens: homeless.length },
      'venue C: no socket is left for more tokens',
    )
  }

  /** Subscribes those tokens that had no socket, as many as there is room for now; `total` as in `add`. */
  addHomeless(total: number): void {
    const { room } = this.#pool
    if (this.#homeless.size === 0 || room <= 0) return
    const tokens = [...this.#homeless].slice(0, room)
    const still = new Set(
      this.#pool.spread(
        tokens.map((token) => [token]),
        total,
      ),
    )
    for (const token of tokens) if (!still.has(token)) this.#homeless.delete(token)
  }

  remove(tokens: readonly string[]): void {
    this.#pool.remove(tokens)
    for (const token of tokens) this.#homeless.delete(token)
  }

  /** Subscribes a token again, on another socket if `elsewhere`; false where there is no connection. */
  resubscribe(token: string, elsewhere: boolean): boolean {
    const socket = this.#pool.socketOf(token)
    if (socket === undefined || !socket.link.connected) return false
    if (elsewhere && this.#pool.move(token)) return true
    socket.unsubscribe([token])
    socket.subscribe([token])
    return true
  }

  isConnected(token: string): boolean {
    return this.#pool.socketOf(token)?.link.connected ?? false
  }

  /** True when the token's socket brought data lately, even of other tokens only. */
  isAlive(token: string): boolean {
    return this.#pool.socketOf(token)?.isAlive ?? false
  }

  get homeless(): number {
    return this.#homeless.size
  }

  get status(): SocketPool<TokenSocket>['status'] {
    return this.#pool.status
  }
}

/** A socket that brought no data for this long is not known to be alive; its watchdog judges it later. */
const ALIVE_MS = 2_000
// Single words are not data: PONG answers our PING, NO NEW ASSETS a repeated subscription.
const CONTROL = /^[A-Z][A-Z ]{0,63}$/
const MAX_WORD_BYTES = 64
const KNOWN_WORDS: ReadonlySet<string> = new Set(['PONG', 'PING', 'NO NEW ASSETS'])

class TokenSocket implements PooledSocket {
  readonly slot: number
  readonly keys = new Set<string>()
  readonly link: Link
  readonly #options: TokenSocketsOptions
  /** True once this connection sent its first message, whose form differs from that of later ones. */
  #isGreeted = false
  #dataMs = -Infinity

  constructor(slot: number, options: TokenSocketsOptions) {
    this.slot = slot
    this.#options = options
    const { url, pingMs, sink, log, clock } = options
    this.link = createLink({
      slot,
      target: () => ({ url }),
      name: url,
      onOpen: () => {
        this.#isGreeted = false
        this.subscribe([...this.keys])
      },
      onText: (received, bytes) => this.#onText(received, bytes),
      expectsData: () => options.expectsData(this.keys),
      keepAlive: { text: 'PING', everyMs: pingMs },
      sink,
      log,
      clock,
    })
  }

  get isAlive(): boolean {
    return this.#options.clock.monotonicMs() - this.#dataMs < ALIVE_MS
  }

  subscribe(tokens: readonly string[]): void {
    if (tokens.length === 0 || !this.link.connected) return
    const command = this.#isGreeted
      ? { assets_ids: tokens, operation: 'subscribe' }
      : { assets_ids: tokens, type: 'market', custom_feature_enabled: true }
    this.#isGreeted = true
    this.link.send(JSON.stringify(command))
    this.#options.onSubscribed(tokens)
  }

  unsubscribe(tokens: readonly string[]): void {
    if (!this.#isGreeted || !this.link.connected) return
    this.link.send(JSON.stringify({ assets_ids: tokens, operation: 'unsubscribe' }))
  }

  #onText(received: ReturnType<CaptureSink['now']>, bytes: Uint8Array): boolean {
    const { sink, log, clock } = this.#options
    if (bytes.length <= MAX_WORD_BYTES) {
      const text = Buffer.from(bytes).toString('latin1')
      if (CONTROL.test(text)) {
        if (!KNOWN_WORDS.has(text)) log.warn({ slot: this.slot, text }, 'venue C: unknown word')
        return false
      }
    }
    const reading = sink.frame(this.slot, received, bytes, tryParseMessageJson(bytes))
    if (!this.#options.onFrame(reading)) return false
    this.#dataMs = clock.monotonicMs()
    return true
  }
}
