import { gapId, type Gap, type VenueId } from '@priorbook/sdk/domain'
import type { Subscriber } from './subscriber.ts'
import type { Subscription } from './subscription.ts'

/** The readers of the rows that a gap concerns. */
export interface GapAudience {
  readersOf(gap: Gap): Iterable<Subscription>
  /** Sends conflated rows that are still waiting: they were observed before the gap. */
  settle(gap: Gap): void
}

/** Sends each gap once to every reader of the rows that it concerns. */
export class GapPublisher {
  readonly published = new PublishedGaps()
  private readonly audience: GapAudience

  constructor(audience: GapAudience) {
    this.audience = audience
  }

  /** Publishes a gap; false when it was already published with its present end. */
  publishGap(gap: Gap): boolean {
    if (!this.published.add(gap)) return false
    const readers = [...this.audience.readersOf(gap)]
    this.audience.settle(gap)
    const encoded = new Map<string, Uint8Array>()
    const reached = new Set<Subscriber>()
    for (const { subscriber, style } of readers) {
      if (reached.has(subscriber)) continue
      reached.add(subscriber)
      let bytes = encoded.get(style.name)
      if (bytes === undefined) encoded.set(style.name, (bytes = style.gap(gap)))
      subscriber.send(bytes)
    }
    return true
  }
}

// Max gaps remembered per key. Closed ones are forgotten first; a forgotten gap may be sent again.
const MAX_REMEMBERED = 256

/** Remembers which gaps were published, by the key that they concern, so that each goes out once. */
export class PublishedGaps {
  /** By venue and key: the end of each gap as it was published last. */
  private readonly ends = new Map<string, Map<string, number | undefined>>()

  /** True when a gap was not published with its present end. */
  isNew(gap: Gap): boolean {
    const known = this.ends.get(keyOf(gap.venue, gap.key))
    const id = gapId(gap)
    return known?.has(id) !== true || known.get(id) !== gap.end
  }

  /** True when a gap was published, with whatever end. */
  has(gap: Gap): boolean {
    return this.ends.get(keyOf(gap.venue, gap.key))?.has(gapId(gap)) === true
  }

  /** Marks a gap as published; false when it was already published with its present end. */
  add(gap: Gap): boolean {
    if (!this.isNew(gap)) return false
    this.follow(gap.venue, gap.key)
    const known = this.ends.get(keyOf(gap.venue, gap.key))!
    const id = gapId(gap)
    known.delete(id)
    known.set(id, gap.end)
    if (known.size > MAX_REMEMBERED) {
      const closed = [...known].find(([, end]) => end !== undefined)
      known.delete(closed?.[0] ?? known.keys().next().value!)
    }
    return true
  }

  /** True when the gaps of a key are followed. */
  follows(venue: VenueId, key: string): boolean {
    return this.ends.has(keyOf(venue, key))
  }

  /** Starts to follow the gaps of a key, which may have none yet. */
  follow(venue: VenueId, key: string): void {
    const name = keyOf(venue, key)
    if (!this.ends.has(name)) this.ends.set(name, new Map())
  }

  /** Forgets the gaps of a key without readers. */
  forget(venue: VenueId, key: string): void {
    this.ends.delete(keyOf(venue, key))
  }

  clear(): void {
    this.ends.clear()
  }
}

function keyOf(venue: VenueId, key: string): string {
  return `${venue}/${key}`
}

/** Gaps that wait for their place among the books of one instrument, ordered by the row they follow. */
export class PendingGaps {
  private waiting: Gap[] = []

  constructor(gaps: readonly Gap[] = []) {
    this.add(gaps)
  }

  add(gaps: readonly Gap[]): void {
    if (gaps.length === 0) return
    this.waiting.push(...gaps)
    this.waiting.sort((a, b) => a.afterSequence - b.afterSequence || a.start - b.start)
  }

  /** Shifts the next gap if it comes before a row. */
  shiftBefore(sequence: number): Gap | undefined {
    const [first] = this.waiting
    return first !== undefined && first.afterSequence < sequence ? this.waiting.shift() : undefined
  }

  /** Shifts all gaps, also those that follow rows which are not stored yet. */
  shiftAll(): readonly Gap[] {
    const all = this.waiting
    this.waiting = []
    return all
  }
}
