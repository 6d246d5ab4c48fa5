import {
  PriorbookError,
  type Gap,
  type MarketRevision,
  type Micros,
  type Provenance,
  type Sample,
  type Trade,
  type VenueId,
} from '@priorbook/sdk/domain'
import { HEAD_LIMIT, type Observation } from '@priorbook/sdk/tape'
import type { ParityNote, Quarantined } from '../store/store.ts'
import { checkSampleValue } from '../venues/capture/past-prices.ts'

/** The rows of a batch while they are collected. */
export type BatchRows = {
  readonly observations: Observation[]
  readonly trades: Trade[]
  readonly samples: Sample[]
  readonly revisions: MarketRevision[]
  readonly gaps: Gap[]
  readonly quarantine: Quarantined[]
  readonly parity: ParityNote[]
  /** Numbers that the store keeps by name; null for one that is removed. */
  readonly facts: Record<string, number | null>
}

/** A batch without rows. */
export function noRows(): BatchRows {
  return {
    observations: [],
    trades: [],
    samples: [],
    revisions: [],
    gaps: [],
    quarantine: [],
    parity: [],
    facts: {},
  }
}

/** A message, or the part of it that concerns an instrument, that could not become rows. */
export function toQuarantined(
  venue: VenueId,
  record: { readonly number: number; readonly received: Micros; readonly bytes: Uint8Array },
  key: string,
  code: Quarantined['code'],
  detail: string,
): Quarantined {
  const { number: journal, received, bytes: raw } = record
  return { venue, key, journal, received, code, detail, raw }
}

/** Refuses a number that the tape cannot hold, before it could stop the packing of a stream. */
export function checkNumbers({ source, venueSeq, channel }: Provenance): void {
  if (Math.max(source ?? 0, venueSeq ?? 0, channel ?? 0) >= HEAD_LIMIT) {
    throw new PriorbookError('unrepresentable', 'a time or number of the message is beyond 2^52')
  }
}

/** Refuses a sample whose value, or whose step from any other value, the tape cannot hold. */
export function checkSample(sample: Sample): void {
  checkNumbers(sample)
  checkSampleValue(sample.metric, sample.value)
}

/** The name of the fact that says which connection a socket is: the journal record that noted it. */
export function epochFact(venue: VenueId, slot: number): string {
  return `epoch:${venue}:${slot}`
}

/** The name of the fact that says when the newest applied record was received. */
export function reachedFact(venue: VenueId): string {
  return `reached:${venue}`
}

/** The names of the facts about the last walk over all markets of a venue: when it began, and its rules. */
export function walkedFacts(venue: VenueId): { readonly at: string; readonly rules: string } {
  return { at: `walked:${venue}`, rules: `walked_rules:${venue}` }
}

/** The name of the fact that says at which journal record changes were last lost or could not be read. */
export function missedFact(venue: VenueId): string {
  return `missed:${venue}`
}

/** The names of the facts about the newest change that was skipped while a book was closed. */
export function passedFacts(
  venue: VenueId,
  key: string,
): { readonly mark: string; readonly channel: string; readonly journal: string } {
  return {
    mark: `passed:${venue}:${key}`,
    channel: `passed_channel:${venue}:${key}`,
    journal: `passed_journal:${venue}:${key}`,
  }
}
