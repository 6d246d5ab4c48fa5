import type { MarketRecord, VenueId } from '@priorbook/sdk/domain'
import type { StoreReader } from '../store/store.ts'

// More than any venue lists at once; the oldest are read from the store again when they are named.
const KEPT = 20_000

/** The newest record of every market that was named lately, ahead of what the store holds by a batch. */
export class MarketMemory {
  private readonly records = new Map<string, MarketRecord | undefined>()
  private readonly store: StoreReader
  private readonly venue: VenueId

  constructor(store: StoreReader, venue: VenueId) {
    this.store = store
    this.venue = venue
  }

  /** True when `get` can answer without asking the store. */
  knows(marketId: string): boolean {
    return this.records.has(marketId)
  }

  get(marketId: string): MarketRecord | undefined {
    return this.records.get(marketId)
  }

  /** Reads a record from the store. */
  async load(marketId: string): Promise<void> {
    const state = await this.store.market(this.venue, marketId)
    this.set(marketId, state?.record)
  }

  /** Takes what was said of a market and gives the record as it is known now. */
  merge(said: MarketRecord): MarketRecord {
    const merged = mergeRecords(this.records.get(said.marketId), said)
    this.set(said.marketId, merged)
    return merged
  }

  private set(marketId: string, record: MarketRecord | undefined): void {
    this.records.delete(marketId)
    this.records.set(marketId, record)
    if (this.records.size <= KEPT) return
    for (const oldest of this.records.keys()) {
      this.records.delete(oldest)
      break
    }
  }
}

/**
 * A record with what was said of it since: a message names a part of a market, and what it leaves out
 * stays as it was known. What the venue said in its own words is kept under the name it said it by.
 */
export function mergeRecords(before: MarketRecord | undefined, said: MarketRecord): MarketRecord {
  if (before === undefined) return said
  const outcomes = said.outcomes.map((outcome, at) => ({ ...before.outcomes[at], ...outcome }))
  const resolution =
    said.resolution === undefined
      ? before.resolution
      : {
          ...before.resolution,
          ...said.resolution,
          ...mergedPart('reference', before.resolution?.reference, said.resolution.reference),
          ...mergedPart('times', before.resolution?.times, said.resolution.times),
        }
  return {
    ...before,
    ...said,
    outcomes: outcomes.length === 0 ? before.outcomes : outcomes,
    ...(resolution === undefined ? {} : { resolution }),
    ...mergedPart('settlement', before.settlement, said.settlement),
    native: { ...before.native, ...said.native },
  }
}

function mergedPart<Name extends string, Part extends object>(
  name: Name,
  before: Part | undefined,
  said: Part | undefined,
): { [Key in Name]?: Part } {
  if (before === undefined && said === undefined) return {}
  return { [name]: { ...before, ...said } } as { [Key in Name]?: Part }
}
