import type { Gap, MarketRevision, Sample, Trade } from '@priorbook/sdk/domain'
import type { Observation } from '@priorbook/sdk/tape'
import type { Quarantined } from '../store/store.ts'

/** The rows of a batch while they are gathered. */
export type BatchRows = {
  readonly observations: Observation[]
  readonly trades: Trade[]
  readonly samples: Sample[]
  readonly revisions: MarketRevision[]
  readonly gaps: Gap[]
  readonly quarantine: Quarantined[]
  readonly facts: Record<string, number>
}

/** Nothing gathered yet. */
export function noRows(): BatchRows {
  return {
    observations: [],
    trades: [],
    samples: [],
    revisions: [],
    gaps: [],
    quarantine: [],
    facts: {},
  }
}
