import {
  findAnomaly,
  type MarketRecord,
  type MarketRevision,
  type RevisionAnomaly,
  type VenueId,
} from '@priorbook/sdk/domain'
import { BoundedMap } from '../lib/bounded-map.ts'
import type { StoreReader } from '../store/store.ts'

// Max markets kept, more than are open at once as a rule; others are read from the store again. A record
// with all that the venue said takes up to 20 KB.
const MAX_MARKETS = 4000

/** The newest record of every market named lately, up to one batch ahead of the store. */
export class MarketMemory {
  /** Undefined for a market that the store does not have. */
  private readonly records = new BoundedMap<string, MarketRecord | undefined>(MAX_MARKETS)
  private readonly store: StoreReader
  private readonly venue: VenueId

  constructor(store: StoreReader, venue: VenueId) {
    this.store = store
    this.venue = venue
  }

  /** How many markets are in memory. */
  get size(): number {
    return this.records.size
  }

  /** True when `get` needs no `load` first. */
  knows(marketId: string): boolean {
    return this.records.has(marketId)
  }

  get(marketId: string): MarketRecord | undefined {
    return this.records.get(marketId)
  }

  /** Reads a record from the store. */
  async load(marketId: string): Promise<void> {
    const state = await this.store.market(this.venue, marketId)
    this.records.set(marketId, state?.record)
  }

  /** Forgets a market; only after all that was merged into its record is stored. */
  forget(marketId: string): void {
    this.records.delete(marketId)
  }

  /** Merges what a message says of a market into its record; returns the result and its anomaly. */
  merge({ record: said, received }: Pick<MarketRevision, 'record' | 'received'>): {
    readonly record: MarketRecord
    readonly anomaly?: RevisionAnomaly
  } {
    const before = this.records.get(said.marketId)
    const anomaly = findAnomaly(before, said)
    // Nothing of a market that ended is true of another one with its id.
    const merged = mergeRecords(anomaly?.code === 'reused_id' ? undefined : before, said)
    const record =
      anomaly === undefined ? merged : { ...merged, lastAnomaly: { ...anomaly, received } }
    this.records.set(said.marketId, record)
    return anomaly === undefined ? { record } : { record, anomaly }
  }
}

/**
 * Merges a partial record into the one before: fields that it omits keep their values. The venue's own
 * fields stay under the name of the source that they came from.
 */
function mergeRecords(before: MarketRecord | undefined, said: MarketRecord): MarketRecord {
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
    ...mergedPart('event', before.event, said.event),
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
