import type { Micros } from '@priorbook/sdk/domain'
import type { CaptureLog, CaptureSink } from '../capture/contract.ts'
import type { NativeObject } from '../capture/fields.ts'
import { sleep } from '../../lib/wait.ts'
import { createLink } from '../capture/link.ts'
import { isObject } from './market-fields.ts'
import { createMissedTrades, TRADE_MARGIN_MS } from './missed-trades.ts'
import { createPace } from './pace.ts'
import { createProbe } from './probe.ts'
import { createRecovery, LATE_BOOK_MS } from './recovery.ts'
import { createSequences } from './sequence.ts'
import type { Signer } from './signing.ts'
import { CODES, ENDING_CODES, isCounter, LIFE_TYPES, parseFrame, textsOf } from './socket-words.ts'
import { createSubscriptions, type Command } from './subscriptions.ts'

/** What the socket of venue B needs to know and whom it tells. */
export type StreamOptions = {
  readonly url: string
  readonly slot: number
  readonly signer: Signer
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** The lifecycle channel tells of all markets of the venue: true for those that are recorded. */
  isOurs(msg: NativeObject): boolean
  /** The socket is open and wants to know its markets. */
  onOpen(): void
  /** A lifecycle message of ours, or undefined where some were lost. */
  onLife(message: NativeObject | undefined): void
  /** Trades of these markets may have been missed since then (milliseconds of the wall clock). */
  onTradesMissed(tickers: readonly string[], sinceMs: number): void
  /** The credentials were refused. */
  onRefused(status: number): void
  /** How long to wait at most before refused credentials are tried again. */
  readonly refusedMs: number
}

/** The books and trades that the socket brings, its numbers checked before anybody sees a frame. */
export interface Stream {
  run(signal: AbortSignal): Promise<void>
  /** The markets to subscribe to; forgotten when the connection ends. */
  want(tickers: ReadonlySet<string>): void
  /** Get full books of these soon. */
  recover(tickers: readonly string[]): void
  /** True while the socket brings this market's book or is about to. */
  holds(ticker: string): boolean
  /** True for a market that the socket does not serve. */
  isMute(ticker: string): boolean
  readonly connected: boolean
  readonly lastFrame: Micros | undefined
  readonly subscriptions: number
}

const TICK_MS = 50
const COMMAND_TIMEOUT_MS = 5_000
const MUTE_MS = 60_000

/** Creates the socket; `run` connects it. */
export function createStream(options: StreamOptions): Stream {
  const { url, slot, signer, sink, log } = options
  const path = new URL(url).pathname
  const subscriptions = createSubscriptions()
  const sequences = createSequences()
  const recovery = createRecovery()
  const probe = createProbe()
  const pace = createPace()
  const mute = new Map<string, number>()
  const missed = createMissedTrades()
  let canSnapshot = true
  let refusals = 0

  const link = createLink({
    slot,
    name: url,
    sink: {
      now: () => sink.now(),
      note: (note) => sink.note(note.note === 'loss' ? { ...note, ...unheard() } : note),
    },
    log,
    target: () => ({ url, headers: { ...signer.headers('GET', path, sink.now() / 1000) } }),
    expectsData: () => probe.size > 0,
    onOpen() {
      refusals = 0
      const sinceMs = (link.lastFrame ?? sink.now()) / 1000
      for (const { channel, tickers } of subscriptions.all) {
        if (channel === 'trade') missed.miss(tickers, sinceMs)
      }
      subscriptions.clear()
      sequences.clear()
      recovery.clear()
      probe.clear()
      options.onOpen()
      tick()
    },
    onText: (received, bytes) => take(received, bytes),
    onRefused(status) {
      if (status !== 401 && status !== 403) return true
      options.onRefused(status)
      return false
    },
  })

  function take(received: Micros, bytes: Uint8Array): boolean {
    const value = parseFrame(bytes)
    if (!isObject(value)) {
      sink.frame(slot, received, bytes, value)
      return false
    }
    const { type, sid, seq } = value
    const msg = isObject(value['msg']) ? value['msg'] : {}
    const last = isCounter(sid) ? sequences.last(sid) : undefined
    const step = isCounter(sid) && isCounter(seq) ? sequences.check(sid, seq) : 'next'
    const channel = typeof sid === 'number' ? subscriptions.bySid(sid)?.channel : undefined
    // A subscription begins with full books that nobody asked for: they came before this, and are lost.
    const isOwn = type === 'orderbook_snapshot' && value['id'] === undefined
    const isLate = step === 'first' && seq !== 1 && channel === 'orderbook_delta' && !isOwn
    const isJump = (step === 'jump' || isLate) && isCounter(sid)
    const isLife = channel === 'market_lifecycle_v2' || LIFE_TYPES.has(type)
    if (isJump && !isLife) {
      noteLoss(sid, `seq ${String(seq)} after ${last ?? 'none'}`)
    }
    const isEnd = type === 'error' && ENDING_CODES.has(msg['code'])
    if (isEnd && !isLife) {
      const dead = sidOf(value)
      if (dead !== undefined) noteLoss(dead, `error ${String(msg['code'])}`)
    }
    // Before the frame is given on: whoever refuses this book asks for another one at once.
    if (type === 'orderbook_snapshot' && step !== 'old') {
      recovery.arrived(String(msg['market_ticker']))
    }
    const isForeign = LIFE_TYPES.has(type) && !options.isOurs(msg)
    if (!isForeign) sink.frame(slot, received, bytes, value)
    const isBook = type === 'orderbook_delta' || type === 'orderbook_snapshot'
    if (step !== 'old') act(value, msg, isBook)
    if (isJump) {
      if (isLife) options.onLife(undefined)
      else lose(sid)
    }
    if (LIFE_TYPES.has(type) && !isForeign) options.onLife(value)
    // Data is too frequent to look at all subscriptions for each message; the timer does.
    if (isJump || !(isBook || type === 'trade')) tick()
    return isBook
  }

  function noteLoss(sid: number, why: string): void {
    log.warn({ slot, sid, why }, 'messages of venue B were lost')
    sink.note({ note: 'loss', reason: 'sequence_break', why, slot, sid, ...unheard(sid) })
  }

  // Markets that were polled until the socket took them over: as long as it brought nothing of them, no
  // book stands under its name, and what it lost of them would be nobody's loss.
  function unheard(sid?: number): { readonly keys?: readonly string[] } {
    const keys = recovery.unheard(sid)
    return keys.length === 0 ? {} : { keys }
  }

  /** What the messages mean for what is subscribed and awaited. */
  function act(value: NativeObject, msg: NativeObject, isBook: boolean): void {
    const now = performance.now()
    const { type, id, sid } = value
    const ticker = msg['market_ticker']
    if (isBook) {
      if (typeof sid !== 'number' || typeof ticker !== 'string') return
      const isFull = type === 'orderbook_snapshot'
      probe.heard(sid, ticker, now, isFull)
      if (!isFull) return
      const command = typeof id === 'number' ? subscriptions.commandOf(id, sid) : undefined
      if (command !== undefined) subscriptions.changed(command, undefined)
    } else if (type === 'subscribed') {
      const made = typeof msg['sid'] === 'number' ? msg['sid'] : undefined
      if (made === undefined) return
      const subscription = subscriptions.subscribed(id, made)
      if (subscription === undefined) {
        link.restart('sequence_break', `a subscription ${made} that nobody asked for`)
      } else begin(made, subscription.channel, [...subscription.tickers], now)
    } else if (type === 'ok') {
      const command = subscriptions.commandOf(id, sid)
      if (command === undefined) return
      const added = subscriptions.changed(command, textsOf(msg['market_tickers']))
      const { channel, sid: of } = command.subscription
      if (channel === 'orderbook_delta') settle(command, now)
      if (of !== undefined) begin(of, channel, added, now)
    } else if (type === 'unsubscribed') {
      if (typeof sid === 'number') end(sid, false)
    } else if (type === 'error') {
      fail(value, msg, now)
    }
  }

  function settle({ action, subscription, tickers }: Command, now: number): void {
    for (const ticker of tickers) {
      if (action === 'delete_markets') leave(ticker)
      // Accepted and not in the venue's own list: asking again would bring the same.
      if (action === 'add_markets' && !subscription.tickers.has(ticker)) silence(ticker, now)
    }
  }

  function begin(sid: number, channel: string, tickers: readonly string[], now: number): void {
    if (channel === 'orderbook_delta') recovery.expect(sid, tickers, now)
    if (channel !== 'trade') return
    for (const [sinceMs, group] of missed.take(tickers)) options.onTradesMissed(group, sinceMs)
  }

  function leave(ticker: string): void {
    recovery.drop(ticker)
    probe.forget(ticker)
  }

  function end(sid: number, isLoss: boolean): void {
    const subscription = subscriptions.ended(sid)
    probe.ended(sid)
    if (subscription === undefined) return
    const { channel, tickers } = subscription
    if (channel === 'orderbook_delta') for (const ticker of tickers) leave(ticker)
    if (channel === 'trade' && isLoss) missed.miss(tickers, sink.now() / 1000)
  }

  /** Numbers jumped: books are asked for anew, trades by REST, because no snapshot brings them back. */
  function lose(sid: number): void {
    const subscription = subscriptions.bySid(sid)
    if (subscription === undefined) return
    const tickers = [...subscription.tickers]
    if (subscription.channel === 'trade') {
      options.onTradesMissed(tickers, sink.now() / 1000 - TRADE_MARGIN_MS)
    } else if (!canSnapshot) link.restart('sequence_break', 'the venue gives no snapshots')
    else recovery.lost(sid, tickers, performance.now())
  }

  function sidOf(value: NativeObject): number | undefined {
    const { id, sid } = value
    if (typeof sid === 'number') return sid
    return subscriptions.commandOf(id, sid)?.subscription.sid
  }

  function fail(value: NativeObject, msg: NativeObject, now: number): void {
    const { code } = msg
    const command = subscriptions.commandOf(value['id'], value['sid'])
    const sid = sidOf(value)
    log.warn({ slot, sid, code, action: command?.action, why: msg['msg'] }, 'venue B refused')
    if (sid !== undefined) probe.answered(sid)
    if (ENDING_CODES.has(code)) {
      pace.slower(now)
      if (sid !== undefined) end(sid, true)
      else if (command !== undefined) subscriptions.failed(command)
      else link.restart('sequence_break', `error ${String(code)} of a subscription not named`)
      return
    }
    const isBusy = code === CODES.tooManyCommands || code === CODES.commandTimeout
    if (isBusy) pace.slower(now)
    if (command === undefined) return
    if (code === CODES.marketLimit) subscriptions.tooMany(command)
    else subscriptions.failed(command)
    if (isBusy || code === CODES.marketLimit) return
    const { action, subscription, tickers } = command
    if (code === CODES.unsupportedAction) {
      if (action === 'get_snapshot') canSnapshot = false
      else subscriptions.fixed(subscription.channel)
      return
    }
    pace.slower(now)
    if (code === CODES.unknownChannel || code === CODES.noAuthentication) {
      subscriptions.off(subscription.channel)
    }
    if (subscription.channel !== 'orderbook_delta' || action === 'get_snapshot') return
    // Nobody knows which of them the venue minds, unless it says so: polled for a while.
    const named = textsOf(msg['market_tickers']) ?? textsOf([msg['market_ticker']]) ?? tickers
    for (const ticker of named) silence(ticker, now)
  }

  function silence(ticker: string, now: number): void {
    mute.set(ticker, now + MUTE_MS)
    recovery.drop(ticker)
  }

  function send(command: Command | undefined, now: number): void {
    if (command === undefined) return
    link.send(command.text)
    pace.sent(now)
  }

  function tick(): void {
    if (!link.connected) return
    const now = performance.now()
    for (const command of subscriptions.unanswered(now, COMMAND_TIMEOUT_MS)) {
      subscriptions.failed(command)
      // It may have been made all the same, and twice the same book would be one too many.
      if (command.action === 'subscribe') link.restart('venue_silent', 'no answer to subscribe')
    }
    const keys = recovery.late(now)
    if (keys.length > 0) {
      const why = `no book for ${LATE_BOOK_MS} ms after the subscription`
      sink.note({ note: 'loss', reason: 'venue_silent', why, keys })
    }
    const { lost, silent } = recovery.overdue(now)
    if (lost.length > 0) link.restart('sequence_break', `no full book of ${lost.length} markets`)
    for (const ticker of silent) {
      log.warn({ slot, ticker }, 'the socket brings no book of this market: it is polled')
      silence(ticker, now)
    }
    const dead = canSnapshot ? probe.dead(now) : []
    if (dead.length > 0) link.restart('venue_silent', `subscription ${dead[0]} does not answer`)
    if (!link.connected || !pace.isFree(now)) return
    if (canSnapshot) {
      for (const { sid, tickers } of recovery.due(now)) {
        send(subscriptions.snapshot(sid, tickers, now), now)
      }
      for (const { sid, ticker } of probe.due(now)) {
        send(subscriptions.snapshot(sid, [ticker], now), now)
      }
    }
    if (pace.isFree(now)) send(subscriptions.next(now), now)
  }

  return {
    async run(signal) {
      const timer = setInterval(tick, TICK_MS)
      try {
        while (!signal.aborted) {
          await link.run(signal)
          // A clock that was wrong for a moment is refused like a wrong key.
          await sleep(
            Math.min(options.refusedMs, (options.refusedMs / 64) * 2 ** refusals++),
            signal,
          )
        }
      } finally {
        clearInterval(timer)
      }
    },
    want(tickers) {
      subscriptions.want(tickers)
      tick()
    },
    recover(tickers) {
      const now = performance.now()
      for (const ticker of tickers) {
        const sid = link.connected ? subscriptions.holds(ticker)?.sid : undefined
        if (sid !== undefined) recovery.want(sid, ticker, now)
      }
    },
    holds: (ticker) => link.connected && subscriptions.holds(ticker) !== undefined,
    isMute(ticker) {
      if (subscriptions.isOff('orderbook_delta')) return true
      const until = mute.get(ticker)
      if (until === undefined || until > performance.now()) return until !== undefined
      mute.delete(ticker)
      return false
    },
    get connected() {
      return link.connected
    },
    get lastFrame() {
      return link.lastFrame
    },
    get subscriptions() {
      if (!link.connected) return 0
      return subscriptions.all.filter(({ sid }) => sid !== undefined).length
    },
  }
}
