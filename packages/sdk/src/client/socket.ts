import {
  STREAM_CLOSE_CODES,
  STREAM_KEY_PROTOCOL,
  STREAM_PROTOCOL,
  type StreamMessage,
  type StreamRequest,
} from '../wire/index.ts'
import { PriorbookClientError } from './errors.ts'

/** The first message of a socket. */
export type Welcome = Extract<StreamMessage, { readonly type: 'welcome' }>

/** Why a socket ended. `code` is that of the WebSocket, 1006 where the connection broke. */
export type SocketEnd = {
  readonly code: number
  /** A word of `STREAM_CLOSE_CODES`, or the client's own: `silent`, `reader_behind`, `broken`, `closed`. */
  readonly reason: string
  /** What the server said before it closed. */
  readonly error?: StreamFault | undefined
}

/** An error of the whole connection. */
export type StreamFault = {
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
}

/** The server refused a request of the stream. */
export class PriorbookStreamError extends PriorbookClientError {
  /** Why, such as `unauthenticated`, `plan_required` or `unknown_market`. */
  readonly reason: string
  /** The code of the error that came before the connection was closed, such as `expired_key`. */
  readonly errorCode: string | undefined
  readonly closeCode: number | undefined
  readonly hint: string | undefined

  constructor(
    reason: string,
    detail: string,
    more: {
      readonly closeCode?: number
      readonly hint?: string | undefined
      readonly error?: StreamFault | undefined
    } = {},
  ) {
    super('stream_refused', detail)
    this.name = 'PriorbookStreamError'
    this.reason = reason
    this.errorCode = more.error?.code
    this.closeCode = more.closeCode
    this.hint = more.hint
  }
}

/** How a socket is opened. */
export type SocketOptions = {
  readonly signal?: AbortSignal | undefined
  /** How long the welcome may take; 15 s. */
  readonly connectTimeoutMs?: number | undefined
  /** Messages that wait to be taken; beyond it the socket is closed with `reader_behind` (100,000). */
  readonly maxQueue?: number | undefined
}

/** Where a socket leads and what it carries. */
export type SocketAddress = {
  readonly url: string
  readonly WebSocket: typeof globalThis.WebSocket
  readonly key: string | undefined
}

const CONNECT_TIMEOUT_MS = 15_000
const MAX_QUEUE = 100_000
// A heartbeat may be late by a busy moment at either end.
const SILENT_HEARTBEATS = 2.5
const SILENT_EXTRA_MS = 1000

/**
 * One connection to the stream, without reconnects: what `live` and the replay over the socket are
 * made of. Messages are taken in a loop, which ends with the connection; `end` then says why.
 */
export class StreamSocket implements AsyncIterable<StreamMessage> {
  readonly welcome: Welcome
  private readonly socket: WebSocket
  private readonly queue: AsyncQueue<StreamMessage>
  private readonly life: SocketLife

  /** Use `openSocket`. */
  constructor(
    socket: WebSocket,
    queue: AsyncQueue<StreamMessage>,
    life: SocketLife,
    welcome: Welcome,
  ) {
    this.socket = socket
    this.queue = queue
    this.life = life
    this.welcome = welcome
  }

  /** Sends a request; false when the connection is gone. */
  send(request: StreamRequest): boolean {
    if (this.life.end !== undefined || this.socket.readyState !== OPEN) return false
    this.socket.send(JSON.stringify(request))
    return true
  }

  /** Messages that arrived and were not taken yet. */
  get waiting(): number {
    return this.queue.length
  }

  /** Why the connection ended; undefined while it has not. */
  get end(): SocketEnd | undefined {
    return this.life.end
  }

  /** Closes the connection and drops messages that were not read. */
  close(): void {
    this.life.finish({ code: 1000, reason: 'closed' })
    this.queue.clear()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamMessage, void, undefined> {
    for (;;) {
      const { done, value } = await this.queue.next()
      if (done === true) break
      yield value
    }
  }
}

/** Connects and waits for the welcome; throws where the server refuses or cannot be reached. */
export async function openSocket(
  address: SocketAddress,
  options: SocketOptions = {},
): Promise<StreamSocket> {
  const { url, WebSocket, key } = address
  const { signal, connectTimeoutMs = CONNECT_TIMEOUT_MS, maxQueue = MAX_QUEUE } = options
  signal?.throwIfAborted()
  // Browsers cannot set headers: the key travels as a second subprotocol, which the server never echoes.
  const protocols = [STREAM_PROTOCOL, ...(key === undefined ? [] : [STREAM_KEY_PROTOCOL + key])]
  const socket = new WebSocket(url, protocols)
  const queue = new AsyncQueue<StreamMessage>()
  const life = new SocketLife(socket, queue, signal)
  life.expect(connectTimeoutMs)
  socket.addEventListener('message', ({ data }: { readonly data: unknown }) => {
    const message = parseMessage(data)
    if (message === undefined || life.end !== undefined) return
    if (message.type === 'error' && message.id === undefined) life.fault = message
    if (message.type === 'welcome') {
      life.expect(message.heartbeat_ms * SILENT_HEARTBEATS + SILENT_EXTRA_MS)
    } else life.stir()
    queue.push(message)
    if (queue.length > maxQueue) life.finish({ code: 1000, reason: 'reader_behind' })
  })
  socket.addEventListener('close', ({ code, reason }: { code: number; reason: string }) => {
    life.finish({ code, reason: reason === '' ? wordOf(code) : reason })
  })
  // What went wrong the browser does not tell; the event `close` follows.
  socket.addEventListener('error', () => life.finish({ code: 1006, reason: 'broken' }))
  for (;;) {
    const { done, value } = await queue.next()
    if (done === true) break
    // What comes before the welcome tells why there will be none.
    if (value.type === 'welcome') return new StreamSocket(socket, queue, life, value)
  }
  signal?.throwIfAborted()
  throw refusalOf(life.end!) ?? unreachable(url, life.end!)
}

/** The error of a socket that would be closed again, undefined where another try may help. */
export function refusalOf({ code, error }: SocketEnd): PriorbookStreamError | undefined {
  const advice = REFUSALS[code]
  if (advice === undefined || (error !== undefined && PASSING_ERRORS.has(error.code))) {
    return undefined
  }
  const { message = advice, hint } = error ?? {}
  return new PriorbookStreamError(wordOf(code), message, { closeCode: code, hint, error })
}

/** Errors that may be gone in a moment. */
export const PASSING_ERRORS: ReadonlySet<string> = new Set([
  'internal_error',
  'store_unavailable',
  'rate_limited',
  'request_timeout',
])

const { unauthenticated, plan_required, revoked, message_too_large } = STREAM_CLOSE_CODES

const REFUSALS: Readonly<Record<number, string>> = {
  [unauthenticated]: 'the stream takes no connection without a valid key',
  [plan_required]: 'the plan of the key does not include the stream or the subscription',
  [revoked]: 'the key was revoked or has expired',
  [message_too_large]: 'a request was larger than the stream takes',
}

const WORDS = new Map<number, string>(
  Object.entries(STREAM_CLOSE_CODES).map(([word, code]) => [code, word]),
)

function wordOf(code: number): string {
  return WORDS.get(code) ?? (code === 1000 ? 'closed' : 'broken')
}

/** Closes a socket once, with the first reason found, and watches for silence. */
class SocketLife {
  end: SocketEnd | undefined
  /** The last error of the whole connection. */
  fault: StreamFault | undefined
  private readonly socket: WebSocket
  private readonly queue: AsyncQueue<StreamMessage>
  private readonly signal: AbortSignal | undefined
  private limitMs = 0
  private heard = 0
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly abort = (): void => {
    this.queue.clear()
    this.finish({ code: 1000, reason: 'closed' })
  }

  constructor(
    socket: WebSocket,
    queue: AsyncQueue<StreamMessage>,
    signal: AbortSignal | undefined,
  ) {
    this.socket = socket
    this.queue = queue
    this.signal = signal
    signal?.addEventListener('abort', this.abort, { once: true })
  }

  /** From now on a message must arrive within this many milliseconds of the last. */
  expect(limitMs: number): void {
    this.limitMs = limitMs
    this.stir()
    clearTimeout(this.timer)
    this.watch(limitMs)
  }

  /** Something arrived. */
  stir(): void {
    this.heard = performance.now()
  }

  finish(end: SocketEnd): void {
    if (this.end !== undefined) return
    const { fault: error } = this
    this.end = error === undefined ? end : { ...end, error: { ...error } }
    clearTimeout(this.timer)
    this.signal?.removeEventListener('abort', this.abort)
    this.queue.end()
    // The closing handshake is not awaited: the other side may be gone.
    if (this.socket.readyState <= OPEN) this.socket.close(1000)
  }

  // One timer that polls is cheaper than one timer per message.
  private watch(ms: number): void {
    this.timer = setTimeout(() => {
      const left = this.heard + this.limitMs - performance.now()
      if (left > 0) this.watch(left)
      else this.finish({ code: 1006, reason: 'silent' })
    }, ms)
  }
}

const OPEN = 1

function parseMessage(data: unknown): StreamMessage | undefined {
  if (typeof data !== 'string') return undefined
  try {
    const value = JSON.parse(data) as { readonly type?: unknown } | null
    return typeof value?.type === 'string' ? (value as StreamMessage) : undefined
  } catch {
    return undefined
  }
}

function unreachable(url: string, { reason, error }: SocketEnd): PriorbookClientError {
  const word = reason === 'silent' ? 'no welcome came' : `the connection is ${reason}`
  const why = error?.message ?? word
  return new PriorbookClientError('network_failed', `${url} failed: ${why}`)
}

/** An async queue: values are pushed in and read one by one in a loop. The producer bounds it. */
export class AsyncQueue<Value> implements AsyncIterator<Value, void, undefined> {
  private readonly values: Value[] = []
  private head = 0
  private isOver = false
  private waiting: ((result: IteratorResult<Value, void>) => void) | undefined

  get length(): number {
    return this.values.length - this.head
  }

  push(value: Value): void {
    if (this.isOver) return
    const { waiting } = this
    if (waiting === undefined) {
      this.values.push(value)
      return
    }
    this.waiting = undefined
    waiting({ done: false, value })
  }

  /** Ends the queue; queued values can still be read. */
  end(): void {
    this.isOver = true
    this.waiting?.({ done: true, value: undefined })
    this.waiting = undefined
  }

  /** Drops all queued values. */
  clear(): void {
    this.values.length = 0
    this.head = 0
  }

  next(): Promise<IteratorResult<Value, void>> {
    if (this.head < this.values.length) {
      const value = this.values[this.head++]!
      // Read values are cut off in batches: shifting one by one would copy the rest each time.
      if (this.head > 1024 && this.head * 2 > this.values.length) {
        this.values.splice(0, this.head)
        this.head = 0
      }
      return Promise.resolve({ done: false, value })
    }
    if (this.isOver) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => {
      this.waiting = resolve
    })
  }
}
