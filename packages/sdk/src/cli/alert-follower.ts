import {
  isBookRule,
  printUnits,
  step,
  toAlertBook,
  valueOf,
  type AlertRule,
  type BookRule,
  type TriggerState,
} from '../alerts/index.ts'
import { OrderBook, type LiveMessage } from '../client/index.ts'
import { isLastStatus, isMarketState } from '../domain/index.ts'
import type { GapJson } from '../wire/index.ts'

/** Something that a rule was waiting for, as the command prints it. */
export type FollowedEvent = {
  readonly kind: AlertRule['kind']
  readonly time: string
  readonly venue: string
  readonly market_id: string | null
  readonly key: string | null
  readonly row_id: string | null
  readonly value: string | null
  /** What happened in a few words. */
  readonly what: string
}

type Followed = { readonly book: OrderBook; trigger: TriggerState }

type BookMessage = Extract<LiveMessage, { readonly type: 'snapshot' | 'update' }>

/** Evaluates one rule on messages of the stream, by the same rules as the service does on recorded rows. */
export class AlertFollower {
  readonly #rule: AlertRule
  readonly #books = new Map<string, Followed>()
  readonly #gaps = new Set<string>()
  readonly #ended = new Set<string>()
  #isLive = false

  constructor(rule: AlertRule) {
    this.#rule = rule
  }

  /** Applies a message; gives what the rule was waiting for. */
  apply(message: LiveMessage): readonly FollowedEvent[] {
    switch (message.type) {
      case 'snapshot':
      case 'update':
        return isBookRule(this.#rule) ? this.#applyBook(this.#rule, message) : []
      case 'resync':
      case 'hole':
        this.#forget(({ venue }, key) => venue === message.venue && key === message.key)
        return []
      case 'snapshots_done':
        this.#isLive = true
        return []
      case 'gap':
        return this.#applyGap(message.gap)
      case 'market': {
        const { venue, market_id: id, status, winning_outcome: winner } = message.row
        const name = `${venue}:${id}`
        if (this.#rule.kind !== 'resolved' || !isLastStatus(status ?? '')) return []
        if (this.#ended.has(name)) return []
        this.#ended.add(name)
        const what = `${status}${winner === null ? '' : `, ${winner} won`}`
        return [{ ...EMPTY, kind: 'resolved', time: now(), venue, market_id: id, what }]
      }
      default:
        return []
    }
  }

  #applyBook(rule: BookRule, message: BookMessage): readonly FollowedEvent[] {
    const { key, row } = message
    const { outcome } = rule.scope
    if (outcome !== undefined && row.outcome !== outcome) return []
    let followed = this.#books.get(key)
    if (followed === undefined) {
      followed = { book: new OrderBook(row.venue), trigger: 'unknown' }
      this.#books.set(key, followed)
    }
    const { book } = followed
    // A whole book may follow rows that were left out.
    if (message.type === 'snapshot') followed.trigger = 'unknown'
    if (!book.apply(message)) return []
    const value = valueOf(rule, toAlertBook(book.ladder, row.venue))
    if (value === undefined) return []
    const { state, isFired } = step(followed.trigger, value, rule.threshold)
    followed.trigger = state
    if (!isFired) return []
    const { isAbove, at } = rule.threshold
    const event: FollowedEvent = {
      kind: rule.kind,
      time: String(row.received_time),
      venue: row.venue,
      market_id: row.market_id,
      key,
      row_id: `${row.venue}:${key}:${message.sequence}`,
      value: printUnits(value),
      what: `${printUnits(value)} is ${isAbove ? 'above' : 'below'} ${printUnits(at)}`,
    }
    return [event]
  }

  // The first book after a gap sets where the rule stands.
  #applyGap(gap: GapJson): readonly FollowedEvent[] {
    const { venue, scope, key, reason, start_time: start, end_time: end } = gap
    this.#forget(
      (book, own) =>
        book.venue === venue &&
        (scope === 'venue' || own === key || (scope === 'market' && book.marketId === key)),
    )
    if (this.#rule.kind !== 'gap' || isMarketState(reason)) return []
    const name = `${venue}/${key ?? ''}/${reason}/${String(start)}`
    const isKnown = this.#gaps.has(name)
    if (end === null) this.#gaps.add(name)
    else this.#gaps.delete(name)
    // Gaps that are open when the rule is first followed began before.
    if (!this.#isLive) return []
    const { on } = this.#rule
    const events: FollowedEvent[] = []
    const add = (moment: 'begun' | 'ended', time: unknown): void => {
      const what = `gap ${moment}: ${reason}`
      events.push({ ...EMPTY, kind: 'gap', time: String(time), venue, key, what })
    }
    if (!isKnown && on !== 'ended') add('begun', start)
    if (end !== null && on !== 'begun') add('ended', end)
    return events
  }

  #forget(isMeant: (book: OrderBook, key: string) => boolean): void {
    for (const [key, followed] of this.#books) {
      if (isMeant(followed.book, key)) followed.trigger = 'unknown'
    }
  }
}

const EMPTY = { market_id: null, key: null, row_id: null, value: null }

function now(): string {
  return new Date().toISOString()
}
