import type { Clock } from '../../lib/clock.ts'

/** Max books that are awaited at a time. */
export const FIRST_BOOKS = 1000
/** A book that has not come after this long holds up no other. */
const PATIENCE_MS = 3_000

/**
 * Spreads new subscriptions over time. The recorder reads from its store what it has of a book when the first
 * message of it comes. Tens of thousands of first books at once, as after a restart, would keep it from its sockets
 * for so long that their watchdogs take them for dead.
 */
export class FirstBooks {
  readonly #clock: Clock
  /** When each awaited book was let in; the oldest comes first. */
  readonly #sinceMs = new Map<string, number>()
  #isFull = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Lets these books in, which are subscribed now; false where they have to wait. */
  admit(keys: readonly string[]): boolean {
    if (this.#sinceMs.size >= FIRST_BOOKS) {
      this.#isFull = true
      return false
    }
    for (const key of keys) this.#sinceMs.set(key, this.#clock.monotonicMs())
    return true
  }

  /** Forgets the books that have come, or are not coming soon; call it before `admit`. */
  settle(hasCome: (key: string) => boolean): void {
    const oldestMs = this.#clock.monotonicMs() - PATIENCE_MS
    for (const [key, sinceMs] of this.#sinceMs) {
      if (sinceMs <= oldestMs || hasCome(key)) this.#sinceMs.delete(key)
    }
  }

  /** True once when others were refused and half of the room is free again; call `settle` first. */
  reopens(): boolean {
    if (!this.#isFull || this.#sinceMs.size > FIRST_BOOKS / 2) return false
    this.#isFull = false
    return true
  }
}
