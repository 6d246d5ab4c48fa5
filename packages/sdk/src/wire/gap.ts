import { GAP_REASONS, type Gap, type GapReason } from '../domain/index.ts'
import {
  COUNT,
  described,
  membersOf,
  named,
  objectOf,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  VENUE,
  wordOf,
  type TypeOf,
} from './json-schema.ts'
import { timeJson, type ValueStyle } from './json-values.ts'

/** The schema of a gap. */
export const GAP_SCHEMA = named(
  'Gap',
  objectOf(
    {
      venue: VENUE,
      scope: named('GapScope', wordOf(['instrument', 'market', 'venue'])),
      key: described(TEXT_OR_NULL, 'Instrument key or market id; null for a whole venue.'),
      reason: named('GapReason', wordOf(Object.keys(GAP_REASONS) as GapReason[])),
      start_time: described(TIME, 'Received time of the last good observation.'),
      end_time: described(TIME_OR_NULL, 'Of the first good one; null while the gap is open.'),
      source_start_time: TIME_OR_NULL,
      source_end_time: TIME_OR_NULL,
      after_sequence: described(COUNT, 'Sequence of the last good observation; 0: none.'),
      detail: TEXT_OR_NULL,
    },
    { description: 'A half-open span in which something was not observed.' },
  ),
)

/** A gap on the wire: the same bounds on every route. */
export type GapJson = TypeOf<typeof GAP_SCHEMA>

/** Renders a gap. */
export function toGapJson(gap: Gap, style: ValueStyle = {}): GapJson {
  return {
    venue: gap.venue,
    scope: gap.scope,
    key: gap.key === '' ? null : gap.key,
    reason: gap.reason,
    start_time: timeJson(gap.start, style)!,
    end_time: timeJson(gap.end, style),
    source_start_time: timeJson(gap.sourceStart, style),
    source_end_time: timeJson(gap.sourceEnd, style),
    after_sequence: gap.afterSequence,
    detail: gap.detail ?? null,
  }
}

/** The columns of a gap in CSV, in this order. */
export const GAP_COLUMNS = membersOf(GAP_SCHEMA)
