import {
  findAnomaly,
  type CaptureTier,
  type MarketRecord,
  type MarketRevision,
  type MarketStatus,
  type Micros,
  type RevisionAnomaly,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { StoreReader } from '../store/store.ts'
import { TickGrid } from './tick-grid.ts'

// Max records that stay after they are stored; a record with all that the venue said takes up to 20 KB.
const MAX_RECORDS = 4000

/** What applying a book needs to know of its market. */
export type MarketBrief = {
  readonly status: MarketStatus | undefined
  readonly openTime: Micros | undefined
  readonly closeTime: Micros | undefined
  readonly tier: CaptureTier | undefined
  /** The prices that it allows; undefined where its record does not say. */
  readonly grid: TickGrid | undefined
}

/** A market's record, and the journal record of its newest version. */
type Known = { readonly record: MarketRecord; readonly journal: number }

/**
 * What is known of markets, up to one batch ahead of the store: a brief of all whose books are held, and the
 * records of those that were named lately. Others are read from the store again.
 */
export class MarketMemory {
  /** Undefined for a market that the store does not have. The one that was set longest ago comes first. */
  private readonly records = new Map<string, Known | undefined>()
  private readonly briefs = new Map<string, MarketBrief>()
  private readonly store: StoreReader
  private readonly venue: VenueId

  constructor(store: StoreReader, venue: VenueId) {
    this.store = store
    this.venue = venue
  }

  /** How many markets are in memory. */
  get size(): number {
    return Math.max(this.records.size, this.briefs.size)
  }

  /** True when `get` needs no `load` first. */
  knows(marketId: string): boolean {
    return this.records.has(marketId)
  }

  get(marketId: string): MarketRecord | undefined {
    return this.records.get(marketId)?.record
  }

  /** What books need to know; undefined for a market that is not known or was never named. */
  briefOf(marketId: string): MarketBrief | undefined {
    return this.briefs.get(marketId)
  }

  /** Reads a record from the store. */
  async load(marketId: string): Promise<void> {
    const state = await this.store.market(this.venue, marketId)
    this.remember(marketId, state)
  }

  /** Learns what books need to know of a market from the record that the store has of it. */
  learn(record: MarketRecord): void {
    this.briefs.set(record.marketId, toBrief(record))
  }

  /** Forgets a market; only after all that was merged into its record is stored. */
  forget(marketId: string): void {
    this.records.delete(marketId)
    this.briefs.delete(marketId)
  }

  /** True while more records are kept than needed. */
  get isFull(): boolean {
    return this.records.size > MAX_RECORDS
  }

  /** Forgets the oldest records, not their briefs; all but those of the pending markets must be stored. */
  trim(pending: ReadonlySet<string>): void {
    for (const marketId of this.records.keys()) {
      if (!this.isFull) return
      if (!pending.has(marketId)) this.records.delete(marketId)
    }
  }

  private remember(marketId: string, known: Known | undefined): void {
    this.records.delete(marketId)
    this.records.set(marketId, known)
    if (known === undefined) return
    this.briefs.set(marketId, toBrief(known.record))
  }

  /**
   * Merges what a message says of a market into its record; returns the result and its anomaly. An answer was requested
   * when the journal had its record `asked`.
   */
  merge(
    {
      record: said,
      received,
      journal,
    }: Pick<MarketRevision, 'record' | 'received'> & { readonly journal: number },
    asked = Infinity,
  ): {
    readonly record: MarketRecord
    readonly anomaly?: RevisionAnomaly
  } {
    const known = this.records.get(said.marketId)
    const before = known?.record
    const anomaly = findAnomaly(before, said)
    if (known !== undefined && anomaly !== undefined && known.journal > asked) {
      // A message that came while the answer was on its way says what has become of the market since: the answer adds
      // what the record lacks, which keeps the order of its fields.
      const record = mergeRecords(known.record, mergeRecords(said, known.record))
      this.learnVersion(record, journal)
      return { record }
    }
    // Nothing of a market that ended is true of another one with its id.
    const merged = mergeRecords(anomaly?.code === 'reused_id' ? undefined : before, said)
    const record =
      anomaly === undefined ? merged : { ...merged, lastAnomaly: { ...anomaly, received } }
    this.learnVersion(record, journal)
    return anomaly === undefined ? { record } : { record, anomaly }
  }

  // Of two versions with equal texts the store keeps the older one. What is decided here must not depend on whether the
  // record was forgotten meanwhile.
  private learnVersion(record: MarketRecord, journal: number): void {
    const known = this.records.get(record.marketId)
    const isEqual = known !== undefined && JSON.stringify(known.record) === JSON.stringify(record)
    this.remember(record.marketId, { record, journal: isEqual ? known.journal : journal })
  }
}

function toBrief(record: MarketRecord): MarketBrief {
  const { status, openTime, closeTime, capture } = record
  return { status, openTime, closeTime, tier: capture?.tier, grid: TickGrid.of(record) }
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
