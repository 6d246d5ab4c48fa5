import { toMicros, type Micros, type VenueId } from '@priorbook/sdk/domain'
import type { StoreReader } from '../store/store.ts'
import type { AskedCalls } from '../venues/capture/contract.ts'

/** Calls are counted by seconds; as many are kept as a quota's minute needs, and some more. */
const SPAN_MICROS = 1_000_000
const SPANS = 64
/** A count is kept with the number of its span in one number, below 2^52. */
const MOST = 65_536

/**
 * Counts the calls to a venue by the answers and failures in its journal. The counts are kept among the
 * store's facts, so that a recorder which starts again knows what the one before it spent of the quota.
 */
export class CallCounter {
  private readonly counts = new Map<string, number>()
  private readonly venue: VenueId

  constructor(venue: VenueId) {
    this.venue = venue
  }

  /** Takes up what is stored. */
  async load(store: StoreReader): Promise<void> {
    for (const name of namesOf(this.venue)) {
      const value = await store.fact(name)
      if (value !== undefined) this.counts.set(name, value)
    }
  }

  /** Counts one call; gives the fact that changed. */
  note(at: Micros): readonly [name: string, value: number] {
    const span = Math.floor(at / SPAN_MICROS)
    const name = factOf(this.venue, span % SPANS)
    const before = this.counts.get(name) ?? 0
    const count = Math.floor(before / MOST) === span ? Math.min(before % MOST, MOST - 2) : 0
    const value = span * MOST + count + 1
    this.counts.set(name, value)
    return [name, value]
  }
}

/** Reads how many calls earlier runs made to a venue lately, by spans of a second. */
export async function readAskedCalls(store: StoreReader, venue: VenueId): Promise<AskedCalls[]> {
  const asked: AskedCalls[] = []
  for (const name of namesOf(venue)) {
    const value = await store.fact(name)
    if (value === undefined) continue
    const until = toMicros((Math.floor(value / MOST) + 1) * SPAN_MICROS)
    asked.push({ until, count: value % MOST })
  }
  return asked.toSorted((a, b) => a.until - b.until)
}

function namesOf(venue: VenueId): string[] {
  return Array.from({ length: SPANS }, (_, slot) => factOf(venue, slot))
}

function factOf(venue: VenueId, slot: number): string {
  return `asked:${venue}:${slot}`
}
