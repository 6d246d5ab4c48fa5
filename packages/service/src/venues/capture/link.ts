import { WebSocket, type ClientOptions } from 'ws'
import type { Micros } from '@priorbook/sdk/domain'
import { sleep } from '../../lib/wait.ts'
import { createBackoff } from './backoff.ts'
import type { CaptureLog, CaptureSink } from './contract.ts'
import { createSpacing } from './spacing.ts'

/** How one supervised socket behaves. */
export type LinkOptions = {
  readonly slot: number
  /** Where to connect; asked before every attempt, so that signatures are fresh. */
  target(): { readonly url: string; readonly headers?: Readonly<Record<string, string>> }
  /** The url as the journal keeps it, without secrets. */
  readonly name: string
  /** The socket is open: subscribe. */
  onOpen(send: (text: string) => void): void
  /**
   * A text frame arrived. True when it is data of a subscription: then it resets the watchdog.
   * Whoever wants it kept gives it to the sink.
   */
  onText(received: Micros, bytes: Uint8Array, send: (text: string) => void): boolean
  /** True while frames are expected; a socket without subscriptions may be silent. */
  expectsData(): boolean
  /** The socket was refused with this HTTP status; false stops trying (credentials). */
  onRefused?(status: number): boolean
  /** Text that the venue wants to hear now and then. */
  readonly keepAlive?: { readonly text: string; readonly everyMs: number }
  readonly sink: Pick<CaptureSink, 'now' | 'note'>
  readonly log: CaptureLog
}

/** One supervised socket: reconnects with backoff, finds silence, notes every loss. */
export interface Link {
  run(signal: AbortSignal): Promise<void>
  /** Sends when connected; false when not. */
  send(text: string): boolean
  /** Drops the connection and makes a new one; the loss is noted with this reason. */
  restart(reason: 'venue_silent' | 'disconnected' | 'sequence_break', why: string): void
  readonly connected: boolean
  readonly lastFrame: Micros | undefined
}

/** A socket that said nothing for this long is silent, unless it is slow by habit; found within 6 s. */
export const SILENT_MS = 5_500
const HABIT_FACTOR = 20
const CHECK_MS = 100
const CONNECT_TIMEOUT_MS = 5_000
/** Larger than any frame seen (1.3 MB), and what a journal record takes. */
const MAX_PAYLOAD = 32 * 1024 * 1024

/** Creates a supervised socket; `run` starts it. */
export function createLink(options: LinkOptions): Link {
  const { slot, sink, log, name } = options
  const backoff = createBackoff()
  let socket: WebSocket | undefined
  let connected = false
  let lastFrame: Micros | undefined
  let noted = false
  const spacing = createSpacing()

  function noteLoss(reason: 'venue_silent' | 'disconnected' | 'sequence_break', why: string): void {
    if (noted) return
    noted = true
    sink.note({ note: 'loss', reason, why, slot })
  }

  /** One connection from its attempt to its end; false when trying again makes no sense. */
  function connect(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const { url, headers = {} } = options.target()
      const client: ClientOptions = {
        headers,
        maxPayload: MAX_PAYLOAD,
        perMessageDeflate: false,
        skipUTF8Validation: true,
        handshakeTimeout: CONNECT_TIMEOUT_MS,
      }
      const ws = new WebSocket(url, client)
      socket = ws
      const send = (text: string): void => {
        if (ws.readyState === WebSocket.OPEN) ws.send(text)
      }
      let again = true
      let lastData = 0
      let watchdog: NodeJS.Timeout | undefined
      let keepAlive: NodeJS.Timeout | undefined
      const onAbort = (): void => ws.terminate()
      signal.addEventListener('abort', onAbort, { once: true })
      ws.on('open', () => {
        connected = true
        noted = false
        lastData = performance.now()
        sink.note({ note: 'connected', slot, url: name })
        options.onOpen(send)
        watchdog = setInterval(() => {
          if (!options.expectsData()) lastData = performance.now()
          const quiet = performance.now() - lastData
          if (quiet <= Math.max(SILENT_MS, HABIT_FACTOR * spacing.median())) return
          noteLoss('venue_silent', `no data frame for ${Math.round(quiet)} ms`)
          ws.terminate()
        }, CHECK_MS)
        const { keepAlive: words } = options
        if (words !== undefined) keepAlive = setInterval(() => send(words.text), words.everyMs)
      })
      ws.on('message', (data: Buffer) => {
        // What was read before the end of a connection still comes; its loss is noted, and a book that
        // it opened would be without a gap until the next connection.
        if (noted) return
        const received = sink.now()
        lastFrame = received
        if (!options.onText(received, data, send)) return
        const now = performance.now()
        spacing.note(now - lastData)
        lastData = now
        backoff.reset()
      })
      ws.on('unexpected-response', (request, response) => {
        const status = response.statusCode ?? 0
        log.warn({ slot, status }, `${name} refused the socket`)
        again = options.onRefused?.(status) ?? true
        request.destroy()
        ws.terminate()
      })
      ws.on('error', (error) => {
        if (!signal.aborted) log.warn({ slot, error: error.message }, `${name}: socket error`)
      })
      ws.on('close', (code) => {
        clearInterval(watchdog)
        clearInterval(keepAlive)
        signal.removeEventListener('abort', onAbort)
        if (connected && !signal.aborted) noteLoss('disconnected', `closed with code ${code}`)
        connected = false
        socket = undefined
        resolve(again)
      })
    })
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        if (!(await connect(signal))) return
        if (!signal.aborted) await sleep(backoff.next(performance.now()), signal)
      }
    },
    send(text) {
      if (socket?.readyState !== WebSocket.OPEN) return false
      socket.send(text)
      return true
    },
    restart(reason, why) {
      if (socket === undefined || !connected) return
      noteLoss(reason, why)
      socket.terminate()
    },
    get connected() {
      // One that was given up is as good as closed, though its end takes a moment.
      return connected && !noted
    },
    get lastFrame() {
      return lastFrame
    },
  }
}
