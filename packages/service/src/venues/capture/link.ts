import type { ClientRequest, IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { Micros } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock, type Timer } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { CaptureLog, CaptureSink } from './contract.ts'
import { OwnStalls, SilenceDetector } from './silence.ts'

/** How one supervised socket behaves. */
export type LinkOptions = {
  readonly slot: number
  /** Where to connect; called before every attempt, so that signatures are fresh. */
  target(): { readonly url: string; readonly headers?: Readonly<Record<string, string>> }
  /** The url as the journal keeps it, without secrets. */
  readonly name: string
  /** The socket is open: subscribe. */
  onOpen(send: (text: string) => void): void
  /**
   * A text frame arrived. Returns true when it is data of a subscription, which resets the watchdog.
   * Frames that are to be kept must be given to the sink.
   */
  onText(received: Micros, bytes: Uint8Array, send: (text: string) => void): boolean
  /** True while frames are expected; a socket without subscriptions may be silent. */
  expectsData(): boolean
  /** The venue refused the socket with this HTTP status; false stops trying (credentials). */
  onRefused?(status: number): boolean
  /** Text that the venue expects from time to time. */
  readonly keepAlive?: { readonly text: string; readonly everyMs: number }
  readonly sink: Pick<CaptureSink, 'now' | 'note'>
  readonly log: CaptureLog
  /** For the watchdog and waits; the system clock by default. */
  readonly clock?: Clock
}

/** Why a connection is given up. */
type LinkLoss = 'venue_silent' | 'disconnected' | 'sequence_break'

/** One supervised socket: reconnects with backoff, detects silence, notes every loss. */
export interface Link {
  run(signal: AbortSignal): Promise<void>
  /** Sends when connected; false when not. */
  send(text: string): boolean
  /** Drops the connection and makes a new one; the loss is noted with this reason. */
  restart(reason: LinkLoss, why: string): void
  /** False from the moment that a connection is given up, though closing it takes a while. */
  readonly connected: boolean
  readonly lastFrame: Micros | undefined
}

/** A socket without a data frame for this long is silent, unless it is slow by habit; found within 6 s. */
export const SILENT_MS = 5_500
const CHECK_MS = 100
const CONNECT_TIMEOUT_MS = 5_000
/** Larger than any frame seen (1.3 MB), and the largest that a journal record holds. */
const MAX_PAYLOAD = 32 * 1024 * 1024

/** Creates a supervised socket; `run` starts it. */
export function createLink(options: LinkOptions): Link {
  return new SupervisedLink(options)
}

class SupervisedLink implements Link {
  lastFrame: Micros | undefined
  readonly #options: LinkOptions
  readonly #clock: Clock
  readonly #backoff = createBackoff()
  readonly #silence = new SilenceDetector(SILENT_MS)
  #socket: WebSocket | undefined
  /** `lost`: given up and its loss noted, but not closed yet. */
  #state: 'closed' | 'connecting' | 'open' | 'lost' = 'closed'
  #mayRetry = true
  /** When the last data frame came, or could first have come; monotonic. */
  #dataMs = 0
  #stalls = new OwnStalls(CHECK_MS)
  #timers: Timer[] = []

  constructor(options: LinkOptions) {
    this.#options = options
    this.#clock = options.clock ?? SYSTEM_CLOCK
  }

  get connected(): boolean {
    return this.#state === 'open'
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#connect(signal)
      if (!this.#mayRetry) return
      if (signal.aborted) return
      await sleep(this.#backoff.next(this.#clock.monotonicMs()), signal, this.#clock)
    }
  }

  send(text: string): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false
    this.#socket.send(text)
    return true
  }

  restart(reason: LinkLoss, why: string): void {
    if (this.#state !== 'open') return
    this.#lose(reason, why)
    this.#socket?.terminate()
  }

  /** One connection, from the attempt to its end. */
  #connect(signal: AbortSignal): Promise<void> {
    const { url, headers = {} } = this.#options.target()
    const socket = new WebSocket(url, {
      headers,
      maxPayload: MAX_PAYLOAD,
      perMessageDeflate: false,
      skipUTF8Validation: true,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
    })
    this.#socket = socket
    this.#state = 'connecting'
    this.#mayRetry = true
    const onAbort = (): void => socket.terminate()
    signal.addEventListener('abort', onAbort, { once: true })
    socket.on('open', () => this.#onOpen())
    socket.on('message', (data: Buffer) => this.#onMessage(data))
    socket.on('unexpected-response', (request, response) => this.#onRefused(request, response))
    socket.on('error', (error) => {
      const { slot, name, log } = this.#options
      if (!signal.aborted) log.warn({ slot, error: error.message }, `${name}: socket error`)
    })
    return new Promise((resolve) => {
      socket.on('close', (code) => {
        signal.removeEventListener('abort', onAbort)
        this.#onClose(code, signal.aborted)
        resolve()
      })
    })
  }

  #onOpen(): void {
    const { slot, name, sink, keepAlive } = this.#options
    this.#state = 'open'
    this.#dataMs = this.#clock.monotonicMs()
    this.#stalls = new OwnStalls(CHECK_MS)
    sink.note({ note: 'connected', slot, url: name })
    this.#options.onOpen(this.#send)
    this.#timers = [this.#clock.setInterval(() => this.#checkSilence(), CHECK_MS)]
    if (keepAlive === undefined) return
    const { text, everyMs } = keepAlive
    this.#timers.push(this.#clock.setInterval(() => this.#send(text), everyMs))
  }

  #onMessage(data: Buffer): void {
    // Frames that were read before the end of a connection are still delivered. Its loss is noted, so a
    // book that they opened would have no gap until the next connection.
    if (this.#state !== 'open') return
    const received = this.#options.sink.now()
    this.lastFrame = received
    if (!this.#options.onText(received, data, this.#send)) return
    const nowMs = this.#clock.monotonicMs()
    this.#silence.note(nowMs - this.#dataMs)
    this.#dataMs = nowMs
    this.#backoff.reset()
  }

  #onRefused(request: ClientRequest, response: IncomingMessage): void {
    const { slot, name, log } = this.#options
    const status = response.statusCode ?? 0
    log.warn({ slot, status }, `${name} refused the socket`)
    this.#mayRetry = this.#options.onRefused?.(status) ?? true
    request.destroy()
    this.#socket?.terminate()
  }

  #onClose(code: number, isAborted: boolean): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers = []
    if (this.#state === 'open' && !isAborted) this.#lose('disconnected', `closed with code ${code}`)
    this.#state = 'closed'
    this.#socket = undefined
  }

  #checkSilence(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#dataMs = Math.min(nowMs, this.#dataMs + this.#stalls.check(nowMs))
    if (!this.#options.expectsData()) this.#dataMs = nowMs
    const quietMs = nowMs - this.#dataMs
    if (!this.#silence.isSilence(quietMs)) return
    this.restart('venue_silent', `no data frame for ${Math.round(quietMs)} ms`)
  }

  #lose(reason: LinkLoss, why: string): void {
    this.#state = 'lost'
    this.#options.sink.note({ note: 'loss', reason, why, slot: this.#options.slot })
  }

  readonly #send = (text: string): void => void this.send(text)
}

/** Creates a backoff with waits of at most 0.7 s in the first minute of an outage, and up to 30 s later. */
export function createBackoff(random: () => number = Math.random): {
  /** How long to wait before the next attempt; the outage starts with the first call. */
  next(nowMs: number): number
  /** The upstream is back: ends the outage. */
  reset(): void
} {
  let since: number | undefined
  let attempts = 0
  return {
    next(nowMs) {
      since ??= nowMs
      attempts++
      const outage = nowMs - since
      const ceiling =
        outage < FIRST_MINUTE_MS
          ? Math.min(FIRST_MINUTE_MAX_MS, FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 10))
          : Math.min(MAX_MS, FIRST_MINUTE_MAX_MS * 2 ** Math.floor(outage / FIRST_MINUTE_MS))
      // Half of it is jitter, so that many recorders do not reconnect at the same time.
      return ceiling * (0.5 + random() / 2)
    },
    reset() {
      since = undefined
      attempts = 0
    },
  }
}

const FIRST_MINUTE_MS = 60_000
const FIRST_WAIT_MS = 50
// Wait and connect together must stay below one second.
const FIRST_MINUTE_MAX_MS = 700
const MAX_MS = 30_000
