import type { Instrument, TapeEvent } from '@priorbook/sdk/domain'
import { SilenceDetector } from '../capture/silence.ts'
import type { VenueCMarket } from './markets.ts'

/** A subscription that brought no full book for this long is helped by REST; never scaled. */
export const FIRST_BOOK_MS = 3_000
/** A token of a trading market is silent after this long, unless it is slow by habit; never scaled. */
export const SILENT_TOKEN_MS = 6_000
/** A silence in which nothing had happened doubles the time to the next look, this often. */
const MAX_QUIETS = 7
/** How long a new subscription may need to take effect; never scaled. */
const YOUNG_MS = 1_000

/** What a token needs: a request for its first book, a look into a silence, a comparison, or to be given up. */
export type Need = 'nothing' | 'first_book' | 'silence' | 'lost' | 'comparison'

/**
 * One token and the state of its stream.
 * - `wanted`: it is not subscribed yet.
 * - `sent`: it is subscribed, and its first full book is awaited.
 * - `active`: the socket feeds its book.
 * - `lost`: it was silent, and subscribing it again brought nothing; a full book is awaited.
 *
 * Times are monotonic milliseconds.
 */
export class WatchedToken {
  readonly instrument: Instrument
  readonly market: VenueCMarket
  state: 'wanted' | 'sent' | 'active' | 'lost' = 'wanted'
  /** Counts subscriptions: an answer that was requested under another one proves nothing. */
  subscription = 0
  /** True once a full book came, by socket or REST, since it was last subscribed or reset. */
  hasBook = false
  /** Subscriptions in a row that brought nothing. */
  failures = 0
  /** Requests in a row for a first book that failed. */
  misses = 0
  /** Comparisons in a row that differed. */
  doubts = 0
  /** True while a request is in flight. */
  isBusy = false
  /** No request for a first book before this time. */
  requestAfterMs = 0
  readonly recovery = { attempts: 0, endedMs: -Infinity, isRunning: false, isWanted: false }
  readonly #silence = new SilenceDetector(SILENT_TOKEN_MS)
  #sentMs = -Infinity
  #heardMs = -Infinity
  /** When a silence was last looked into, or could begin. */
  #checkedMs: number
  #comparedMs: number
  /** It must be heard by then, or it is lost. */
  #probationMs: number | undefined
  #isTrading = false
  /** Silences in a row in which nothing had happened. */
  #quiets = 0

  constructor(market: VenueCMarket, key: string, nowMs: number) {
    this.instrument = { venue: 'venuec', market: market.marketId, key }
    this.market = market
    this.#checkedMs = nowMs
    this.#comparedMs = nowMs
  }

  get key(): string {
    return this.instrument.key
  }

  get isAwaitingBook(): boolean {
    return this.state === 'sent' || this.state === 'lost'
  }

  /** True while a subscription may not have taken effect. */
  isYoung(nowMs: number): boolean {
    return this.state === 'sent' && nowMs - this.#sentMs < YOUNG_MS
  }

  /** True when the token was heard since it was last subscribed. */
  get isHeard(): boolean {
    return this.#heardMs > this.#sentMs
  }

  subscribed(nowMs: number): void {
    this.subscription++
    this.state = 'sent'
    this.#sentMs = nowMs
    this.hasBook = false
  }

  /** A frame named the token. */
  heard(kind: TapeEvent['kind'], nowMs: number): void {
    if (this.#heardMs > -Infinity) this.#silence.note(nowMs - this.#heardMs)
    this.#heardMs = nowMs
    this.#quiets = 0
    this.#probationMs = undefined
    this.failures = 0
    if (kind === 'snapshot') this.hasBook = true
    if (kind === 'reset') {
      this.hasBook = false
      if (!this.isAwaitingBook) this.#sentMs = nowMs
      this.state = 'sent'
    } else if (this.hasBook && (kind === 'snapshot' || kind === 'change')) {
      // Changes also continue a book that REST brought.
      this.state = 'active'
    }
  }

  /** Sets whether the market trades: before it does, silence means nothing. */
  setTrading(isTrading: boolean, nowMs: number): void {
    if (isTrading && !this.#isTrading) this.#checkedMs = nowMs
    this.#isTrading = isTrading
  }

  /** A full book was requested for comparison. */
  compared(nowMs: number): void {
    this.#comparedMs = nowMs
  }

  /** A silence was looked into; `isQuiet` where the venue had nothing to say. */
  checked(nowMs: number, isQuiet: boolean): void {
    this.#checkedMs = nowMs
    this.#quiets = isQuiet ? Math.min(this.#quiets + 1, MAX_QUIETS) : 0
  }

  /** The token was subscribed again because it was silent: it must be heard soon. */
  startProbation(nowMs: number): void {
    this.#probationMs = nowMs + FIRST_BOOK_MS
  }

  /** The token was not heard in time. */
  endProbation(nowMs: number): void {
    this.#probationMs = undefined
    this.#checkedMs = nowMs
    if (this.state === 'sent') this.state = 'lost'
  }

  /** Says what the token needs now, with comparisons this far apart. */
  need(nowMs: number, comparisonMs: number): Need {
    if (this.isBusy) return 'nothing'
    if (this.#probationMs !== undefined) return nowMs > this.#probationMs ? 'lost' : 'nothing'
    if (this.isAwaitingBook) {
      const isDue = nowMs - this.#sentMs > FIRST_BOOK_MS && nowMs >= this.requestAfterMs
      return isDue ? 'first_book' : 'nothing'
    }
    const quietMs = nowMs - Math.max(this.#heardMs, this.#checkedMs)
    // A market in which nothing happens is looked at ever more rarely, comparisons apart.
    if (this.#isTrading && this.#silence.isSilence(quietMs / 2 ** this.#quiets)) return 'silence'
    return nowMs - this.#comparedMs > comparisonMs ? 'comparison' : 'nothing'
  }
}
