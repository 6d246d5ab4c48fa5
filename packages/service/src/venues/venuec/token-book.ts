import type { BookChange, BookSnapshot, Micros } from '@priorbook/sdk/domain'

/** How many states of a book are remembered: some seconds of a busy round. */
const STATES_KEPT = 1024

/** What a full book from elsewhere is to the one that the socket tells. */
export type Relation =
  /** The book was in this state lately. */
  | 'same'
  /** It is from before all states that are remembered. */
  | 'older'
  /** It is not from before the newest state: what leads to it may be under way. */
  | 'ahead'
  /** It is from between the states, and none of them is like it. */
  | 'differs'

/**
 * A token's book as the socket tells it, held to be compared with what REST tells. A state is one
 * number, so that an answer which is a little older or newer than the socket is found among the
 * states that the book went through.
 */
export class TokenBook {
  /** True from the first full book on. */
  isKnown = false
  /** The venue's time of the newest state. */
  source: Micros | undefined
  readonly #levels = new Map<number, number>()
  readonly #states: number[] = []
  /** The venue's times of the states. */
  readonly #sources: number[] = []
  #next = 0
  #low = 0
  #high = 0

  /** Takes a full book. */
  replace(book: BookSnapshot): void {
    this.#levels.clear()
    this.#low = 0
    this.#high = 0
    for (const { price, size } of book.bids) this.#set(price * 2, size)
    for (const { price, size } of book.asks) this.#set(price * 2 + 1, size)
    this.isKnown = true
    this.source = book.source ?? this.source
    this.#remember()
  }

  /** Takes a change of absolute sizes; without a full book it says nothing. */
  change(event: BookChange): void {
    if (!this.isKnown) return
    for (const { side, price, size } of event.changes) {
      this.#set(price * 2 + (side === 'ask' ? 1 : 0), size)
    }
    this.source = event.source ?? this.source
    this.#remember()
  }

  /** Nothing is known until the next full book. */
  forget(): void {
    this.isKnown = false
    this.source = undefined
    this.#states.length = 0
    this.#sources.length = 0
    this.#next = 0
  }

  /** How a full book from elsewhere relates to the states that this one went through. */
  relate(book: BookSnapshot): Relation {
    const other = new TokenBook()
    other.replace(book)
    if (this.#states.includes(other.#state())) return 'same'
    const { source } = book
    if (source === undefined || this.source === undefined || source >= this.source) return 'ahead'
    const isFull = this.#states.length === STATES_KEPT
    return source < this.#sources[isFull ? this.#next : 0]! ? 'older' : 'differs'
  }

  #set(key: number, size: number): void {
    const before = this.#levels.get(key)
    if (before !== undefined) this.#mix(key, before)
    if (size > 0) {
      this.#levels.set(key, size)
      this.#mix(key, size)
    } else this.#levels.delete(key)
  }

  // Exclusive or: taking a level out is the same as putting it in, and order does not matter.
  #mix(key: number, size: number): void {
    const low = scramble(key, size % 0x1_0000_0000, Math.floor(size / 0x1_0000_0000))
    this.#low ^= low
    this.#high ^= scramble(low, key, size)
  }

  #state(): number {
    return (this.#high >>> 11) * 0x1_0000_0000 + (this.#low >>> 0)
  }

  #remember(): void {
    this.#states[this.#next] = this.#state()
    this.#sources[this.#next] = this.source ?? 0
    this.#next = (this.#next + 1) % STATES_KEPT
  }
}

// Three rounds of the finalizer of MurmurHash3, one for each number.
function scramble(first: number, second: number, third: number): number {
  let hash = 0x9e37_79b9
  for (const part of [first, second, third]) {
    hash ^= part | 0
    hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
    hash ^= hash >>> 16
  }
  return hash
}
