import type { Dataset, VenueId } from '../domain/index.ts'
import { GAP_SCHEMA, type GapJson } from './gap.ts'
import {
  COUNT,
  DECIMAL_OR_NULL,
  described,
  FLAG,
  listOf,
  objectOf,
  TEXT,
  TEXT_OR_NULL,
  TIME_OR_NULL,
  type JsonSchema,
} from './json-schema.ts'
import type { DecimalJson, TimeJson } from './json-values.ts'

/** What is captured of one kind of data of one venue, and since when. */
export type DatasetCoverageJson = {
  readonly kind: 'dataset'
  readonly venue: VenueId
  readonly dataset: Dataset
  readonly assets: readonly string[] | null
  readonly windows: readonly string[] | null
  /** The earliest time that the dataset may have; null where only this installation's start counts. */
  readonly floor_time: TimeJson | null
  readonly year_inferred: boolean
  readonly backfilled: boolean
  /** When this installation began to record the venue; null while it has not. */
  readonly capture_started_time: TimeJson | null
  /** What is really there begins here; null while nothing is. */
  readonly first_time: TimeJson | null
  readonly first_day: string | null
}

/** One UTC day of one instrument. */
export type DayCoverageJson = {
  readonly day: string
  readonly condition: 'available' | 'degraded' | 'missing'
  readonly observations: number
  readonly observed_ms: DecimalJson
  readonly gap_ms: DecimalJson
  /** The realized cadence: mean time between observations; null below two. */
  readonly mean_spacing_ms: DecimalJson | null
}

/** What is stored of one ladder stream, and what is known to be missing. */
export type InstrumentCoverageJson = {
  readonly kind: 'instrument'
  readonly venue: VenueId
  readonly market_id: string
  readonly key: string
  readonly outcome: string | null
  readonly token_id: string | null
  readonly first_time: TimeJson | null
  readonly last_time: TimeJson | null
  readonly first_day: string | null
  readonly first_complete_day: string | null
  readonly observations: number
  readonly mean_spacing_ms: DecimalJson | null
  readonly days: readonly DayCoverageJson[]
  readonly gaps: readonly GapJson[]
}

/** One UTC day of all books of a venue. */
export type CalendarDayJson = {
  readonly venue: VenueId
  readonly day: string
  readonly condition: 'available' | 'degraded' | 'missing'
  /** Markets and ladder streams with an observation on the day. */
  readonly markets: number
  readonly instruments: number
  readonly observations: number
  /** Summed over all ladder streams. */
  readonly observed_ms: DecimalJson
  readonly gap_ms: DecimalJson
  /** What is missing, the most first. */
  readonly reasons: readonly {
    readonly reason: string
    readonly gaps: number
    readonly gap_ms: DecimalJson
  }[]
}

/** The schema of a day of a venue. */
export const CALENDAR_DAY_SCHEMA: JsonSchema = objectOf({
  venue: TEXT,
  day: TEXT,
  condition: { enum: ['available', 'degraded', 'missing'] },
  markets: COUNT,
  instruments: COUNT,
  observations: COUNT,
  observed_ms: described(DECIMAL_OR_NULL, 'Summed over all ladder streams of the venue.'),
  gap_ms: DECIMAL_OR_NULL,
  reasons: listOf(objectOf({ reason: TEXT, gaps: COUNT, gap_ms: DECIMAL_OR_NULL })),
})

/** The schema of a dataset's coverage. */
export const DATASET_COVERAGE_SCHEMA: JsonSchema = objectOf({
  kind: { const: 'dataset' },
  venue: TEXT,
  dataset: TEXT,
  assets: { type: ['array', 'null'], items: TEXT },
  windows: { type: ['array', 'null'], items: TEXT },
  floor_time: described(TIME_OR_NULL, 'Nothing exists before this time.'),
  year_inferred: described(FLAG, 'The year of the floor is our reading.'),
  backfilled: FLAG,
  capture_started_time: TIME_OR_NULL,
  first_time: described(TIME_OR_NULL, 'What is really there begins here.'),
  first_day: TEXT_OR_NULL,
})

/** The schema of an instrument's coverage. */
export const INSTRUMENT_COVERAGE_SCHEMA: JsonSchema = objectOf({
  kind: { const: 'instrument' },
  venue: TEXT,
  market_id: TEXT,
  key: TEXT,
  outcome: TEXT_OR_NULL,
  token_id: TEXT_OR_NULL,
  first_time: TIME_OR_NULL,
  last_time: TIME_OR_NULL,
  first_day: TEXT_OR_NULL,
  first_complete_day: TEXT_OR_NULL,
  observations: COUNT,
  mean_spacing_ms: DECIMAL_OR_NULL,
  days: listOf(
    objectOf({
      day: TEXT,
      condition: { enum: ['available', 'degraded', 'missing'] },
      observations: COUNT,
      observed_ms: DECIMAL_OR_NULL,
      gap_ms: DECIMAL_OR_NULL,
      mean_spacing_ms: DECIMAL_OR_NULL,
    }),
  ),
  gaps: listOf(GAP_SCHEMA),
})
