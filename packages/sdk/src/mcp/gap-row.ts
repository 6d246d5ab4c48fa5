import { GAP_REASONS } from '../domain/index.ts'
import {
  described,
  objectOf,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type GapJson,
} from '../wire/index.ts'

/** The schema of a gap as a model reads it. */
export const GAP_ROW = objectOf({
  start_time: described(TIME, 'Received time of the last good observation.'),
  end_time: described(TIME_OR_NULL, 'Of the first good one; null while the gap is open.'),
  reason: TEXT,
  meaning: described(TEXT, 'What the reason means.'),
  key: described(TEXT_OR_NULL, 'Which book or market; null for the whole venue.'),
})

/** A gap with the sentence of its reason. */
export function gapRow({ start_time, end_time, reason, key }: GapJson) {
  return { start_time, end_time, reason, meaning: GAP_REASONS[reason], key }
}
