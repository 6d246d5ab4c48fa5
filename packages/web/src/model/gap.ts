import { GAP_REASONS, type GapReason } from '@priorbook/sdk/domain'
import type { GapJson } from '@priorbook/sdk/wire'
import { microsOf, microsOrAbsent } from './time.ts'

/** A span that was not recorded; `end` is absent while it lasts. */
export type GapSpan = {
  readonly start: number
  readonly end: number | undefined
  readonly reason: GapReason
  readonly scope: GapJson['scope']
  readonly detail: string | null
}

/** The gaps of an instrument: its own, its market's and its venue's. */
export function gapsOfInstrument(
  gaps: readonly GapJson[],
  key: string,
  marketId: string,
): readonly GapSpan[] {
  return gaps
    .filter(
      (gap) =>
        gap.scope === 'venue' ||
        (gap.scope === 'market' && gap.key === marketId) ||
        (gap.scope === 'instrument' && gap.key === key),
    )
    .map(toSpan)
    .sort((a, b) => a.start - b.start)
}

/** Converts a gap of the API. */
export function toSpan(gap: GapJson): GapSpan {
  return {
    start: microsOf(gap.start_time),
    end: microsOrAbsent(gap.end_time),
    reason: gap.reason,
    scope: gap.scope,
    detail: gap.detail,
  }
}

/** The gap at an instant; the last row before a gap has the time of its start. */
export function gapAt(gaps: readonly GapSpan[], time: number): GapSpan | undefined {
  return gaps.find(({ start, end }) => time > start && (end === undefined || time < end))
}

/** Explains a gap in a sentence. */
export function gapSentence(reason: string): string {
  return (GAP_REASONS as Readonly<Record<string, string>>)[reason] ?? 'Nothing was recorded.'
}

/** Adds a gap that opened, or replaces it when it has closed. */
export function withGap(gaps: readonly GapJson[], gap: GapJson): readonly GapJson[] {
  const isSame = (other: GapJson): boolean =>
    other.key === gap.key &&
    other.scope === gap.scope &&
    other.reason === gap.reason &&
    microsOf(other.start_time) === microsOf(gap.start_time)
  return [...gaps.filter((other) => !isSame(other)), gap]
}
