import type { BookSnapshot } from '@priorbook/sdk/domain'
import type { BookRelation } from './contract.ts'

/** Max states remembered per book: some seconds of a busy market. */
const MAX_STATES = 1024

/**
 * The recent states of a book, each kept as one hash. A requested full book is a little older or newer
 * than the socket, so it is searched for among several states. The book itself is not kept: changes are
 * folded into the hash of the state before.
 */
export class BookStates {
  readonly #hash = new BookHash()
  readonly #hashes: number[] = []
  /** The venue's time of each state. */
  readonly #sources: number[] = []
  /** The journal record that led to each state. */
  readonly #journals: number[] = []
  #next = 0

  /** Folds one changed level into the state. `key` is twice the price in venue ticks, plus 1 for asks. */
  change(key: number, sizeBefore: number, size: number): void {
    this.#hash.fold(key, sizeBefore)
    this.#hash.fold(key, size)
  }

  /** Remembers the state that a journal record led to; `source` is 0 where the venue gave no time. */
  remember(source: number, journal: number): void {
    this.#hashes[this.#next] = this.#hash.value
    this.#sources[this.#next] = source
    this.#journals[this.#next] = journal
    this.#next = (this.#next + 1) % MAX_STATES
  }

  /** Forgets everything: the book is closed and starts again empty. */
  clear(): void {
    this.#hash.clear()
    this.#hashes.length = 0
    this.#sources.length = 0
    this.#journals.length = 0
    this.#next = 0
  }

  /** Compares a full book with the remembered states, except the one that the book itself led to. */
  relate({ bids, asks, source, journal }: BookSnapshot): BookRelation {
    const hash = new BookHash()
    for (const { price, size } of bids) hash.fold(price * 2, size)
    for (const { price, size } of asks) hash.fold(price * 2 + 1, size)
    let newest = -Infinity
    let oldest = Infinity
    let isEmpty = true
    const count = this.#hashes.length
    const first = count === MAX_STATES ? this.#next : 0
    for (let place = 0; place < count; place++) {
      const index = (first + place) % MAX_STATES
      if (this.#journals[index] === journal) continue
      if (this.#hashes[index] === hash.value) return 'same'
      if (isEmpty) oldest = this.#sources[index]!
      newest = this.#sources[index]!
      isEmpty = false
    }
    if (isEmpty) return 'first'
    if (source === undefined || newest === 0 || source >= newest) return 'ahead'
    return source < oldest ? 'older' : 'differs'
  }
}

/** An order-independent hash of a book's levels: folding a level in twice removes it. */
class BookHash {
  #low = 0
  #high = 0

  fold(key: number, size: number): void {
    if (size === 0) return
    const low = scramble(key, size % 0x1_0000_0000, Math.floor(size / 0x1_0000_0000))
    this.#low ^= low
    this.#high ^= scramble(low, key, size)
  }

  clear(): void {
    this.#low = 0
    this.#high = 0
  }

  /** 53 bits. */
  get value(): number {
    return (this.#high >>> 11) * 0x1_0000_0000 + (this.#low >>> 0)
  }
}

// Three rounds of the finalizer of MurmurHash3, one for each number.
function scramble(first: number, second: number, third: number): number {
  return mix(mix(mix(0x9e37_79b9, first), second), third)
}

function mix(hash: number, part: number): number {
  let mixed = hash ^ (part | 0)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return mixed ^ (mixed >>> 16)
}
