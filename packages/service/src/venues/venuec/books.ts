import type { BookSnapshot, GapReason, Instrument, TapeEvent } from '@priorbook/sdk/domain'
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { BookRelation, CaptureLog, CaptureSink } from '../capture/contract.ts'
import { FirstBooks } from '../capture/first-books.ts'
import type { Quota } from '../capture/quota.ts'
import type { Rest } from '../capture/rest.ts'
import { CallsInFlight } from '../capture/scheduler.ts'
import { isLive, type VenueCMarket } from './markets.ts'
import type { TokenSockets } from './socket.ts'
import { WatchedToken, type Need } from './token.ts'

/** What keeping books needs. */
export type BookKeeperOptions = {
  readonly clob: Rest
  readonly quota: Quota
  readonly sockets: Pick<TokenSockets, 'resubscribe' | 'isConnected' | 'isAlive'>
  readonly speed: number
  readonly sink: CaptureSink
  readonly log: CaptureLog
  readonly clock: Clock
}

/** How an answer of GET /book relates to the book that the recorder built from the socket. */
type Comparison =
  | Exclude<BookRelation, 'ahead'>
  /** The answer is newer than the socket, and the socket does not follow. */
  | 'newer'
  | 'failed'

/** How often books of trading markets are compared with REST, and those of other markets; scaled. */
const COMPARISON_MS = 10_000
const QUIET_COMPARISON_MS = 60_000
// Max comparisons in flight, and their max share of the quota: requests for missing books come first.
const COMPARISONS_IN_FLIGHT = 8
const COMPARISON_SHARE = 0.6
/** The changes that lead to an answer may be this far behind it on the socket. */
const SETTLE_MS = 400
// Waits before the next request for a book that was closed, and for a first book that did not come.
const RECOVERY_MS: readonly number[] = [0, 50, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000]
const MISS_MS: readonly number[] = [1_000, 2_000, 5_000, 10_000, 30_000]
const YOUNG_STEP_MS = 50
/** After this many failed recoveries in a row the token is subscribed again. */
const RESUBSCRIBE_AFTER = 3
/** Recoveries of one token that are closer together than this count as repeated. */
const CALM_MS = 30_000
/** Bounds the time that looking at tokens takes: 20,000 are looked at once a second. */
const LOOKED_AT_PER_MS = 20

/** Ensures that every watched token has a book that equals the venue's. */
export class BookKeeper {
  readonly #options: BookKeeperOptions
  readonly #tokens = new Map<string, WatchedToken>()
  readonly #inFlight: CallsInFlight
  readonly #firsts: FirstBooks
  #comparisons = 0
  #lookedMs = -Infinity

  constructor(options: BookKeeperOptions) {
    this.#options = options
    this.#firsts = new FirstBooks(options.clock)
    this.#inFlight = new CallsInFlight(options.log, 'venue C')
  }

  /** Lets a market in, which is watched now; false where it has to wait for the first books of others. */
  admit(market: VenueCMarket): boolean {
    return this.#firsts.admit(market.tokens)
  }

  /** True once when markets had to wait for the first books of others, and do not any more. */
  hasRoomAgain(): boolean {
    this.#firsts.settle((key) => this.#tokens.get(key)?.hasBook ?? true)
    return this.#firsts.reopens()
  }

  /** Watches the tokens of a market; returns those that are new. */
  watch(market: VenueCMarket): readonly string[] {
    const fresh = market.tokens.filter((key) => !this.#tokens.has(key))
    for (const key of fresh) this.#tokens.set(key, new WatchedToken(market, key, this.#nowMs()))
    return fresh
  }

  /** Stops watching a market; returns its tokens. */
  unwatch(market: VenueCMarket): readonly string[] {
    const gone = market.tokens.filter((key) => this.#tokens.get(key)?.market === market)
    for (const key of gone) this.#tokens.delete(key)
    return gone
  }

  subscribed(keys: Iterable<string>): void {
    for (const key of keys) this.#tokens.get(key)?.subscribed(this.#nowMs())
  }

  /** Notes what a frame says; returns true when it names a watched token. */
  heard(events: readonly TapeEvent[]): boolean {
    let isWatched = false
    for (const event of events) {
      if (!('instrument' in event)) continue
      const token = this.#tokens.get(event.instrument.key)
      if (token === undefined) continue
      isWatched = true
      token.heard(event.kind, this.#nowMs())
    }
    return isWatched
  }

  /** Looks at every token and starts what it needs; many tokens are looked at less often. */
  tick(signal: AbortSignal): void {
    const { sockets, speed, quota } = this.#options
    const nowMs = this.#nowMs()
    if (nowMs < this.#lookedMs + this.#tokens.size / LOOKED_AT_PER_MS) return
    this.#lookedMs = nowMs
    const venueMs = this.#venueMs()
    // With many tokens each is compared as often as its share of the quota allows.
    const perMs = (quota.limit * COMPARISON_SHARE) / quota.windowMs
    const roundMs = this.#tokens.size / perMs
    for (const token of this.#tokens.values()) {
      if (!sockets.isConnected(token.key)) continue
      const isTrading = isLive(token.market, venueMs)
      token.setTrading(isTrading, nowMs)
      const comparisonMs = (isTrading ? COMPARISON_MS : QUIET_COMPARISON_MS) / speed
      const need = token.need(nowMs, Math.max(comparisonMs, roundMs))
      if (need === 'nothing') continue
      if (need === 'lost') {
        this.#giveUp(token)
        continue
      }
      const isShort =
        this.#comparisons >= COMPARISONS_IN_FLIGHT || quota.used >= quota.limit * COMPARISON_SHARE
      // A silence waits like a comparison where many tokens are quiet by nature.
      if (need !== 'first_book' && isShort) continue
      this.#inFlight.start(() => this.#serve(token, need, signal), signal)
    }
  }

  /** The recorder closed these books: requests full ones at once. */
  recover(instruments: readonly Instrument[], reason: GapReason, signal: AbortSignal): void {
    // The new connection brings full books by itself, and REST is asked where it does not.
    if (reason === 'disconnected') return
    for (const { key } of instruments) {
      const token = this.#tokens.get(key)
      if (token === undefined) continue
      const { recovery } = token
      recovery.isWanted = true
      if (recovery.isRunning) continue
      if (this.#nowMs() - recovery.endedMs > CALM_MS) recovery.attempts = 0
      // A silent socket is being replaced; a moment later it shows whether it is.
      if (reason === 'venue_silent') recovery.attempts = Math.max(recovery.attempts, 1)
      recovery.isRunning = true
      this.#inFlight.start(async () => {
        try {
          await this.#recover(token, signal)
        } finally {
          recovery.isRunning = false
        }
      }, signal)
    }
  }

  /** True while frames about one of these tokens are expected. */
  expectsData(keys: ReadonlySet<string>): boolean {
    for (const key of keys) {
      const token = this.#tokens.get(key)
      if (token !== undefined && this.#isLive(token)) return true
    }
    return false
  }

  /** How many tokens of trading markets have no book. */
  get missing(): number {
    const venueMs = this.#venueMs()
    let count = 0
    for (const { hasBook, market } of this.#tokens.values()) {
      if (!hasBook && isLive(market, venueMs)) count++
    }
    return count
  }

  /** Resolves when no request is in flight. */
  settled(): Promise<void> {
    return this.#inFlight.settled()
  }

  async #serve(token: WatchedToken, need: Need, signal: AbortSignal): Promise<void> {
    const isComparison = need !== 'first_book'
    token.isBusy = true
    if (isComparison) this.#comparisons++
    try {
      const found = await this.#compare(token, need !== 'comparison', signal)
      token.compared(this.#nowMs())
      if (need === 'first_book') this.#judgeFirst(token, found)
      else if (need === 'silence') this.#judgeSilence(token, found)
      else this.#judgeComparison(token, found)
    } finally {
      token.isBusy = false
      if (isComparison) this.#comparisons--
    }
  }

  #judgeFirst(token: WatchedToken, found: Comparison): void {
    if (!token.isAwaitingBook) return
    token.requestAfterMs = this.#nowMs() + this.#missPause(token)
    if (found === 'failed') token.misses++
    // The stream lives and only its first book is missing: it continues the one of REST.
    else if (token.isHeard) token.state = 'active'
    // CLOB did not know the market when the token was subscribed, so that subscription brings nothing.
    else this.#resubscribe(token)
  }

  #judgeSilence(token: WatchedToken, found: Comparison): void {
    const nowMs = this.#nowMs()
    token.checked(nowMs, found === 'same')
    if (found === 'same' || found === 'older') return
    if (!this.#options.sockets.isAlive(token.key)) return
    if (this.#resubscribe(token)) token.startProbation(nowMs)
  }

  // A single difference can be the moment between two changes; two in a row prove a loss.
  #judgeComparison(token: WatchedToken, found: Comparison): void {
    if (found === 'failed' || found === 'older') return
    if (found === 'same' || found === 'first') {
      token.doubts = 0
      return
    }
    token.doubts++
    if (token.doubts < 2) return
    token.doubts = 0
    const { log, sockets } = this.#options
    log.warn({ token: token.key, found }, 'venue C: the socket lost changes of a book')
    // A socket that is silent as a whole is replaced by its watchdog.
    if (sockets.isAlive(token.key)) this.#resubscribe(token)
  }

  /** Subscribing the token again brought nothing. */
  #giveUp(token: WatchedToken): void {
    const { sockets, sink } = this.#options
    token.endProbation(this.#nowMs())
    // Where nothing comes at all, the socket's watchdog notes the loss of all its tokens.
    if (!sockets.isAlive(token.key)) return
    const why = 'the token is silent, and subscribing it again brought nothing'
    sink.note({ note: 'loss', reason: 'venue_silent', why, keys: [token.key] })
  }

  /** Subscribes again; the second time in a row on another socket, if this one is alive. */
  #resubscribe(token: WatchedToken): boolean {
    const { sockets } = this.#options
    token.failures++
    return sockets.resubscribe(token.key, token.failures > 1 && sockets.isAlive(token.key))
  }

  // The book of a trading round is requested every second; one that CLOB may not know yet more rarely.
  #missPause(token: WatchedToken): number {
    if (this.#isLive(token)) return MISS_MS[0]!
    return MISS_MS[Math.min(token.misses, MISS_MS.length - 1)]! / this.#options.speed
  }

  async #recover(token: WatchedToken, signal: AbortSignal): Promise<void> {
    const { clock, sockets } = this.#options
    const { recovery } = token
    while (recovery.isWanted && this.#tokens.get(token.key) === token) {
      const waitMs = RECOVERY_MS[Math.min(recovery.attempts, RECOVERY_MS.length - 1)]!
      await sleep(waitMs, signal, clock)
      // A new subscription brings a full book; an answer could be from before it took effect.
      while (token.isYoung(this.#nowMs()) && !signal.aborted) {
        await sleep(YOUNG_STEP_MS, signal, clock)
      }
      // A book that no socket feeds must stay closed; the next connection brings a full one.
      if (signal.aborted || !sockets.isConnected(token.key)) return
      recovery.attempts++
      const found = await this.#compare(token, true, signal)
      recovery.endedMs = this.#nowMs()
      if (found === 'failed') {
        if (token.market.closeMs <= this.#venueMs()) return
        recovery.isWanted = true
      }
      if (recovery.isWanted && recovery.attempts % RESUBSCRIBE_AFTER === 0) this.#resubscribe(token)
    }
  }

  /** Requests a full book, which goes to the recorder, and compares it with the recorder's. */
  async #compare(token: WatchedToken, urgent: boolean, signal: AbortSignal): Promise<Comparison> {
    const { clob, sink, clock } = this.#options
    const { subscription, instrument } = token
    const { key, market } = instrument
    const call = {
      request: { kind: 'clob_book', token_id: key, condition_id: market },
      path: '/book',
      query: { token_id: key },
      urgent,
      refuse: () => this.#refuse(token, subscription),
    }
    const answer = await clob.send(call, signal)
    const [book] = answer.ok ? answer.reading.events : []
    if (book?.kind !== 'snapshot') return 'failed'
    if (token.subscription === subscription) token.hasBook = true
    const relate = (to: BookSnapshot): BookRelation => sink.book(key)?.relate(to) ?? 'first'
    const relation = relate(book)
    if (relation !== 'ahead') return relation
    await sleep(SETTLE_MS, signal, clock)
    const settled = relate(book)
    return settled === 'ahead' ? 'newer' : settled
  }

  // An answer is from some time between its request and its arrival. If the token was subscribed in that
  // time, changes from before the subscription are missing after it, and nothing would show them.
  #refuse(token: WatchedToken, subscription: number): string | undefined {
    const isFed = this.#options.sockets.isConnected(token.key)
    if (!isFed || token.subscription !== subscription) return 'the subscription ended meanwhile'
    // Before the recorder sees the answer: if it refuses the book, it wants another one at once.
    token.recovery.isWanted = false
    return undefined
  }

  #isLive({ market }: WatchedToken): boolean {
    return isLive(market, this.#venueMs())
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }

  /** For the times that the venue names. */
  #venueMs(): number {
    return this.#options.sink.steadyNow() / 1000
  }
}
