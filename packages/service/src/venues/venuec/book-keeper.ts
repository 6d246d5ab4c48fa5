import type { GapReason, Instrument, TapeEvent } from '@priorbook/sdk/domain'
import type { CaptureLog, CaptureSink } from '../capture/contract.ts'
import { sleep } from '../../lib/wait.ts'
import type { Quota } from '../capture/quota.ts'
import type { BookClient, Comparison } from './book-client.ts'
import { isLive, type Followed } from './roster.ts'
import type { Sockets } from './sockets.ts'
import {
  FIRST_BOOK_MS,
  needOf,
  noteHeard,
  noteTrading,
  watchToken,
  type Need,
  type WatchedToken,
} from './token-watch.ts'

/** Sees to it that every watched token has a book that is the venue's. */
export interface BookKeeper {
  watch(market: Followed): readonly string[]
  unwatch(market: Followed): readonly string[]
  subscribed(tokens: Iterable<string>): void
  /** What a frame said; true when it named a watched token. */
  heard(events: readonly TapeEvent[]): boolean
  /** Looks at every token and starts what it needs. */
  tick(signal: AbortSignal): void
  /** The recorder closed these books: full ones are fetched at once. */
  recover(instruments: readonly Instrument[], reason: GapReason, signal: AbortSignal): void
  expectsData(tokens: ReadonlySet<string>): boolean
  /** Tokens of trading markets without a book. */
  readonly missing: number
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
}

/** What keeping books needs. */
export type BookKeeperOptions = {
  readonly books: BookClient
  readonly sockets: Pick<Sockets, 'resubscribe' | 'isConnected' | 'isAlive'>
  readonly quota: Quota
  readonly speed: number
  readonly sink: CaptureSink
  readonly log: CaptureLog
}

/** Books of trading markets are compared this often, the others less; both scaled. */
const COMPARISON_MS = 10_000
const QUIET_COMPARISON_MS = 60_000
// Comparisons leave room for books that are missing.
const COMPARISONS_AT_ONCE = 8
const COMPARISON_SHARE = 0.6
// Waits before a book that did not come is asked for again; then the last one.
const RECOVERY_MS: readonly number[] = [0, 50, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000]
const MISS_MS: readonly number[] = [1_000, 2_000, 5_000, 10_000, 30_000]
/** A subscription whose first book did not come is in effect after this; never scaled. */
const YOUNG_MS = 1_000
const YOUNG_STEP_MS = 50
/** After so many failures in a row the subscription is made anew. */
const RESUBSCRIBE_AFTER = 3
/** Recoveries of one token within this time count as repeated. */
const CALM_MS = 30_000

type Recovery = { attempts: number; lastMs: number; isRunning: boolean; isWanted: boolean }

const NO_RECOVERY: Recovery = { attempts: 0, lastMs: -Infinity, isRunning: false, isWanted: false }

/** Creates the keeper of books. */
export function createBookKeeper(options: BookKeeperOptions): BookKeeper {
  const { books, sockets, quota, speed, sink, log } = options
  const tokens = new Map<string, WatchedToken>()
  const recoveries = new Map<string, Recovery>()
  const underWay = new Set<Promise<void>>()
  let comparisons = 0

  const wallMs = (): number => sink.now() / 1000

  function start(work: Promise<void>, signal: AbortSignal): void {
    const settled = work
      .catch((error: unknown) => {
        if (!signal.aborted) log.error({ error: String(error) }, 'venue C: a book check failed')
      })
      .finally(() => underWay.delete(settled))
    underWay.add(settled)
  }

  /** Subscribes anew; the second time in a row elsewhere, where the socket lives and only this is stuck. */
  function resubscribe(token: WatchedToken): boolean {
    token.failures++
    return sockets.resubscribe(token.key, token.failures > 1 && sockets.isAlive(token.key))
  }

  // An answer is from some moment between the question and its arrival. If the token was subscribed only
  // since, changes from before the subscription are missing behind it, and nothing would show them.
  async function compare(
    token: WatchedToken,
    urgent: boolean,
    signal: AbortSignal,
  ): Promise<Comparison> {
    const { subscription } = token
    const refuse = (): string | undefined => {
      if (!sockets.isConnected(token.key) || token.subscription !== subscription) {
        return 'the subscription ended meanwhile'
      }
      // Before the recorder sees the answer: if it refuses the book, it asks for another one at once.
      const recovery = recoveries.get(token.key)
      if (recovery !== undefined) recovery.isWanted = false
      return undefined
    }
    const found = await books.compare(token, urgent, refuse, signal)
    if (found !== 'failed' && token.subscription === subscription) token.hasBook = true
    return found
  }

  async function serve(token: WatchedToken, need: Need, signal: AbortSignal): Promise<void> {
    token.isBusy = true
    if (need === 'comparison') comparisons++
    try {
      const found = await compare(token, need !== 'comparison', signal)
      const nowMs = performance.now()
      token.comparedMs = nowMs
      if (need === 'first_book') {
        takeFirst(token, found, nowMs)
      } else if (need === 'silence') {
        token.checkedMs = nowMs
        if (found !== 'same' && found !== 'older' && sockets.isAlive(token.key)) {
          if (resubscribe(token)) token.probationMs = nowMs + FIRST_BOOK_MS
        }
      } else takeComparison(token, found)
    } finally {
      token.isBusy = false
      if (need === 'comparison') comparisons--
    }
  }

  // Once can be the moment between two changes; twice in a row something is missing.
  function takeComparison(token: WatchedToken, found: Comparison): void {
    if (found === 'failed' || found === 'older') return
    if (found === 'same' || found === 'first') {
      token.doubts = 0
      return
    }
    token.doubts++
    if (token.doubts < 2) return
    log.warn({ token: token.key, found }, 'venue C: the socket lost changes of a book')
    token.doubts = 0
    // A socket that is silent as a whole is replaced by its watchdog.
    if (sockets.isAlive(token.key)) resubscribe(token)
  }

  function takeFirst(token: WatchedToken, found: Comparison, nowMs: number): void {
    const { awaitingMs } = token
    if (awaitingMs === undefined) return
    token.askAfterMs = nowMs + missPause(token)
    if (found === 'failed') token.misses++
    // The stream lives, only its first book is missing: it goes on from the one of REST.
    else if (token.heardMs > awaitingMs) token.awaitingMs = undefined
    // Where CLOB did not know the market yet, the subscription came too early and brings nothing.
    else resubscribe(token)
  }

  // A round that trades is asked for every second; one that CLOB may not know yet ever more rarely.
  function missPause(token: WatchedToken): number {
    if (isLive(token.market, wallMs())) return MISS_MS[0]!
    return MISS_MS[Math.min(token.misses, MISS_MS.length - 1)]! / speed
  }

  /** The subscription was made anew and nothing came. */
  function declareSilent(token: WatchedToken): void {
    token.probationMs = undefined
    token.checkedMs = performance.now()
    // Where nothing comes at all, the socket's watchdog says so of all its tokens.
    if (!sockets.isAlive(token.key)) return
    const why = 'the token is silent, and subscribing anew brought nothing'
    sink.note({ note: 'loss', reason: 'venue_silent', why, keys: [token.key] })
  }

  const isYoung = ({ awaitingMs }: WatchedToken): boolean =>
    awaitingMs !== undefined && performance.now() - awaitingMs < YOUNG_MS

  async function recover(
    token: WatchedToken,
    recovery: Recovery,
    signal: AbortSignal,
  ): Promise<void> {
    while (recovery.isWanted && tokens.get(token.key) === token) {
      await sleep(RECOVERY_MS[Math.min(recovery.attempts, RECOVERY_MS.length - 1)]!, signal)
      // A new subscription brings a full book; an answer could be from before it took effect.
      while (isYoung(token) && !signal.aborted) await sleep(YOUNG_STEP_MS, signal)
      // A book that no socket feeds must stay closed; the next connection brings a full one.
      if (signal.aborted || !sockets.isConnected(token.key)) return
      recovery.attempts++
      const found = await compare(token, true, signal)
      recovery.lastMs = performance.now()
      if (found === 'failed') {
        if (token.market.closeMs <= wallMs()) return
        recovery.isWanted = true
      }
      if (recovery.isWanted && recovery.attempts % RESUBSCRIBE_AFTER === 0) resubscribe(token)
    }
  }

  return {
    watch(market) {
      const nowMs = performance.now()
      const fresh = market.tokens.filter((key) => !tokens.has(key))
      for (const key of fresh) tokens.set(key, watchToken(market, key, nowMs))
      return fresh
    },
    unwatch(market) {
      return [...tokens.values()]
        .filter((token) => token.market === market)
        .map(({ key }) => {
          tokens.delete(key)
          recoveries.delete(key)
          return key
        })
    },
    subscribed(keys) {
      const nowMs = performance.now()
      for (const key of keys) {
        const token = tokens.get(key)
        if (token === undefined) continue
        token.subscription++
        token.awaitingMs = nowMs
        token.hasBook = false
      }
    },
    heard(events) {
      const nowMs = performance.now()
      let isOurs = false
      for (const event of events) {
        if (!('instrument' in event)) continue
        const token = tokens.get(event.instrument.key)
        if (token === undefined) continue
        isOurs = true
        noteHeard(token, nowMs)
        if (event.kind === 'snapshot') {
          token.hasBook = true
          token.awaitingMs = undefined
        } else if (event.kind === 'change') {
          // The book came by REST and the socket goes on from it.
          if (token.hasBook) token.awaitingMs = undefined
        } else if (event.kind === 'reset') {
          token.hasBook = false
          token.awaitingMs ??= nowMs
        }
      }
      return isOurs
    },
    tick(signal) {
      const nowMs = performance.now()
      const wall = wallMs()
      for (const token of tokens.values()) {
        if (!sockets.isConnected(token.key)) continue
        const isTrading = isLive(token.market, wall)
        const comparisonMs = (isTrading ? COMPARISON_MS : QUIET_COMPARISON_MS) / speed
        noteTrading(token, isTrading, nowMs)
        const need = needOf(token, nowMs, comparisonMs)
        if (need === 'nothing') continue
        if (need === 'lost') {
          declareSilent(token)
          continue
        }
        if (need === 'comparison') {
          if (comparisons >= COMPARISONS_AT_ONCE) continue
          if (quota.used >= quota.limit * COMPARISON_SHARE) continue
        }
        start(serve(token, need, signal), signal)
      }
    },
    recover(instruments, reason, signal) {
      // The new connection brings full books of itself, and REST is asked where it does not.
      if (reason === 'disconnected') return
      for (const { key } of instruments) {
        const token = tokens.get(key)
        if (token === undefined) continue
        const recovery = recoveries.get(key) ?? { ...NO_RECOVERY }
        recoveries.set(key, recovery)
        recovery.isWanted = true
        if (recovery.isRunning) continue
        if (performance.now() - recovery.lastMs > CALM_MS) recovery.attempts = 0
        // A silent socket is being replaced: a moment later it shows whether it is.
        if (reason === 'venue_silent') recovery.attempts = Math.max(recovery.attempts, 1)
        recovery.isRunning = true
        const work = recover(token, recovery, signal).finally(() => {
          recovery.isRunning = false
        })
        start(work, signal)
      }
    },
    expectsData(keys) {
      const wall = wallMs()
      for (const key of keys) {
        const token = tokens.get(key)
        if (token !== undefined && isLive(token.market, wall)) return true
      }
      return false
    },
    get missing() {
      const wall = wallMs()
      let count = 0
      for (const { hasBook, market } of tokens.values()) {
        if (!hasBook && isLive(market, wall)) count++
      }
      return count
    },
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
