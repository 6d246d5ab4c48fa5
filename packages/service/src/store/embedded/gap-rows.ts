import type { Gap, GapReason, GapScope, Micros, VenueId } from '@priorbook/sdk/domain'
import type { Column, Row } from './database.ts'

/** The columns of a gap before its checksum. */
export const GAP_COLUMNS = [
  'venue',
  'scope',
  'key',
  'start',
  'reason',
  'finish',
  'source_start',
  'source_end',
  'after_sequence',
  'detail',
  'journal',
  'end_journal',
]

/** The same with the checksum, for a SELECT. */
export const GAP_SELECTED = [...GAP_COLUMNS, 'sum'].join(', ')

/** The values of `GAP_COLUMNS`. */
export function valuesOfGap(gap: Gap): Column[] {
  return [
    gap.venue,
    gap.scope,
    gap.key,
    gap.start,
    gap.reason,
    gap.end ?? null,
    gap.sourceStart ?? null,
    gap.sourceEnd ?? null,
    gap.afterSequence,
    gap.detail ?? null,
    gap.journal,
    gap.endJournal ?? null,
  ]
}

/** The gap in a row whose checksum was verified. */
export function gapOfRow(row: Row): Gap {
  return gapOfColumns(GAP_COLUMNS.map((name) => row[name] ?? null))
}

/** The gap in the values of `GAP_COLUMNS`. */
export function gapOfColumns(values: readonly Column[]): Gap {
  const [venue, scope, key, start, reason, finish, sourceStart, sourceEnd] = values
  const [afterSequence, detail, journal, endJournal] = values.slice(8)
  return {
    venue: venue as VenueId,
    scope: scope as GapScope,
    key: key as string,
    reason: reason as GapReason,
    start: start as Micros,
    ...(finish === null ? {} : { end: finish as Micros }),
    ...(sourceStart === null ? {} : { sourceStart: sourceStart as Micros }),
    ...(sourceEnd === null ? {} : { sourceEnd: sourceEnd as Micros }),
    afterSequence: afterSequence as number,
    ...(detail === null ? {} : { detail: detail as string }),
    journal: journal as number,
    ...(endJournal === null ? {} : { endJournal: endJournal as number }),
  }
}
