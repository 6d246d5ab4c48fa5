// More buckets than this are merged in pairs, so that memory does not grow with the age of a tape.
const MAX_BUCKETS = 4096

/** Bytes by the time of their newest row, at a resolution of a second or more. */
export class AgeBuckets {
  total = 0
  oldest: number | undefined
  #width = 1_000_000
  #bytes = new Map<number, number>()

  add(received: number, bytes: number): void {
    this.total += bytes
    if (this.oldest === undefined || received < this.oldest) this.oldest = received
    this.#put(Math.floor(received / this.#width), bytes)
    if (this.#bytes.size > MAX_BUCKETS) this.#widen()
  }

  /** The time before which everything has to go for the rest to fit; undefined where it fits. */
  cutFor(limit: number): number | undefined {
    let rest = this.total
    if (rest <= limit) return undefined
    const buckets = [...this.#bytes].toSorted(([a], [b]) => a - b)
    for (const [bucket, bytes] of buckets) {
      rest -= bytes
      if (rest <= limit) return (bucket + 1) * this.#width
    }
    return undefined
  }

  #put(bucket: number, bytes: number): void {
    this.#bytes.set(bucket, (this.#bytes.get(bucket) ?? 0) + bytes)
  }

  #widen(): void {
    const before = this.#bytes
    this.#bytes = new Map()
    this.#width *= 2
    for (const [bucket, bytes] of before) this.#put(Math.floor(bucket / 2), bytes)
  }
}
