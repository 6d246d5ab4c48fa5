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

/** What to follow and how its rows are written. */
export type LiveSubscription = MarketSelector &
  StreamStyle & {
    /** At most one row of an instrument in so many milliseconds; every row without. */
    readonly conflate_ms?: number
  }

/** How a live stream behaves. */
export type LiveOptions = SocketOptions & {
  /** How many times in a row a connection may fail before the stream gives up; without end by default. */
  readonly reconnects?: number
  /** How long the waits between them are. */
  readonly retry?: Partial<RetryPolicy>
}

/** The connection is gone; the stream will go on by itself from the last rows. */
export type DisconnectedMessage = {
  readonly type: 'disconnected'
  readonly code: number
  /** Such as `shutting_down`, `slow_reader`, `silent`, `reader_behind`, `broken`, `unreachable`. */
  readonly reason: string
  readonly retry_ms: number
}

/** What a live stream tells: the server's messages, and what happened on the way. */
export type LiveMessage = StreamMessage | DisconnectedMessage | HoleMessage

/** What a live stream needs of its client. */
export interface LiveConnector {
  open(options: SocketOptions): Promise<StreamSocket>
  /** Asks by REST why a connection is refused: WebSockets do not say. Throws where it is known. */
  explain(signal: AbortSignal | undefined): Promise<void>
  readonly firstRetries: number
}

const DONE_REASONS = new Set(['market_closed', 'retention'])

/**
 * Follows markets. Reconnects and resumes from the last rows by itself; what could not be resumed is
 * told by `resync` (the server knows) or `hole` (found by the numbers). Ends with the signal, or when
 * the loop is left; throws where the server refuses for good.
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
      // A connection that is closed at once again and again is waited for longer and longer.
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

/** Opens a socket; undefined where it failed and another try may help. */
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
    // The server may not know yet that the connection before is gone.
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

/** Hands on what comes over one connection; gives a reason of its own to end it. */
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
        // A change of a book that nobody has: only a new snapshot helps.
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
