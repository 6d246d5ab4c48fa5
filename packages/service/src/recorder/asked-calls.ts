import { toMicros, type Micros, type VenueId } from '@priorbook/sdk/domain'
import type { StoreReader } from '../store/store.ts'
import type { AskedCalls } from '../venues/capture/contract.ts'

// Calls are counted per second, and the last 64 s are kept: a quota's minute and some more.
const SPAN_MICROS = 1_000_000
const SPANS = 64
/** Count and number of a span are stored as one number below 2^52. */
const COUNT_LIMIT = 65_536

/**
 * Counts the calls to a venue by the answers and failures in its journal. The counts are facts of the
 * store, so that a recorder which starts again knows how much of the quota is spent.
 */
export class CallCounter {
  private readonly counts = new Map<string, number>()
  private readonly venue: VenueId

  constructor(venue: VenueId) {
    this.venue = venue
  }

  /** Loads the stored counts. */
  async load(store: StoreReader): Promise<void> {
    for (const name of namesOf(this.venue)) {
      const value = await store.fact(name)
      if (value !== undefined) this.counts.set(name, value)
    }
  }

  /** Counts one call; returns the fact that changed. */
  note(at: Micros): readonly [name: string, value: number] {
    const span = Math.floor(at / SPAN_MICROS)
    const name = factOf(this.venue, span % SPANS)
    const before = this.counts.get(name) ?? 0
    const count =
      Math.floor(before / COUNT_LIMIT) === span
        ? Math.min(before % COUNT_LIMIT, COUNT_LIMIT - 2)
        : 0
    const value = span * COUNT_LIMIT + count + 1
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
    const until = toMicros((Math.floor(value / COUNT_LIMIT) + 1) * SPAN_MICROS)
    asked.push({ until, count: value % COUNT_LIMIT })
  }
  return asked.toSorted((a, b) => a.until - b.until)
}

function namesOf(venue: VenueId): string[] {
  return Array.from({ length: SPANS }, (_, slot) => factOf(venue, slot))
}

function factOf(venue: VenueId, slot: number): string {
  return `asked:${venue}:${slot}`
}
