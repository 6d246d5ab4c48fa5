import type { Micros } from '@priorbook/sdk/domain'
import {
  MAX_SLOT,
  type CaptureLog,
  type CaptureSink,
  type ConnectorStatus,
  type Reading,
} from '../capture/contract.ts'
import { createLink, type Link } from '../capture/link.ts'

/** What the sockets of venue C need. */
export type SocketsOptions = {
  readonly url: string
  readonly assetsPerSocket: number
  readonly pingMs: number
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** These tokens were subscribed just now; their full books are on the way. */
  onSubscribed(tokens: Iterable<string>): void
  /** A frame was read; true when it is about a subscribed token. */
  onFrame(reading: Reading): boolean
  /** True while frames about one of these tokens are expected. */
  expectsData(tokens: ReadonlySet<string>): boolean
}

/** Spreads tokens over sockets of the market channel, at most so many on each. */
export interface Sockets {
  /** Runs until the signal aborts; sockets are made as tokens need them. */
  run(signal: AbortSignal): Promise<void>
  add(tokens: readonly string[]): void
  remove(tokens: readonly string[]): void
  /** Subscribes a token anew, on another socket if told so; false where there is no connection. */
  resubscribe(token: string, elsewhere: boolean): boolean
  isConnected(token: string): boolean
  /** True when the token's socket brought something lately, be it of other tokens. */
  isAlive(token: string): boolean
  /** Tokens that no socket had room for. */
  readonly homeless: number
  readonly status: ConnectorStatus['sockets']
}

type Socket = {
  readonly slot: number
  readonly link: Link
  readonly tokens: Set<string>
  /** True once this connection got its first message, which has another form than the later ones. */
  isGreeted: boolean
  /** When it last brought something of a subscribed token; monotonic. */
  heardMs: number
}

/** A socket that brought nothing for this long is not known to live; its watchdog judges it later. */
const ALIVE_MS = 2_000

/** Creates the sockets; none connects before `run` and before there are tokens. */
export function createSockets(options: SocketsOptions): Sockets {
  const { assetsPerSocket, sink, log } = options
  const sockets: Socket[] = []
  const homes = new Map<string, Socket>()
  const homeless = new Set<string>()
  const running: Promise<void>[] = []
  let signal: AbortSignal | undefined

  function create(slot: number): Socket {
    const tokens = new Set<string>()
    const link = createLink({
      slot,
      target: () => ({ url: options.url }),
      name: options.url,
      onOpen() {
        socket.isGreeted = false
        subscribe(socket, [...tokens])
      },
      onText: (received, bytes) => onText(socket, received, bytes),
      expectsData: () => options.expectsData(tokens),
      keepAlive: { text: 'PING', everyMs: options.pingMs },
      sink,
      log,
    })
    const socket: Socket = { slot, link, tokens, isGreeted: false, heardMs: -Infinity }
    sockets.push(socket)
    if (signal !== undefined) running.push(link.run(signal))
    return socket
  }

  function onText(socket: Socket, received: Micros, bytes: Uint8Array): boolean {
    const { slot } = socket
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
    if (CONTROL.test(text)) {
      if (!KNOWN_WORDS.has(text)) log.warn({ slot, text }, 'venue C sent a word of its own')
      return false
    }
    if (!options.onFrame(sink.frame(slot, received, bytes, parse(text)))) return false
    socket.heardMs = performance.now()
    return true
  }

  function subscribe(socket: Socket, tokens: readonly string[]): void {
    if (tokens.length === 0 || !socket.link.connected) return
    const words = socket.isGreeted
      ? { assets_ids: tokens, operation: 'subscribe' }
      : { assets_ids: tokens, type: 'market', custom_feature_enabled: true }
    socket.isGreeted = true
    socket.link.send(JSON.stringify(words))
    options.onSubscribed(tokens)
  }

  function unsubscribe(socket: Socket, tokens: readonly string[]): void {
    if (!socket.isGreeted || !socket.link.connected) return
    socket.link.send(JSON.stringify({ assets_ids: tokens, operation: 'unsubscribe' }))
  }

  /** A socket with room for so many, other than one that did not work. */
  function homeFor(count: number, except?: Socket): Socket | undefined {
    const found = sockets.find(
      (socket) => socket !== except && socket.tokens.size + count <= assetsPerSocket,
    )
    if (found !== undefined) return found
    return sockets.length < MAX_SLOT ? create(sockets.length + 1) : undefined
  }

  function take(tokens: readonly string[], except?: Socket): boolean {
    const home = homeFor(tokens.length, except)
    if (home === undefined) return false
    for (const token of tokens) {
      homes.set(token, home)
      homeless.delete(token)
      home.tokens.add(token)
    }
    subscribe(home, tokens)
    return true
  }

  function leave(socket: Socket, tokens: readonly string[]): void {
    for (const token of tokens) {
      socket.tokens.delete(token)
      homes.delete(token)
    }
    unsubscribe(socket, tokens)
  }

  return {
    async run(until) {
      signal = until
      for (const { link } of sockets) running.push(link.run(until))
      await new Promise<void>((resolve) => {
        if (until.aborted) resolve()
        else until.addEventListener('abort', () => resolve(), { once: true })
      })
      await Promise.all(running)
    },
    add(tokens) {
      const fresh = tokens.filter((token) => !homes.has(token))
      // Tokens of one market stay together where they can; a list may need several sockets.
      for (let from = 0; from < fresh.length; from += assetsPerSocket) {
        const part = fresh.slice(from, from + assetsPerSocket)
        if (take(part)) continue
        for (const token of part) homeless.add(token)
        log.error({ tokens: part.length }, 'venue C: no socket is left for more tokens')
      }
    },
    remove(tokens) {
      const bySocket = Map.groupBy(tokens, (token) => homes.get(token))
      for (const [socket, part] of bySocket) if (socket !== undefined) leave(socket, part)
      for (const token of tokens) homeless.delete(token)
    },
    resubscribe(token, elsewhere) {
      const socket = homes.get(token)
      if (socket === undefined || !socket.link.connected) return false
      if (elsewhere && homeFor(1, socket) !== undefined) {
        leave(socket, [token])
        return take([token], socket)
      }
      unsubscribe(socket, [token])
      subscribe(socket, [token])
      return true
    },
    isAlive(token) {
      const socket = homes.get(token)
      return socket !== undefined && performance.now() - socket.heardMs < ALIVE_MS
    },
    isConnected: (token) => homes.get(token)?.link.connected ?? false,
    get homeless() {
      return homeless.size
    },
    get status() {
      return sockets.map(({ slot, link, tokens }) => ({
        slot,
        connected: link.connected,
        subscriptions: tokens.size,
        ...(link.lastFrame === undefined ? {} : { lastFrame: link.lastFrame }),
      }))
    },
  }
}

// Plain words are no data: PONG answers our PING, NO NEW ASSETS a subscription that was there before.
const CONTROL = /^[A-Z][A-Z ]{0,63}$/
const KNOWN_WORDS: ReadonlySet<string> = new Set(['PONG', 'PING', 'NO NEW ASSETS'])

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
