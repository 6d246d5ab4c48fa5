import type { Micros } from './micros.ts'
import { VENUES, type VenueId } from './venues/index.ts'

/** Why a span was not observed; each with the sentence that the docs and the service show. */
export const GAP_REASONS = {
  before_capture: 'The span lies before capture began.',
  market_not_open: 'The market had not opened.',
  market_closed: 'The market had closed.',
  venue_silent: 'The venue kept the connection open but sent nothing.',
  disconnected: 'The connection was lost.',
  sequence_break: 'A message is missing: sequence numbers, best prices or a full book show it.',
  book_reset: 'Changes arrived, but no full book to apply them to.',
  recorder_down: 'The recorder was not running.',
  late_discovery: 'The market was open before the recorder found or selected it.',
  not_selected: 'The rules of selection did not include the books of the market any more.',
  quota: 'The upstream quota did not allow a poll.',
  rejected: 'A message failed the row checks; the book is closed until the next full one.',
  disk_full: 'There was no space to record.',
  corrupt: 'The recorded data are damaged on disk and not served.',
  retention: 'The recorded data were removed by age or to save space.',
  unavailable: 'The venue refused this span, however often it was requested.',
  reorganized: 'The chain replaced blocks that had been read; trades of these blocks may be void.',
} as const

/** The name of one reason. */
export type GapReason = keyof typeof GAP_REASONS

/**
 * True for spans in which the market was not open. They are states of the market, not losses: there was no book
 * to observe, so lists and counts of gaps leave them out.
 */
export function isMarketState(reason: GapReason): boolean {
  return reason === 'market_not_open' || reason === 'market_closed'
}

/** True for what a recorder failed to observe; false where there was nothing to observe, or it was removed on purpose. */
export function isRecordingFailure(reason: GapReason): boolean {
  return !isMarketState(reason) && reason !== 'before_capture' && reason !== 'retention'
}

/** What a gap is about: one instrument, all instruments of a market, or a whole venue. */
export type GapScope = 'instrument' | 'market' | 'venue'

/**
 * A half-open span [start, end) by received time in which something was not observed.
 * `end` is absent while the gap is open. `afterSequence` is the last good observation (0: none),
 * which places the gap exactly even where received times tie.
 */
export type Gap = {
  readonly venue: VenueId
  readonly scope: GapScope
  /** Instrument key or market id; empty for a whole venue. */
  readonly key: string
  readonly reason: GapReason
  readonly start: Micros
  readonly end?: Micros
  readonly sourceStart?: Micros
  readonly sourceEnd?: Micros
  readonly afterSequence: number
  /** Counts or a sentence that help a reader, such as how many changes could not be applied. */
  readonly detail?: string
  /** The journal record that opened the gap, and the one that closed it. */
  readonly journal: number
  readonly endJournal?: number
}

/** The fields that name a gap: two records with the same values are versions of one gap. */
export type GapIdentity = Pick<
  Gap,
  'venue' | 'key' | 'scope' | 'reason' | 'start' | 'afterSequence'
>

/** The identity of a gap as text; a gap keeps it when it closes. */
export function gapId({ venue, key, scope, reason, start, afterSequence }: GapIdentity): string {
  return `${venue}/${key}/${scope}/${reason}/${start}/${afterSequence}`
}

/** The order of lists of gaps: by start, then by everything else that names a gap. */
export function compareGaps(a: GapIdentity, b: GapIdentity): number {
  const byPlace = a.start - b.start || a.afterSequence - b.afterSequence
  if (byPlace !== 0) return byPlace
  for (const name of ['venue', 'key', 'reason', 'scope'] as const) {
    if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1
  }
  return 0
}

/** True for a gap of the feed of trades of a venue, which concerns none of its books. */
export function isTradesGap({ venue, key }: Pick<Gap, 'venue' | 'key'>): boolean {
  return VENUES[venue].tradesKey === key
}
