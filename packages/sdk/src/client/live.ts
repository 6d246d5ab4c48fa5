import type { MarketSelector, StreamMessage, StreamStyle } from '../wire/index.ts'
import { DEFAULT_RETRY, delayOf, sleep, type RetryPolicy } from './backoff.ts'
import { PriorbookClientError } from './errors.ts'
import { Sequences, type HoleMessage } from './sequences.ts'
import {
  PASSING_ERRORS,
  PriorbookStreamError,
  refusalOf,
  type SocketEnd,
  type SocketOptions,
  type StreamSocket,
} from './socket.ts'

/** Which markets to follow and how their rows are written. */
export type LiveSubscription = MarketSelector &
  StreamStyle & {
    /** Max one row per instrument in this many milliseconds; every row without. */
    readonly conflate_ms?: number
  }

/** Options of a live stream. */
export type LiveOptions = SocketOptions & {
  /** Max consecutive failures before the stream gives up; no limit by default. */
  readonly reconnects?: number
  /** The delays between attempts. */
  readonly retry?: Partial<RetryPolicy>
}

/** The connection was lost; the stream reconnects by itself and resumes after the last rows. */
export type DisconnectedMessage = {
  readonly type: 'disconnected'
  readonly code: number
  /** Such as `shutting_down`, `slow_reader`, `silent`, `reader_behind`, `broken`, `unreachable`. */
  readonly reason: string
  readonly retry_ms: number
}

/** What a live stream yields: the server's messages, and lost connections and rows. */
export type LiveMessage = StreamMessage | DisconnectedMessage | HoleMessage

/** What a live stream needs from its client. */
export interface LiveConnector {
  open(options: SocketOptions): Promise<StreamSocket>
  /** Finds by REST why a connection is refused, which a WebSocket does not say; throws the reason. */
  explain(signal: AbortSignal | undefined): Promise<void>
  readonly firstRetries: number
}

const DONE_REASONS = new Set(['market_closed', 'retention'])

/**
 * Follows markets. Reconnects and resumes after the last rows by itself; rows that were lost are
 * announced by `resync` (the server knows) or `hole` (found by the sequence). Ends with the signal, or when
 * the loop is left; throws where the server refuses permanently.
 */
export async function* followLive(
  connector: LiveConnector,
  subscriptions: readonly LiveSubscription[],
  options: LiveOptions,
): AsyncGenerator<LiveMessage, void, undefined> {
  const { signal, reconnects = Infinity } = options
  const retry: RetryPolicy = { ...DEFAULT_RETRY, ...options.retry }
  const sequences = new Sequences()
  let failures = 0
  let hasConnected = false
  while (!isAborted(signal)) {
    let end: SocketEnd = { code: 1006, reason: 'unreachable' }
    const socket = await connect(connector, options, hasConnected)
    if (socket !== undefined) {
      hasConnected = true
      const opened = performance.now()
      try {
        end = (yield* follow(socket, subscriptions, sequences)) ?? socket.end!
      } finally {
        socket.close()
      }
      // Connections that close at once count as failures, so the delay keeps growing.
      if (performance.now() - opened > retry.maxDelayMs) failures = 0
    }
    if (isAborted(signal)) return
    const refusal = refusalOf(end)
    if (refusal !== undefined) throw refusal
    failures++
    if (failures > (hasConnected ? reconnects : Math.min(reconnects, connector.firstRetries))) {
      const detail = `the stream could not be taken up again: ${end.reason}`
      throw new PriorbookClientError('network_failed', detail)
    }
    const retryMs = Math.round(delayOf(retry, failures))
    const { code, reason } = end
    yield { type: 'disconnected', code, reason, retry_ms: retryMs }
    await sleep(retryMs, signal).catch(() => {})
  }
}

/** Opens a socket; undefined where it failed and a retry may help. */
async function connect(
  connector: LiveConnector,
  options: LiveOptions,
  hasConnected: boolean,
): Promise<StreamSocket | undefined> {
  const { signal } = options
  try {
    return await connector.open(options)
  } catch (error) {
    if (isAborted(signal)) return undefined
    // The server may not have noticed yet that the previous connection is gone.
    if (hasConnected && isCrowded(error)) return undefined
    const isNetwork = error instanceof PriorbookClientError && error.code === 'network_failed'
    if (!isNetwork) throw error
  }
  try {
    if (!hasConnected) await connector.explain(signal)
  } catch (error) {
    if (!isAborted(signal)) throw error
  }
  return undefined
}

/** Yields the messages of one connection; returns a reason to close it. */
async function* follow(
  socket: StreamSocket,
  subscriptions: readonly LiveSubscription[],
  sequences: Sequences,
): AsyncGenerator<LiveMessage, SocketEnd | undefined, undefined> {
  yield socket.welcome
  const ids = new Set<string>()
  for (const [index, subscription] of subscriptions.entries()) {
    const id = `live-${index + 1}`
    const { venue, market_id: marketId } = subscription
    const resume = sequences.resumeOf(venue, marketId)
    ids.add(id)
    socket.send({
      op: 'subscribe',
      id,
      ...subscription,
      ...(resume === undefined ? {} : { resume }),
    })
  }
  for await (const message of socket) {
    switch (message.type) {
      case 'snapshot':
      case 'update':
      case 'trade': {
        const seen = sequences.see(message)
        if (seen === 'old') continue
        if (seen === 'next') break
        yield seen
        if (message.type !== 'update' || !('changes' in message.row)) break
        // A change to a book that the client does not have: only a new snapshot helps.
        yield message
        sequences.forget(seen.venue, seen.key)
        return { code: 1000, reason: 'hole' }
      }
      case 'resync':
        sequences.forget(message.venue, message.key)
        break
      case 'gap': {
        const { venue, key, reason } = message.gap
        if (key !== null && DONE_REASONS.has(reason)) sequences.endMarket(venue, key)
        break
      }
      case 'error': {
        const { id, code, message: detail, hint } = message
        if (id === undefined || !ids.has(id)) break
        if (!PASSING_ERRORS.has(code)) throw new PriorbookStreamError(code, detail, { hint })
        yield message
        return { code: 1000, reason: code }
      }
      default:
        break
    }
    yield message
  }
  return undefined
}

function isCrowded(error: unknown): boolean {
  return error instanceof PriorbookStreamError && error.errorCode === 'too_many_connections'
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}
