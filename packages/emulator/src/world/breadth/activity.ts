import type { Random } from '../random.ts'

/** Share of markets that never trade. */
const QUIET_SHARE = 0.4
/** One rank in 16 of the busiest 1,024 is kept free for markets that open during the run. */
const FREE_EVERY = 16
const FREE_AMONG = 1_024
/**
 * Zipf–Mandelbrot: rank r has the weight (r + SHIFT)^-EXPONENT. Of 20,000 markets the busiest has 1.7 %
 * of all orders, the busiest hundred 49 %, the busiest tenth 88 %.
 */
const SHIFT = 20
const EXPONENT = 1.3
/** Max draws until one hits a rank that a market holds; few ranks are free. */
const MAX_DRAWS = 8

/** Who is how busy: ranks with fixed weights, which markets hold while they are open. */
export class Activity<T> {
  readonly #holders: (T | undefined)[]
  readonly #ranks = new Map<T, number>()
  readonly #sums: Float64Array
  readonly #free: number[] = []

  /** Gives ranks to the standing markets, in the order of a seeded shuffle. */
  constructor(standing: readonly T[], random: Random) {
    const count = Math.ceil(standing.length * (1 - QUIET_SHARE))
    const shuffled = shuffle(standing, random)
    this.#holders = []
    for (let taken = 0; taken < count;) {
      const rank = this.#holders.length
      const isFree = rank < FREE_AMONG && rank % FREE_EVERY === FREE_EVERY - 1
      if (isFree) this.#free.push(rank)
      const holder = isFree ? undefined : shuffled[taken++]!
      if (holder !== undefined) this.#ranks.set(holder, rank)
      this.#holders.push(holder)
    }
    this.#sums = new Float64Array(this.#holders.length)
    let sum = 0
    for (let rank = 0; rank < this.#sums.length; rank++) {
      sum += (rank + 1 + SHIFT) ** -EXPONENT
      this.#sums[rank] = sum
    }
  }

  /** The rank of a market, 0 for the busiest; undefined where it never trades. */
  rankOf(market: T): number | undefined {
    return this.#ranks.get(market)
  }

  /** Gives a free rank to a market that opens; without one it stays quiet. */
  join(market: T): void {
    const rank = this.#free.pop()
    if (rank === undefined) return
    this.#holders[rank] = market
    this.#ranks.set(market, rank)
  }

  leave(market: T): void {
    const rank = this.#ranks.get(market)
    if (rank === undefined) return
    this.#holders[rank] = undefined
    this.#ranks.delete(market)
    this.#free.push(rank)
  }

  /** A market with the probability of its rank; undefined where no market holds a rank. */
  pick(random: Random): T | undefined {
    for (let draws = 0; draws < MAX_DRAWS; draws++) {
      const holder = this.#holders[this.#draw(random)]
      if (holder !== undefined) return holder
    }
    return undefined
  }

  #draw(random: Random): number {
    const sums = this.#sums
    const wanted = random.next() * (sums.at(-1) ?? 0)
    let low = 0
    let high = sums.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! > wanted) high = middle
      else low = middle + 1
    }
    return low
  }
}

function shuffle<T>(items: readonly T[], random: Random): T[] {
  const shuffled = [...items]
  for (let at = shuffled.length - 1; at > 0; at--) {
    const other = random.int(at + 1)
    const item = shuffled[at]!
    shuffled[at] = shuffled[other]!
    shuffled[other] = item
  }
  return shuffled
}
