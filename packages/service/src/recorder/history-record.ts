import { findAnomaly, type CaptureDecision, type MarketRecord } from '@priorbook/sdk/domain'

/** The decision about markets that only a backfill has named. */
const BACKFILLED: CaptureDecision = { tier: 'catalogue', why: 'a backfill named it' }

/**
 * What a history says of a market that may be recorded: undefined where the tape knows more, because an
 * archive may be behind the messages that were recorded. How deep a market is recorded stays as it is.
 */
export function asHistory(
  known: MarketRecord | undefined,
  said: MarketRecord,
): MarketRecord | undefined {
  if (known === undefined) return { ...said, capture: BACKFILLED }
  const isOlder = known.resolution?.state === 'final' && said.resolution?.state !== 'final'
  if (isOlder || findAnomaly(known, said) !== undefined) return undefined
  return said
}
