import type { VenueId } from '../domain/index.ts'
import type {
  ContractWithTermsJson,
  MarketSelector,
  StreamMessage,
  StreamStyle,
} from '../wire/index.ts'
import { DEFAULT_RETRY, delayOf, sleep, type RetryPolicy } from './backoff.ts'
import { PriorbookClientError } from './errors.ts'
import {
  PASSING_ERRORS,
  PriorbookStreamError,
  refusalOf,
  type SocketEnd,
  type SocketOptions,
  type StreamSocket,
} from './socket.ts'

/** Which markets or which contract to follow and how rows are written, or which reference prices. */
export type LiveSubscription = MarketSubscription | ContractSubscription | ReferenceSubscription

/** Which markets to follow and how their rows are written. */
export type MarketSubscription = MarketSelector &
  StreamStyle & {
    /** Max one row per instrument in this many milliseconds; every row without. */
    readonly conflate_ms?: number
  }

/** Which contract to follow, on all venues at once. */
export type ContractSubscription = Pick<MarketSubscription, keyof StreamStyle | 'conflate_ms'> & {
  /** Such as `btc-15m-up-down-20261117T174500Z`. */
  readonly contract_id: string
}

/** Which reference prices to follow: of an asset, of one feed or of all. */
export type ReferenceSubscription = Pick<StreamStyle, 'number_format' | 'time_format'> & {
  /** The asset, such as BTC. */
  readonly reference: string
  readonly feed?: string
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
    ids.add(id)
    socket.send({ id, ...toRequest(subscription, sequences) })
  }
  for await (const message of socket) {
    switch (message.type) {
      case 'snapshot':
      case 'update':
      case 'trade':
      case 'reference': {
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
      case 'subscribed':
        if (message.contract !== undefined) sequences.join(message.contract)
        break
      case 'contract':
        sequences.join(message.row)
        break
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

type Request = Parameters<StreamSocket['send']>[0]
type Unnamed<Of> = Of extends unknown ? Omit<Of, 'id'> : never

function toRequest(
  subscription: LiveSubscription,
  sequences: Sequences,
): Unnamed<Extract<Request, { readonly op: `subscribe${string}` }>> {
  if ('reference' in subscription) {
    const { reference: asset, ...style } = subscription
    const resume = sequences.referencesOf(asset)
    return { op: 'subscribe_reference', asset, ...style, ...(resume && { resume }) }
  }
  if ('contract_id' in subscription) {
    const resume = sequences.resumeOfContract(subscription.contract_id)
    return { op: 'subscribe_contract', ...subscription, ...(resume && { resume }) }
  }
  const { venue, market_id: marketId } = subscription
  const resume = sequences.resumeOf(
    (place) => place.venue === venue && (marketId ?? place.marketId) === place.marketId,
  )
  return { op: 'subscribe', ...subscription, ...(resume && { resume }) }
}

function isCrowded(error: unknown): boolean {
  return error instanceof PriorbookStreamError && error.errorCode === 'too_many_connections'
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}

/** Rows of an instrument did not arrive, and the server did not say so. */
export type HoleMessage = {
  readonly type: 'hole'
  readonly venue: VenueId
  readonly market_id: string
  readonly key: string
  readonly kind: RowKind
  /** The last row that arrived before; 0: none. */
  readonly after_sequence: number
  /** The row that revealed the hole. */
  readonly sequence: number
}

type RowMessage = Extract<
  StreamMessage,
  { readonly type: 'snapshot' | 'update' | 'trade' | 'reference' }
>

type RowKind = 'book' | 'trade' | 'reference'

type Place = {
  readonly venue: VenueId
  readonly marketId: string
  readonly key: string
  readonly kind: RowKind
  readonly sequence: number
  /** When its market closed, on the monotonic clock; undefined while it trades. */
  closedMs: number | undefined
}

// Max bytes of `resume` in a request, which may have 64 KiB in all.
const RESUME_CHARS = 56_000
// A closed market may still get rows, for example a last book after the recorder has started again.
const CLOSED_RESUME_MS = 600_000
// Max instruments to remember: short rounds come and go, so the most recently active are kept.
const MOST_PLACES = 20_000

/** Remembers the last row of every instrument: what to resume from, and what is missing. */
class Sequences {
  /** In the order of their last rows. */
  private readonly places = new Map<string, Place>()
  /** The members of contracts that are followed, by the id of the contract. */
  private readonly contracts = new Map<string, ContractWithTermsJson['members']>()

  /** Checks a row: `old` was received before; a row that is not consecutive has a hole before it. */
  see(message: RowMessage): 'next' | 'old' | HoleMessage {
    const kind = kindOf(message)
    const { venue } = message.row
    // Reference prices belong to an asset, not to a market.
    const marketId = 'market_id' in message.row ? message.row.market_id : message.row.asset
    const { key, sequence } = message
    const name = nameOf(venue, key, kind)
    const before = this.places.get(name)
    if (before !== undefined && sequence <= before.sequence) return 'old'
    this.places.delete(name)
    this.places.set(name, { venue, marketId, key, kind, sequence, closedMs: undefined })
    if (this.places.size > MOST_PLACES) this.places.delete(this.places.keys().next().value!)
    const last = before?.sequence ?? 0
    if (before?.closedMs !== undefined && message.type === 'snapshot') return 'next'
    if (follows(message, before?.sequence)) return 'next'
    return { type: 'hole', venue, market_id: marketId, key, kind, after_sequence: last, sequence }
  }

  /** The server announced missing rows: the next row may have any sequence. */
  forget(venue: VenueId, key: string): void {
    this.places.delete(nameOf(venue, key, 'book'))
  }

  /** A market has closed: its instruments are resumed for a while, after those that trade. */
  endMarket(venue: VenueId, marketOrKey: string): void {
    for (const place of this.places.values()) {
      if (place.venue === venue && (place.marketId === marketOrKey || place.key === marketOrKey)) {
        place.closedMs ??= performance.now()
      }
    }
  }

  /** Remembers the members of a contract. */
  join({ id, members }: ContractWithTermsJson): void {
    this.contracts.set(id, members)
  }

  /** The positions of all members of a contract. */
  resumeOfContract(id: string): Record<string, number> | undefined {
    const members = this.contracts.get(id) ?? []
    return this.resumeOf(({ venue, marketId }) =>
      members.some((one) => one.venue === venue && one.market_id === marketId),
    )
  }

  /** The last reference prices of an asset, by key. */
  referencesOf(asset: string): Record<string, number> | undefined {
    const own = [...this.places.values()].filter(
      ({ kind, marketId }) => kind === 'reference' && marketId === asset.toUpperCase(),
    )
    if (own.length === 0) return undefined
    return Object.fromEntries(own.map(({ key, sequence }) => [key, sequence]))
  }

  /** The positions to resume from, as many as a request holds: what trades first, and of it the newest. */
  resumeOf(isOwn: (place: Place) => boolean): Record<string, number> | undefined {
    const resume: Record<string, number> = {}
    let chars = 0
    const since = performance.now() - CLOSED_RESUME_MS
    const own = [...this.places.values()]
      .filter(({ kind }) => kind !== 'reference')
      .filter(isOwn)
      .reverse()
    const trading = own.filter(({ closedMs }) => closedMs === undefined)
    const closed = own.filter(({ closedMs }) => closedMs !== undefined && closedMs > since)
    for (const place of [...trading, ...closed]) {
      const name = place.kind === 'trade' ? `${place.key}/trade` : place.key
      chars += name.length + String(place.sequence).length + 4
      if (chars > RESUME_CHARS) break
      resume[name] = place.sequence
    }
    return chars === 0 ? undefined : resume
  }
}

function kindOf({ type }: RowMessage): RowKind {
  return type === 'trade' || type === 'reference' ? type : 'book'
}

/** True when a message follows the last row that arrived; `last` is absent where none did. */
function follows(message: RowMessage, last: number | undefined): boolean {
  const { previous_sequence: previous, sequence } = message
  switch (message.type) {
    case 'snapshot':
      return last === undefined || sequence === last + 1 || (previous ?? 0) === last
    case 'update':
      // A change needs the book that it changes; a whole book needs none, but may be the first of many.
      return last === undefined ? !('changes' in message.row) : (previous ?? Infinity) <= last
    case 'trade':
      return last === undefined || sequence === last + 1 || (previous !== null && previous <= last)
    case 'reference':
      // Prices are never conflated, and a server that leaves some out does not say so otherwise.
      return last === undefined || sequence === last + 1
  }
}

function nameOf(venue: VenueId, key: string, kind: RowKind): string {
  return `${venue} ${key} ${kind}`
}
