import type { MarketRecord, Micros } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { CaptureLog, CaptureSink } from '../capture/contract.ts'
import { isObject, type NativeObject } from '../capture/fields.ts'
import { createLink, type Link } from '../capture/link.ts'
import { tryParseMessageJson } from '../../lib/message-json.ts'
import { AwaitedBooks, LATE_BOOK_MS, Sequences, SubscriptionProbe, type SeqStep } from './books.ts'
import { isCounter, textsOf } from './fields.ts'
import type { Signer } from './signing.ts'
import {
  Subscriptions,
  type Channel,
  type Command,
  type SubscriptionState,
} from './subscriptions.ts'

/** What the socket of venue B needs, and whom it notifies. */
export type VenueBSocketOptions = {
  readonly url: string
  readonly slot: number
  /** True for the socket that brings the lifecycles of all markets. */
  readonly hasLifecycles: boolean
  readonly signer: Signer
  readonly sink: CaptureSink
  readonly log: CaptureLog
  readonly clock: Clock
  /** Max wait before refused credentials are tried again. */
  readonly refusedMs: number
  /** The lifecycle channel carries all markets of the venue: returns true for the recorded ones. */
  isRecorded(msg: NativeObject): boolean
  /** The socket is open and needs `want`. */
  onOpen(): void
  /** A status change of a recorded market; undefined where the catalogue has to be asked. */
  onLifecycle(record: MarketRecord | undefined): void
  /** Trades of these markets may be missing since this wall time. */
  onTradesMissed(tickers: readonly string[], sinceMs: number): void
  /** The venue refused the credentials. */
  onRefused(status: number): void
}

/** States of a market's book on the socket; `lost` lasts from a loss until the next full book. */
export type MarketFeedState = SubscriptionState | 'lost'

/** Error codes of the socket that the connector acts on (AsyncAPI document, autumn 2026). */
const CODES = {
  unknownChannel: 8,
  noAuthentication: 9,
  unsupportedAction: 13,
  commandTimeout: 18,
  marketLimit: 26,
  tooManyCommands: 27,
} as const

// Unknown to the venue, channel error, buffer overflow: the subscription has ended.
const ENDING_CODES: ReadonlySet<unknown> = new Set([7, 10, 25])

const LIFECYCLE_TYPES: ReadonlySet<unknown> = new Set([
  'market_lifecycle_v2',
  'event_lifecycle',
  'event_fee_update',
])

const TICK_MS = 50
const COMMAND_TIMEOUT_MS = 5_000
/** How long a market that the socket does not serve is polled before the socket is tried again. */
const MUTE_MS = 60_000

/** A parsed message with what its number and its subscription say about it. */
type SocketMessage = {
  readonly value: NativeObject
  readonly msg: NativeObject
  readonly type: unknown
  readonly sid: number | undefined
  readonly step: SeqStep
  /** The `seq` of the message before it. */
  readonly lastSeq: number | undefined
  /** Messages of its subscription before it were lost. */
  readonly isAfterLoss: boolean
  readonly isLifecycle: boolean
  readonly isBook: boolean
}

/** The socket of venue B: subscriptions, loss detection by `seq`, and recovery by full books. */
export class VenueBSocket {
  readonly #options: VenueBSocketOptions
  readonly #link: Link
  readonly #subscriptions: Subscriptions
  readonly #sequences = new Sequences()
  readonly #books = new AwaitedBooks()
  readonly #probe = new SubscriptionProbe()
  readonly #pace = new CommandPace()
  readonly #missedTrades = new MissedTrades()
  /** Markets that the socket does not serve, and until when they are left to polling. */
  readonly #mutedUntil = new Map<string, number>()
  #canSnapshot = true
  #refusals = 0
  /** When the last frame came. */
  #heardMs: number | undefined

  constructor(options: VenueBSocketOptions) {
    this.#options = options
    this.#subscriptions = new Subscriptions(options.hasLifecycles)
    this.#link = this.#createLink()
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, refusedMs } = this.#options
    const timer = clock.setInterval(() => this.#tick(), TICK_MS)
    try {
      while (!signal.aborted) {
        await this.#link.run(signal)
        // A clock that is wrong for a moment is refused like a wrong key, so try again soon at first.
        const waitMs = Math.min(refusedMs, (refusedMs / 64) * 2 ** this.#refusals++)
        await sleep(waitMs, signal, clock)
      }
    } finally {
      timer.cancel()
    }
  }

  /** Sets the markets to subscribe to; forgotten when the connection ends. */
  want(tickers: ReadonlySet<string>): void {
    this.#subscriptions.want(tickers)
    this.#tick()
  }

  /** Requests full books of these markets soon. */
  recover(tickers: readonly string[]): void {
    for (const ticker of tickers) {
      const sid = this.connected ? this.#subscriptions.bookOf(ticker)?.sid : undefined
      if (sid !== undefined) this.#books.recover(sid, ticker, this.#nowMs())
    }
  }

  /** How far the book of a market has come on this connection. */
  stateOf(ticker: string): MarketFeedState | undefined {
    if (!this.connected) return undefined
    const state = this.#subscriptions.stateOf(ticker)
    return state === 'active' && this.#books.isLost(ticker) ? 'lost' : state
  }

  /** Returns true while the socket brings this market's book or is about to. */
  holds(ticker: string): boolean {
    const state = this.stateOf(ticker)
    return state !== undefined && state !== 'wanted'
  }

  /** Returns true once this connection has brought a book of the market. */
  hasBook(ticker: string): boolean {
    return this.holds(ticker) && this.#probe.knows(ticker)
  }

  /** Returns true for a market that the socket does not serve. */
  isMuted(ticker: string): boolean {
    if (this.#subscriptions.isUnavailable('orderbook_delta')) return true
    const untilMs = this.#mutedUntil.get(ticker)
    if (untilMs === undefined) return false
    if (untilMs > this.#nowMs()) return true
    this.#mutedUntil.delete(ticker)
    return false
  }

  get connected(): boolean {
    return this.#link.connected
  }

  get lastFrame(): Micros | undefined {
    return this.#link.lastFrame
  }

  /** How many subscriptions the venue has confirmed. */
  get subscriptions(): number {
    if (!this.connected) return 0
    return this.#subscriptions.all.filter(({ sid }) => sid !== undefined).length
  }

  #createLink(): Link {
    const { url, slot, signer, sink, log, clock } = this.#options
    const path = new URL(url).pathname
    return createLink({
      slot,
      name: url,
      log,
      clock,
      sink: {
        now: () => sink.now(),
        note: (note) =>
          sink.note(note.note === 'loss' ? { ...note, ...this.#unheardKeys() } : note),
      },
      target: () => ({ url, headers: { ...signer.headers('GET', path, sink.steadyNow() / 1000) } }),
      expectsData: () => this.#probe.size > 0,
      onOpen: () => this.#onOpen(),
      onText: (received, bytes) => this.#onText(received, bytes),
      onRefused: (status) => {
        if (status !== 401 && status !== 403) return true
        this.#options.onRefused(status)
        return false
      },
    })
  }

  #onOpen(): void {
    this.#refusals = 0
    const sinceMs = this.#heardMs ?? this.#venueMs()
    for (const { channel, tickers } of this.#subscriptions.all) {
      if (channel === 'trade') this.#missedTrades.add(tickers, sinceMs)
    }
    this.#subscriptions.clear()
    this.#sequences.clear()
    this.#books.clear()
    this.#probe.clear()
    this.#options.onOpen()
    this.#tick()
  }

  #onText(received: Micros, bytes: Uint8Array): boolean {
    const { sink, slot } = this.#options
    this.#heardMs = this.#venueMs()
    const value = tryParseMessageJson(bytes)
    if (!isObject(value)) {
      sink.frame(slot, received, bytes, value)
      return false
    }
    const message = this.#inspect(value)
    this.#noteLosses(message)
    // Settled before the recorder sees the frame: if it refuses this book, it requests another one.
    if (message.type === 'orderbook_snapshot' && message.step !== 'old') {
      this.#books.settle(String(message.msg['market_ticker']))
    }
    const isForeign = LIFECYCLE_TYPES.has(message.type) && !this.#options.isRecorded(message.msg)
    const reading = isForeign ? undefined : sink.frame(slot, received, bytes, value)
    if (message.step !== 'old') this.#apply(message)
    if (message.isAfterLoss) this.#recoverLoss(message)
    if (LIFECYCLE_TYPES.has(message.type) && reading !== undefined && reading.error === undefined) {
      const revision = reading.events.find(({ kind }) => kind === 'market')
      this.#options.onLifecycle(revision?.kind === 'market' ? revision.record : undefined)
    }
    // Data frames are too frequent to check all subscriptions at each; the timer does that.
    if (message.isAfterLoss || !(message.isBook || message.type === 'trade')) this.#tick()
    return message.isBook
  }

  #inspect(value: NativeObject): SocketMessage {
    const { type, seq } = value
    const msg = isObject(value['msg']) ? value['msg'] : {}
    const sid = isCounter(value['sid']) ? value['sid'] : undefined
    const lastSeq = sid === undefined ? undefined : this.#sequences.last(sid)
    const step = sid !== undefined && isCounter(seq) ? this.#sequences.check(sid, seq) : 'next'
    const channel = sid === undefined ? undefined : this.#subscriptions.bySid(sid)?.channel
    // A subscription starts with full books that no command requested. If the first message is
    // another one, those books were sent before it and are lost.
    const isInitialBook = type === 'orderbook_snapshot' && value['id'] === undefined
    const missesStart =
      step === 'first' && seq !== 1 && channel === 'orderbook_delta' && !isInitialBook
    return {
      value,
      msg,
      type,
      sid,
      step,
      lastSeq,
      isAfterLoss: sid !== undefined && (step === 'jump' || missesStart),
      isLifecycle: channel === 'market_lifecycle_v2' || LIFECYCLE_TYPES.has(type),
      isBook: type === 'orderbook_delta' || type === 'orderbook_snapshot',
    }
  }

  /** Notes losses before the frame that shows them. Lost lifecycle messages close no book. */
  #noteLosses({ value, msg, type, sid, lastSeq, isAfterLoss, isLifecycle }: SocketMessage): void {
    if (isLifecycle) return
    if (isAfterLoss && sid !== undefined) {
      this.#noteLoss(sid, `seq ${String(value['seq'])} after ${lastSeq ?? 'none'}`)
    }
    if (type !== 'error' || !ENDING_CODES.has(msg['code'])) return
    const ended = this.#sidOf(value)
    if (ended !== undefined) this.#noteLoss(ended, `error ${String(msg['code'])}`)
  }

  #noteLoss(sid: number, why: string): void {
    const { sink, log, slot } = this.#options
    log.warn({ slot, sid, why }, 'messages of venue B were lost')
    const keys = this.#unheardKeys(sid)
    sink.note({ note: 'loss', reason: 'sequence_break', why, slot, sid, ...keys })
  }

  // Markets that were polled before the socket took them over: until its first book arrives, the
  // recorder knows no book of this socket that the loss would close, so they are named.
  #unheardKeys(sid?: number): { readonly keys?: readonly string[] } {
    const keys = this.#books.unheard(sid)
    return keys.length === 0 ? {} : { keys }
  }

  /** Updates subscriptions and awaited books from a message. */
  #apply(message: SocketMessage): void {
    if (message.isBook) {
      this.#applyBook(message)
      return
    }
    switch (message.type) {
      case 'subscribed':
        this.#applySubscribed(message)
        break
      case 'ok':
        this.#applyOk(message)
        break
      case 'unsubscribed':
        if (message.sid !== undefined) this.#endSubscription(message.sid, false)
        break
      case 'error':
        this.#applyError(message)
        break
      default:
    }
  }

  #applyBook({ value, msg, type, sid }: SocketMessage): void {
    const ticker = msg['market_ticker']
    if (sid === undefined || typeof ticker !== 'string') return
    const isFull = type === 'orderbook_snapshot'
    this.#probe.heard(sid, ticker, this.#nowMs(), isFull)
    const { id } = value
    if (!isFull || typeof id !== 'number') return
    const command = this.#subscriptions.commandOf(id, sid)
    if (command !== undefined) this.#subscriptions.applied(command, undefined)
  }

  #applySubscribed({ value, msg }: SocketMessage): void {
    const { sid } = msg
    if (typeof sid !== 'number') return
    const subscription = this.#subscriptions.confirm(value['id'], sid)
    if (subscription === undefined) {
      this.#link.restart('sequence_break', `no command requested subscription ${sid}`)
      return
    }
    this.#begin(sid, subscription.channel, [...subscription.tickers])
  }

  #applyOk({ value, msg }: SocketMessage): void {
    const command = this.#subscriptions.commandOf(value['id'], value['sid'])
    if (command === undefined) return
    const added = this.#subscriptions.applied(command, textsOf(msg['market_tickers']))
    const { channel, sid, tickers } = command.subscription
    if (channel === 'orderbook_delta') {
      for (const ticker of command.tickers) {
        if (command.action === 'delete_markets') this.#leave(ticker)
        // Accepted, but not in the venue's own list: the same command would end the same way.
        if (command.action === 'add_markets' && !tickers.has(ticker)) this.#mute(ticker)
      }
    }
    if (sid !== undefined) this.#begin(sid, channel, added)
  }

  #applyError({ value, msg }: SocketMessage): void {
    const { log, slot } = this.#options
    const { code } = msg
    const command = this.#subscriptions.commandOf(value['id'], value['sid'])
    const sid = this.#sidOf(value)
    const fields = { slot, sid, code, action: command?.action, why: msg['msg'] }
    log.warn(fields, 'venue B refused a command or ended a subscription')
    if (sid !== undefined) this.#probe.answered(sid)
    if (ENDING_CODES.has(code)) {
      this.#pace.slower(this.#nowMs())
      if (sid !== undefined) this.#endSubscription(sid, true)
      else if (command !== undefined) this.#subscriptions.failed(command)
      else this.#link.restart('sequence_break', `error ${String(code)} without a subscription`)
      return
    }
    const isBusy = code === CODES.tooManyCommands || code === CODES.commandTimeout
    if (isBusy) this.#pace.slower(this.#nowMs())
    if (command === undefined) return
    if (code === CODES.marketLimit) this.#subscriptions.tooMany(command)
    else this.#subscriptions.failed(command)
    if (!isBusy && code !== CODES.marketLimit) this.#applyRefusal(command, msg)
  }

  /** The venue refused a command for what it says, so the same command would be refused again. */
  #applyRefusal({ action, subscription, tickers }: Command, msg: NativeObject): void {
    const { code } = msg
    const { channel } = subscription
    if (code === CODES.unsupportedAction) {
      if (action === 'get_snapshot') this.#canSnapshot = false
      else this.#subscriptions.setFixed(channel)
      return
    }
    this.#pace.slower(this.#nowMs())
    if (code === CODES.unknownChannel || code === CODES.noAuthentication) {
      this.#subscriptions.setUnavailable(channel)
    }
    if (channel !== 'orderbook_delta' || action === 'get_snapshot') return
    // Unless the venue names the offending markets, all markets of the command are polled for a while.
    const named = textsOf(msg['market_tickers']) ?? textsOf([msg['market_ticker']]) ?? tickers
    for (const ticker of named) this.#mute(ticker)
  }

  /** Markets became active on a subscription. */
  #begin(sid: number, channel: Channel, tickers: readonly string[]): void {
    if (channel === 'orderbook_delta') this.#books.expect(sid, tickers, this.#nowMs())
    if (channel !== 'trade') return
    for (const [sinceMs, group] of this.#missedTrades.drain(tickers)) {
      this.#options.onTradesMissed(group, sinceMs)
    }
  }

  #endSubscription(sid: number, isLoss: boolean): void {
    const subscription = this.#subscriptions.ended(sid)
    this.#probe.end(sid)
    if (subscription === undefined) return
    const { channel, tickers } = subscription
    if (channel === 'orderbook_delta') for (const ticker of tickers) this.#leave(ticker)
    if (channel === 'trade' && isLoss) {
      this.#missedTrades.add(tickers, this.#venueMs())
    }
  }

  #leave(ticker: string): void {
    this.#books.settle(ticker)
    this.#probe.forget(ticker)
  }

  /** Requests lost books by snapshots, and lost trades by REST, because no snapshot contains them. */
  #recoverLoss({ sid, isLifecycle }: SocketMessage): void {
    if (isLifecycle) {
      this.#options.onLifecycle(undefined)
      return
    }
    const subscription = sid === undefined ? undefined : this.#subscriptions.bySid(sid)
    if (sid === undefined || subscription === undefined) return
    const tickers = [...subscription.tickers]
    if (subscription.channel === 'trade') {
      this.#options.onTradesMissed(tickers, this.#venueMs() - TRADE_MARGIN_MS)
    } else if (this.#canSnapshot) {
      this.#books.lose(sid, tickers, this.#nowMs())
    } else {
      this.#link.restart('sequence_break', 'the venue gives no snapshots')
    }
  }

  #sidOf(value: NativeObject): number | undefined {
    const { id, sid } = value
    if (typeof sid === 'number') return sid
    return this.#subscriptions.commandOf(id, sid)?.subscription.sid
  }

  /** Leaves a market to polling for a while. */
  #mute(ticker: string): void {
    this.#mutedUntil.set(ticker, this.#nowMs() + MUTE_MS)
    this.#books.settle(ticker)
  }

  #tick(): void {
    if (!this.connected) return
    this.#checkTimeouts()
    if (this.connected) this.#sendDue()
  }

  #checkTimeouts(): void {
    const { sink, log, slot } = this.#options
    const nowMs = this.#nowMs()
    for (const command of this.#subscriptions.unanswered(nowMs, COMMAND_TIMEOUT_MS)) {
      this.#subscriptions.failed(command)
      // The venue may have subscribed all the same; a second subscription would duplicate the book.
      if (command.action === 'subscribe') {
        this.#link.restart('venue_silent', 'no answer to subscribe')
      }
    }
    const keys = this.#books.late(nowMs)
    if (keys.length > 0) {
      const why = `no book for ${LATE_BOOK_MS} ms after the subscription`
      sink.note({ note: 'loss', reason: 'venue_silent', why, keys })
    }
    const { lost, silent } = this.#books.overdue(nowMs)
    if (lost.length > 0) {
      this.#link.restart('sequence_break', `no full book of ${lost.length} markets`)
    }
    for (const ticker of silent) {
      log.warn({ slot, ticker }, 'the socket brings no book of this market: it is polled')
      this.#mute(ticker)
    }
    const dead = this.#canSnapshot ? this.#probe.dead(nowMs) : []
    if (dead.length > 0) {
      this.#link.restart('venue_silent', `subscription ${dead[0]} does not answer`)
    }
  }

  #sendDue(): void {
    const nowMs = this.#nowMs()
    if (!this.#pace.isFree(nowMs)) return
    if (this.#canSnapshot) {
      for (const { sid, tickers } of this.#books.due(nowMs)) {
        this.#send(this.#subscriptions.snapshot(sid, tickers, nowMs))
      }
      for (const { sid, ticker } of this.#probe.due(nowMs)) {
        this.#send(this.#subscriptions.snapshot(sid, [ticker], nowMs))
      }
    }
    if (this.#pace.isFree(nowMs)) this.#send(this.#subscriptions.next(nowMs))
  }

  #send(command: Command | undefined): void {
    if (command === undefined) return
    this.#link.send(command.text)
    this.#pace.sent(command.sentMs)
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }

  /** For times that the venue names. */
  #venueMs(): number {
    return this.#options.sink.steadyNow() / 1000
  }
}

const MIN_GAP_MS = 20
const SLOW_GAP_MS = 100
const MAX_GAP_MS = 5_000
const CALM_MS = 10_000

/** Spaces commands: the venue limits their rate but does not publish the limit. */
class CommandPace {
  #gapMs = MIN_GAP_MS
  #freeMs = -Infinity
  #slowedMs = -Infinity

  isFree(nowMs: number): boolean {
    return nowMs >= this.#freeMs
  }

  sent(nowMs: number): void {
    if (nowMs - this.#slowedMs > Math.max(CALM_MS, 2 * this.#gapMs)) this.#gapMs = MIN_GAP_MS
    this.#freeMs = nowMs + this.#gapMs
  }

  /** The venue complained: doubles the gap, until it has been content for a while. */
  slower(nowMs: number): void {
    this.#gapMs = Math.min(MAX_GAP_MS, Math.max(SLOW_GAP_MS, this.#gapMs * 2))
    this.#slowedMs = nowMs
    this.#freeMs = nowMs + this.#gapMs
  }
}

/** Max age of a trade when the venue sends it; trades requested twice are deduplicated by their id. */
const TRADE_MARGIN_MS = 5_000
/** A market that is not subscribed again after this long has ended, and its trades were requested then. */
const MISSED_KEPT_MS = 3_600_000

/** Since when trades of a market may be missing, kept until it is subscribed again. */
export class MissedTrades {
  readonly #sinceMs = new Map<string, number>()

  /** `sinceMs` is the wall time of the last message; the first loss counts. */
  add(tickers: Iterable<string>, sinceMs: number): void {
    for (const [ticker, since] of this.#sinceMs) {
      if (sinceMs - since > MISSED_KEPT_MS) this.#sinceMs.delete(ticker)
    }
    for (const ticker of tickers) {
      if (!this.#sinceMs.has(ticker)) this.#sinceMs.set(ticker, sinceMs - TRADE_MARGIN_MS)
    }
  }

  /** The markets are subscribed again: removes and returns what they missed, grouped by its start. */
  drain(
    tickers: Iterable<string>,
  ): Iterable<readonly [sinceMs: number, tickers: readonly string[]]> {
    const groups = new Map<number, string[]>()
    for (const ticker of tickers) {
      const sinceMs = this.#sinceMs.get(ticker)
      if (sinceMs === undefined) continue
      this.#sinceMs.delete(ticker)
      const group = groups.get(sinceMs)
      if (group === undefined) groups.set(sinceMs, [ticker])
      else group.push(ticker)
    }
    return groups
  }
}
