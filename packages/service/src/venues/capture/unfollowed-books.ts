import type { GapReason } from '@priorbook/sdk/domain'
import type { CaptureSink } from './contract.ts'
import { noteLosses } from './note-losses.ts'
import { hasEnded, isPastClose, type FollowedMarket } from './followed-markets.ts'

/** A market whose books no socket and no poll brings, with the keys of those books. */
export type UnfollowedMarket = {
  readonly market: FollowedMarket
  readonly keys: readonly string[]
  /** False where the rules of selection do not include its books. */
  readonly isSelected?: boolean
}

/** Messages that were on their way when a book was left may still come for this long. */
const LATE_MS = 2_000

/**
 * Closes books that are still open although nothing brings them any more, so that none is taken for valid
 * without news. The reason is the market's own: it has closed, or it opens later than was known.
 */
export class UnfollowedBooks {
  readonly #sink: Pick<CaptureSink, 'book' | 'note'>
  /** Since when each open book is not followed. */
  #sinceMs = new Map<string, number>()

  constructor(sink: Pick<CaptureSink, 'book' | 'note'>) {
    this.#sink = sink
  }

  /** Called again and again with all markets that are not followed now. */
  check(unfollowed: Iterable<UnfollowedMarket>, nowMs: number): void {
    const sinceMs = new Map<string, number>()
    const late = new Map<GapReason, string[]>()
    for (const { market, keys, isSelected = true } of unfollowed) {
      for (const key of keys) {
        if (this.#sink.book(key)?.isOpen !== true) continue
        const since = this.#sinceMs.get(key) ?? nowMs
        sinceMs.set(key, since)
        if (nowMs - since < LATE_MS) continue
        // A book that was left before the close was not seen to stand still until then.
        const reason = reasonOf(market, isSelected, since)
        const group = late.get(reason)
        if (group === undefined) late.set(reason, [key])
        else group.push(key)
      }
    }
    this.#sinceMs = sinceMs
    for (const [reason, keys] of late) noteLosses(this.#sink, reason, WHY[reason] ?? '', keys)
  }
}

const WHY: Readonly<Partial<Record<GapReason, string>>> = {
  market_closed: 'its books are not followed any more',
  market_not_open: 'it opens later than was known; its books are not followed until then',
  not_selected: 'other markets have its place, or the rules of selection changed',
  disconnected: 'its books are not followed, although it trades by its record',
}

function reasonOf(market: FollowedMarket, isSelected: boolean, sinceMs: number): GapReason {
  if (isPastClose(market, sinceMs) || hasEnded(market)) return 'market_closed'
  if (!isSelected) return 'not_selected'
  return market.openMs !== undefined && sinceMs < market.openMs ? 'market_not_open' : 'disconnected'
}
