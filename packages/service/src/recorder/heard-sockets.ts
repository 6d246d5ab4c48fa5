import type { VenueId } from '@priorbook/sdk/domain'
import type { StoreReader } from '../store/store.ts'

/**
 * When each socket last brought a message: until then a book that the socket feeds and that did not change
 * is known to have stood still. It is part of the store, so that a restart between two records changes nothing.
 */
export class HeardSockets {
  private readonly venue: VenueId
  private readonly times = new Map<number, number>()
  /** Sockets that were heard since the last batch. */
  private readonly fresh = new Set<number>()

  constructor(venue: VenueId) {
    this.venue = venue
  }

  /** Reads what the store has of a socket that is open. */
  async load(store: StoreReader, slot: number): Promise<void> {
    const received = await store.fact(heardFact(this.venue, slot))
    if (received !== undefined) this.times.set(slot, received)
  }

  note(slot: number, received: number): void {
    this.times.set(slot, received)
    this.fresh.add(slot)
  }

  /** A socket is new: the messages of the one before it say nothing about its books. */
  opened(slot: number): void {
    if (this.at(slot) > 0) this.note(slot, 0)
  }

  /** When a socket last brought a message; 0 for one that was never heard. */
  at(slot: number): number {
    return this.times.get(slot) ?? 0
  }

  /** Adds what changed since the last call to the facts of a batch. */
  drain(facts: Record<string, number | null>): void {
    for (const slot of this.fresh) facts[heardFact(this.venue, slot)] = this.times.get(slot)!
    this.fresh.clear()
  }
}

function heardFact(venue: VenueId, slot: number): string {
  return `heard:${venue}:${slot}`
}
