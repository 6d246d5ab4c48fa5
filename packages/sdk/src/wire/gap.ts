import {
  GAP_REASONS,
  type Gap,
  type GapReason,
  type GapScope,
  type VenueId,
} from '../domain/index.ts'
import {
  described,
  objectOf,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type JsonSchema,
} from './json-schema.ts'
import { timeJson, type TimeJson, type ValueStyle } from './json-values.ts'

/** A gap on the wire: the same bounds on every route. */
export type GapJson = {
  readonly venue: VenueId
  readonly scope: GapScope
  /** The instrument's key or the market's id; null for a whole venue. */
  readonly key: string | null
  readonly reason: GapReason
  readonly start_time: TimeJson
  /** Null while the gap is open. */
  readonly end_time: TimeJson | null
  readonly source_start_time: TimeJson | null
  readonly source_end_time: TimeJson | null
  /** The sequence of the last good observation; 0: there was none. */
  readonly after_sequence: number
  readonly detail: string | null
}

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
export const GAP_COLUMNS = [
  'venue',
  'scope',
  'key',
  'reason',
  'start_time',
  'end_time',
  'source_start_time',
  'source_end_time',
  'after_sequence',
  'detail',
] as const satisfies readonly (keyof GapJson)[]

/** The schema of a gap. */
export const GAP_SCHEMA: JsonSchema = objectOf(
  {
    venue: TEXT,
    scope: { enum: ['instrument', 'market', 'venue'] },
    key: described(TEXT_OR_NULL, 'Instrument key or market id; null for a whole venue.'),
    reason: { enum: Object.keys(GAP_REASONS) },
    start_time: described(TIME, 'The last good observation, by received time.'),
    end_time: described(TIME_OR_NULL, 'The first good one; null while the gap is open.'),
    source_start_time: TIME_OR_NULL,
    source_end_time: TIME_OR_NULL,
    after_sequence: { type: 'integer', minimum: 0 },
    detail: TEXT_OR_NULL,
  },
  { description: 'A half-open span in which something was not observed.' },
)
