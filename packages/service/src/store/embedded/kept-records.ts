import type { Revision } from './revision-body.ts'

const MAX_BYTES = 8 * 1024 * 1024
// Before the bytes of a text: its ordinal, two more numbers of the revision, its length and its room, 8 bytes each.
const HEADER_BYTES = 40

/**
 * Records that lists showed last, by market; their bytes are bounded. A revision never changes, and no
 * market gets the number of another, so a record is right as long as the market has no newer revision.
 * Texts are kept as bytes of one buffer, which is filled round and round: to read and parse one takes 6 us. As objects,
 * the collector would visit each of them, and as texts each would be one more to age, and requests would wait for it.
 */
export class KeptRecords {
  /** Where the record of a market begins, the oldest first: from `end` on, and then from the beginning. */
  private readonly places = new Map<number, number>()
  private bytes = Buffer.alloc(0)
  private numbers = new Float64Array(0)
  private end = 0

  get size(): number {
    return this.places.size
  }

  get(market: number, ordinal: number): Revision | undefined {
    const place = this.places.get(market)
    if (place === undefined) return undefined
    const at = place / 8
    if (this.numbers[at] !== ordinal) return undefined
    const start = place + HEADER_BYTES
    return {
      ordinal,
      knownAt: this.numbers[at + 1]!,
      journal: this.numbers[at + 2]!,
      text: this.bytes.toString('utf8', start, start + this.numbers[at + 3]!),
    }
  }

  /** Keeps a record; one that is longer than all room is not kept. */
  put(market: number, revision: Revision): void {
    const length = Buffer.byteLength(revision.text)
    const room = Math.ceil(length / 8) * 8
    const own = this.places.get(market)
    // A revision is about as long as the one before it.
    if (own !== undefined && room <= this.numbers[own / 8 + 4]!) {
      this.write(own, revision, length)
      return
    }
    this.places.delete(market)
    if (HEADER_BYTES + room > MAX_BYTES) return
    const place = this.makeRoom(HEADER_BYTES + room)
    this.places.set(market, place)
    this.numbers[place / 8 + 4] = room
    this.write(place, revision, length)
  }

  private write(
    place: number,
    { ordinal, knownAt, journal, text }: Revision,
    length: number,
  ): void {
    this.numbers.set([ordinal, knownAt, journal, length], place / 8)
    this.bytes.write(text, place + HEADER_BYTES, 'utf8')
  }

  // Takes room after the newest record, in place of the oldest ones.
  private makeRoom(needed: number): number {
    if (this.bytes.length === 0) {
      this.bytes = Buffer.alloc(MAX_BYTES)
      this.numbers = new Float64Array(this.bytes.buffer, 0, MAX_BYTES / 8)
    }
    if (this.end + needed > MAX_BYTES) {
      this.forget(this.end, MAX_BYTES)
      this.end = 0
    }
    const place = this.end
    this.end += needed
    this.forget(place, this.end)
    return place
  }

  // Removes the oldest records, as long as they begin in a part of the buffer.
  private forget(from: number, to: number): void {
    for (const [market, place] of this.places) {
      if (place < from || place >= to) return
      this.places.delete(market)
    }
  }
}
